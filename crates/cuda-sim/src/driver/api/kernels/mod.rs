//! Modules, their functions, and launches.

pub(super) mod function;
pub(super) mod launch;
pub(super) mod module;
