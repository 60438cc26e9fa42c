//! The benchmark lines of Trefoil.
//!
//! They measure ops on the processor next to their peers, and ops on any queue. [`contests`]
//! measures ops on one thread, interleaved with peers in one process: other crates, plain loops,
//! memory copies, stwo and PyTorch. [`device::lines`] measures ops on a queue whose inputs are
//! resident.
//!
//! These lines are a separate crate, so that they are compiled at the level of the ops they
//! measure, whatever the level of the conformance suite.

mod air;
mod channel;
mod circle;
mod contest;
mod correction;
mod deep;
pub mod device;
mod fss;
mod host;
mod linalg;
mod merkle;
mod optim;
mod peers;
mod recurrent;
mod stark;
mod tensor;
mod traces;

pub use contest::{Contender, Contest, Effort, Goal, Show, Standing, Timing};

/// Constructors of every contest, by name.
///
/// A contest owns its inputs, so build one, measure it, then drop it.
#[must_use]
pub fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all = circle::contests();
    all.extend(deep::contests());
    all.extend(channel::contests());
    all.extend(air::contests());
    all.extend(traces::contests());
    all.extend(fss::contests());
    all.extend(linalg::contests());
    all.extend(optim::contests());
    all.extend(recurrent::contests());
    all.extend(correction::contests());
    all.extend(tensor::contests());
    all.extend(merkle::contests());
    all.extend(stark::contests());
    all.into_iter()
        .map(|(id, build)| (id, Box::new(|| peers::beside_torch(peers::beside_stwo(build()))) as Box<_>))
        .collect()
}
