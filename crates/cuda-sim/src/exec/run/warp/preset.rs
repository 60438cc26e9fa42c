//! Initial values of registers, before the first step.
//!
//! They are constants, addresses of variables and special registers.

use ptx::ast::{Axis, Special};

use crate::exec::code::Preset;
use crate::exec::lanes::WARP;
use crate::exec::run::job::LaunchJob;

/// Coordinates of thread number `linear` of a block.
pub(in crate::exec::run) fn thread_at(linear: u32, block: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = block;
    [linear % x, linear / x % y, linear / x / y]
}

pub(in crate::exec::run) fn preset_value(
    preset: Preset,
    job: &LaunchJob<'_>,
    block: [u32; 3],
    warp: u32,
    lane: usize,
) -> u64 {
    match preset {
        Preset::Const(value) => value,
        Preset::Global(index, offset) => job.globals[index as usize].wrapping_add_signed(offset),
        Preset::Special(special) => special_value(special, job, block, warp, lane as u32).into(),
    }
}

/// Whether the lanes of a warp read different values.
pub(in crate::exec::run) const fn differs_by_lane(special: Special) -> bool {
    use Special::{Laneid, LanemaskEq, LanemaskGe, LanemaskGt, LanemaskLe, LanemaskLt, Tid};
    matches!(special, Tid(_) | Laneid | LanemaskEq | LanemaskGe | LanemaskGt | LanemaskLe | LanemaskLt)
}

fn component(axis: Axis, vector: [u32; 3]) -> u32 {
    match axis {
        Axis::X => vector[0],
        Axis::Y => vector[1],
        Axis::Z => vector[2],
    }
}

fn special_value(special: Special, job: &LaunchJob<'_>, block: [u32; 3], warp: u32, lane: u32) -> u32 {
    let grid = &job.grid;
    let bit = 1_u32 << lane;
    match special {
        Special::Tid(axis) => component(axis, thread_at(warp * WARP as u32 + lane, grid.block)),
        Special::Ntid(axis) => component(axis, grid.block),
        // Without clusters every block is one.
        Special::Ctaid(axis) | Special::Clusterid(axis) => component(axis, block),
        Special::Nctaid(axis) | Special::Nclusterid(axis) => component(axis, grid.grid),
        Special::Laneid => lane,
        Special::Warpid => warp,
        Special::Nwarpid => grid.threads().div_ceil(WARP as u64) as u32,
        Special::LanemaskEq => bit,
        Special::LanemaskLt => bit - 1,
        Special::LanemaskLe => bit | (bit - 1),
        Special::LanemaskGt => !(bit | (bit - 1)),
        Special::LanemaskGe => !(bit - 1),
        Special::DynamicSmemSize => grid.dynamic_shared,
        Special::TotalSmemSize | Special::AggrSmemSize => job.shared_bytes() as u32,
        Special::ClusterNctaid(_) | Special::ClusterNctarank | Special::Nsmid => 1,
        Special::Smid | Special::Gridid | Special::ClusterCtaid(_) | Special::ClusterCtarank => 0,
        Special::IsExplicitCluster | Special::Clock | Special::ClockHi | Special::Clock64 => 0,
        Special::Globaltimer | Special::GlobaltimerLo | Special::GlobaltimerHi => 0,
    }
}
