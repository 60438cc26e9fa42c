//! Which launches run the layers of a transform.

use core_types::params::circle::{CircleStripParams, CircleTileParams};

const LOG_TILE: u32 = CircleTileParams::LOG_TILE;

/// Fewest layers of a strip.
const LEAST_ROWS: u32 = 4;

/// Most layers of a strip, and of a narrow one.
///
/// Rows of twelve layers have 16 bytes, half of what memory reads at once. They are only met at 2^24 points. The strip that needs the
/// other half runs at the same time and finds it in cache; a third launch would read and write everything once more.
const MOST_ROWS: u32 = 12;
const MOST_NARROW_ROWS: u32 = 8;

/// Blocks that keep any device busy; a larger launch gives each block several columns, which share their twiddles.
const BUSY_BLOCKS: u64 = 8192;

/// Layers that strips run in one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strips {
    pub(super) layer: u32,
    pub(super) log_rows: u32,
}

impl Strips {
    /// The launch for a polynomial of `2^log_region` coefficients on a domain of `2^log_size` points.
    pub(super) fn params(self, log_size: u32, log_region: u32, scale: u32, spread: bool) -> CircleStripParams {
        let log_domain = log_size;
        let Self { layer, log_rows } = self;
        let log_strip =
            if log_rows <= MOST_NARROW_ROWS { CircleStripParams::LOG_STRIP } else { CircleStripParams::LOG_WIDE_STRIP };
        let log_width = log_strip - log_rows;
        CircleStripParams { log_domain, log_size, log_region, layer, log_rows, log_width, scale, spread: spread.into() }
    }
}

/// How the layers of `2^log_len` coefficients are split: the lowest run in tiles, the others in strips from the lowest up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Layers of the tiles.
    pub(super) tiles: u32,
    pub(super) strips: Vec<Strips>,
}

impl Schedule {
    pub(super) fn new(log_len: u32) -> Self {
        if log_len <= LOG_TILE {
            return Self { tiles: log_len, strips: Vec::new() };
        }
        let above = (log_len - LOG_TILE).max(LEAST_ROWS);
        let tiles = log_len - above;
        let launches = above.div_ceil(MOST_ROWS);
        let bound = |i: u32| tiles + above * i / launches;
        let strips = (0..launches).map(|i| Strips { layer: bound(i), log_rows: bound(i + 1) - bound(i) });
        Self { tiles, strips: strips.collect() }
    }
}

/// The launch of `layers` layers in tiles over `columns` columns of a domain of `2^log_size` points.
pub(super) fn tiles(log_size: u32, log_source: u32, layers: u32, scale: u32, columns: u32) -> CircleTileParams {
    let words = u64::from(columns) << log_size;
    let all = CircleTileParams {
        words,
        log_domain: log_size,
        log_size,
        log_source,
        layers,
        scale,
        columns: 1,
        columns_per_block: 1,
        reserved: 0,
    };
    if log_size < LOG_TILE {
        return all;
    }
    let groups = (BUSY_BLOCKS >> (log_size - LOG_TILE)).clamp(1, u64::from(columns.max(1)));
    let columns_per_block = u64::from(columns).div_ceil(groups).max(1) as u32; // at most `columns`
    CircleTileParams { columns, columns_per_block, ..all }
}

/// Log of the coefficients that a block evaluates at a point: fewer where blocks would be few.
pub(super) fn log_range(log_size: u32, columns: u32) -> u32 {
    let log_columns = columns.max(1).ilog2();
    (log_size + log_columns).saturating_sub(10).clamp(12, 16).min(log_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_runs_once_and_every_strip_fits() {
        for log_len in 3..=30 {
            let schedule = Schedule::new(log_len);
            let mut next = schedule.tiles;
            assert!(next <= LOG_TILE);
            for strips in &schedule.strips {
                assert_eq!(strips.layer, next);
                assert!((LEAST_ROWS..=MOST_ROWS).contains(&strips.log_rows), "{schedule:?}");
                let log_width = strips.params(log_len, log_len, 0, false).log_width;
                assert!(log_width <= strips.layer);
                assert!(log_width >= 3 || log_len == 24 && log_width == 2, "rows of 32 bytes: {schedule:?}");
                next += strips.log_rows;
            }
            assert_eq!(next, log_len);
        }
        assert_eq!(Schedule::new(24).strips.len(), 1);
        assert_eq!(Schedule::new(30).strips.len(), 2);
    }

    #[test]
    fn tiles_cover_all_columns() {
        for log_size in 3..=30 {
            for columns in [1, 2, 3, 100, 65_537] {
                let p = tiles(log_size, log_size, 3, 0, columns);
                let groups = p.columns.div_ceil(p.columns_per_block);
                assert!(p.columns_per_block >= 1 && groups <= 65_535, "{p:?}");
                assert!(u64::from(groups) << log_size.saturating_sub(LOG_TILE) <= BUSY_BLOCKS.max(1 << 18));
            }
        }
    }

    #[test]
    fn ranges_lie_inside_their_column() {
        for log_size in 0..=30 {
            for columns in [0, 1, 1 << 10, u32::MAX] {
                let log_range = log_range(log_size, columns);
                assert!(log_range <= log_size.min(16));
                assert!(log_size - log_range < 16, "as many rows of blocks as a grid may have");
            }
        }
    }
}
