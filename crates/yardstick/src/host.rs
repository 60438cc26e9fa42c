//! Networks on one thread of the processor: the queue, inputs, and what memory allows.

use std::{hint::black_box, num::NonZeroUsize};

use backend_api::Real;
use cpu_backend::{CpuConfig, CpuQueue};
use nn_ops::{NnError, Tensor};

use super::Contender;

/// Does the work of a line once.
pub(super) type Run = Box<dyn FnMut() -> Result<(), NnError>>;

/// Our side of a line: what `prepare` makes for a queue of one thread, on the strongest path.
#[expect(clippy::expect_used, reason = "a bench without its queue, its memory or its shapes cannot go on")]
pub(super) fn ours(prepare: impl FnOnce(CpuQueue) -> Result<Run, NnError>) -> Contender {
    let config = CpuConfig { threads: NonZeroUsize::new(1), ..CpuConfig::default() };
    let q = CpuQueue::open(config).expect("one thread is enough");
    let mut run = prepare(q).expect("inputs of some MiB");
    Contender::new("trefoil", move || run().expect("the shapes fit"))
}

/// Values in `-size..size`, the same in every run.
pub(super) fn values<T: Real>(count: usize, size: f32) -> Vec<T> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        T::from_f32(((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * size)
    };
    (0..count).map(|_| next()).collect()
}

/// A tensor of [`values`].
pub(super) fn tensor<T: Real>(q: &CpuQueue, shape: &[usize], size: f32) -> Result<Tensor<CpuQueue, T>, NnError> {
    Tensor::from_values(q, shape, &values(shape.iter().product(), size))
}

/// The bound of a map: a copy that moves `bytes` bytes, half read and half written.
pub(super) fn copy(bytes: usize) -> Contender {
    let (x, mut y) = (values::<f32>(bytes / 8, 1.0), values::<f32>(bytes / 8, 1.0));
    Contender::new("copy_from_slice", move || black_box(&mut y).copy_from_slice(black_box(&x)))
}

/// The bound of a sum.
///
/// It reads sixteen words of each 64 bytes, so that nothing but reading takes time.
pub(super) fn read(bytes: usize) -> Contender {
    let x = values::<f32>(bytes / 4, 1.0);
    Contender::new("reading", move || {
        let mut words = [0u32; 64];
        for chunk in black_box(&x).chunks_exact(64) {
            for (word, x) in words.iter_mut().zip(chunk) {
                *word |= x.to_bits();
            }
        }
        black_box(words);
    })
}
