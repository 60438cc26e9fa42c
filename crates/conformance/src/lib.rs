//! A conformance suite: checks every backend against independent models and golden outputs.
//!
//! An [`OpSpec`] names an op and lists its [`Case`]s; a case runs the op on a queue and compares
//! with an oracle that is independent of all backends: an O(n^2) sum, a published vector, a peer
//! crate, an f64 model. [`run`] is the suite, and a [`Condition`] makes it harder: on a fork,
//! between guard words, after memory ran out, recorded and replayed.
#![forbid(unsafe_code)]

pub mod air;
pub mod channel;
pub mod circle;
mod conditioned;
pub mod correction;
pub mod deep;
pub mod factor;
pub mod fri;
pub mod fss;
pub mod linalg;
mod list;
pub mod merkle;
pub mod optim;
pub mod queue;
pub mod recurrent;
mod secure;
mod spec;
pub mod stark;
mod suite;
pub mod tensor;

pub use conditioned::Conditioned;
use conditioned::ConditionedBuf as Buf;
pub use spec::{Case, Failure, OpSpec};
pub use suite::{Condition, Outcome, Progress, Report, SCARCE_BYTES, Selection, run, specs};
