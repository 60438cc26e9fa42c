//! Speed of ops on any queue, with their inputs resident on its device.
//!
//! The [`contests`](super::contests) compare the CPU with its peers on one thread; these lines
//! measure all of the backend that the user chose, and compare lines that move much memory with a
//! plain copy on the same queue.

mod air;
mod channel;
mod circle;
mod correction;
mod deep;
mod factor;
mod fss;
mod linalg;
mod merkle;
mod open;
mod recurrent;
mod tensor;
mod transfer;

use core::{error::Error, fmt};
use std::time::Instant;

use backend_api::Queue;
use runtime::AnyQueue;

use super::{Effort, Timing};

/// Why a line is not measured: the backend refuses, or a plan does.
pub type DeviceError = Box<dyn Error + Send + Sync>;

/// Enqueues a line's work once.
type Run = Box<dyn FnMut(&AnyQueue) -> Result<(), DeviceError>>;

/// Puts a line's inputs on the device.
type Prepare = Box<dyn FnOnce(&AnyQueue) -> Result<Run, DeviceError>>;

/// Problem sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Sizes that fill a device.
    Full,
    /// Sizes of a few blocks, for a simulated device.
    Small,
}

/// The id of the line that copies with the device's own copy.
///
/// Its rate is the limit for every line that moves bytes.
pub const COPY: &str = "copy";

/// How much one run does.
#[derive(Clone, Copy, Debug)]
struct RunSize {
    unit: &'static str,
    work: f64,
    /// Least bytes that are read and written; 0 where arithmetic is the limit.
    bytes: f64,
    /// Bytes of all buffers.
    resident: f64,
}

/// One op at one size.
pub struct DeviceLine {
    /// Short unique name: `nn.softmax/65536x1024`.
    pub id: String,
    /// The unit of work: `element-layer`, `evaluation`, `flop`, `byte`, `element`.
    pub unit: &'static str,
    /// Units of work in one run.
    pub work: f64,
    /// Least bytes that one run reads and writes; 0 where arithmetic is the limit.
    pub bytes: f64,
    /// Bytes of all its buffers.
    ///
    /// If they fit a cache of the device, runs of the line find them there.
    pub resident: f64,
    prepare: Prepare,
}

impl fmt::Debug for DeviceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceLine").field("id", &self.id).finish_non_exhaustive()
    }
}

impl DeviceLine {
    fn new(
        id: impl Into<String>,
        RunSize { unit, work, bytes, resident }: RunSize,
        prepare: impl FnOnce(&AnyQueue) -> Result<Run, DeviceError> + 'static,
    ) -> Self {
        Self { id: id.into(), unit, work, bytes, resident, prepare: Box::new(prepare) }
    }

    /// Uploads the inputs, runs once to warm up, and measures rounds.
    ///
    /// In each round, it starts the number of runs that fits the batch time before it waits.
    ///
    /// # Errors
    /// Any error of the backend or of a plan.
    pub fn measure(self, q: &AnyQueue, effort: Effort) -> Result<Timing, DeviceError> {
        let mut run = (self.prepare)(q)?;
        run(q)?;
        q.finish()?;
        let mut repeats = 1u32;
        let mut once = |repeats: u32| -> Result<f64, DeviceError> {
            let start = Instant::now();
            for _ in 0..repeats {
                run(q)?;
            }
            q.finish()?;
            Ok(start.elapsed().as_secs_f64())
        };
        while once(repeats)? < effort.batch.as_secs_f64() && repeats < MAX_REPEATS {
            repeats *= 2;
        }
        let mut samples = Vec::with_capacity(effort.rounds);
        let start = Instant::now();
        for _ in 0..effort.rounds {
            samples.push(once(repeats)? / f64::from(repeats));
        }
        let rounds_s = start.elapsed().as_secs_f64();
        samples.sort_by(f64::total_cmp);
        Ok(Timing {
            name: self.id,
            median_s: samples[samples.len() / 2],
            best_s: samples[0],
            rounds_s,
            elsewhere: false,
        })
    }
}

/// The limit of repeats: enough to make one wait negligible next to microsecond launches.
const MAX_REPEATS: u32 = 1 << 12;

/// Every line, the copy first.
#[must_use]
pub fn lines(extent: Extent) -> Vec<DeviceLine> {
    let mut all = linalg::lines(extent);
    all.extend(factor::lines(extent));
    all.extend(tensor::lines(extent));
    all.extend(transfer::lines(extent));
    all.extend(circle::lines(extent));
    all.extend(channel::lines(extent));
    all.extend(open::lines(extent));
    all.extend(deep::lines(extent));
    all.extend(air::lines(extent));
    all.extend(fss::lines(extent));
    all.extend(merkle::lines(extent));
    all.extend(recurrent::lines(extent));
    all.extend(correction::lines(extent));
    all
}

/// Words that look random, different for each `salt`.
fn words(len: usize, salt: u64) -> Vec<u64> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 29
    };
    core::iter::repeat_with(step).take(len).collect()
}
