//! The tape: its leaves, and access to its values.

use backend_api::{BufferRef, Queue};

use super::{
    node::{Node, NodeKind, ValueMemory, value_of},
    tensors::{AnyRef, AnyTensor},
    var::{TapeId, Var},
};
use crate::{
    StridedElement,
    error::{NnError, Result},
    functional::readable::Readable,
    layers::{LayerOps, Mode},
    optim::{ParameterArena, ParameterId, Precision},
    tensor::TensorRef,
};

const OP: &str = "tape";

/// A record of a forward pass, from which the backward pass computes all gradients.
///
/// Methods compute a value at once and record the op. [`backward`](Self::backward) takes the tape
/// and runs the backward pass of each op from the last one to the first; the memory of a value is
/// freed after its op. A value with several uses receives the sum of their gradients, which are
/// added from the last use to the first, so that bits do not depend on anything else.
///
/// Values are in `T`: f32, f16 or bf16, computed in f32 and rounded once.
/// [`cross_entropy`](Self::cross_entropy), [`mse`](Self::mse) and [`widen`](Self::widen) return
/// f32. An op with operands of both types computes in f32 and returns f32; a layer rounds its input
/// to `T`. Gradients have the types of their values, but gradients of parameters are added in f32.
/// See [`MasterWeights`](crate::MasterWeights) for a training in bf16.
///
/// In [`Mode::Inference`] no op and no state of a layer is recorded, and there is no backward pass;
/// values live as long as the tape.
///
/// ```
/// use backend_api::Queue;
/// use nn_ops::{
///     Activation, Dense, Mode, Optimizer, OptimizerConfig, ParameterArena, ParameterTable, Parameters, Sequential,
///     Tape, Tensor,
/// };
///
/// let q = runtime::cpu()?;
/// let table = ParameterTable::new(&[Dense::specs("first", [2, 16]), Dense::specs("last", [16, 2])].concat())?;
/// let (first, last) = (Dense::find(&table, "first")?, Dense::find(&table, "last")?);
/// let network = Sequential::new([first.into(), Activation::Tanh.into(), last.into()]);
/// let (mut values, mut gradients) = (ParameterArena::zeros(&q, &table)?, ParameterArena::zeros(&q, &table)?);
/// network.initialize(&q, &mut values, 2)?;
/// let mut optimizer = Optimizer::new(&q, OptimizerConfig::adam_w(0.05), &table)?;
///
/// let x = Tensor::from_values(&q, &[4, 2], &[0.0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0])?; // the inputs of XOR
/// let targets = Tensor::from_values(&q, &[4], &[0u32, 1, 1, 0])?;
/// let mut loss = f32::INFINITY;
/// for step in 0..200 {
///     let mut tape = Tape::new(&q, &values, Mode::Training { step });
///     let input = tape.input(x.at());
///     let logits = tape.sequence(&network, input)?;
///     let mean = tape.cross_entropy(logits, targets.at())?;
///     loss = tape.values(mean)?[0];
///     q.clear(gradients.view_mut())?; // a backward pass adds to the gradients
///     tape.backward(mean, &mut gradients)?;
///     optimizer.step(&q, gradients.view(), values.view_mut(), None)?;
/// }
/// assert!(loss < 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tape<'a, Q: Queue + 'a, T: Precision = f32> {
    pub(super) id: TapeId,
    pub(super) q: &'a Q,
    pub(super) values: &'a ParameterArena<Q, T>,
    pub(super) mode: Mode,
    pub(super) nodes: Vec<Node<'a, Q, T>>,
}

