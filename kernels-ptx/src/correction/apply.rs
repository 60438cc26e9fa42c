//! Corrections of predictions: one pass, bound by memory.
//!
//! A one-dimensional grid of 256 threads that strides by the grid.
//!
//! # Safety
//! Views hold `len` elements; `y` may be `predictions`.

use core_types::params::correction::CorrectionParams;

use crate::linalg::{
    index::{THREADS, for_elements},
    real::{Real, aligned4},
};

/// `y` is the corrected prediction, four at a time where all views are aligned to four.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn correction_apply(
    p: CorrectionParams,
    len: u64,
    predictions: *const f32,
    a: *const f32,
    b: *const f32,
    y: *mut f32,
) {
    for_elements(
        len,
        aligned4(predictions) && aligned4(a) && aligned4(b) && aligned4(y),
        |i| {
            let [p0, p1, p2, p3] = Real::load4(predictions.add(i));
            let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (Real::load4(a.add(i)), Real::load4(b.add(i)));
            let corrected =
                [p.corrected(p0, a0, b0), p.corrected(p1, a1, b1), p.corrected(p2, a2, b2), p.corrected(p3, a3, b3)];
            Real::store4(y.add(i), corrected);
        },
        |i| *y.add(i) = p.corrected(*predictions.add(i), *a.add(i), *b.add(i)),
    );
}

kernel_table! {
    correction_apply: block [THREADS, 1, 1], min_blocks 8, shared None, barriers 0;
}
