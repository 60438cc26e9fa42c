//! Cross entropy of logits with its gradient.
//!
//! With `m` the greatest logit and `S = sum over j of exp(x_j - m)`, the loss for class `t` is
//! `ln S - (x_t - m)` and its gradient `exp(x_i - m) / S - 1[i = t]`. For probabilities `t_i` with
//! the sum `T`, they are `T ln S - sum over i of t_i (x_i - m)` and `T exp(x_i - m) / S - t_i`.

use backend_api::{
    BackendError, DType, Real,
    ops::linalg::{CrossEntropy, CrossEntropyProbs},
};

use super::{
    convert::in_f32,
    reals::{Reals, RealsMut},
    rows::{
        convert::{OutRow, next_row, scratch},
        softmax::{exp_and_sum, greatest},
    },
    vmath::EXP_SCALE,
};
use crate::checked::LossOps;
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// Logits of a task, at least.
const TASK_LOGITS: usize = 1 << 14;

/// Targets of the rows.
#[derive(Clone, Copy)]
enum Targets<'a> {
    /// The number of a class for each row.
    Classes(&'a [u32]),
    /// The probability of each class.
    Probs(Reals<'a>),
}

impl LossOps for CpuQueue {
    fn cross_entropy<T: Real>(&self, op: CrossEntropy<'_, Self, T>) -> Result<(), BackendError> {
        let CrossEntropy { classes, scale, logits, targets, losses, dlogits } = op;
        self.losses(classes, scale, Targets::Classes(targets), logits, losses, dlogits)
    }

    fn cross_entropy_probs<T: Real>(&self, op: CrossEntropyProbs<'_, Self, T>) -> Result<(), BackendError> {
        let CrossEntropyProbs { classes, scale, logits, probs, losses, dlogits } = op;
        self.losses(classes, scale, Targets::Probs(probs.into()), logits, losses, dlogits)
    }
}

impl CpuQueue {
    /// The op has checked the lengths.
    fn losses<T: Real>(
        &self,
        classes: usize,
        factor: f32,
        targets: Targets<'_>,
        logits: &[T],
        losses: &mut [f32],
        dlogits: &mut [T],
    ) -> Result<(), BackendError> {
        if logits.is_empty() {
            return Ok(());
        }
        let rows = TASK_LOGITS.div_ceil(classes);
        let tasks: Vec<_> = dlogits.chunks_mut(rows * classes).zip(losses.chunks_mut(rows)).collect();
        let _scratch = match T::DTYPE {
            DType::F32 => None,
            _ => Some(self.reserve_scratch::<f32>(tasks.len(), 2 * classes)?),
        };
        self.for_jobs(tasks, |task, (dlogits, losses)| {
            let first = task * rows;
            let logits = logits[first * classes..][..dlogits.len()].into();
            let targets = match targets {
                Targets::Classes(of_rows) => Targets::Classes(&of_rows[first..]),
                Targets::Probs(of_rows) => Targets::Probs(of_rows.after(first * classes)),
            };
            dispatch(self.simd(), LossRows { classes, factor, targets, logits, losses, dlogits: dlogits.into() });
        });
        Ok(())
    }
}

/// Some rows: their losses, and `factor` times the gradients of these.
struct LossRows<'a> {
    classes: usize,
    factor: f32,
    targets: Targets<'a>,
    logits: Reals<'a>,
    losses: &'a mut [f32],
    dlogits: RealsMut<'a>,
}

impl<L: Floats> LaneKernel<L> for LossRows<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self, l: L) {
        let Self { classes, factor, targets, logits, losses, mut dlogits } = self;
        let (mut wide_x, mut wide_e) = (scratch(logits, classes), scratch(logits, classes));
        for (row, (x, loss)) in logits.chunks(classes).zip(losses).enumerate() {
            let x = in_f32(l, x, &mut wide_x);
            let mut out = OutRow::new(dlogits.range(row * classes..(row + 1) * classes), &mut wide_e);
            let e = out.values();
            // The exponentials in `e` become the gradient.
            *loss = match targets {
                Targets::Classes(of_rows) => match of_rows[row] as usize {
                    target if target < classes => {
                        let next = next_row(logits, row, classes);
                        let (max, sum) = exponentials(l, x, next, e);
                        scale(l, e, 1.0 / sum, factor);
                        e[target] -= factor;
                        log(sum) - (x[target] - max)
                    }
                    _ => {
                        e.fill(0.0);
                        0.0
                    }
                },
                Targets::Probs(of_rows) => {
                    let probs = of_rows.range(row * classes..(row + 1) * classes);
                    let (max, sum) = exponentials(l, x, &[], e);
                    against_probs(x, probs, factor, [max, sum], e)
                }
            };
            out.finish(l);
        }
    }
}

/// Writes `2^64 exp(x - max)` and returns the maximum and the sum.
///
/// The sum is NaN if the row has a NaN or no number above -inf.
#[inline(always)]
fn exponentials<L: Floats>(l: L, x: &[f32], next: &[f32], e: &mut [f32]) -> (f32, f32) {
    let max = greatest(l, x, e);
    (max, exp_and_sum(l, x, next, max, e))
}

/// `e *= share factor`, in this order: elements that the first makes zero stay zero.
#[inline(always)]
fn scale<L: Floats>(l: L, e: &mut [f32], share: f32, factor: f32) {
    let (share, factor) = (l.splat(share), l.splat(factor));
    let mut vectors = e.chunks_exact_mut(L::N);
    for e in &mut vectors {
        let v = l.mul(l.mul(l.load(e), share), factor);
        l.store(e, v);
    }
    let rest = vectors.into_remainder();
    let v = l.mul(l.mul(l.load_partial(rest, 0.0), share), factor);
    l.store_partial(rest, v);
}

/// The logarithm of a sum of [`exponentials`].
fn log(sum: f32) -> f32 {
    (sum / EXP_SCALE).ln()
}

/// The loss against probabilities; `e`, which has the exponentials, becomes the gradient.
#[inline(always)]
fn against_probs(x: &[f32], probs: Reals<'_>, factor: f32, [max, sum]: [f32; 2], e: &mut [f32]) -> f32 {
    let (mut total, mut dot) = (0.0f64, 0.0f64);
    for (i, &x) in x.iter().enumerate() {
        let t = probs.get(i);
        total += f64::from(t);
        if t != 0.0 {
            dot += f64::from(t) * f64::from(x - max); // 0 ln 0 is 0
        }
    }
    let share = total as f32 / sum;
    for (i, e) in e.iter_mut().enumerate() {
        *e = factor * (*e * share - probs.get(i));
    }
    (total * f64::from(log(sum)) - dot) as f32
}
