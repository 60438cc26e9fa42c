//! The schedule: contiguous tiles for the low layers, strips of strided rows for the others.
//!
//! Layer `i` pairs positions `2^i` apart, so tiles of `2^a` positions hold layers `0 .. a-1` whole.
//! A strip of `depth` layers from `i` on has `2^depth` rows, `2^i` words apart. The inverse runs
//! tiles first, the forward transform runs them last.

use backend_api::Queue;

use super::{
    pass::{Pass, Twiddles},
    steps::{STRIP_WORDS, StepRunner, TransformStrip, TransformTile, log_tile},
};
use crate::CpuQueue;

/// Number of words from which a second thread is worth it.
pub(super) const GRAIN_WORDS: usize = 1 << 15;

/// Columns of a strip without scratch.
const WIDE: usize = 1 << 12;

/// Most layers of a strip: `2^depth` rows of at least 64 columns fit its scratch.
///
/// Shorter runs cost more cache and page misses.
const MOST_DEPTH: u32 = STRIP_WORDS.ilog2() - 6;

/// All layers of `2^log_len` consecutive positions of a domain.
#[derive(Clone, Copy)]
pub(super) struct TransformRegion {
    pub(super) source: *const u32,
    pub(super) target: *mut u32,
    pub(super) log_len: u32,
    pub(super) position: usize,
    pub(super) twiddles: Twiddles,
    pub(super) inverse: bool,
    pub(super) scale: u32,
}

// SAFETY: a region is plain numbers and pointers; `run_regions` requires that its pointers may be used from any thread.
unsafe impl Send for TransformRegion {}
// SAFETY: as above.
unsafe impl Sync for TransformRegion {}

/// One sweep over a region.
#[derive(Clone, Copy)]
enum RegionSweep {
    /// Tiles of `2^log_tile` positions.
    Tiles,
    /// `depth` layers from `layer` on.
    Strips { layer: u32, depth: u32 },
}

impl CpuQueue {
    /// Transforms `count` regions; `region(i)` is the i-th.
    ///
    /// # Safety
    /// Each region's source and target are valid for its words, equal or disjoint, the targets of
    /// different regions are disjoint from each other and from other sources, and `log_len` is at
    /// least [`log_block`](super::steps::log_block). All positions lie inside the domain of the
    /// twiddles, which has at least `log_len` layers.
    pub(super) unsafe fn run_regions(
        &self,
        steps: impl StepRunner,
        log_len: u32,
        count: usize,
        region: impl Fn(usize) -> TransformRegion + Sync,
    ) {
        let threads = self.caps().threads;
        if count >= threads {
            // One thread per region keeps each in one cache.
            let regions_per_job = GRAIN_WORDS.div_ceil(1 << log_len);
            self.for_indices(count, regions_per_job, |i| {
                let region = region(i);
                for (number, stage) in stages(steps, &region).enumerate() {
                    for item in 0..items(steps, &region, stage) {
                        // SAFETY: the caller's promise.
                        unsafe { run_item(steps, &region, number == 0, stage, item) };
                    }
                }
            });
            return;
        }
        // With fewer regions than threads, the items of a stage are shared by the threads.
        for region in (0..count).map(region) {
            for (number, stage) in stages(steps, &region).enumerate() {
                let count = items(steps, &region, stage);
                let items_per_job = count.div_ceil((1usize << log_len).div_ceil(GRAIN_WORDS));
                // SAFETY: the caller's promise; the items of one stage write disjoint words.
                self.for_indices(count, items_per_job, |item| unsafe {
                    run_item(steps, &region, number == 0, stage, item);
                });
            }
        }
    }
}

/// The stages of a region in the order they run.
fn stages(steps: impl StepRunner, region: &TransformRegion) -> impl Iterator<Item = RegionSweep> {
    let tiles = log_tile(steps.log_width()).min(region.log_len);
    let above = region.log_len - tiles;
    let levels = above.div_ceil(MOST_DEPTH);
    let depth = above.div_ceil(levels.max(1));
    let inverse = region.inverse;
    (0..=levels).map(move |i| match if inverse { i } else { levels - i } {
        0 => RegionSweep::Tiles,
        level => {
            let layer = tiles + (level - 1) * depth;
            RegionSweep::Strips { layer, depth: depth.min(tiles + above - layer) }
        }
    })
}

/// Columns of the strips of a stage.
fn strip_width(layer: u32, depth: u32) -> usize {
    let most = if depth <= 3 { WIDE } else { STRIP_WORDS >> depth };
    most.min(1 << layer)
}

/// The number of independent items of a stage.
fn items(steps: impl StepRunner, region: &TransformRegion, stage: RegionSweep) -> usize {
    match stage {
        RegionSweep::Tiles => 1 << (region.log_len - log_tile(steps.log_width()).min(region.log_len)),
        RegionSweep::Strips { layer, depth } => (1 << (region.log_len - depth)) / strip_width(layer, depth),
    }
}

/// Runs one item of a stage; only the first stage reads the region's source.
///
/// # Safety
/// As [`CpuQueue::run_regions`], and no item of the same stage runs twice at once.
unsafe fn run_item(steps: impl StepRunner, region: &TransformRegion, first: bool, stage: RegionSweep, item: usize) {
    let source = if first { region.source } else { region.target.cast_const() };
    // The stage of the last layer of the inverse scales the values.
    let top = |end: u32| if end == region.log_len { region.scale } else { 0 };
    match stage {
        RegionSweep::Tiles => {
            let log_len = log_tile(steps.log_width()).min(region.log_len);
            let offset = item << log_len;
            // SAFETY: tile `item` lies inside the region.
            unsafe {
                let tile = TransformTile {
                    source: source.add(offset),
                    target: region.target.add(offset),
                    log_len,
                    position: region.position + offset,
                    twiddles: region.twiddles,
                    scale: top(log_len),
                };
                steps.run(tile, region.inverse);
            }
        }
        RegionSweep::Strips { layer, depth } => {
            let width = strip_width(layer, depth);
            let strips = (1usize << layer) / width;
            let start = (item / strips) << (layer + depth);
            let offset = start + item % strips * width;
            let pass = Pass {
                width,
                log_rows: depth,
                layer,
                skip: 0,
                position: region.position + start,
                twiddles: region.twiddles,
                scale: top(layer + depth),
            };
            // SAFETY: strip `item` lies inside the region.
            unsafe {
                let strip = TransformStrip { source: source.add(offset), target: region.target.add(offset), pass };
                steps.run(strip, region.inverse);
            }
        }
    }
}
