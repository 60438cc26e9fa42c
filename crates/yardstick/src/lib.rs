//! The benchmark lines of Trefoil.
//!
//! A [`Line`] is an op at one size, described once for every queue. [`contests`] are lines at the
//! sizes of a processor: on one thread, interleaved with peers in one process, such as other
//! crates, plain loops, memory copies, stwo and PyTorch. [`lines`] run on any queue with their
//! inputs resident, and are compared with a plain copy on the same queue.
//!
//! These lines are a separate crate, so that they are compiled at the level of the ops they
//! measure, whatever the level of the conformance suite.

mod air;
mod channel;
mod circle;
mod contest;
mod correction;
mod deep;
mod fss;
mod host;
mod linalg;
mod line;
mod merkle;
mod peers;
mod recurrent;
mod stark;
mod tensor;
mod traces;
mod transfer;

pub use contest::{Contender, Effort, Goal, Show, Standing, Timing};
pub use line::{Contest, Line, LineError, RunSize};
pub use transfer::COPY;

/// Problem sizes of the lines of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Sizes that fill a device.
    Full,
    /// Sizes of a few blocks, for a simulated device.
    Small,
}

/// Every line of the processor.
///
/// A line makes its inputs when it is measured, and frees them afterwards.
#[must_use]
pub fn contests() -> Vec<Contest> {
    let mut all = circle::contests();
    all.extend(deep::contests());
    all.extend(channel::contests());
    all.extend(air::contests());
    all.extend(traces::contests());
    all.extend(fss::contests());
    all.extend(linalg::contests());
    all.extend(recurrent::contests());
    all.extend(correction::contests());
    all.extend(tensor::contests());
    all.extend(merkle::contests());
    all.extend(stark::contests());
    all.into_iter().map(Contest::new).collect()
}

/// Every line of a device, the copy first.
#[must_use]
pub fn lines(extent: Extent) -> Vec<Line> {
    let mut all = vec![transfer::copy(extent)];
    all.extend(linalg::lines(extent));
    all.extend(tensor::lines(extent));
    all.extend(transfer::lines(extent));
    all.extend(circle::lines(extent));
    all.extend(channel::lines(extent));
    all.extend(deep::lines(extent));
    all.extend(air::lines(extent));
    all.extend(fss::lines(extent));
    all.extend(merkle::lines(extent));
    all.extend(recurrent::lines(extent));
    all.extend(correction::lines(extent));
    all
}
