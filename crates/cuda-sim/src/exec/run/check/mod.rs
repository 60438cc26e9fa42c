//! The checkers: what each of them remembers, and finds.

mod clocks;
mod global;
mod granule;
mod history;
pub(super) mod initial;
mod known;
mod mark;
mod past;
mod places;
mod races;
mod shared;
mod sources;
pub(super) mod traffic;
mod volatile;
mod watch;

pub(super) use clocks::Strength;
pub(super) use global::GlobalShadow;
pub(super) use mark::{AccessMark, Race};
pub(super) use sources::InFlightSource;
pub(super) use watch::{BlockWatch, Conflict};
