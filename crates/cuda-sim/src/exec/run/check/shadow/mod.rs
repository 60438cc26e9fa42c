//! Shadow memory: the earlier accesses of each place, and races with them.

pub(in crate::exec::run) mod global;
mod granule;
mod history;
pub(in crate::exec::run) mod mark;
mod past;
pub(super) mod races;
pub(super) mod shared;
pub(super) mod volatile;
