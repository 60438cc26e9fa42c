//! The backward pass of a tape.

use std::collections::BTreeMap;

use backend_api::{Buffer as _, Queue, Real};

use super::{
    node::{Node, NodeKind, value_of},
    record::Tape,
    tensors::{AnyRef, AnyTensor, both, each},
    var::{TapeId, Var},
};
use crate::{
    Binary, Reduction,
    elementwise::axpby,
    error::{NnError, Result},
    functional::{Functional, readable::Readable},
    layers::{Layer, LayerOps},
    movement::copy,
    optim::{Optimizer, ParameterArena, Precision},
    products::{matmul_backward_lhs, matmul_backward_rhs},
    tensor::Tensor,
};

const OP: &str = "tape_backward";

/// The gradients of a tape's variables.
///
/// After [`Tape::backward_scaled`] they are multiplied by the loss scale: divide by the
/// `loss_scale` of [`Optimizer::state`], read before the step.
pub struct VariableGradients<Q: Queue, T: Precision = f32> {
    tape: TapeId,
    tensors: BTreeMap<usize, Tensor<Q, T>>,
}

impl<Q: Queue, T: Precision> VariableGradients<Q, T> {
    /// The gradient of a variable, of its shape.
    ///
    /// There is none for other values, and for a variable that the loss does not depend on.
    #[must_use]
    pub fn of(&self, variable: Var) -> Option<&Tensor<Q, T>> {
        self.tensors.get(&variable.index).filter(|_| variable.tape == self.tape)
    }
}

impl<Q: Queue, T: Precision> core::fmt::Debug for VariableGradients<Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("VariableGradients").field("count", &self.tensors.len()).finish_non_exhaustive()
    }
}

