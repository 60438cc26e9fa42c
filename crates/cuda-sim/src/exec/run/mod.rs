//! Execution of decoded kernels.
//!
//! Each group of modules builds on those above it: a launch as data, the state of warps and
//! barriers, the checkers, the steps of a warp in its turn, and then who gets a turn: the blocks,
//! and the launch.

mod job;
mod trouble;
mod written;

mod barrier;
mod warp;

mod check;
mod seen;

mod observe;
mod step;
mod turn;

mod block;
mod executor;
mod launch;
mod progress;

pub(super) use job::{LaunchJob, LocatedFault};
pub(super) use launch::run;
pub(super) use step::has_wide_vectors;
