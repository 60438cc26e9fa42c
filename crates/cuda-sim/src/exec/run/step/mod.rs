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
pub(super) use fragment::{Stop, has_wide_vectors, run};