impl<'a, Q: LayerOps + 'a, T: Precision> Tape<'a, Q, T> {
    /// Adds the gradients of `loss` to `gradients`, and returns the gradients of the variables.
    ///
    /// # Errors
    /// [`NnError::OtherTape`] for a loss of another tape, [`NnError::Length`] for a loss of more or
    /// fewer elements than one, [`NnError::NoGradient`] in [`Mode::Inference`](crate::Mode) and for
    /// a loss that depends on no parameter and no variable, [`NnError::OtherPlan`] for gradients of
    /// another table; nothing is added then. [`NnError::Backend`] from the device, for example if
    /// memory is short: `gradients` are zeros then, without the gradients of earlier passes. Only a
    /// lost device leaves them as they are; reading them fails with
    /// [`BackendError::DeviceLost`](backend_api::BackendError::DeviceLost).
    pub fn backward(self, loss: Var, gradients: &mut ParameterArena<Q, f32>) -> Result<VariableGradients<Q, T>> {
        self.run(loss, None, gradients)
    }

    /// [`backward`](Self::backward) of the loss times the loss scale of `optimizer`.
    ///
    /// All gradients are multiplied by the scale, so that small ones do not vanish in f16. A step
    /// of the optimizer divides by it, or is left out if a gradient is not finite.
    ///
    /// Compute the loss in f32: by [`cross_entropy`](Self::cross_entropy), [`mse`](Self::mse), or
    /// ops on values that were widened before they were reduced. Widening a loss in f16 is too
    /// late: the scale, and so the gradient of that loss, may be beyond the range of f16.
    ///
    /// # Errors
    /// As [`backward`](Self::backward).
    pub fn backward_scaled(
        self,
        loss: Var,
        optimizer: &Optimizer<Q>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<VariableGradients<Q, T>> {
        self.run(loss, Some(optimizer), gradients)
    }

    /// The backward pass, with the loss scale of `optimizer` if there is one.
    fn run(
        self,
        loss: Var,
        optimizer: Option<&Optimizer<Q>>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<VariableGradients<Q, T>> {
        // The loss is one number that depends on something.
        let (q, last) = (self.q, self.index(loss)?);
        let layout = self.nodes[last].layout;
        if layout.numel() != 1 {
            return Err(NnError::Length { op: OP, tensor: "a loss", expected: 1, got: layout.numel() });
        }
        if !self.mode.is_training() {
            return Err(NnError::NoGradient { op: OP, why: "the tape is in inference mode" });
        }
        if !self.needs(&[last]) {
            let why = "the loss depends on no parameter and no variable";
            return Err(NnError::NoGradient { op: OP, why });
        }
        if gradients.table() != self.values.table() {
            return Err(NnError::OtherPlan { op: OP, what: "parameter table" });
        }
        self.pass(last, optimizer, gradients).map_err(|error| {
            // A step along part of a sum would be wrong. Zeros need no memory. A queue whose device is lost refuses this
            // call and all later ones, and the caller receives the first error in any case.
            q.clear(gradients.view_mut()).ok();
            match error {
                NnError::GradientsCleared { reason, .. } => *reason,
                error => error,
            }
        })
    }

    /// The backward pass from the node `last`; an error leaves part of the sums in `gradients`.
    fn pass(
        self,
        last: usize,
        optimizer: Option<&Optimizer<Q>>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<VariableGradients<Q, T>> {
        // The gradient of the loss: 1, or the loss scale.
        let Self { id, q, values, mut nodes, .. } = self;
        let layout = nodes[last].layout;
        let mut start = Tensor::from_values(q, layout.shape(), &[1.0f32])?;
        if let Some(optimizer) = optimizer {
            let one = start;
            start = Tensor::alloc(q, layout.shape())?;
            optimizer.scale_loss(q, one.buffer().view(), start.buffer_mut().view_mut())?;
        }
        let start = AnyTensor::wide(start).like(q, &value_of(&nodes, values, last)?)?;
        // From the loss to the first node; the memory of each is freed after it.
        nodes.truncate(last + 1);
        let mut sums: Vec<Option<AnyTensor<Q, T>>> = Vec::new();
        sums.resize_with(last, || None);
        sums.push(Some(start));
        let mut tensors = BTreeMap::new();
        while let Some(sum) = sums.pop() {
            let Some(node) = nodes.last_mut() else { break };
            let kind = core::mem::replace(&mut node.kind, NodeKind::Constant);
            match (sum, kind) {
                (None, _) => {}
                (Some(g), NodeKind::Variable) => drop(tensors.insert(nodes.len() - 1, g.into_own(q)?)),
                (Some(g), kind) => {
                    BackwardPass { q, values, nodes: &nodes, sums: &mut sums }.node(kind, g, gradients)?
                }
            }
            nodes.pop();
        }
        Ok(VariableGradients { tape: id, tensors })
    }
}

/// The backward pass of one node, the last one.
struct BackwardPass<'s, 'a, Q: Queue + 'a, T: Precision> {
    q: &'s Q,
    values: &'s ParameterArena<Q, T>,
    nodes: &'s [Node<'a, Q, T>],
    /// The gradients of the nodes before it, as far as they have been added up.
    ///
    /// Gradients of parameters are in f32, others in the type of the value.
    sums: &'s mut [Option<AnyTensor<Q, T>>],
}

