//! The steps of a proof, from commitments to openings.

pub(crate) mod assemble;
pub(crate) mod commit;
pub(crate) mod composition;
pub(crate) mod deep;
pub(crate) mod fri;
pub(crate) mod open;
pub(crate) mod opened;
pub(crate) mod out_of_domain;
pub(crate) mod part;
pub(crate) mod preprocessed;
pub(crate) mod session;
pub(crate) mod stage;
pub(crate) mod submitted;
