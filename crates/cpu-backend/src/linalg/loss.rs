//! Cross entropy of logits with its gradient.

use backend_api::{
    BackendError, DType, Real,
    ops::linalg::{CrossEntropy, CrossEntropyProbs, LossOps},
};

use super::{
    rows::{
        PART_STEPS,
        convert::{OutRow, scratch, widen},
    },
    vmath::exp,
};
use crate::{
    CpuQueue,
    simd::{Kernel, dispatch, floats::Floats},
};

impl LossOps for CpuQueue {
    fn cross_entropy<T: Real>(&self, op: CrossEntropy<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let CrossEntropy { classes, scale, logits, targets, losses, dlogits } = op;
        self.for_rows(classes, logits, losses, dlogits, |r, x, e| {
            let target = targets[r] as usize;
            if target >= classes {
                e.fill(0.0);
                return 0.0;
            }
            let (max, sum) = shifted_exp(self, x, e);
            let factor = scale / sum;
            e.iter_mut().for_each(|e| *e *= factor);
            e[target] -= scale;
            sum.ln() - (x[target] - max)
        })
    }

    fn cross_entropy_probs<T: Real>(&self, op: CrossEntropyProbs<'_, Self, T>) -> Result<(), BackendError> {
        op.check()?;
        let CrossEntropyProbs { classes, scale, logits, probs, losses, dlogits } = op;
        self.for_rows(classes, logits, losses, dlogits, |r, x, e| {
            let probs = &probs[r * classes..][..classes];
            let (max, sum) = shifted_exp(self, x, e);
            let (mut total, mut dot) = (0.0f64, 0.0f64);
            for (&x, t) in x.iter().zip(probs) {
                let t = t.to_f32();
                total += f64::from(t);
                if t != 0.0 {
                    dot += f64::from(t) * f64::from(x - max); // 0 ln 0 is 0
                }
            }
            let factor = total as f32 / sum;
            e.iter_mut().zip(probs).for_each(|(e, t)| *e = scale * (*e * factor - t.to_f32()));
            (total * f64::from(sum.ln()) - dot) as f32
        })
    }
}

impl CpuQueue {
    /// Runs `body(row, logits, gradient) -> loss` over rows in f32. The op has checked the lengths.
    fn for_rows<T: Real>(
        &self,
        classes: usize,
        logits: &[T],
        losses: &mut [f32],
        dlogits: &mut [T],
        body: impl Fn(usize, &[f32], &mut [f32]) -> f32 + Sync,
    ) -> Result<(), BackendError> {
        if logits.is_empty() {
            return Ok(());
        }
        let rows_per_task = (1usize << 14).div_ceil(classes);
        let tasks: Vec<_> = dlogits.chunks_mut(rows_per_task * classes).zip(losses.chunks_mut(rows_per_task)).collect();
        let _scratch = match T::DTYPE {
            DType::F32 => None,
            _ => Some(self.reserve_scratch::<f32>(tasks.len(), 2 * classes)?),
        };
        self.for_jobs(tasks, |task, (dlogits, losses)| {
            let (mut wide_x, mut wide_e) = (scratch::<T>(classes), scratch::<T>(classes));
            for (i, (dlogits, loss)) in dlogits.chunks_mut(classes).zip(losses).enumerate() {
                let r = task * rows_per_task + i;
                let x = widen(&logits[r * classes..][..classes], &mut wide_x);
                let mut e = OutRow::new(dlogits, &mut wide_e);
                *loss = body(r, x, e.values());
                e.finish();
            }
        });
        Ok(())
    }
}

/// Writes `exp(x - max)` and returns the maximum and the sum; a NaN in the row makes both NaN.
fn shifted_exp(q: &CpuQueue, x: &[f32], e: &mut [f32]) -> (f32, f32) {
    let max = x.iter().fold(f32::NEG_INFINITY, |max, &x| if x > max || x.is_nan() { x } else { max });
    (max, dispatch(q.simd(), ShiftedExp { x, max, e }))
}

struct ShiftedExp<'a> {
    x: &'a [f32],
    max: f32,
    e: &'a mut [f32],
}

impl<L: Floats> Kernel<L> for ShiftedExp<'_> {
    type Out = f32;

    #[inline(always)]
    fn run(self, l: L) -> f32 {
        let (max, part) = (l.splat(self.max), PART_STEPS * L::N);
        let mut sum = l.splat(0.0);
        for (x, e) in self.x.chunks(part).zip(self.e.chunks_mut(part)) {
            sum = l.add(sum, shifted_part(l, x, max, e));
        }
        l.sum(sum)
    }
}

/// Writes `exp(x - max)` and returns the sum.
#[inline(always)]
fn shifted_part<L: Floats>(l: L, x: &[f32], max: L::V, e: &mut [f32]) -> L::V {
    let mut sum = l.splat(0.0);
    let (mut xs, mut es) = (x.chunks_exact(L::N), e.chunks_exact_mut(L::N));
    for (x, e) in (&mut xs).zip(&mut es) {
        let v = exp(l, l.sub(l.load(x), max));
        sum = l.add(sum, v);
        l.store(e, v);
    }
    let x = xs.remainder();
    if !x.is_empty() {
        let v = exp(l, l.sub(l.load_partial(x, f32::NEG_INFINITY), max));
        sum = l.add(sum, v);
        l.store_partial(es.into_remainder(), v);
    }
    sum
}
