//! Devices, inputs and comparisons.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use backend_api::{Buffer, Element, Queue, Real};
use cuda_backend::{CudaBuf, CudaConfig, CudaQueue};
use cuda_sim::driver::simulate;

/// Orders of turns of blocks and warps.
const ORDERS: [&str; 3] = ["order=natural", "order=reverse", "order=seeded;seed=3"];

/// Runs `body` on a device of each order, with every checker on.
pub(crate) fn on_every_order(body: impl Fn(&CudaQueue)) {
    ORDERS.into_iter().for_each(|order| on_device(order, &body));
}

/// Runs `body` on one device with every checker on.
pub(crate) fn on_device(order: &str, body: impl Fn(&CudaQueue)) {
    let session = simulate(&format!("{order};checks=sanitize")).unwrap();
    let queue = CudaQueue::open(CudaConfig::default()).unwrap();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        body(&queue);
        queue.finish().unwrap();
    }));
    drop(queue);
    assert_eq!(session.reports(), [], "{order}");
    outcome.unwrap_or_else(|panic| resume_unwind(panic));
}

/// Multiples of 2^-12 times `bound`, up to `bound` in magnitude, rounded to `T`.
pub(crate) fn reals<T: Real>(seed: u64, count: usize, bound: f32) -> Vec<T> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let real = || T::from_f32(f32::from(rng.i16(-4096..4096)) / 4096.0 * bound);
    std::iter::repeat_with(real).take(count).collect()
}

/// The exact values.
pub(crate) fn wide<T: Real>(x: &[T]) -> Vec<f64> {
    x.iter().map(|x| f64::from(x.to_f32())).collect()
}

/// A buffer with `lead` elements before the values, so that a view of the values is as badly aligned as that makes
/// it.
pub(crate) fn after_lead<T: Element>(q: &CudaQueue, lead: usize, x: &[T]) -> CudaBuf<T> {
    let mut buf = q.zeros::<T>(lead + x.len()).unwrap();
    q.write(x, buf.slice_mut(lead..lead + x.len()).unwrap()).unwrap();
    buf
}

/// Half a unit in the last place of `T`, relative; zero for f32, whose tolerances state it.
pub(crate) fn rounding<T: Real>() -> f64 {
    match T::DTYPE {
        backend_api::DType::F16 => 2f64.powi(-11),
        backend_api::DType::Bf16 => 2f64.powi(-8),
        _ => 0.0,
    }
}

/// Asserts `|got - want| <= rtol |want| + atol`, NaN equal to NaN.
pub(crate) fn assert_close<T: Real>(what: &str, want: &[f64], got: &[T], rtol: f64, atol: f64) {
    assert_eq!(want.len(), got.len(), "{what}");
    for (i, (&want, got)) in want.iter().zip(got).enumerate() {
        let got = f64::from(got.to_f32());
        let same = want == got || (want.is_nan() && got.is_nan());
        let close = want.is_finite() && (got - want).abs() <= rtol * want.abs() + atol;
        assert!(same || close, "{what}, element {i}: expected {want:e}, got {got:e}");
    }
}

/// Asserts an error within `bound` times the Euclidean norm of `want`, or of a tenth in every element.
pub(crate) fn assert_near<T: Real>(what: &str, want: &[f64], got: &[T], bound: f64) {
    assert_eq!(want.len(), got.len(), "{what}");
    let size = want.iter().map(|w| w * w).sum::<f64>().sqrt().max(0.1 * (want.len() as f64).sqrt());
    let error = want.iter().zip(wide(got)).map(|(w, g)| (w - g).powi(2)).sum::<f64>().sqrt();
    assert!(error <= bound * size, "{what}: error {error:e} above {:e}", bound * size);
}
