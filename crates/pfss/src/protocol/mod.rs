//! Runs of gates by two parties, and the bodies of their messages.

pub(crate) mod lockstep;
pub(crate) mod session;
pub(crate) mod wire;
