//! The checkers: what each of them remembers, and finds.

pub(super) mod happens_before;
pub(super) mod initial;
pub(super) mod shadow;
pub(super) mod sources;
pub(super) mod traffic;
pub(super) mod watch;
