//! Trefoil's backends for stwo's own prover.
//!
#![deny(unsafe_code)]

mod accumulate;
mod ahead;
mod arena;
mod backend;
mod column;
mod component;
mod device;
mod fri;
mod gkr;
mod grind;
mod layer;
mod merkle;
mod poly;
mod quotients;
mod samples;
mod twiddles;
mod value;

pub use ahead::ReadCounts;
pub use backend::TrefoilBackend;
pub use column::DeviceColumn;
pub use device::{install, open};
pub use twiddles::Twiddles;
pub use value::Value;
