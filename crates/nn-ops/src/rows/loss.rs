//! Softmax cross-entropy against classes or probabilities, with its gradient.

use backend_api::{
    Real,
    ops::linalg::{CrossEntropy, CrossEntropyProbs},
};

use crate::{
    LossOps, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Unpacked},
    tensor::{Layout, TensorMut, TensorRef},
};

const OP: &str = "cross_entropy";
const PROBS: &str = "cross_entropy_probs";

/// Where the results of a cross-entropy go.
#[derive(Debug)]
pub struct CrossEntropyResults<'a, Q: LossOps + 'a, T: Real> {
    /// The loss of each row, `[rows]`.
    pub losses: TensorMut<'a, Q, f32>,
    /// The gradient of the logits, `[rows, classes]`.
    pub dlogits: TensorMut<'a, Q, T>,
}

/// Softmax cross-entropy with its gradient in the same pass.
///
/// The logits are `[rows, classes]`. Tensors that are not row-major are packed by a copy.
///
/// ```
/// use nn_ops::{CrossEntropyPlan, CrossEntropyResults, Tensor};
///
/// let q = runtime::cpu()?;
/// let logits = Tensor::from_values(&q, &[2, 2], &[0.0f32, 0.0, 3.0, 3.0])?;
/// let targets = Tensor::from_values(&q, &[2], &[0u32, 1])?;
/// let (mut losses, mut dlogits) = (Tensor::alloc(&q, &[2])?, Tensor::alloc(&q, &[2, 2])?);
/// let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: dlogits.at_mut() };
/// CrossEntropyPlan::new(2, 2)?.cross_entropy(&q, 1.0, logits.at(), targets.at(), results)?;
/// assert!(losses.values(&q)?.iter().all(|loss| (loss - 2f32.ln()).abs() < 1e-6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossEntropyPlan {
    classes: usize,
    logits: Layout,
    rows: Layout,
}

impl CrossEntropyPlan {
    /// A plan for `rows` rows of logits against class numbers.
    ///
    /// # Errors
    /// [`NnError::EmptyReduction`] for rows without classes, [`NnError::Overflow`] if no tensor has
    /// the shape.
    pub fn new(rows: usize, classes: usize) -> Result<Self> {
        Self::of(OP, rows, classes)
    }

