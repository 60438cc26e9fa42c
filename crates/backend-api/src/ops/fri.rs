//! FRI on the circle in the form of stwo 2.3, and openings at the queries.
//!
//! Circle FRI is described in <https://eprint.iacr.org/2024/278>.
//!
//! Values of the secure field are four planes of coordinates. A fold makes
//! `(f(p) + f(p')) + a (f(p) - f(p')) / t` of the values at positions `2 h` and `2 h + 1`, where
//! `t` is their y-coordinate on the circle and their x-coordinate on a line. There is no factor of
//! a half.

use core_types::{
    field::{M31, QM31, Twiddle},
    params::{
        columns::ColumnAt,
        fri::{FriFoldParams, FriLastLayerParams, OpenColumnsParams, OpenGroupsParams},
    },
};

pub use super::sets::FriOps;
use crate::{
    BufferRef,
    ops::{
        columns::{check_columns, check_log},
        op,
        op::lengths::{pow2, require},
    },
};

/// The table of the set, for [`op_sets!`](crate::op_sets!).
#[doc(hidden)]
#[macro_export]
macro_rules! fri_ops {
    ($with:ident $($queue:ident)?) => {
        $with! {
            $([$queue])?
            /// Device steps of FRI and of openings.
            ///
            /// Every op returns [`BackendError::Length`] if a view does not have the length its
            /// parameters state, and [`BackendError::Unsupported`] for sizes out of range and for
            /// columns that are not in their buffer. Nothing is written then.
            fri::FriOps: Queue {
                fri_fold(FriFold),
                fri_last_layer(FriLastLayer),
                open_columns(OpenColumns),
                open_groups(OpenGroups),
            }
        }
    };
}

op! {
    /// Folds a layer one to `log_size` times.
    ///
    /// The first fold uses the challenge, the second its square, and so on.
    pub struct FriFold<'a, Q> as "fri_fold" {
        /// Number of values and of folds.
        params: plain &'a FriFoldParams,
        /// Inverse twiddles of the canonic domain of [`log_domain`](FriFoldParams::log_domain).
        inverse_twiddles: read Twiddle [pow2(log_domain - 1)],
        /// The challenge.
        challenge: read QM31 [1],
        /// The values, in four planes.
        values: read M31 [4, pow2(log_size)],
        /// The folded values, in four planes.
        folded: write M31 [4, pow2(log_size - folds)],
    }
    sizes(self) {
        let FriFoldParams { log_size, folds, on_circle } = *self.params;
        let in_range = on_circle <= 1 && (1..=log_size).contains(&folds);
        require(OP, in_range, "expected `on_circle` of 0 or 1 and `folds` in 1..=`log_size`")?;
        check_log(OP, log_size)?;
        let log_domain = self.params.log_domain();
        check_log(OP, log_domain)?;
    }
}

op! {
    /// Interpolates a layer on its line and writes the lowest coefficients.
    ///
    /// Places are bit-reversed: place `k` holds the coefficient whose number has the `log_bound`
    /// bits of `k` in reverse. Coefficient bits `b0 b1 ..` multiply `x^b0 pi(x)^b1 ..`.
    pub struct FriLastLayer<'a, Q> as "fri_last_layer" {
        /// Number of values and of coefficients.
        params: plain &'a FriLastLayerParams,
        /// Inverse twiddles of the canonic domain of `2^(log_size + 1)` points.
        inverse_twiddles: read Twiddle [pow2(log_size)],
        /// The values, in four planes.
        values: read M31 [4, pow2(log_size)],
        /// The lowest coefficients.
        coefficients: write QM31 [pow2(log_bound)],
        /// 1 if a higher coefficient is not zero, else 0.
        ///
        /// 1 means that the values are not of low degree.
        excess: write u32 [1],
    }
    sizes(self) {
        let FriLastLayerParams { log_size, log_bound } = *self.params;
        check_log(OP, log_size.saturating_add(1))?;
    }
    valid(self) {
        log_bound <= log_size, "more coefficients than values: `log_bound` exceeds `log_size`";
    }
}

op! {
    /// Gathers the values of columns at queried positions.
    ///
    /// The value is at leaf [`lifted(position, log_from, log_leaves)`](core_types::air::lifted) of
    /// the tree of the columns. Positions count modulo `2^log_from`. A column of one word has the
    /// same value at every leaf.
    pub struct OpenColumns<'a, Q> as "open_columns" {
        /// Sizes.
        params: plain &'a OpenColumnsParams,
        /// The columns of a tree, in any order.
        columns: plain &'a [ColumnAt],
        /// The buffer that they are in.
        values: read M31,
        /// The queries.
        positions: read u32 [queries],
        /// The values of each column at the queries.
        opened: write M31 [columns, queries],
    }
    sizes(self) {
        let OpenColumnsParams { log_from, log_leaves, queries } = *self.params;
        let columns = self.columns.len();
        check_log(OP, log_from)?;
        check_log(OP, log_leaves)?;
        check_columns(OP, self.columns, log_leaves, self.values.len())?;
    }
}

op! {
    /// Gathers the values of a layer that fold together with queried values.
    ///
    /// For a position shifted to `p`, this is the group of `2^log_group` values that contains `p`.
    /// Positions count modulo `2^log_from`.
    pub struct OpenGroups<'a, Q> as "open_groups" {
        /// Sizes.
        params: plain &'a OpenGroupsParams,
        /// The values, in four planes.
        values: read M31 [4, pow2(log_size)],
        /// The queries.
        positions: read u32 [queries],
        /// The group of each query.
        opened: write QM31 [queries, pow2(log_group)],
    }
    sizes(self) {
        let OpenGroupsParams { log_size, log_from, log_group, queries } = *self.params;
        check_log(OP, log_from)?;
    }
    valid(self) {
        log_group <= log_size && log_size <= log_from, "expected `log_group` <= `log_size` <= `log_from`";
    }
}
