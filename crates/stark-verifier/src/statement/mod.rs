//! A statement: its components, its parameters, and the shape of its proofs.

pub(crate) mod census;
pub(crate) mod component;
pub(crate) mod config;
pub(crate) mod out_of_domain;
pub(crate) mod protocol;
pub(crate) mod shape;
