//! The clocks of a GPU while it works, as reported by `nvidia-smi`.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;

/// Milliseconds between two samples.
const PERIOD_MS: &str = "100";

/// How long a sampler that was killed may take to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The clocks at a moment.
#[derive(Clone, Copy, Debug)]
struct ClockSample {
    at: Instant,
    sm_mhz: u32,
    memory_mhz: u32,
}

/// The clocks while something ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ClockSummary {
    /// Of the multiprocessors: least and median.
    pub(super) sm_mhz: [u32; 2],
    /// Of the memory: least and median.
    pub(super) memory_mhz: [u32; 2],
}

/// A running `nvidia-smi`, which reports the clocks of one device repeatedly.
pub(super) struct Sampler {
    process: Child,
    samples: Arc<Mutex<Vec<ClockSample>>>,
}

impl Sampler {
    /// Samples the device of this number, where there is an `nvidia-smi`.
    pub(super) fn start(device: u32) -> Option<Self> {
        let mut process = Command::new("nvidia-smi")
            .args(["--query-gpu=clocks.sm,clocks.mem", "--format=csv,noheader,nounits", "-lms", PERIOD_MS])
            .args(["-i", &device.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let samples = Arc::<Mutex<Vec<ClockSample>>>::default();
        if let Some(out) = process.stdout.take() {
            let samples = Arc::clone(&samples);
            thread::spawn(move || {
                for line in BufReader::new(out).lines().map_while(Result::ok) {
                    samples.lock().unwrap_or_else(PoisonError::into_inner).extend(parse(&line));
                }
            });
        }
        Some(Self { process, samples })
    }

    /// The clocks of the last `seconds`, if a sample fell into them.
    pub(super) fn of_last(&self, seconds: f64) -> Option<ClockSummary> {
        let since = Instant::now().checked_sub(Duration::try_from_secs_f64(seconds).ok()?)?;
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let recent: Vec<_> = samples.iter().rev().take_while(|sample| sample.at >= since).collect();
        let of = |clock: fn(&ClockSample) -> u32| {
            let mut values: Vec<_> = recent.iter().map(|sample| clock(sample)).collect();
            values.sort_unstable();
            Some([*values.first()?, values[values.len() / 2]])
        };
        Some(ClockSummary { sm_mhz: of(|sample| sample.sm_mhz)?, memory_mhz: of(|sample| sample.memory_mhz)? })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // It fails for a process that ended by itself.
        let _gone = self.process.kill();
        // It may be stuck in a driver call, so the wait is short.
        let start = Instant::now();
        while matches!(self.process.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Reads `1755, 2619`.
fn parse(line: &str) -> Option<ClockSample> {
    let (sm, memory) = line.split_once(',')?;
    Some(ClockSample { at: Instant::now(), sm_mhz: sm.trim().parse().ok()?, memory_mhz: memory.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_and_others_left_alone() {
        let sample = parse(" 1755, 2619").unwrap();
        assert_eq!((sample.sm_mhz, sample.memory_mhz), (1755, 2619));
        for line in ["", "[N/A], 2619", "1755", "Unable to determine the device handle"] {
            assert!(parse(line).is_none(), "{line}");
        }
    }
}
