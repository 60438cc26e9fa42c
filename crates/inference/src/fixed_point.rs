//! The fixed-point form of values, and their ring.

use pfss::Ring;

/// Fraction bits of inputs, weights and activations. Products carry twice this number.
pub const FRACTION_BITS: u32 = 12;

/// The width of the ring of all values but products before their shift.
pub(crate) const RING_BITS: u32 = 64;

/// The ring of these values.
pub(crate) const RING: Ring = match Ring::new(RING_BITS) {
    Some(ring) => ring,
    None => unreachable!(),
};

/// 1.0 in fixed point.
pub(crate) const ONE: i64 = 1 << FRACTION_BITS;
