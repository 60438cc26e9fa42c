//! Groups of values around queried positions.

use core_types::{
    field::{M31, QM31},
    params::fri::OpenGroupsParams,
};

use crate::ops::{columns::check_log, lengths::pow2, op};

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