impl<'s, 'a: 's, Q: LayerOps + 'a, T: Precision> BackwardPass<'s, 'a, Q, T> {
    /// Adds the gradients of the node's operands, from the gradient `g` of its value.
    fn node(
        &mut self,
        kind: NodeKind<'a, Q, T>,
        g: AnyTensor<Q, T>,
        gradients: &mut ParameterArena<Q, f32>,
    ) -> Result<()> {
        let q = self.q;
        match kind {
            // Leaves.
            NodeKind::Constant | NodeKind::Variable => Ok(()),
            NodeKind::Parameter(id) => axpby(q, 1.0, g.at().widened(q)?.at(), 1.0, gradients.at_mut(id)?),
            // Layers.
            NodeKind::Layer { layer, saved, x } => {
                let (input, g) = (self.at(x)?.packed(q)?, g.into_own(q)?);
                let of_x = layer.backward(q, self.values, saved, input.at(), g.at(), gradients)?;
                self.add(x, AnyTensor::Own(of_x))
            }
            NodeKind::Embedding { layer, indices } => layer.backward(q, indices, g.into_own(q)?.at(), gradients),
            // Products, sums and functions of elements.
            NodeKind::Matmul { a, b } => self.matmul([a, b], &g),
            NodeKind::Sum { a, b, sign } => self.sum([a, b], sign, g),
            NodeKind::Product { a, b } => {
                self.factor(a, b, &g)?;
                self.factor(b, a, &g)
            }
            NodeKind::Scale { factor, x } => {
                let of_x = each!(g.at(), |g| Functional::scaled(q, &g, factor)?);
                self.add(x, of_x)
            }
            NodeKind::Activation { f, x } => {
                let saved = if f.saves_output() { self.output()? } else { self.at(x)? };
                let of_x = both!(q, [saved, g.at()], |saved, g| Functional::activate_backward(q, f, &saved, &g)?);
                self.add(x, of_x)
            }
            NodeKind::Softmax { is_log, axis, x } => {
                let y = self.output()?;
                let of_x = match is_log {
                    true => both!(q, [y, g.at()], |y, g| Functional::log_softmax_backward(q, &y, &g, axis)?),
                    false => both!(q, [y, g.at()], |y, g| Functional::softmax_backward(q, &y, &g, axis)?),
                };
                self.add(x, of_x)
            }
            NodeKind::CrossEntropy { gradient, x } => {
                let of_x = Functional::binary(q, Binary::Mul, &gradient, &g.at().widened(q)?.at())?;
                self.add(x, AnyTensor::wide(of_x))
            }
            // Other types, views and reductions.
            NodeKind::Widen { x } => self.add(x, g),
            NodeKind::Reshape { x } => self.add(x, g.into_shape(self.shape(x))?),
            NodeKind::Permute { axes, x } => {
                let mut inverse = vec![0; axes.len()];
                axes.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
                let of_x = each!(g.at(), |g| Functional::packed(q, &g.permuted(&inverse)?)?);
                self.add(x, of_x)
            }
            NodeKind::Narrow { axis, range, x } => {
                let of_x = each!(g.at(), |g| {
                    let mut of_x = self.zeros(x)?;
                    copy(q, g, of_x.at_mut().narrowed(axis, range)?)?;
                    of_x
                });
                self.add(x, of_x)
            }
            NodeKind::Reduce { axes, factor, x } => {
                let mut kept = self.shape(x).to_vec();
                axes.iter().for_each(|&axis| kept[axis] = 1);
                let g = match factor {
                    Some(factor) => each!(g.at(), |g| Functional::scaled(q, &g, factor)?),
                    None => g,
                };
                let shape = self.shape(x);
                let of_x = each!(g.at(), |g| Functional::packed(q, &g.reshaped(&kept)?.broadcast(shape)?)?);
                self.add(x, of_x)
            }
        }
    }

    /// The gradients of both factors of a product of matrices.
    fn matmul(&mut self, [a, b]: [usize; 2], g: &AnyTensor<Q, T>) -> Result<()> {
        let q = self.q;
        if self.needs(a) {
            let of_a = both!(q, [g.at(), self.at(b)?], |g, b| {
                let (rhs, mut of_a) = (Readable::factor(q, b)?, self.zeros(a)?);
                matmul_backward_lhs(q, g, rhs.at(), of_a.at_mut())?;
                of_a
            });
            self.add(a, of_a)?;
        }
        if self.needs(b) {
            let of_b = both!(q, [g.at(), self.at(a)?], |g, a| {
                let (lhs, mut of_b) = (Readable::factor(q, a)?, self.zeros(b)?);
                matmul_backward_rhs(q, lhs.at(), g, of_b.at_mut())?;
                of_b
            });
            self.add(b, of_b)?;
        }
        Ok(())
    }

    /// The gradients of both terms of `a + sign b`.
    fn sum(&mut self, [a, b]: [usize; 2], sign: f32, g: AnyTensor<Q, T>) -> Result<()> {
        // The last term that needs the gradient takes it without a copy, unless its sign changes.
        if sign == 1.0 && !self.needs(a) {
            let of_b = self.reduced(g, b)?;
            return self.add(b, of_b);
        }
        if self.needs(b) {
            match self.summed(&g, b)? {
                Some(of_b) if sign == 1.0 => self.add(b, of_b)?,
                Some(of_b) => self.add_scaled(b, sign, &of_b)?,
                None => self.add_scaled(b, sign, &g)?,
            }
        }
        if self.needs(a) {
            let of_a = self.reduced(g, a)?;
            self.add(a, of_a)?;
        }
        Ok(())
    }

