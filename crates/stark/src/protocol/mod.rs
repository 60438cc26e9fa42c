//! The steps of a proof, from commitments to openings.

pub(crate) mod commit;
pub(crate) mod complete;
pub(crate) mod composition;
pub(crate) mod deep;
pub(crate) mod fri;
pub(crate) mod look_ups;
pub(crate) mod open;
pub(crate) mod preprocessed;
pub(crate) mod session;
pub(crate) mod stage;
