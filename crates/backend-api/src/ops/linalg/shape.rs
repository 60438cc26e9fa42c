//! Sizes of tensors and rows, as the checks of linear-algebra ops need them.

use core_types::params::{
    elementwise::MAX_RANK,
    rows::{AxisParams, SoftmaxParams},
};

use crate::BackendError;

/// Number of elements of a shape.
///
/// If it does not fit, `u64::MAX`, which is no view's length.
pub(super) fn product(shape: &[u64]) -> u64 {
    if shape.contains(&0) { 0 } else { shape.iter().fold(1, |all, &len| all.saturating_mul(len)) }
}

/// A number of elements as a length; the greatest length if it is too large to be one.
pub(super) fn count(elements: u64) -> usize {
    usize::try_from(elements).unwrap_or(usize::MAX)
}

/// The length of a view of a shape.
pub(in crate::ops) fn elements(shape: &[u64]) -> usize {
    count(product(shape))
}

/// Length required of a view of `len` elements whose strides reach `reached`.
///
/// It is `len`, if that is enough.
pub(super) fn at_least(reached: u64, len: usize) -> usize {
    count(reached).max(len)
}

/// Refuses a record of more axes than it has places for.
pub(in crate::ops) fn check_rank(op: &'static str, rank: u32) -> Result<(), BackendError> {
    match rank as usize <= MAX_RANK {
        true => Ok(()),
        false => Err(BackendError::Unsupported { op, why: "expected a tensor of at most 6 axes" }),
    }
}

/// Lengths of x, the mask and y of a softmax.
pub(super) fn softmax_lengths(op: &'static str, params: &SoftmaxParams) -> Result<[usize; 3], BackendError> {
    let AxisParams { outer, len, inner } = params.axis;
    if params.mask_period == 0 {
        return Err(BackendError::Unsupported { op, why: "the mask period is zero" });
    }
    let all = elements(&[outer, len, inner]);
    Ok([all, elements(&[params.mask_period, len, inner]), all])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_stop_at_the_greatest_number() {
        assert_eq!(product(&[]), 1);
        assert_eq!(product(&[3, 4, 5]), 60);
        assert_eq!(product(&[1 << 40, 1 << 40]), u64::MAX);
        assert_eq!(product(&[1 << 40, 1 << 40, 0]), 0);
        assert_eq!(elements(&[1 << 40, 1 << 40]), usize::MAX);
    }
}
