//! The orders in which the values of a domain are kept, as types.
//!
//! On `N` points, stored position `p` holds natural position `bitrev(p)`. Row `r` is natural
//! position `r / 2` if it is even, and `N - (r + 1) / 2` if it is odd (stwo 2.3, `core/utils.rs`).

use crate::Representation;

/// `position` with its lowest `bits` bits in reverse; higher bits are dropped.
#[must_use]
pub const fn bit_reversed(position: usize, bits: u32) -> usize {
    if bits == 0 { 0 } else { position.reverse_bits() >> (usize::BITS - bits) }
}

/// An order of the values of a domain.
///
/// Orders are types, so that values cannot be read in the wrong one.
pub trait Order: Representation {
    /// The natural position of the value at `position`, on a domain of `2^log_size` points.
    fn to_natural(position: usize, log_size: u32) -> usize;

    /// The position of the value with natural position `natural`.
    fn from_natural(natural: usize, log_size: u32) -> usize;
}

/// Stored order: position `p` holds natural position `bit_reversed(p)`.
///
/// Transforms work on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitReversed;

/// Natural order: the half coset `g (1 + 4 i)`, then its conjugates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Natural;

/// Row order: along the coset `g (1 + 2 r)`. Execution traces have their rows in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOrder;

impl Representation for BitReversed {}
impl Representation for Natural {}
impl Representation for RowOrder {}

impl Order for BitReversed {
    fn to_natural(position: usize, log_size: u32) -> usize {
        bit_reversed(position, log_size)
    }

    fn from_natural(natural: usize, log_size: u32) -> usize {
        bit_reversed(natural, log_size)
    }
}

impl Order for Natural {
    fn to_natural(position: usize, _log_size: u32) -> usize {
        position
    }

    fn from_natural(natural: usize, _log_size: u32) -> usize {
        natural
    }
}

impl Order for RowOrder {
    /// Even rows are the half coset forwards, odd rows the conjugates backwards.
    fn to_natural(row: usize, log_size: u32) -> usize {
        if row.is_multiple_of(2) { row / 2 } else { (1 << log_size) - row.div_ceil(2) }
    }

    fn from_natural(natural: usize, log_size: u32) -> usize {
        let len = 1 << log_size;
        if natural < len / 2 { 2 * natural } else { 2 * (len - natural) - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CanonicDomain;

    #[test]
    fn every_order_names_the_domains_points() {
        for log_size in 1..=10 {
            let domain = CanonicDomain::new(log_size).unwrap();
            for p in 0..domain.len() {
                assert_eq!(domain.row_point(p), domain.natural_point(RowOrder::to_natural(p, log_size)));
                assert_eq!(domain.stored_point(p), domain.natural_point(BitReversed::to_natural(p, log_size)));
                assert_eq!(RowOrder::from_natural(RowOrder::to_natural(p, log_size), log_size), p);
                assert_eq!(BitReversed::from_natural(BitReversed::to_natural(p, log_size), log_size), p);
                assert_eq!(Natural::from_natural(Natural::to_natural(p, log_size), log_size), p);
            }
        }
    }
}