    /// The same plan for [`cross_entropy_probs`](Self::cross_entropy_probs).
    ///
    /// Errors name that function.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn for_probs(rows: usize, classes: usize) -> Result<Self> {
        Self::of(PROBS, rows, classes)
    }

    fn of(op: &'static str, rows: usize, classes: usize) -> Result<Self> {
        if classes == 0 && rows > 0 {
            return Err(NnError::EmptyReduction { op });
        }
        Ok(Self { classes, logits: Layout::of(op, &[rows, classes])?, rows: Layout::of(op, &[rows])? })
    }

    /// The row-major layout of the logits, which the op reads without a copy.
    #[must_use]
    pub fn logits(&self) -> &Layout {
        &self.logits
    }

    /// Computes the losses and their gradients for class numbers.
    ///
    /// `losses[r] = ln(sum_j exp(x_rj)) - x_rc` for class `c = targets[r]`, and
    /// `dlogits = scale (softmax(x) - onehot(c))`. Pass `scale = 1 / rows` for the gradient of the
    /// mean. Rows whose target is not below `classes` are ignored (zero loss and gradient). Targets
    /// are `[rows]`.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for a tensor of another shape, [`NnError::Backend`] from the
    /// device.
    pub fn cross_entropy<Q: LossOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        scale: f32,
        logits: TensorRef<'_, Q, T>,
        targets: TensorRef<'_, Q, u32>,
        results: CrossEntropyResults<'_, Q, T>,
    ) -> Result<()> {
        let (mut logits, mut targets) =
            (logits.fit(OP, "logits", &self.logits)?, targets.fit(OP, "targets", &self.rows)?);
        let dlogits = results.dlogits.fit(OP, "dlogits", &self.logits)?;
        let losses = results.losses.fit(OP, "losses", &self.rows)?;
        if self.rows.numel() == 0 {
            return Ok(());
        }
        let (mut of_rows, mut gradient) = (Unpacked::new(), Unpacked::new());
        q.cross_entropy(CrossEntropy {
            classes: self.classes,
            scale,
            logits: logits.view(q)?,
            targets: targets.view(q)?,
            losses: of_rows.target(q, losses)?,
            dlogits: gradient.target(q, dlogits)?,
        })?;
        of_rows.finish(q)?;
        gradient.finish(q)
    }

    /// Computes the losses and their gradients for target probabilities t.
    ///
    /// `losses[r] = -sum_j t_j log_softmax(x)_j` and `dlogits = scale (softmax(x) sum_i t_i - t)`.
    /// t has the shape of the logits.
    ///
    /// # Errors
    /// As [`cross_entropy`](Self::cross_entropy).
    pub fn cross_entropy_probs<Q: LossOps + TensorOps, T: Real>(
        &self,
        q: &Q,
        scale: f32,
        logits: TensorRef<'_, Q, T>,
        probs: TensorRef<'_, Q, T>,
        results: CrossEntropyResults<'_, Q, T>,
    ) -> Result<()> {
        let (mut logits, mut probs) =
            (logits.fit(PROBS, "logits", &self.logits)?, probs.fit(PROBS, "probs", &self.logits)?);
        let dlogits = results.dlogits.fit(PROBS, "dlogits", &self.logits)?;
        let losses = results.losses.fit(PROBS, "losses", &self.rows)?;
        if self.rows.numel() == 0 {
            return Ok(());
        }
        let (mut of_rows, mut gradient) = (Unpacked::new(), Unpacked::new());
        q.cross_entropy_probs(CrossEntropyProbs {
            classes: self.classes,
            scale,
            logits: logits.view(q)?,
            probs: probs.view(q)?,
            losses: of_rows.target(q, losses)?,
            dlogits: gradient.target(q, dlogits)?,
        })?;
        of_rows.finish(q)?;
        gradient.finish(q)
    }
}

/// Softmax cross-entropy against class numbers; see [`CrossEntropyPlan::cross_entropy`].
///
/// # Errors
/// [`NnError::Rank`] unless the logits are a matrix; otherwise as [`CrossEntropyPlan::new`] and
/// [`CrossEntropyPlan::cross_entropy`].
pub fn cross_entropy<Q: LossOps + TensorOps, T: Real>(
    q: &Q,
    scale: f32,
    logits: TensorRef<'_, Q, T>,
    targets: TensorRef<'_, Q, u32>,
    results: CrossEntropyResults<'_, Q, T>,
) -> Result<()> {
    plan(OP, logits.layout())?.cross_entropy(q, scale, logits, targets, results)
}

/// Softmax cross-entropy against target probabilities.
///
/// See [`CrossEntropyPlan::cross_entropy_probs`].
///
/// # Errors
/// As [`cross_entropy`].
pub fn cross_entropy_probs<Q: LossOps + TensorOps, T: Real>(
    q: &Q,
    scale: f32,
    logits: TensorRef<'_, Q, T>,
    probs: TensorRef<'_, Q, T>,
    results: CrossEntropyResults<'_, Q, T>,
) -> Result<()> {
    plan(PROBS, logits.layout())?.cross_entropy_probs(q, scale, logits, probs, results)
}

fn plan(op: &'static str, logits: &Layout) -> Result<CrossEntropyPlan> {
    let [rows, classes] = logits.lengths(op, "logits")?;
    CrossEntropyPlan::of(op, rows, classes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_classes_are_refused_by_the_op_that_the_plan_is_for() {
        assert_eq!(CrossEntropyPlan::new(2, 0), Err(NnError::EmptyReduction { op: "cross_entropy" }));
        assert_eq!(CrossEntropyPlan::for_probs(2, 0), Err(NnError::EmptyReduction { op: "cross_entropy_probs" }));
        assert_eq!(CrossEntropyPlan::new(0, 0), CrossEntropyPlan::for_probs(0, 0));
    }
}
