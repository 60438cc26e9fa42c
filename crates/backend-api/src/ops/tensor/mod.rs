//! Tensor ops other than linear algebra.
//!
//! Maps, copies, conversions, reductions and rows by index.

pub(super) mod shape;
mod strided;

use core_types::params::{
    rows::AxisParams,
    tensor::{Beyond, CopyParams, MapParams, ReduceParams, Reduction, TableParams},
};

pub use super::sets::TensorOps;
use crate::{
    BufferMut, BufferRef, DType, Queue, Real,
    ops::{op, op::flop::each},
};
use shape::{check_rank, is_nested, map_fault, product, reached};
pub use strided::StridedElement;

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! tensor_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Maps, copies between layouts, conversions, reductions and rows by index.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length that
            /// the shape and the other views imply, and [`BackendError::Unsupported`] for
            /// parameters that no result is defined for. Nothing is written then.
            tensor::TensorOps: Queue {
                arg_max<T>(ArgMax),
                copy_strided<T>(CopyStrided),
                copy_strided_bool(CopyStridedBool),
                copy_strided_u32(CopyStridedU32),
                copy_strided_u64(CopyStridedU64),
                fill<T>(Fill),
                gather<T>(Gather),
                gather_u64(GatherU64),
                map<T>(Map),
                narrow<T>(Narrow),
                reduce<T>(Reduce),
                scatter_add<T>(ScatterAdd),
                select<T>(Select),
                widen<T>(Widen),
            }
        }
    };
}

op! {
    /// y is the index along the axis of the greatest element of x.
    ///
    /// It is the lowest index among equal elements; zeros of both signs are equal. NaN counts as
    /// the greatest. An axis without elements is refused unless there is no result. An axis with
    /// 2^32 or more elements is always refused.
    pub struct ArgMax<'a, Q, T: Real> as "arg_max" {
        /// The shape.
        params: plain &'a AxisParams,
        /// The elements.
        x: read T [outer, len, inner],
        /// The indices.
        y: write u32 [outer, inner],
    }
    sizes(self) {
        let AxisParams { outer, len, inner } = *self.params;
    }
    valid(self) {
        len > 0 || outer == 0 || inner == 0, "the axis has no elements";
        len <= u64::from(u32::MAX), "expected an axis of fewer than 2^32 elements";
    }
}

/// Ops that copy between layouts, one for each element type, which may be generic.
macro_rules! strided_copies {
    ($($(#[doc = $doc:literal])* $name:ident $(<$t:ident>)? of $element:ty as $op:literal;)*) => {
        $(op! {
            $(#[doc = $doc])*
            pub struct $name<'a, Q $(, $t: Real)?> as $op {
                /// Shape and strides.
                params: plain &'a CopyParams,
                /// Every element that its strides reach.
                x: read $element [>= reached_by_x],
                /// Every element that its strides reach.
                y: write $element [>= reached_by_y],
            }
            sizes(self) {
                let p = self.params;
                check_rank(OP, p.rank)?;
                let reached_by_x = reached(p.rank, &p.shape, &p.x_strides);
                let reached_by_y = reached(p.rank, &p.shape, &p.y_strides);
            }
            valid(self) {
                product(p.rank, &p.shape) == 0 || is_nested(p.rank, &p.shape, &p.y_strides),
                    "elements of the result overlap";
            }
        })*
    };
}

strided_copies! {
    /// `y[i] = x[i]` for every index i of a shape of up to six axes.
    ///
    /// This is a transpose, a slice or a repetition of x into a slice of y; other elements of y
    /// stay. Strides of y whose axes do not nest are refused, since elements might overlap.
    CopyStrided<T> of T as "copy_strided";
    /// [`CopyStrided`] of booleans.
    CopyStridedBool of bool as "copy_strided_bool";
    /// [`CopyStrided`] of words, such as indices.
    CopyStridedU32 of u32 as "copy_strided_u32";
    /// [`CopyStrided`] of words of 64 bits, such as shares of a secret.
    ///
    /// No branch and no address depends on a word.
    CopyStridedU64 of u64 as "copy_strided_u64";
}

op! {
    /// `y = value`, rounded to `T`.
    pub struct Fill<'a, Q, T: Real> as "fill" {
        /// What y is filled with.
        value: plain f32,
        /// Number of elements.
        len: plain usize,
        /// The elements.
        y: write T [len],
    }
    sizes(self) {
        let len = self.len;
    }
}

op! {
    /// Row i of y is row `indices[i]` of the table.
    ///
    /// The row of an index that the table does not have is filled with zeros: whoever has the
    /// indices on the host refuses them before, since a device cannot without waiting.
    pub struct Gather<'a, Q, T: Real> as "gather" {
        /// Sizes.
        params: plain &'a TableParams,
        /// The table.
        table: read T [rows, width],
        /// The rows that are read.
        indices: read u32 [count],
        /// The rows.
        y: write T [count, width],
    }
    sizes(self) {
        let TableParams { rows, width, count } = *self.params;
    }
}

