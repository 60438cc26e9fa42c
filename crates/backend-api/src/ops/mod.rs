//! Op sets: coarse, fused device steps.
//!
//! Each op is a record of parameters and views that documents its maths and states the lengths of
//! its views; each set is a trait with a method for each of its ops. The file of a set has the
//! table of its methods, and then its ops.
//!
//! A queue calls `check` before it runs an op; callers need not. Buffers arrive as borrowed views
//! ([`Ref`](crate::Ref), [`Mut`](crate::Mut)), so shards, batches and scratch are slices, not
//! copies.

pub mod air;
pub mod channel;
pub mod circle;
mod columns;
pub mod correction;
pub mod deep;
pub mod factor;
pub mod fri;
pub mod fss;
pub mod linalg;
pub mod merkle;
mod op;
pub mod optim;
pub mod recurrent;
mod sets;
pub mod share;
mod stark;
pub mod tensor;

pub use core_types::params::Sizes;
pub use op::{Access, Described, LendViews, MapViews, Op, View};
pub(crate) use op::{op, views};
pub use stark::StarkOps;
