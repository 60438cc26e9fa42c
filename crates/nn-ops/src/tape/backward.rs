//! The backward pass of a tape.

use std::collections::BTreeMap;

use backend_api::Queue;

use super::{
    node::{Kind, Node, value_of},
    record::Tape,
    var::{TapeId, Var},
};
use crate::{
    Binary, Reduction,
    elementwise::axpby,
    error::{NnError, Result},
    functional::{Functional, readable::Readable},
    layers::{Layer, LayerOps},
    movement::copy,
    optim::ParameterArena,
    products::{matmul_backward_lhs, matmul_backward_rhs},
    tensor::{Tensor, TensorRef},
};

const OP: &str = "tape_backward";

/// The gradients of a tape's variables.
pub struct VariableGradients<Q: Queue> {
    tape: TapeId,
    tensors: BTreeMap<usize, Tensor<Q, f32>>,
}

impl<Q: Queue> VariableGradients<Q> {
    /// The gradient of a variable, of its shape.
    ///
    /// There is none for other values, and for a variable that the loss does not depend on.
    #[must_use]
    pub fn of(&self, variable: Var) -> Option<&Tensor<Q, f32>> {
        self.tensors.get(&variable.index).filter(|_| variable.tape == self.tape)
    }
}

impl<Q: Queue> core::fmt::Debug for VariableGradients<Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("VariableGradients").field("count", &self.tensors.len()).finish_non_exhaustive()
    }
}

impl<'a, Q: LayerOps + 'a> Tape<'a, Q> {
    /// Adds the gradients of `loss` to `gradients`, and returns the gradients of the variables.
    ///
    /// # Errors
    /// [`NnError::OtherTape`] for a loss of another tape, [`NnError::Length`] for a loss of more or
    /// fewer elements than one, [`NnError::NoGradient`] in [`Mode::Inference`](crate::Mode) and for
    /// a loss that depends on no parameter and no variable, [`NnError::OtherPlan`] for gradients of
    /// another table; nothing is added then. [`NnError::Backend`] from the device.
    pub fn backward(self, loss: Var, gradients: &mut ParameterArena<Q, f32>) -> Result<VariableGradients<Q>> {
        // The loss is one number that depends on something.
        let last = self.index(loss)?;
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
        // From the loss to the first node; the memory of each is freed after it.
        let Self { id, q, values, mut nodes, .. } = self;
        nodes.truncate(last + 1);
        let mut sums: Vec<Option<Tensor<Q, f32>>> = Vec::new();
        sums.resize_with(last, || None);
        sums.push(Some(Tensor::from_values(q, layout.shape(), &[1.0])?));
        let mut tensors = BTreeMap::new();
        while let Some(sum) = sums.pop() {
            let Some(node) = nodes.last_mut() else { break };
            let kind = core::mem::replace(&mut node.kind, Kind::Constant);
            match (sum, kind) {
                (None, _) => {}
                (Some(g), Kind::Variable) => drop(tensors.insert(nodes.len() - 1, g)),
                (Some(g), kind) => Pass { q, values, nodes: &nodes, sums: &mut sums }.node(kind, g, gradients)?,
            }
            nodes.pop();
        }
        Ok(VariableGradients { tape: id, tensors })
    }
}

/// The backward pass of one node, the last one.
struct Pass<'s, 'a, Q: Queue + 'a> {
    q: &'s Q,
    values: &'s ParameterArena<Q, f32>,
    nodes: &'s [Node<'a, Q>],
    /// The gradients of the nodes before it, as far as they have been added up.
    sums: &'s mut [Option<Tensor<Q, f32>>],
}

impl<'s, 'a: 's, Q: LayerOps + 'a> Pass<'s, 'a, Q> {
    /// Adds the gradients of the node's operands, from the gradient `g` of its value.
    fn node(&mut self, kind: Kind<'a, Q>, g: Tensor<Q, f32>, gradients: &mut ParameterArena<Q, f32>) -> Result<()> {
        let q = self.q;
        match kind {
            // Leaves.
            Kind::Constant | Kind::Variable => Ok(()),
            Kind::Parameter(id) => axpby(q, 1.0, g.at(), 1.0, gradients.at_mut(id)?),
            // Layers.
            Kind::Layer { layer, saved, x } => {
                let input = Readable::of(q, self.at(x)?)?;
                let of_x = layer.backward(q, self.values, saved, input.at(), g.at(), gradients)?;
                self.add(x, of_x)
            }
            Kind::Embedding { layer, indices } => layer.backward(q, indices, g.at(), gradients),
            // Products, sums and functions of elements.
            Kind::Matmul { a, b } => self.matmul([a, b], &g),
            Kind::Sum { a, b, sign } => self.sum([a, b], sign, g),
            Kind::Product { a, b } => {
                self.factor(a, b, &g)?;
                self.factor(b, a, &g)
            }
            Kind::Scale { factor, x } => {
                let of_x = Functional::scaled(q, &g, factor)?;
                self.add(x, of_x)
            }
            Kind::Activation { f, x } => {
                let saved = if f.saves_output() { self.output()? } else { self.at(x)? };
                let of_x = Functional::activate_backward(q, f, &saved, &g)?;
                self.add(x, of_x)
            }
            Kind::Softmax { is_log, axis, x } => {
                let y = self.output()?;
                let of_x = match is_log {
                    true => Functional::log_softmax_backward(q, &y, &g, axis)?,
                    false => Functional::softmax_backward(q, &y, &g, axis)?,
                };
                self.add(x, of_x)
            }
            Kind::CrossEntropy { gradient, x } => {
                let of_x = Functional::binary(q, Binary::Mul, &gradient, &g)?;
                self.add(x, of_x)
            }
            // Views and reductions.
            Kind::Reshape { x } => self.add(x, g.into_shape(self.shape(x))?),
            Kind::Permute { axes, x } => {
                let mut inverse = vec![0; axes.len()];
                axes.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
                let of_x = Functional::packed(q, &g.permuted(&inverse)?)?;
                self.add(x, of_x)
            }
            Kind::Narrow { axis, range, x } => {
                let mut of_x = self.zeros(x)?;
                copy(q, g.at(), of_x.at_mut().narrowed(axis, range)?)?;
                self.add(x, of_x)
            }
            Kind::Reduce { axes, factor, x } => {
                let mut kept = self.shape(x).to_vec();
                axes.iter().for_each(|&axis| kept[axis] = 1);
                let g = match factor {
                    Some(factor) => Functional::scaled(q, &g, factor)?,
                    None => g,
                };
                let of_x = Functional::packed(q, &g.reshaped(&kept)?.broadcast(self.shape(x))?)?;
                self.add(x, of_x)
            }
        }
    }

