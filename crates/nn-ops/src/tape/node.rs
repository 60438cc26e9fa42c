//! The nodes of a tape: values, and the ops that computed them.

use core::ops::Range;

use backend_api::{BufferRef, Queue};

use super::tensors::{AnyRef, AnyTensor};
use crate::{
    Activation,
    error::Result,
    layers::{AnyLayer, Embedding, Saved},
    movement::Indices,
    optim::{ParameterArena, ParameterId, Precision},
    tensor::{Layout, Tensor, TensorRef},
};

/// A value, and the op that computed it.
pub(super) struct Node<'a, Q: Queue + 'a, T: Precision> {
    pub(super) layout: Layout,
    pub(super) value: ValueMemory<'a, Q, T>,
    pub(super) kind: NodeKind<'a, Q, T>,
    /// Whether a parameter or a variable receives a gradient through this value.
    pub(super) needs_gradient: bool,
}

/// The memory of a value.
pub(super) enum ValueMemory<'a, Q: Queue + 'a, T: Precision> {
    /// The tape's, row-major.
    Own(AnyTensor<Q, T>),
    /// The caller's.
    Given(TensorRef<'a, Q, T>),
    /// A parameter of the model.
    Parameter(ParameterId),
    /// Part of the memory of node `root`, from element `first` on.
    Part { root: usize, first: usize },
}

/// The op that computed a value, with the positions of its operands.
pub(super) enum NodeKind<'a, Q: Queue + 'a, T: Precision> {
    /// No gradient passes.
    Constant,
    /// The caller receives the gradient.
    Variable,
    /// A parameter of the model.
    Parameter(ParameterId),
    /// The output of a layer, and the state for its backward pass.
    Layer { layer: AnyLayer, saved: Saved<Q, T>, x: usize },
    /// Rows of a table.
    Embedding { layer: Embedding, indices: &'a Indices<Q> },
    /// Products of matrices.
    Matmul { a: usize, b: usize },
    /// `a + sign b`.
    Sum { a: usize, b: usize, sign: f32 },
    /// `a b`, element by element.
    Product { a: usize, b: usize },
    /// `factor x`.
    Scale { factor: f32, x: usize },
    /// `f(x)`.
    Activation { f: Activation, x: usize },
    /// A softmax, or its logarithm.
    Softmax { is_log: bool, axis: usize, x: usize },
    /// The elements in another shape.
    Reshape { x: usize },
    /// The axes in another order.
    Permute { axes: Vec<usize>, x: usize },
    /// A range of indices along an axis.
    Narrow { axis: usize, range: Range<usize>, x: usize },
    /// The sum over `axes`, times `factor` if there is one.
    Reduce { axes: Vec<usize>, factor: Option<f32>, x: usize },
    /// The elements in f32.
    Widen { x: usize },
    /// The mean loss of all rows, and its gradient with respect to the logits.
    CrossEntropy { gradient: Tensor<Q, f32>, x: usize },
}

/// The value of a node.
pub(super) fn value_of<'s, 'a: 's, Q: Queue + 'a, T: Precision>(
    nodes: &'s [Node<'a, Q, T>],
    values: &'s ParameterArena<Q, T>,
    index: usize,
) -> Result<AnyRef<'s, Q, T>> {
    let node = &nodes[index];
    match &node.value {
        ValueMemory::Own(tensor) => Ok(tensor.at()),
        ValueMemory::Given(x) => Ok(AnyRef::Own(x.shorten())),
        ValueMemory::Parameter(id) => values.at(*id).map(AnyRef::Own),
        ValueMemory::Part { root, first } => {
            let part = *first..*first + node.layout.span();
            Ok(match value_of(nodes, values, *root)? {
                AnyRef::Own(whole) => AnyRef::Own(TensorRef::new(whole.view().slice(part)?, node.layout)?),
                AnyRef::Wide(whole) => AnyRef::Wide(TensorRef::new(whole.view().slice(part)?, node.layout)?),
            })
        }
    }
}
