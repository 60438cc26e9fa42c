//! Sizes of tensors whose elements lie in any order, and the bounds of maps.

use core_types::params::{
    elementwise::MAX_RANK,
    tensor::{Function, MapParams},
};

use crate::{BackendError, ops::op::lengths::require};

/// The axes in use.
fn axes(rank: u32, shape: &[u64; MAX_RANK]) -> &[u64] {
    &shape[..(rank as usize).min(MAX_RANK)]
}

/// Refuses a record of more axes than it has places for.
pub(in crate::ops) fn check_rank(op: &'static str, rank: u32) -> Result<(), BackendError> {
    require(op, rank as usize <= MAX_RANK, "expected a tensor of at most 6 axes")
}

/// Number of elements of a shape.
///
/// If it does not fit, `u64::MAX`, which is no view's length.
pub(in crate::ops) fn product(rank: u32, shape: &[u64; MAX_RANK]) -> u64 {
    let axes = axes(rank, shape);
    if axes.contains(&0) { 0 } else { axes.iter().fold(1, |all, &len| all.saturating_mul(len)) }
}

/// The elements that strides reach.
pub(in crate::ops) fn reached(rank: u32, shape: &[u64; MAX_RANK], strides: &[u64; MAX_RANK]) -> u64 {
    let reach = |end: u64, (&len, &stride): (&u64, &u64)| end.saturating_add(stride.saturating_mul(len - 1));
    match product(rank, shape) {
        0 => 0,
        _ => axes(rank, shape).iter().zip(strides).fold(1, reach),
    }
}

/// Whether strides are row-major without gaps.
///
/// Axes of length 1 do not matter; without elements, no axis does.
pub(in crate::ops) fn is_row_major(rank: u32, shape: &[u64; MAX_RANK], strides: &[u64; MAX_RANK]) -> bool {
    let mut next = 1u64;
    product(rank, shape) == 0
        || axes(rank, shape).iter().zip(strides).rev().all(|(&len, &stride)| {
            let fits = len == 1 || stride == next;
            next = next.saturating_mul(len);
            fits
        })
}

/// Whether each stride exceeds the reach of all shorter strides.
///
/// Strides of axes of length 1 do not matter. No axis is empty, and the elements lie within a view.
pub(super) fn is_nested(rank: u32, shape: &[u64; MAX_RANK], strides: &[u64; MAX_RANK]) -> bool {
    let mut walked = [(0, 1); MAX_RANK];
    for (slot, (&len, &stride)) in walked.iter_mut().zip(axes(rank, shape).iter().zip(strides)) {
        *slot = if len > 1 { (stride, len) } else { (0, 1) };
    }
    walked.sort_unstable();
    let mut reached = 0;
    walked.iter().filter(|&&(_, len)| len > 1).all(|&(stride, len)| {
        let apart = stride > reached;
        reached += stride * (len - 1);
        apart
    })
}

/// Why a function with these bounds is not defined, if it is not.
pub(super) fn map_fault(p: &MapParams) -> Option<&'static str> {
    match p.f {
        Function::Clamp if p.low.is_nan() || p.high.is_nan() || p.low > p.high => {
            Some("the lower bound of the clamp exceeds the upper bound, or a bound is NaN")
        }
        Function::Huber if p.high.is_nan() || p.high <= 0.0 => Some("the bound of a Huber function is not positive"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn six(axes: [u64; 3]) -> [u64; MAX_RANK] {
        [axes[0], axes[1], axes[2], 1, 1, 1]
    }

    #[test]
    fn nested_strides_never_overlap() {
        let mut nested = 0;
        for code in 0..8u64.pow(3) {
            let strides = six([code % 8, code / 8 % 8, code / 64]);
            let shape = six([3, 2, 2]);
            let place = |i: u64| i / 4 * strides[0] + i / 2 % 2 * strides[1] + i % 2 * strides[2];
            let mut places: Vec<u64> = (0..12).map(place).collect();
            let last = places.iter().max().copied().unwrap_or_default();
            assert_eq!(reached(3, &shape, &strides), last + 1);
            places.sort_unstable();
            places.dedup();
            if is_nested(3, &shape, &strides) {
                nested += 1;
                assert_eq!(places.len(), 12, "{strides:?}");
            }
        }
        assert!(nested > 20, "{nested}");
        assert!(
            is_row_major(3, &six([3, 1, 2]), &six([2, 77, 1])) && !is_row_major(2, &six([3, 2, 1]), &six([3, 1, 1]))
        );
        assert!(is_row_major(3, &six([2, 0, 3]), &six([3, 3, 1])) && is_row_major(2, &six([2, 0, 1]), &six([7, 5, 0])));
    }

    #[test]
    fn lengths_that_do_not_fit_are_no_views() {
        assert_eq!(product(2, &six([1 << 40, 1 << 40, 1])), u64::MAX);
        assert_eq!(reached(2, &six([2, 3, 1]), &six([u64::MAX, u64::MAX, 0])), u64::MAX);
        assert_eq!(reached(2, &six([0, 3, 1]), &six([u64::MAX, u64::MAX, 0])), 0);
    }
}
