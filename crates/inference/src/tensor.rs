use pfss::SignedRange;

/// Fraction bits of inputs, weights and activations. Products carry twice as many.
pub const FRACTION_BITS: u32 = 12;

/// 1.0 in fixed point.
pub(crate) const ONE: i64 = 1 << FRACTION_BITS;

/// Words of a value, or of one share of it, and the range proven for the value behind each.
///
/// Ranges come from public facts only: the architecture, its limit on weights, and the range of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Ring words modulo `2^64`.
    pub words: Vec<u64>,
    /// What every value lies in.
    pub range: SignedRange,
}
