//! Maps over elements, arithmetic with broadcasting, and sums over an axis.

use core_types::params::{
    elementwise::{Activation, BinaryParams, BinaryScalarParams, DropoutParams, SumParams},
    optim::StepState,
};

use crate::{
    BufferMut, BufferRef, Real,
    ops::{
        op,
        op::flop::each,
        tensor::shape::{check_rank, is_row_major, product, reached},
    },
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! elementwise_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Maps over elements and sums over an axis.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length that
            /// the shape and the other views imply.
            linalg::ElementwiseOps: Queue {
                activate<T>(Activate),
                activate_backward<T>(ActivateBackward),
                binary<T>(Binary),
                binary_scalar<T>(BinaryScalar),
                axpby<T>(Axpby),
                sum_axis<T>(SumAxis),
                dropout<T>(Dropout),
            }
        }
    };
}

op! {
    /// `y = f(x)`.
    pub struct Activate<'a, Q, T: Real> as "activate" {
        /// The function.
        f: plain Activation,
        /// Number of elements.
        len: plain usize,
        /// Its arguments; without this view, what y holds.
        x: read_if T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.len;
    }
    flop(self) {
        each(1, self.y.len())
    }
}

op! {
    /// `dx = g f'(x)`.
    ///
    /// For ReLU it is g or 0, even where g is infinite, and NaN where `saved` is NaN.
    pub struct ActivateBackward<'a, Q, T: Real> as "activate_backward" {
        /// The function.
        f: plain Activation,
        /// y for functions with [`Activation::saves_output`], x for the others.
        saved: read T [len],
        /// The gradient with respect to y.
        g: read T [len],
        /// The gradient with respect to x.
        dx: write T [len],
    }
    sizes(self) {
        let len = self.dx.len();
    }
    flop(self) {
        each(2, self.dx.len())
    }
}

op! {
    /// `y = f(a, b)` with broadcasting by zero strides.
    ///
    /// Without a, its strides must be row-major; others are refused.
    pub struct Binary<'a, Q, T: Real> as "binary" {
        /// Function, shape and strides.
        params: plain &'a BinaryParams,
        /// Every element that its strides reach; without this view, what y holds.
        a: read_if T [>= reached_by_a],
        /// Every element that its strides reach.
        b: read T [>= reached_by_b],
        /// The elements of the shape.
        y: write T [count],
    }
    sizes(self) {
        let p = self.params;
        check_rank(OP, p.rank)?;
        let count = product(p.rank, &p.shape);
        let reached_by_a = reached(p.rank, &p.shape, &p.a_strides);
        let reached_by_b = reached(p.rank, &p.shape, &p.b_strides);
    }
    valid(self) {
        self.a.is_some() || is_row_major(p.rank, &p.shape, &p.a_strides), "expected row-major strides of a, which is left out";
    }
    flop(self) {
        each(1, self.y.len())
    }
}

op! {
    /// `y = f(x, value)`, with `value` rounded to `T`.
    ///
    /// These are the bits of [`Binary`] for a second operand of one element that repeats.
    pub struct BinaryScalar<'a, Q, T: Real> as "binary_scalar" {
        /// Function, number, shape and strides.
        params: plain &'a BinaryScalarParams,
        /// Every element that its strides reach.
        x: read T [>= reached_by_x],
        /// The elements of the shape.
        y: write T [count],
    }
    sizes(self) {
        let p = self.params;
        check_rank(OP, p.rank)?;
        let count = product(p.rank, &p.shape);
        let reached_by_x = reached(p.rank, &p.shape, &p.x_strides);
    }
    flop(self) {
        each(1, self.y.len())
    }
}

op! {
    /// `y = alpha x + beta y`. With `beta = 0`, y is not read.
    pub struct Axpby<'a, Q, T: Real> as "axpby" {
        /// Factor of x.
        alpha: plain f32,
        /// The addend.
        x: read T [len],
        /// Factor of y.
        beta: plain f32,
        /// The result.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
    flop(self) {
        each(3, self.y.len())
    }
}

op! {
    /// Sums over an axis in f32, in an order that depends on the shape alone.
    pub struct SumAxis<'a, Q, T: Real> as "sum_axis" {
        /// The shape.
        params: plain &'a SumParams,
        /// The elements.
        x: read T [outer, len, inner],
        /// The sums.
        y: write T [outer, inner],
    }
    sizes(self) {
        let SumParams { outer, len, inner, .. } = *self.params;
    }
    flop(self) {
        each(1, self.x.len())
    }
}

op! {
    /// `y = x keep scale`.
    ///
    /// The mask is computed from a seed, and depends on the logical index of an element alone, so
    /// the same op on the gradient is the backward pass. With an optimizer record, the mask's step
    /// is advanced by the number of steps the record has begun, so that a recorded op has another
    /// mask after each step.
    pub struct Dropout<'a, Q, T: Real> as "dropout" {
        /// Mask and scale.
        params: plain &'a DropoutParams,
        /// The record of an optimizer, if masks follow one.
        state: read_if StepState [1],
        /// Number of elements.
        len: plain usize,
        /// The elements; without this view, those that y holds.
        x: read_if T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.len;
    }
    flop(self) {
        each(1, self.y.len())
    }
}
