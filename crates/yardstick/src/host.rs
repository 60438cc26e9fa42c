//! Inputs of lines, and peers that do as much of one thing as the processor can.

use std::hint::black_box;

use backend_api::Real;
use core_types::{
    field::{M31, QM31},
    params::columns::ColumnAt,
};
use nn_ops::{NnError, Tensor};
use runtime::AnyQueue;

use crate::{Contender, Line, RunSize, peers::fma_peak};

/// Bytes of an element of a column.
pub(crate) const M31_BYTES: f64 = 4.0;

/// Bytes of an element of the secure field.
pub(crate) const SECURE_BYTES: f64 = 16.0;

/// Words that look random, different for each `salt`.
pub(crate) fn words(len: usize, salt: u64) -> Vec<u64> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    core::iter::repeat_with(step).take(len).collect()
}

/// Elements that look random, the same in every run.
pub(crate) fn elements(count: usize) -> Vec<M31> {
    (0..count as u32).map(|i| M31::from_u32(i.wrapping_mul(0x9e37_79b9))).collect()
}

/// The same without zeros.
pub(crate) fn nonzero_elements(count: usize) -> Vec<M31> {
    elements(count).into_iter().map(|x| if x == M31::ZERO { M31::ONE } else { x }).collect()
}

/// Elements of the secure field by their coordinates, none of them zero.
pub(crate) fn secure_elements(count: usize) -> Vec<QM31> {
    elements(4 * count).chunks(4).map(|x| QM31::from_coordinates([x[0], x[1], x[2], x[3]])).collect()
}

/// The places of columns of `2^log_size` that follow each other in one buffer.
pub(crate) fn places(log_size: u32, columns: u32) -> Vec<ColumnAt> {
    (0..columns).map(|column| ColumnAt::new(u64::from(column) << log_size, log_size)).collect()
}

/// Values in `-size..size`, the same in every run.
pub(crate) fn values<T: Real>(count: usize, size: f32) -> Vec<T> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        T::from_f32(((state >> 8) as f32 / (1 << 23) as f32 - 1.0) * size)
    };
    (0..count).map(|_| next()).collect()
}

/// A tensor of [`values`].
pub(crate) fn tensor<T: Real>(q: &AnyQueue, shape: &[usize], size: f32) -> Result<Tensor<AnyQueue, T>, NnError> {
    Tensor::from_values(q, shape, &values(shape.iter().product(), size))
}

/// The size of a line that reads or writes this number of tensors of `T`.
pub(crate) fn traffic<T>(tensors: usize, [rows, columns]: [usize; 2]) -> RunSize {
    RunSize::of_bytes(tensors * size_of::<T>() * rows * columns)
}

/// The id of a line of an operator on a matrix.
pub(crate) fn matrix_id(op: &str, [rows, columns]: [usize; 2]) -> String {
    format!("nn.{op}/{rows}x{columns}")
}

/// Adds the bound of a map: a copy that moves the line's bytes, half read and half written.
pub(crate) fn against_copy(line: Line) -> Line {
    let bytes = line.size.work as usize;
    line.peer(move || {
        let (x, mut y) = (values::<f32>(bytes / 8, 1.0), values::<f32>(bytes / 8, 1.0));
        Contender::new("copy_from_slice", move || black_box(&mut y).copy_from_slice(black_box(&x)))
    })
}

/// Adds the bound of a sum: reading the line's bytes.
///
/// It reads sixteen words of each 64 bytes, so that nothing but reading takes time.
pub(crate) fn against_reading(line: Line) -> Line {
    let bytes = line.size.work as usize;
    line.peer(move || {
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
    })
}

/// Adds the line's number of f32 operations in registers.
///
/// It uses the widest vectors that the processor has.
pub(crate) fn against_peak(line: Line) -> Line {
    let flops = line.size.work as u64;
    line.peer(move || {
        Contender::new("multiply-adds at peak", move || {
            black_box(fma_peak(flops));
        })
    })
}