    /// The gradient of a factor of a product of elements.
    fn factor(&mut self, x: usize, other: usize, g: &AnyTensor<Q, T>) -> Result<()> {
        if !self.needs(x) {
            return Ok(());
        }
        let q = self.q;
        let product = both!(q, [g.at(), self.at(other)?], |g, other| Functional::binary(q, Binary::Mul, &g, &other)?);
        let of_x = self.reduced(product, x)?;
        self.add(x, of_x)
    }

    /// A gradient summed over the axes along which a node's value was broadcast.
    fn reduced(&self, g: AnyTensor<Q, T>, x: usize) -> Result<AnyTensor<Q, T>> {
        match self.summed(&g, x)? {
            Some(sum) => Ok(sum),
            None => g.into_shape(self.shape(x)),
        }
    }

    /// The sum over the axes along which a node's value was broadcast; `None` without such axes.
    fn summed(&self, g: &AnyTensor<Q, T>, x: usize) -> Result<Option<AnyTensor<Q, T>>> {
        let (from, to) = (*g.layout(), self.shape(x));
        let missing = from.rank() - to.len();
        let is_broadcast = |axis: usize| axis < missing || to[axis - missing] == 1;
        let axes: Vec<usize> = (0..from.rank()).filter(|&axis| from.shape()[axis] != 1 && is_broadcast(axis)).collect();
        if axes.is_empty() {
            return Ok(None);
        }
        let sum = each!(g.at(), |g| Functional::reduce(self.q, Reduction::Sum, &g, &axes)?);
        Ok(Some(sum.into_shape(to)?))
    }

    /// Adds a gradient to the sum of a node, in the type of the sum.
    fn add(&mut self, x: usize, gradient: AnyTensor<Q, T>) -> Result<()> {
        if !self.needs(x) {
            return Ok(());
        }
        let gradient = match self.nodes[x].kind {
            NodeKind::Parameter(_) => gradient.into_wide(self.q)?,
            _ => gradient.like(self.q, &self.at(x)?)?,
        };
        if self.add_to_sum(x, 1.0, gradient.at())? {
            return Ok(());
        }
        self.sums[x] = Some(gradient);
        Ok(())
    }

    /// Adds `factor g`, which has the size of the node's value, to the sum of a node.
    fn add_scaled(&mut self, x: usize, factor: f32, g: &AnyTensor<Q, T>) -> Result<()> {
        let shape = self.shape(x);
        if self.add_to_sum(x, factor, g.at())? {
            return Ok(());
        }
        let gradient = each!(g.at(), |g| Functional::scaled(self.q, &g, factor)?).into_shape(shape)?;
        self.add(x, gradient)
    }

    /// Adds `factor g` to the sum of a node, if there is one of the type of `g`.
    fn add_to_sum(&mut self, x: usize, factor: f32, g: AnyRef<'_, Q, T>) -> Result<bool> {
        let shape = self.shape(x);
        match (&mut self.sums[x], g) {
            (Some(AnyTensor::Own(sum)), AnyRef::Own(g)) => {
                axpby(self.q, factor, g.reshaped(shape)?, 1.0, sum.at_mut())?;
            }
            (Some(AnyTensor::Wide(sum)), AnyRef::Wide(g)) => {
                axpby(self.q, factor, g.reshaped(shape)?, 1.0, sum.at_mut())?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn needs(&self, x: usize) -> bool {
        self.nodes[x].needs_gradient
    }

    fn shape(&self, x: usize) -> &'s [usize] {
        self.nodes[x].layout.shape()
    }

    fn at(&self, x: usize) -> Result<AnyRef<'s, Q, T>> {
        value_of(self.nodes, self.values, x)
    }

    /// The value of the node itself.
    fn output(&self) -> Result<AnyRef<'s, Q, T>> {
        self.at(self.nodes.len() - 1)
    }

    fn zeros<U: Real>(&self, x: usize) -> Result<Tensor<Q, U>> {
        let shape = self.shape(x);
        Tensor::from_buffer(self.q.zeros::<U>(shape.iter().product())?, shape)
    }
}
