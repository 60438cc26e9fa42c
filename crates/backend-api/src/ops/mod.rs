//! Op sets: coarse, fused device steps. Each op is a record of parameters and views, which states its maths and its layout and
//! checks both; each set is a trait with a method for each of its ops.
//!
//! A backend calls `check` of a record before it does anything, and nobody else needs to. Buffers arrive as borrowed views
//! ([`Ref`](crate::Ref), [`Mut`](crate::Mut)), so shards, batches and scratch are slices and not copies.

pub mod circle;
pub mod fss;
pub mod linalg;
mod op;
mod sets;
pub mod share;

pub use core_types::params::Sizes;
pub(crate) use op::op;
pub use op::{MapViews, Op, View};
