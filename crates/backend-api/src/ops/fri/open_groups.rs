//! Groups of values around queried positions.

use core_types::{
    field::{M31, QM31},
    params::fri::OpenGroupsParams,
};

use crate::{
    BackendError, Queue,
    ops::{
        Op,
        columns::{check_log, planes},
        op,
    },
};

op! {
    /// Gathers the values of a layer that fold together with queried values.
    ///
    /// For a position shifted to `p`, this is the group of `2^log_group` values that contains `p`.
    /// Positions count modulo `2^log_from`.
    pub struct OpenGroups<'a, Q> as "open_groups" {
        /// Sizes.
        params: plain &'a OpenGroupsParams,
        /// Four planes of `2^log_size` words.
        values: read M31,
        /// The queries.
        positions: read u32,
        /// `[queries][2^log_group]`.
        opened: write QM31,
    }
}

impl<Q: Queue> OpenGroups<'_, Q> {
    /// Refuses parameters and views that do not make a valid op.
    ///
    /// # Errors
    /// See [`FriOps`](super::FriOps).
    pub fn check(&self) -> Result<(), BackendError> {
        let OpenGroupsParams { log_size, log_from, log_group, queries } = *self.params;
        check_log(Self::NAME, log_from)?;
        if log_size > log_from || log_group > log_size {
            let why = "expected `log_group` <= `log_size` <= `log_from`";
            return Err(BackendError::Unsupported { op: Self::NAME, why });
        }
        let queries = queries as usize;
        self.expect([planes(1, log_size), queries, queries.saturating_mul(1 << log_group)])
    }
}
