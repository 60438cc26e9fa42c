//! Counters of a launch.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use super::touched::Touched;

/// Sums over all blocks of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions issued, one per warp.
    pub warp_instructions: u64,
    /// Instructions executed, one per active lane.
    pub lane_instructions: u64,
    /// Block barriers completed.
    pub barriers: u64,
    /// Memory traffic by PTX line.
    ///
    /// Empty unless [`Checks::traffic`](super::Checks::traffic) is set.
    pub traffic: BTreeMap<u32, Traffic>,
    /// Bytes of global memory touched.
    ///
    /// Empty unless [`Checks::streams`](super::Checks::streams) is set.
    pub touched: Touched,
}

/// How well the accesses of one instruction, or of several, are laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Warp-wide accesses to global memory.
    pub global_requests: u64,
    /// 32-byte sectors that the global requests touched.
    ///
    /// Full warps of 4-byte words reach 4 per request at best.
    pub global_sectors: u64,
    /// Warp-wide accesses to shared memory.
    pub shared_requests: u64,
    /// Bank cycles these took; equal to `shared_ideal` without conflicts.
    pub shared_wavefronts: u64,
    /// Bank cycles that the number of bytes needs at least.
    pub shared_ideal: u64,
    /// Largest ratio of an access's bank cycles to the fewest that its bytes need.
    ///
    /// 1 is free of conflicts.
    pub conflict_degree: u32,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        self.global_requests += other.global_requests;
        self.global_sectors += other.global_sectors;
        self.shared_requests += other.shared_requests;
        self.shared_wavefronts += other.shared_wavefronts;
        self.shared_ideal += other.shared_ideal;
        self.conflict_degree = self.conflict_degree.max(other.conflict_degree);
    }
}

impl AddAssign<&Counters> for Counters {
    fn add_assign(&mut self, other: &Counters) {
        self.warp_instructions += other.warp_instructions;
        self.lane_instructions += other.lane_instructions;
        self.barriers += other.barriers;
        for (&line, &traffic) in &other.traffic {
            *self.traffic.entry(line).or_default() += traffic;
        }
        self.touched.add(&other.touched);
    }
}

impl Counters {
    /// The traffic of all instructions together.
    pub fn total_traffic(&self) -> Traffic {
        self.traffic.values().fold(Traffic::default(), |mut sum, &traffic| {
            sum += traffic;
            sum
        })
    }
}
