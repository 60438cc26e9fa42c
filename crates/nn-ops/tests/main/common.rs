//! Queues and batches of several tests.

use backend_api::{Queue, Real};
use nn_ops::Tensor;
use runtime::{AnyQueue, Choice, Settings};

/// A tensor on the device that is tested.
pub(crate) type DeviceTensor = Tensor<AnyQueue, f32>;

pub(crate) fn open(choice: Choice) -> AnyQueue {
    runtime::open_with(&Settings::default(), None, Some(choice)).unwrap().0
}

/// Runs a test on the processor and on the simulated device.
pub(crate) fn on_each_device(test: impl Fn(&AnyQueue)) {
    for choice in [Choice::Cpu, Choice::Sim] {
        test(&open(choice));
    }
}

/// Rows of five features, and the class of each row, one of three.
pub(crate) fn batch(rows: usize) -> (Vec<f32>, Vec<u32>) {
    let x = (0..rows * 5).map(|i| ((i * 37 % 23) as f32 - 11.0) / 8.0).collect();
    (x, (0..rows as u32).map(|r| r * 5 % 3).collect())
}

/// A [`batch`] on a queue, its features rounded to `T`.
pub(crate) fn batch_on<Q: Queue, T: Real>(q: &Q, rows: usize) -> (Tensor<Q, T>, Tensor<Q, u32>) {
    let (x, y) = batch(rows);
    let x: Vec<T> = x.into_iter().map(T::from_f32).collect();
    (Tensor::from_values(q, &[rows, 5], &x).unwrap(), Tensor::from_values(q, &[rows], &y).unwrap())
}
