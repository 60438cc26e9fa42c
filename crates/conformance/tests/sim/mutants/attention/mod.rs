//! Launches of single kernels of attention on sizes at which each of their bounds tests matters.
//!
//! Results are compared with the processor's.

mod backward;
mod forward;

use std::ops::Range;

use backend_api::{
    BackendError, Queue, Real,
    ops::linalg::{Attention, AttentionBackward, AttentionOps},
};
use conformance::Failure;
use core_types::params::{
    attention::{AttentionParams, HeadStrides},
    elementwise::DropoutParams,
};
use cuda_backend::{CudaBuf, CudaQueue};

use super::trials::Trial;

/// Queries, keys and the length of a row: a query and a key alone, whose loads end at once, by one element and by four.
const ALONE: [[u64; 3]; 2] = [[1, 1, 1], [1, 1, 4]];
/// Numbers of lines of causal launches: the last lines are, in turn, each of a thread's, which has some in every eight.
const LINES: [u64; 4] = [8, 16, 24, 32];
/// Elements of a row of causal launches.
const DIAGONAL_DIM: u64 = 4;

/// Trials of every kernel but the products of rows, which the suite covers.
pub(super) fn trials() -> Vec<Trial> {
    forward::trials().into_iter().chain(backward::trials()).collect()
}

/// Lengths of rows at which each store of a thread is the last one of its row.
///
/// The matrix units store two elements in every eight, the ordinary units four in every 32.
fn lengths(longest: u64, on_matrix_units: bool) -> impl Iterator<Item = u64> {
    (1..=longest).filter(move |dim| if on_matrix_units { dim % 8 == 1 } else { (1..=4).contains(&(dim % 32)) })
}

/// Row-major `[1, rows, 1, dim]` operands without masks and dropout.
fn packed([queries, keys, dim]: [u64; 3]) -> AttentionParams {
    let (of_queries, of_keys) = (HeadStrides::by_row(queries, 1, dim), HeadStrides::by_row(keys, 1, dim));
    AttentionParams {
        batch: 1,
        heads: 1,
        kv_heads: 1,
        queries,
        keys,
        dim,
        q: of_queries,
        k: of_keys,
        v: of_keys,
        y: of_queries,
        mask: HeadStrides::by_head(1, queries, keys),
        causal_offset: 0,
        causal: 0,
        scale: 0.25,
        dropout: DropoutParams { seed: 0, site: 0, step: 0, first: 0, threshold: 0, scale: 1.0 },
    }
}

/// The record in words of eight bytes.
fn words(p: &AttentionParams) -> [u64; 28] {
    let mut words = [0; 28];
    words[..6].copy_from_slice(&[p.batch, p.heads, p.kv_heads, p.queries, p.keys, p.dim]);
    for (to, strides) in words[6..21].chunks_mut(3).zip([p.q, p.k, p.v, p.y, p.mask]) {
        to.copy_from_slice(&[strides.batch, strides.head, strides.row]);
    }
    (words[21], words[22]) = (p.causal_offset.cast_unsigned(), u64::from(p.causal));
    words[22] |= u64::from(p.scale.to_bits()) << 32;
    words[27] = p.dropout.scale.to_bits().into();
    words
}

/// Operands in host memory.
struct HostOperands<T> {
    queries: Vec<T>,
    keys: Vec<T>,
    values: Vec<T>,
    /// The gradient with respect to the result.
    g: Vec<T>,
}

impl<T: Real> HostOperands<T> {
    /// Multiples of 1/8 from -1 to 7/8, exact in every element type.
    fn new(p: &AttentionParams) -> Self {
        let operand = |rows: u64, seed: u64| {
            let word = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed).wrapping_mul(seed) >> 60;
            (0..rows * p.dim).map(|i| T::from_f32(word(i) as f32 / 8.0 - 1.0)).collect()
        };
        Self {
            queries: operand(p.queries, 3),
            keys: operand(p.keys, 5),
            values: operand(p.keys, 7),
            g: operand(p.queries, 11),
        }
    }

    /// Replaces these rows of keys and of values by NaN.
    fn spoil(&mut self, p: &AttentionParams, keys: Range<u64>, values: Range<u64>) {
        for (rows, range) in [(&mut self.keys, keys), (&mut self.values, values)] {
            rows[(range.start * p.dim) as usize..(range.end * p.dim) as usize].fill(T::from_f32(f32::NAN));
        }
    }

    /// Queries, keys, values and the gradient in device memory.
    fn upload(&self, q: &CudaQueue) -> Result<[CudaBuf<T>; 4], BackendError> {
        Ok([q.upload(&self.queries)?, q.upload(&self.keys)?, q.upload(&self.values)?, q.upload(&self.g)?])
    }

    /// The processor's results and logarithms of sums.
    fn forward(&self, p: &AttentionParams) -> Result<(Vec<T>, Vec<f32>), BackendError> {
        let (mut y, mut lse) = (vec![T::from_f32(9.0); self.queries.len()], vec![9.0f32; p.queries as usize]);
        runtime::cpu().unwrap().attention(Attention {
            params: p,
            q: self.queries.as_slice(),
            k: self.keys.as_slice(),
            v: self.values.as_slice(),
            key_lens: None,
            keep: None,
            addend: None,
            state: None,
            y: y.as_mut_slice(),
            lse: Some(lse.as_mut_slice()),
        })?;
        Ok((y, lse))
    }

    /// The processor's gradients with respect to queries, keys and values.
    fn backward(&self, p: &AttentionParams, y: &[T], lse: &[f32]) -> Result<[Vec<T>; 3], BackendError> {
        let [mut dq, mut dk, mut dv] =
            [&self.queries, &self.keys, &self.values].map(|like| vec![T::from_f32(9.0); like.len()]);
        runtime::cpu().unwrap().attention_backward(AttentionBackward {
            params: p,
            q: self.queries.as_slice(),
            k: self.keys.as_slice(),
            v: self.values.as_slice(),
            key_lens: None,
            keep: None,
            addend: None,
            state: None,
            y,
            lse,
            g: self.g.as_slice(),
            dq: dq.as_mut_slice(),
            dk: dk.as_mut_slice(),
            dv: dv.as_mut_slice(),
        })?;
        Ok([dq, dk, dv])
    }
}

/// Compares with results of the processor. Both round weights or results to `T`.
fn unless_near<T: Real>(expected: &[T], got: &[T]) -> Result<(), Failure> {
    let expected: Vec<f64> = expected.iter().map(|x| f64::from(x.to_f32())).collect();
    let got: Vec<f32> = got.iter().map(|x| x.to_f32()).collect();
    let within = if size_of::<T>() == 4 { 2e-5 } else { 2e-2 };
    Failure::unless_close(&expected, &got, within, within)
}
