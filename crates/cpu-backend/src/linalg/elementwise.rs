//! Ops that treat every element the same way, and sums along an axis.

use backend_api::{
    BackendError, Real,
    ops::linalg::{self, Activate, ActivateBackward, AdamW, Axpby, Dropout, ElementwiseOps, SumAxis},
};
use core_types::{
    params::elementwise::{AdamWParams, Binary, MAX_RANK},
    philox,
};

use super::activation::{Backward, Map};
use crate::{
    CpuQueue,
    par::CHUNK,
    simd::{Kernel, dispatch, floats::Floats},
};

impl ElementwiseOps for CpuQueue {
    fn activate<T: Real>(&self, op: Activate<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let Activate { f, x, y } = op;
        self.for_blocks([x], y, |_, [x], y| dispatch(self.simd(), Map { f, x, y }));
        Ok(())
    }

    fn activate_backward<T: Real>(&self, op: ActivateBackward<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let ActivateBackward { f, saved, g, dx } = op;
        self.for_blocks([saved, g], dx, |_, [saved, g], dx| dispatch(self.simd(), Backward { f, saved, g, dx }));
        Ok(())
    }

    fn binary<T: Real>(&self, op: linalg::Binary<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let linalg::Binary { params: &p, a, b, y } = op;
        let numel = y.len();
        if numel == 0 {
            return Ok(());
        }
        let shape = p.shape.map(|len| len as usize);
        let rank = (p.rank as usize).min(MAX_RANK);
        let (a_strides, b_strides) = (p.a_strides.map(|s| s as usize), p.b_strides.map(|s| s as usize));
        if is_flat(&shape[..rank], &a_strides) && is_flat(&shape[..rank], &b_strides) {
            self.for_blocks([&a[..numel], &b[..numel]], y, |_, [a, b], y| zip(p.op, a, b, y));
            return Ok(());
        }
        // One row of the innermost axis at a time; its strides are loop constants.
        let (width, a_step, b_step) = match rank {
            0 => (1, 0, 0),
            _ => (shape[rank - 1], a_strides[rank - 1], b_strides[rank - 1]),
        };
        let rows_per_task = CHUNK.div_ceil(width);
        self.for_chunks(y, rows_per_task * width, |task, y| {
            for (r, y) in y.chunks_mut(width).enumerate() {
                let (mut at_a, mut at_b, mut index) = (0, 0, task * rows_per_task + r);
                for axis in (0..rank.saturating_sub(1)).rev() {
                    at_a += index % shape[axis] * a_strides[axis];
                    at_b += index % shape[axis] * b_strides[axis];
                    index /= shape[axis];
                }
                let (a, b) = (&a[at_a..], &b[at_b..]);
                for (i, y) in y.iter_mut().enumerate() {
                    *y = T::from_f32(apply(p.op, a[i * a_step].to_f32(), b[i * b_step].to_f32()));
                }
            }
        });
        Ok(())
    }

    fn axpby<T: Real>(&self, op: Axpby<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let Axpby { alpha, x, beta, y } = op;
        self.for_blocks([x], y, |_, [x], y| {
            if beta == 0.0 {
                y.iter_mut().zip(x).for_each(|(y, &x)| *y = alpha * x);
            } else {
                y.iter_mut().zip(x).for_each(|(y, &x)| *y = alpha * x + beta * *y);
            }
        });
        Ok(())
    }

