//! The steps of a warp.

mod access;
mod asynchronous;
mod atomic;
mod barrier;
mod collective;
mod fragment;
mod matrix;

pub(super) use barrier::release;
pub(super) use collective::{awaited, settle};
pub(in crate::exec) use fragment::has_wide_vectors;
pub(super) use fragment::{Stop, run};