op! {
    /// [`Gather`] of words of 64 bits, such as shares of a secret.
    ///
    /// Indices are public and choose addresses. No branch and no address depends on a word of the
    /// table.
    pub struct GatherU64<'a, Q> as "gather_u64" {
        /// Sizes.
        params: plain &'a TableParams,
        /// The table.
        table: read u64 [rows, width],
        /// The rows that are read.
        indices: read u32 [count],
        /// The rows.
        y: write u64 [count, width],
    }
    sizes(self) {
        let TableParams { rows, width, count } = *self.params;
    }
}

op! {
    /// `y = f(x)`.
    ///
    /// A clamp between bounds out of order or NaN and a Huber function without a positive bound are
    /// refused.
    pub struct Map<'a, Q, T: Real> as "map" {
        /// The function.
        params: plain &'a MapParams,
        /// Number of elements.
        len: plain usize,
        /// Its arguments; without this view, what y holds.
        x: read_if T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.len;
        let fault = map_fault(self.params);
    }
    valid(self) {
        fault.is_none(), fault.unwrap_or_default();
    }
    flop(self) {
        each(1, self.y.len())
    }
}

op! {
    /// `y = x` rounded to nearest, ties to even; NaN stays NaN.
    ///
    /// Infinities, and values beyond the range of `T`, which rounding makes infinite, are replaced
    /// according to `beyond` and optionally counted.
    pub struct Narrow<'a, Q, T: Real> as "narrow" {
        /// What becomes of values beyond the range.
        beyond: plain Beyond,
        /// The elements.
        x: read f32 [len],
        /// The results.
        y: write T [len],
        /// Number of values beyond the range, and index of the first one.
        ///
        /// The number is added to the first word. The second word is lowered to the index.
        found: write_if u64 [2],
    }
    sizes(self) {
        let len = self.y.len();
    }
}

impl<Q: Queue, T: Real> Narrow<'_, Q, T> {
    /// The least magnitude that rounding makes infinite, and the greatest finite value.
    #[must_use]
    pub fn range(&self) -> [f32; 2] {
        match T::DTYPE {
            DType::F16 => [65_520.0, 65_504.0],
            DType::Bf16 => [0x7f7f_8000, 0x7f7f_0000].map(f32::from_bits),
            DType::F32 => [f32::INFINITY, f32::MAX],
        }
    }
}

op! {
    /// `y = reduction of x over the axis`.
    ///
    /// Sums are taken in f64, in an order that depends on the shape alone, and rounded to f32, then
    /// to `T`. Without elements there is no mean and no extreme, and those are refused unless there
    /// is no result either.
    pub struct Reduce<'a, Q, T: Real> as "reduce" {
        /// The reduction and the shape.
        params: plain &'a ReduceParams,
        /// The elements.
        x: read T [outer, len, inner],
        /// The results.
        y: write T [outer, inner],
    }
    sizes(self) {
        let ReduceParams { reduction, outer, len, inner, .. } = *self.params;
    }
    valid(self) {
        len > 0 || reduction == Reduction::Sum || outer == 0 || inner == 0, "the axis has no elements";
    }
    flop(self) {
        each(1, self.x.len())
    }
}

op! {
    /// Row `indices[i]` of the table has row i of g added, for each i.
    ///
    /// The rows of one index are summed in f32 in the order that they have in `order`, then added
    /// to the table, and rounded once. Indices that the table does not have are left out.
    ///
    /// `order` lists the indices so that they ascend:
    /// `indices[order[0]] <= indices[order[1]] <= ..`. If it does not, rows of the table hold an
    /// unspecified part of the sums.
    pub struct ScatterAdd<'a, Q, T: Real> as "scatter_add" {
        /// Sizes.
        params: plain &'a TableParams,
        /// A row of the table for each row of `g`.
        indices: read u32 [count],
        /// The order of the indices.
        order: read u32 [count],
        /// The rows that are added.
        g: read T [count, width],
        /// The table.
        table: write T [rows, width],
    }
    sizes(self) {
        let TableParams { rows, width, count } = *self.params;
    }
    flop(self) {
        each(1, self.g.len())
    }
}

op! {
    /// `y` is `a` where `mask` is true and `b` where it is false, bit for bit.
    ///
    /// The other operand has no effect.
    pub struct Select<'a, Q, T: Real> as "select" {
        /// Which is chosen.
        mask: read bool [len],
        /// Taken where the mask is true; without this view, what y holds.
        a: read_if T [len],
        /// Taken where the mask is false.
        b: read T [len],
        /// The results.
        y: write T [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}

op! {
    /// `y = x`, which is exact.
    pub struct Widen<'a, Q, T: Real> as "widen" {
        /// The elements.
        x: read T [len],
        /// The results.
        y: write f32 [len],
    }
    sizes(self) {
        let len = self.y.len();
    }
}
