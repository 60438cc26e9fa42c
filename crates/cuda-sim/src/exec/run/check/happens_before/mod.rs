//! The happens-before order between threads: clocks, and what strong writes release.

pub(in crate::exec::run) mod clocks;
mod known;
pub(super) mod places;
