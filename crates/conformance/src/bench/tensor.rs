//! A row added to every row, and sums over either axis, of 4096 rows of 1024 f32, one thread.

use std::{hint::black_box, num::NonZeroUsize};

use backend_api::{Buffer, Queue};
use cpu_backend::{CpuConfig, CpuQueue};
use nn_ops::{Binary, Reduction, Tensor, TensorMut, TensorRef, binary, reduce};

use super::{Contender, Contest, Goal, Show};

const ROWS: usize = 4096;
const COLUMNS: usize = 1024;
const SHAPE: [usize; 2] = [ROWS, COLUMNS];
const COUNT: usize = ROWS * COLUMNS;

/// Every contest of the op set, by name, each built only when its turn comes.
#[must_use]
pub fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all: Vec<(String, Box<dyn FnOnce() -> Contest>)> =
        vec![("nn.add_row".to_owned(), Box::new(|| contest("nn.add_row", 8.0, add_row(), copy())))];
    for (axis, name) in ["nn.sum_columns", "nn.sum_rows"].into_iter().enumerate() {
        all.push((name.to_owned(), Box::new(move || contest(name, 4.0, sum(axis), read()))));
    }
    all
}

/// A contest with its bound, which passes over the same bytes for each element.
fn contest(id: &str, bytes: f64, ours: Contender, bound: Contender) -> Contest {
    Contest {
        id: id.to_owned(),
        unit: "byte",
        work: bytes * COUNT as f64,
        show: Show::Rate,
        contenders: vec![ours, bound],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.9 }, "")],
    }
}

/// Values in -4..4.
fn input() -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 21) as f32 - 4.0
    };
    (0..COUNT).map(|_| next()).collect()
}

/// One thread on the strongest path.
#[expect(clippy::expect_used, reason = "a bench without its queue or its memory cannot go on")]
fn queue() -> CpuQueue {
    CpuQueue::open(CpuConfig { threads: NonZeroUsize::new(1), ..CpuConfig::default() }).expect("one thread is enough")
}

#[expect(clippy::expect_used, reason = "a bench without its queue or its memory cannot go on")]
fn add_row() -> Contender {
    let q = queue();
    let (x, row) = (q.upload(&input()).expect("16 MiB are free"), q.upload(&[0.5; COLUMNS]).expect("4 KiB are free"));
    let mut y = q.upload(&input()).expect("16 MiB are free");
    let mut run = move || {
        let (x, row) = (TensorRef::contiguous(x.view(), &SHAPE)?, TensorRef::contiguous(row.view(), &[COLUMNS])?);
        binary(&q, Binary::Add, x, row, TensorMut::contiguous(y.view_mut(), &SHAPE)?)
    };
    Contender::new("trefoil", move || run().expect("the shapes fit"))
}

#[expect(clippy::expect_used, reason = "a bench without its queue or its memory cannot go on")]
fn sum(axis: usize) -> Contender {
    let q = queue();
    let x = Tensor::from_values(&q, &SHAPE, &input()).expect("16 MiB are free");
    let mut y = Tensor::from_values(&q, &[SHAPE[1 - axis]], &input()[..SHAPE[1 - axis]]).expect("16 KiB are free");
    let mut run = move || reduce(&q, Reduction::Sum, x.at(), &[axis], y.at_mut());
    Contender::new("trefoil", move || run().expect("the shapes fit"))
}

/// The bound of a map: reading and writing the same number of bytes.
fn copy() -> Contender {
    let (x, mut y) = (input(), input());
    Contender::new("copy_from_slice", move || black_box(&mut y).copy_from_slice(black_box(&x)))
}

/// The bound of a sum: sixteen words of each 64 bytes, so that nothing but reading takes time.
fn read() -> Contender {
    let x = input();
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