impl<'a, Q: LayerOps + 'a, T: Precision> Tape<'a, Q, T> {
    /// An empty tape for a model with the parameters `values`.
    #[must_use]
    pub fn new(q: &'a Q, values: &'a ParameterArena<Q, T>, mode: Mode) -> Self {
        Self { id: TapeId::new(), q, values, mode, nodes: Vec::new() }
    }

    /// Records a tensor that receives no gradient.
    pub fn input(&mut self, x: TensorRef<'a, Q, T>) -> Var {
        self.push(Node {
            layout: *x.layout(),
            value: ValueMemory::Given(x),
            kind: NodeKind::Constant,
            needs_gradient: false,
        })
    }

    /// Records a tensor whose gradient [`backward`](Self::backward) returns.
    pub fn variable(&mut self, x: TensorRef<'a, Q, T>) -> Var {
        let needs_gradient = self.mode.is_training();
        self.push(Node { layout: *x.layout(), value: ValueMemory::Given(x), kind: NodeKind::Variable, needs_gradient })
    }

    /// Records a parameter as an operand, for example a table that is also the weights of a head.
    ///
    /// # Errors
    /// [`NnError::Axis`] for a parameter of another table.
    pub fn parameter(&mut self, id: ParameterId) -> Result<Var> {
        let (layout, needs_gradient) = (*self.values.table().layout(id)?, self.mode.is_training());
        Ok(self.push(Node { layout, value: ValueMemory::Parameter(id), kind: NodeKind::Parameter(id), needs_gradient }))
    }

    /// Records the same value again, without a gradient to the first one.
    ///
    /// # Errors
    /// [`NnError::OtherTape`] for a variable of another tape.
    pub fn detach(&mut self, x: Var) -> Result<Var> {
        let x = self.index(x)?;
        let (layout, value) = (self.nodes[x].layout, self.part(x, 0));
        Ok(self.push(Node { layout, value, kind: NodeKind::Constant, needs_gradient: false }))
    }

    /// The purpose of the forward pass.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The shape of a value.
    ///
    /// # Errors
    /// [`NnError::OtherTape`] for a variable of another tape.
    pub fn shape(&self, x: Var) -> Result<&[usize]> {
        Ok(self.nodes[self.index(x)?].layout.shape())
    }

    /// Waits and copies a value to the host, in row-major order and in f32.
    ///
    /// # Errors
    /// [`NnError::OtherTape`] for a variable of another tape, [`NnError::Backend`] from the device.
    pub fn values(&self, x: Var) -> Result<Vec<f32>> {
        match self.at(self.index(x)?)? {
            AnyRef::Own(x) => Ok(self.read(x)?.into_iter().map(T::to_f32).collect()),
            AnyRef::Wide(x) => self.read(x),
        }
    }

    fn read<U: StridedElement>(&self, x: TensorRef<'_, Q, U>) -> Result<Vec<U>> {
        let packed = Readable::of(self.q, x)?;
        let x = packed.at();
        Ok(self.q.read(x.view().slice(0..x.layout().numel())?)?)
    }

    /// The position of a variable's node.
    pub(super) fn index(&self, x: Var) -> Result<usize> {
        if x.tape == self.id { Ok(x.index) } else { Err(NnError::OtherTape { op: OP }) }
    }

    /// The value of a node.
    pub(super) fn at(&self, index: usize) -> Result<AnyRef<'_, Q, T>> {
        value_of(&self.nodes, self.values, index)
    }

    /// The value of a node in row-major order, in the type of the activations.
    pub(super) fn packed(&self, index: usize) -> Result<Readable<'_, Q, T>> {
        self.at(index)?.packed(self.q)
    }

    /// Whether a gradient passes to one of these nodes.
    pub(super) fn needs(&self, of: &[usize]) -> bool {
        of.iter().any(|&index| self.nodes[index].needs_gradient)
    }

    /// The memory of a node from its element `first` on.
    pub(super) fn part(&self, index: usize, first: usize) -> ValueMemory<'a, Q, T> {
        match self.nodes[index].value {
            ValueMemory::Part { root, first: before } => ValueMemory::Part { root, first: before + first },
            _ => ValueMemory::Part { root: index, first },
        }
    }

    /// Records a tensor that an op computed from the nodes `from`.
    pub(super) fn computed(&mut self, y: AnyTensor<Q, T>, from: &[usize], kind: NodeKind<'a, Q, T>) -> Var {
        let needs_gradient = self.needs(from);
        self.own(y, needs_gradient, kind)
    }

    /// Records a new tensor. The op is kept only if a gradient passes through it.
    pub(super) fn own(&mut self, y: AnyTensor<Q, T>, needs_gradient: bool, kind: NodeKind<'a, Q, T>) -> Var {
        let kind = if needs_gradient { kind } else { NodeKind::Constant };
        self.push(Node { layout: *y.layout(), value: ValueMemory::Own(y), kind, needs_gradient })
    }

    pub(super) fn push(&mut self, node: Node<'a, Q, T>) -> Var {
        self.nodes.push(node);
        Var { tape: self.id, index: self.nodes.len() - 1 }
    }
}

impl<'a, Q: Queue + 'a, T: Precision> core::fmt::Debug for Tape<'a, Q, T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tape").field("mode", &self.mode).field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}