    fn sum_axis<T: Real>(&self, op: SumAxis<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let SumAxis { params: p, x, y } = op;
        let (len, inner) = (p.len as usize, p.inner as usize);
        if y.is_empty() {
            return Ok(());
        }
        /// Columns summed side by side: a cache line of f16, two of f32.
        const STRIP: usize = 32;
        let finish = |y: &mut T, sum: f64| {
            let before = if p.accumulate == 1 { f64::from(y.to_f32()) } else { 0.0 };
            *y = T::from_f32((before + sum) as f32);
        };
        if inner == 1 {
            let rows_per_task = CHUNK.div_ceil(len.max(1));
            self.for_chunks(y, rows_per_task, |task, y| {
                let first = task * rows_per_task;
                for (r, y) in y.iter_mut().enumerate() {
                    finish(y, row_sum(&x[(first + r) * len..][..len]));
                }
            });
            return Ok(());
        }
        // Each `inner` row of the output is cut into strips; f64 sums keep the error at one rounding.
        for (o, y) in y.chunks_mut(inner).enumerate() {
            let x = &x[o * len * inner..][..len * inner];
            self.for_chunks(y, STRIP * 8, |task, y| {
                for (s, y) in y.chunks_mut(STRIP).enumerate() {
                    let first = task * STRIP * 8 + s * STRIP;
                    let mut sums = [0.0f64; STRIP];
                    for row in x.chunks_exact(inner) {
                        let row = &row[first..first + y.len()];
                        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(x.to_f32()));
                    }
                    y.iter_mut().zip(sums).for_each(|(y, sum)| finish(y, sum));
                }
            });
        }
        Ok(())
    }

    fn adam_w(&self, op: AdamW<'_, Self>) -> Result<(), BackendError> {
        op.check()?;
        let AdamW { params: p, g, m, v, w } = op;
        let jobs = g.chunks(CHUNK).zip(m.chunks_mut(CHUNK)).zip(v.chunks_mut(CHUNK)).zip(w.chunks_mut(CHUNK));
        self.for_jobs(jobs.collect(), |_, (((g, m), v), w)| dispatch(self.simd(), AdamStep { p, g, m, v, w }));
        Ok(())
    }

    fn dropout<T: Real>(&self, op: Dropout<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let Dropout { params: p, x, y } = op;
        self.for_blocks([x], y, |first, [x], y| {
            if p.threshold == 0 {
                y.iter_mut().zip(x).for_each(|(y, &x)| *y = x * p.scale);
                return;
            }
            let mut at = p.first.wrapping_add(first as u64);
            let (mut x, mut y) = (x, y);
            while !y.is_empty() {
                let words = philox::block(p.seed, p.site, p.step, at / 4);
                let used = (at % 4) as usize;
                let n = (4 - used).min(y.len());
                let (now, later) = y.split_at_mut(n);
                for ((y, &x), &word) in now.iter_mut().zip(x).zip(&words[used..]) {
                    *y = if u64::from(word) >= p.threshold { x * p.scale } else { 0.0 };
                }
                (x, y, at) = (&x[n..], later, at.wrapping_add(n as u64));
            }
        });
        Ok(())
    }
}

/// Whether the strides are row-major without gaps.
fn is_flat(shape: &[usize], strides: &[usize; MAX_RANK]) -> bool {
    let mut next = 1;
    shape.iter().zip(strides).rev().all(|(&len, &stride)| {
        let fits = len == 1 || stride == next;
        next *= len;
        fits
    })
}

#[inline]
fn apply(op: Binary, a: f32, b: f32) -> f32 {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
    }
}

fn zip(op: Binary, a: &[f32], b: &[f32], y: &mut [f32]) {
    let pairs = y.iter_mut().zip(a.iter().zip(b));
    match op {
        Binary::Add => pairs.for_each(|(y, (a, b))| *y = a + b),
        Binary::Sub => pairs.for_each(|(y, (a, b))| *y = a - b),
        Binary::Mul => pairs.for_each(|(y, (a, b))| *y = a * b),
    }
}

/// The sum of a row in eight interleaved f64 sums.
fn row_sum<T: Real>(row: &[T]) -> f64 {
    let mut sums = [0.0f64; 8];
    for chunk in row.chunks(8) {
        sums.iter_mut().zip(chunk).for_each(|(sum, x)| *sum += f64::from(x.to_f32()));
    }
    sums.iter().sum()
}

/// A step of AdamW on equally long slices.
struct AdamStep<'a> {
    p: &'a AdamWParams,
    g: &'a [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
    w: &'a mut [f32],
}

impl<L: Floats> Kernel<L> for AdamStep<'_> {
    type Out = ();

    /// Plain loops: the compiler may use the level's instructions, square roots included.
    #[inline(always)]
    fn run(self, _: L) {
        let Self { p, g, m, v, w } = self;
        for (((w, m), v), &g) in w.iter_mut().zip(m).zip(v).zip(g) {
            *m = p.beta1 * *m + (1.0 - p.beta1) * g;
            *v = p.beta2 * *v + (1.0 - p.beta2) * g * g;
            let step = *m * p.mean / ((*v * p.square).sqrt() + p.eps);
            *w -= p.rate * (step + p.decay * *w);
        }
    }
}