    /// The gradients of both factors of a product of matrices.
    fn matmul(&mut self, [a, b]: [usize; 2], g: &Tensor<Q, f32>) -> Result<()> {
        if self.needs(a) {
            let (rhs, mut of_a) = (Readable::factor(self.q, self.at(b)?)?, self.zeros(a)?);
            matmul_backward_lhs(self.q, g.at(), rhs.at(), of_a.at_mut())?;
            self.add(a, of_a)?;
        }
        if self.needs(b) {
            let (lhs, mut of_b) = (Readable::factor(self.q, self.at(a)?)?, self.zeros(b)?);
            matmul_backward_rhs(self.q, lhs.at(), g.at(), of_b.at_mut())?;
            self.add(b, of_b)?;
        }
        Ok(())
    }

    /// The gradients of both terms of `a + sign b`.
    fn sum(&mut self, [a, b]: [usize; 2], sign: f32, g: Tensor<Q, f32>) -> Result<()> {
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
    fn factor(&mut self, x: usize, other: usize, g: &Tensor<Q, f32>) -> Result<()> {
        if !self.needs(x) {
            return Ok(());
        }
        let product = Functional::binary(self.q, Binary::Mul, g, &self.at(other)?)?;
        let of_x = self.reduced(product, x)?;
        self.add(x, of_x)
    }

    /// A gradient summed over the axes along which a node's value was broadcast.
    fn reduced(&self, g: Tensor<Q, f32>, x: usize) -> Result<Tensor<Q, f32>> {
        match self.summed(&g, x)? {
            Some(sum) => Ok(sum),
            None => g.into_shape(self.shape(x)),
        }
    }

    /// The sum over the axes along which a node's value was broadcast; `None` without such axes.
    fn summed(&self, g: &Tensor<Q, f32>, x: usize) -> Result<Option<Tensor<Q, f32>>> {
        let (from, to) = (*g.layout(), self.shape(x));
        let missing = from.rank() - to.len();
        let is_broadcast = |axis: usize| axis < missing || to[axis - missing] == 1;
        let axes: Vec<usize> = (0..from.rank()).filter(|&axis| from.shape()[axis] != 1 && is_broadcast(axis)).collect();
        if axes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Functional::reduce(self.q, Reduction::Sum, g, &axes)?.into_shape(to)?))
    }

    /// Adds a gradient to the sum of a node.
    fn add(&mut self, x: usize, gradient: Tensor<Q, f32>) -> Result<()> {
        if !self.needs(x) {
            return Ok(());
        }
        match &mut self.sums[x] {
            Some(sum) => axpby(self.q, 1.0, gradient.at(), 1.0, sum.at_mut()),
            empty => {
                *empty = Some(gradient);
                Ok(())
            }
        }
    }

    /// Adds `factor g`, which has the size of the node's value, to the sum of a node.
    fn add_scaled(&mut self, x: usize, factor: f32, g: &Tensor<Q, f32>) -> Result<()> {
        let shape = self.shape(x);
        if let Some(sum) = &mut self.sums[x] {
            return axpby(self.q, factor, g.at().reshaped(shape)?, 1.0, sum.at_mut());
        }
        let gradient = Functional::scaled(self.q, g, factor)?.into_shape(shape)?;
        self.add(x, gradient)
    }

    fn needs(&self, x: usize) -> bool {
        self.nodes[x].needs_gradient
    }

    fn shape(&self, x: usize) -> &'s [usize] {
        self.nodes[x].layout.shape()
    }

    fn at(&self, x: usize) -> Result<TensorRef<'s, Q, f32>> {
        value_of(self.nodes, self.values, x)
    }

    /// The value of the node itself.
    fn output(&self) -> Result<TensorRef<'s, Q, f32>> {
        self.at(self.nodes.len() - 1)
    }

    fn zeros(&self, x: usize) -> Result<Tensor<Q, f32>> {
        let shape = self.shape(x);
        Tensor::from_buffer(self.q.zeros::<f32>(shape.iter().product())?, shape)
    }
}
