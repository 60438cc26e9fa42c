//! Recorded ops that move no elements: other shapes, orders of axes, and slices.

use core::ops::Range;

use super::{
    node::{Node, NodeKind},
    record::Tape,
    tensors::{AnyRef, AnyTensor, each},
    var::Var,
};
use crate::{
    error::{NnError, Result},
    layers::LayerOps,
    movement::copied,
    optim::Precision,
    tensor::Layout,
};

impl<'a, Q: LayerOps + 'a, T: Precision> Tape<'a, Q, T> {
    /// The elements in another shape, in their row-major order.
    ///
    /// They are copied if they do not lie in that order.
    ///
    /// # Errors
    /// [`NnError::Length`] for a shape of another number of elements, [`NnError::OtherTape`] for a
    /// variable of another tape, [`NnError::Backend`] from the device.
    pub fn reshape(&mut self, x: Var, shape: &[usize]) -> Result<Var> {
        let x = self.index(x)?;
        let (own, layout) = (self.nodes[x].layout, Layout::of("reshape", shape)?);
        if own.numel() != layout.numel() {
            let (expected, got) = (own.numel(), layout.numel());
            return Err(NnError::Length { op: "reshape", tensor: "a shape", expected, got });
        }
        if own.is_contiguous() {
            return Ok(self.view(x, (0, layout), NodeKind::Reshape { x }));
        }
        let y = each!(self.at(x)?, |x| copied(self.q, x)?).into_shape(shape)?;
        Ok(self.computed(y, &[x], NodeKind::Reshape { x }))
    }

    /// The axes in another order: axis i of the result is axis `axes[i]`.
    ///
    /// # Errors
    /// As [`Layout::permuted`]; [`NnError::OtherTape`] for a variable of another tape.
    pub fn permute(&mut self, x: Var, axes: &[usize]) -> Result<Var> {
        let x = self.index(x)?;
        let layout = self.nodes[x].layout.permuted(axes)?;
        Ok(self.view(x, (0, layout), NodeKind::Permute { axes: axes.to_vec(), x }))
    }

    /// The last two axes exchanged.
    ///
    /// # Errors
    /// [`NnError::TooFewAxes`] with fewer than two axes, [`NnError::OtherTape`] for a variable of
    /// another tape.
    pub fn transpose(&mut self, x: Var) -> Result<Var> {
        let rank = self.shape(x)?.len();
        if rank < 2 {
            return Err(NnError::TooFewAxes { op: "transpose", min: 2, got: rank });
        }
        let mut axes: Vec<usize> = (0..rank).collect();
        axes.swap(rank - 2, rank - 1);
        self.permute(x, &axes)
    }

    /// The elements with these indices along an axis.
    ///
    /// # Errors
    /// [`NnError::Axis`] if there is no such axis, [`NnError::Slice`] if it is shorter,
    /// [`NnError::OtherTape`] for a variable of another tape.
    pub fn narrow(&mut self, x: Var, axis: usize, range: Range<usize>) -> Result<Var> {
        let x = self.index(x)?;
        let part = self.nodes[x].layout.narrowed("narrow", axis, range.clone())?;
        Ok(self.view(x, part, NodeKind::Narrow { axis, range, x }))
    }

    /// Records elements of a node's memory, from a place in it on.
    fn view(&mut self, x: usize, (first, layout): (usize, Layout), kind: NodeKind<'a, Q, T>) -> Var {
        let (value, needs_gradient) = (self.part(x, first), self.needs(&[x]));
        let kind = if needs_gradient { kind } else { NodeKind::Constant };
        self.push(Node { layout, value, kind, needs_gradient })
    }
}
