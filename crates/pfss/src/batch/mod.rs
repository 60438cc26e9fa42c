//! Many gates at once: super-batches and the planners above them.
//!
//! A [`SuperBatch`] takes in [`Job`]s, walks all their key trees in one flush, and opens what they
//! ask for in one message a round. Jobs with the same program form a group; a job that does not fit
//! the device may be cut into parts whose keys are streamed ([`Fit::Split`]), so a bundle of any
//! size can be evaluated within a budget. Neither changes any share.
//!
//! A [`PhaseExecutor`] runs [`PhaseTask`]s, such as a [`GateChain`], side by side: all that they
//! open goes into one message a round, and their gates into one flush of each [`Class`] in a phase.
//! On a GPU both need [`Streams`].
//!
//! ```
//! use pfss::{Dealer, Gate, Task, batch::{BatchConfig, Job, SuperBatch, finalize_lockstep}};
//!
//! let q = runtime::cpu()?;
//! let mut dealer = Dealer::from_os()?;
//! let relu = dealer.deal(&q, &Gate::relu(64)?, 2)?;
//! let shift = dealer.deal(&q, &Gate::ars(64, 12)?, 3)?;
//!
//! // Both parties mask their shares and exchange what comes out; `Session::open_masked` does both.
//! let (mut masked, mut keys) = (Vec::new(), Vec::new());
//! for (relu, shift) in relu.into_iter().zip(shift) {
//!     let (relu, shift) = (relu.mask(&[3, 4])?, shift.mask(&[5 << 12, 6 << 12, 7])?);
//!     masked.push((relu.0, shift.0));
//!     keys.push((relu.1, shift.1));
//! }
//! let add = |a: &[u64], b: &[u64]| -> Vec<u64> { a.iter().zip(b).map(|(a, b)| a.wrapping_add(*b)).collect() };
//! let (relu_hat, shift_hat) = (add(&masked[0].0, &masked[1].0), add(&masked[0].1, &masked[1].1));
//!
//! let mut batches = Vec::new();
//! for (relu, shift) in keys {
//!     let mut batch = SuperBatch::new(&q, None, BatchConfig::default())?;
//!     let relu = batch.enqueue(Job::new(Task::Relu, relu, relu_hat.clone()))?;
//!     let shift = batch.enqueue(Job::new(Task::Ars, shift, shift_hat.clone()))?;
//!     batch.flush()?;
//!     batches.push((batch, relu, shift));
//! }
//! if let [(zero, ..), (one, ..)] = &mut batches[..] {
//!     finalize_lockstep([zero, one], |_, _| {})?;
//! }
//! for (batch, relu, shift) in &batches {
//!     assert_eq!(batch.shares(*relu)?.words.len(), 2);
//!     assert_eq!(batch.shares(*shift)?.words.len(), 3);
//!     assert_eq!(batch.counters().rounds, 1);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod device_memory;
mod exchange;
mod group;
mod job;
mod limits;
mod schedule;
mod streaming;
mod super_batch;
mod timing;

pub use crate::error::{BatchError, Class, Limit, State};
pub use config::{BatchConfig, Fit};
pub use exchange::finalize_lockstep;
pub use job::{Job, Refused, Work};
pub use limits::{BatchLimits, LayerLimits};
pub use schedule::{
    chain::GateChain,
    executor::{Need, Pace, PhaseExecutor, PhaseTask},
    layer::{BarrierPolicy, LayerTotals},
    port::{Port, Ticket},
};
pub use streaming::stager::Streams;
pub use super_batch::{Handle, SuperBatch};
pub use timing::{counters::Counters, device_times::DeviceTimes, times::StageTimes};
