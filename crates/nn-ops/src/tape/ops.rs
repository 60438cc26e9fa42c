//! Recorded ops that compute new elements.

use backend_api::DType;

use super::{
    node::NodeKind,
    record::Tape,
    tensors::{AnyRef, AnyTensor, both, each},
    var::Var,
};
use crate::{
    Activation, Binary, Reduction,
    error::{NnError, Result},
    functional::Functional,
    layers::{AnyLayer, Embedding, Layer, LayerOps, Parameters, Sequential},
    movement::Indices,
    optim::Precision,
    tensor::TensorRef,
};

impl<'a, Q: LayerOps + 'a, T: Precision> Tape<'a, Q, T> {
    /// The output of a layer.
    ///
    /// # Errors
    /// As [`Layer::forward`]; [`NnError::OtherTape`] for a variable of another tape.
    pub fn layer(&mut self, layer: impl Into<AnyLayer>, x: Var) -> Result<Var> {
        let (layer, x) = (layer.into(), self.index(x)?);
        let input = self.packed(x)?;
        let (y, saved) = layer.forward(self.q, self.values, self.mode, input.at())?;
        drop(input);
        let needs = self.needs(&[x]) || self.mode.is_training() && !layer.ids().is_empty();
        Ok(self.own(AnyTensor::Own(y), needs, NodeKind::Layer { layer, saved, x }))
    }

    /// The output of layers one after the other. Each layer is recorded.
    ///
    /// # Errors
    /// As [`layer`](Self::layer).
    pub fn sequence(&mut self, layers: &Sequential, x: Var) -> Result<Var> {
        self.index(x)?;
        layers.layers().iter().try_fold(x, |x, &layer| self.layer(layer, x))
    }

    /// The rows of a table that `indices` name, `[count, features]`.
    ///
    /// # Errors
    /// As [`Embedding::forward`].
    pub fn embedding(&mut self, layer: &Embedding, indices: &'a Indices<Q>) -> Result<Var> {
        let y = layer.forward(self.q, self.values, indices)?;
        let needs = self.mode.is_training();
        Ok(self.own(AnyTensor::Own(y), needs, NodeKind::Embedding { layer: *layer, indices }))
    }

    /// The products of matrices `[.., m, k]` and `[.., k, n]`, whose leading axes broadcast.
    ///
    /// A transposed factor is not copied.
    ///
    /// # Errors
    /// As [`GemmPlan::new`](crate::GemmPlan::new); [`NnError::OtherTape`] for a variable of another
    /// tape, [`NnError::Backend`] from the device.
    pub fn matmul(&mut self, a: Var, b: Var) -> Result<Var> {
        let (a, b) = (self.index(a)?, self.index(b)?);
        let y = both!(self.q, [self.at(a)?, self.at(b)?], |a, b| Functional::matmul(self.q, &a, &b)?);
        Ok(self.computed(y, &[a, b], NodeKind::Matmul { a, b }))
    }

    /// `a + b`, whose axes broadcast by the rules of NumPy.
    ///
    /// # Errors
    /// [`NnError::Broadcast`] for shapes without a common one, [`NnError::OtherTape`] for a
    /// variable of another tape, [`NnError::Backend`] from the device.
    pub fn add(&mut self, a: Var, b: Var) -> Result<Var> {
        self.combine(Binary::Add, [a, b], |a, b| NodeKind::Sum { a, b, sign: 1.0 })
    }

    /// `a - b`, whose axes broadcast by the rules of NumPy.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn sub(&mut self, a: Var, b: Var) -> Result<Var> {
        self.combine(Binary::Sub, [a, b], |a, b| NodeKind::Sum { a, b, sign: -1.0 })
    }

    /// `a b`, element by element, whose axes broadcast by the rules of NumPy.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn mul(&mut self, a: Var, b: Var) -> Result<Var> {
        self.combine(Binary::Mul, [a, b], |a, b| NodeKind::Product { a, b })
    }

    fn combine(
        &mut self,
        op: Binary,
        [a, b]: [Var; 2],
        kind: impl FnOnce(usize, usize) -> NodeKind<'a, Q, T>,
    ) -> Result<Var> {
        let (a, b) = (self.index(a)?, self.index(b)?);
        let y = both!(self.q, [self.at(a)?, self.at(b)?], |a, b| Functional::binary(self.q, op, &a, &b)?);
        Ok(self.computed(y, &[a, b], kind(a, b)))
    }

    /// `factor x`.
    ///
    /// # Errors
    /// [`NnError::OtherTape`] for a variable of another tape, [`NnError::Backend`] from the device.
    pub fn scale(&mut self, x: Var, factor: f32) -> Result<Var> {
        let x = self.index(x)?;
        let y = each!(self.at(x)?, |x| Functional::scaled(self.q, &x, factor)?);
        Ok(self.computed(y, &[x], NodeKind::Scale { factor, x }))
    }

    /// `f(x)`, element by element.
    ///
    /// # Errors
    /// As [`scale`](Self::scale).
    pub fn activate(&mut self, f: Activation, x: Var) -> Result<Var> {
        let x = self.index(x)?;
        let y = each!(self.at(x)?, |x| Functional::activate(self.q, f, &x)?);
        Ok(self.computed(y, &[x], NodeKind::Activation { f, x }))
    }

    /// The softmax along an axis; see [`SoftmaxPlan::softmax`](crate::SoftmaxPlan::softmax).
    ///
    /// # Errors
    /// As [`SoftmaxPlan::new`](crate::SoftmaxPlan::new) and [`scale`](Self::scale).
    pub fn softmax(&mut self, x: Var, axis: usize) -> Result<Var> {
        let x = self.index(x)?;
        let y = each!(self.at(x)?, |x| Functional::softmax(self.q, &x, axis)?);
        Ok(self.computed(y, &[x], NodeKind::Softmax { is_log: false, axis, x }))
    }

    /// The logarithm of the softmax along an axis.
    ///
    /// See [`SoftmaxPlan::log_softmax`](crate::SoftmaxPlan::log_softmax).
    ///
    /// # Errors
    /// As [`softmax`](Self::softmax).
    pub fn log_softmax(&mut self, x: Var, axis: usize) -> Result<Var> {
        let x = self.index(x)?;
        let y = each!(self.at(x)?, |x| Functional::log_softmax(self.q, &x, axis)?);
        Ok(self.computed(y, &[x], NodeKind::Softmax { is_log: true, axis, x }))
    }

    /// The sum over `axes`, which the result lacks.
    ///
    /// # Errors
    /// As [`ReducePlan::new`](crate::ReducePlan::new) and [`scale`](Self::scale).
    pub fn sum(&mut self, x: Var, axes: &[usize]) -> Result<Var> {
        self.reduce(x, axes, Reduction::Sum)
    }

    /// The mean over `axes`, which the result lacks.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    pub fn mean(&mut self, x: Var, axes: &[usize]) -> Result<Var> {
        self.reduce(x, axes, Reduction::Mean)
    }

    fn reduce(&mut self, x: Var, axes: &[usize], reduction: Reduction) -> Result<Var> {
        let x = self.index(x)?;
        let y = each!(self.at(x)?, |x| Functional::reduce(self.q, reduction, &x, axes)?);
        let count: usize = axes.iter().map(|&axis| self.nodes[x].layout.shape()[axis]).product();
        let factor = (reduction == Reduction::Mean).then_some(1.0 / count as f32);
        Ok(self.computed(y, &[x], NodeKind::Reduce { axes: axes.to_vec(), factor, x }))
    }

    /// The value in f32, for sums and functions that `T` would round.
    ///
    /// Without effect on values in f32.
    ///
    /// # Errors
    /// As [`scale`](Self::scale).
    pub fn widen(&mut self, x: Var) -> Result<Var> {
        let from = self.index(x)?;
        let y = match self.at(from)? {
            AnyRef::Own(x) if T::DTYPE != DType::F32 => Functional::widen(self.q, &x)?,
            AnyRef::Own(_) | AnyRef::Wide(_) => return Ok(x),
        };
        Ok(self.computed(AnyTensor::wide(y), &[from], NodeKind::Widen { x: from }))
    }

    /// The mean softmax cross-entropy of logits `[rows, classes]`, a tensor without axes.
    ///
    /// It is in f32. Rows whose target is not below `classes` have a loss of zero; they count in
    /// the mean.
    ///
    /// # Errors
    /// [`NnError::Rank`] unless the logits are a matrix, [`NnError::EmptyReduction`] without rows,
    /// [`NnError::ShapeMismatch`] unless there is a target for each row; otherwise as
    /// [`scale`](Self::scale).
    pub fn cross_entropy(&mut self, logits: Var, targets: TensorRef<'_, Q, u32>) -> Result<Var> {
        const OP: &str = "cross_entropy";
        let x = self.index(logits)?;
        let [rows, _] = self.nodes[x].layout.lengths(OP, "logits")?;
        if rows == 0 {
            return Err(NnError::EmptyReduction { op: OP });
        }
        let logits = self.at(x)?.widened(self.q)?;
        let (losses, gradient) = Functional::cross_entropy(self.q, &logits.at(), &targets, 1.0 / rows as f32)?;
        drop(logits);
        let y = Functional::reduce(self.q, Reduction::Mean, &losses, &[0])?;
        Ok(self.computed(AnyTensor::wide(y), &[x], NodeKind::CrossEntropy { gradient, x }))
    }

    /// The mean of the squares of `x - target`, in f32 and without axes.
    ///
    /// # Errors
    /// [`NnError::ShapeMismatch`] for tensors of different shapes, [`NnError::EmptyReduction`]
    /// without elements; otherwise as [`scale`](Self::scale).
    pub fn mse(&mut self, x: Var, target: Var) -> Result<Var> {
        let (expected, got) = (self.shape(x)?, self.shape(target)?);
        if expected != got {
            return Err(NnError::shape("mse", "target", expected, got));
        }
        let axes: Vec<usize> = (0..expected.len()).collect();
        // Operands of 16 bits are widened for the difference alone: the tape records the originals.
        let (a, b) = (self.index(x)?, self.index(target)?);
        let difference = {
            let (x, target) = (self.at(a)?.widened(self.q)?, self.at(b)?.widened(self.q)?);
            Functional::binary(self.q, Binary::Sub, &x.at(), &target.at())?
        };
        let kind = NodeKind::Sum { a, b, sign: -1.0 };
        let difference = self.computed(AnyTensor::wide(difference), &[a, b], kind);
        let square = self.mul(difference, difference)?;
        self.mean(square, &axes)
    }
}
