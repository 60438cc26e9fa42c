//! Corrections of predictions.
//!
//! A prediction `p` becomes `p + c`, with `c = history a + model b` clamped to a magnitude of
//! `limit |p|`.

use core_types::params::correction::CorrectionParams;

use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{LaneKernel, dispatch},
};

/// `y` corrected, from the predictions or, without them, in place.
///
/// The other slices are at least as long as `y`.
struct Apply<'a> {
    params: &'a CorrectionParams,
    predictions: Option<&'a [f32]>,
    a: &'a [f32],
    b: &'a [f32],
    y: &'a mut [f32],
}

impl<L> LaneKernel<L> for Apply<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, _: L) {
        let Self { params, predictions, a, b, y } = self;
        if let Some(predictions) = predictions {
            for (((y, &p), &a), &b) in y.iter_mut().zip(predictions).zip(a).zip(b) {
                *y = params.corrected(p, a, b);
            }
        } else {
            for ((y, &a), &b) in y.iter_mut().zip(a).zip(b) {
                *y = params.corrected(*y, a, b);
            }
        }
    }
}

/// The op has checked that lengths are equal.
pub(super) fn run(
    q: &CpuQueue,
    params: &CorrectionParams,
    predictions: Option<&[f32]>,
    [a, b]: [&[f32]; 2],
    y: &mut [f32],
) {
    q.for_chunks(y, CHUNK, |i, y| {
        let first = i * CHUNK;
        let (a, b) = (&a[first..], &b[first..]);
        let predictions = predictions.map(|predictions| &predictions[first..]);
        dispatch(q.simd(), Apply { params, predictions, a, b, y });
    });
}
