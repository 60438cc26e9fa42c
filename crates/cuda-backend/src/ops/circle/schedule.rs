//! Which launches run the layers of a transform.

use core_types::params::circle::{CircleStripParams, CircleTileParams};

pub(super) const LOG_TILE: u32 = CircleTileParams::LOG_TILE;

/// Fewest layers of a strip.
const LEAST_ROWS: u32 = 4;

/// Most layers of a strip, and of a narrow strip.
///
/// Their rows have 32 bytes or more, which is the unit of memory reads.
const MOST_ROWS: u32 = 11;
const MOST_NARROW_ROWS: u32 = 8;

/// Most layers of two launches: a pair of tiles and a strip.
///
/// A third launch would read and write everything once more.
const MOST_OF_TWO: u32 = LOG_PAIR + MOST_ROWS;

/// Log of the words of a pair of tiles.
const LOG_PAIR: u32 = LOG_TILE + 1;

/// Blocks that keep any device busy.
///
/// A larger launch gives each block several columns, which share their twiddles.
const BUSY_BLOCKS: u64 = 8192;

/// Where the words of columns stand in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DomainSpan {
    /// Log of the number of points of the domain.
    pub(super) log_domain: u32,
    /// Log of the words of a column.
    pub(super) log_size: u32,
    /// Position of a column's first word.
    pub(super) position: u32,
}

impl DomainSpan {
    /// All positions of a domain of `2^log_size` points.
    pub(super) fn whole(log_size: u32) -> Self {
        Self::first(log_size, log_size)
    }

    /// The first `2^log_size` positions of a domain of `2^log_domain` points.
    pub(super) fn first(log_size: u32, log_domain: u32) -> Self {
        Self { log_domain, log_size, position: 0 }
    }

    /// The launch of `layers` layers in tiles, or pairs of them, over `columns` columns.
    pub(super) fn tiles(self, log_source: u32, layers: u32, scale: u32, columns: u32) -> CircleTileParams {
        let Self { log_domain, log_size, position } = self;
        let words = u64::from(columns) << log_size;
        let all = CircleTileParams {
            words,
            log_domain,
            log_size,
            log_source,
            layers,
            scale,
            columns: 1,
            columns_per_block: 1,
            position,
        };
        if log_size < LOG_TILE {
            return all;
        }
        let groups = (BUSY_BLOCKS >> (log_size - layers.max(LOG_TILE))).clamp(1, u64::from(columns.max(1)));
        let columns_per_block = u64::from(columns).div_ceil(groups).max(1) as u32; // at most `columns`
        CircleTileParams { columns, columns_per_block, ..all }
    }

    /// The launch of `strips` for polynomials of `2^log_region` coefficients.
    ///
    /// It reads columns of `2^log_source` words.
    pub(super) fn strips(self, strips: Strips, log_source: u32, log_region: u32, scale: u32) -> CircleStripParams {
        let Self { log_domain, log_size, position } = self;
        let Strips { layer, log_rows } = strips;
        let log_strip =
            if log_rows <= MOST_NARROW_ROWS { CircleStripParams::LOG_STRIP } else { CircleStripParams::LOG_WIDE_STRIP };
        let log_width = log_strip - log_rows;
        CircleStripParams { log_domain, log_size, log_source, log_region, layer, log_rows, log_width, scale, position }
    }
}

/// Layers that strips run in one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Strips {
    pub(super) layer: u32,
    pub(super) log_rows: u32,
}

/// The split of the layers of `2^log_len` coefficients.
///
/// The lowest layers run in tiles, the others in strips from the lowest up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LayerSchedule {
    /// Layers of the tiles; one more than a tile's where pairs of tiles save a launch.
    pub(super) tiles: u32,
    pub(super) strips: Vec<Strips>,
}

impl LayerSchedule {
    pub(super) fn new(log_len: u32) -> Self {
        if log_len <= LOG_TILE {
            return Self { tiles: log_len, strips: Vec::new() };
        }
        let log_tiles = if log_len == MOST_OF_TWO { LOG_PAIR } else { LOG_TILE };
        let above = (log_len - log_tiles).max(LEAST_ROWS);
        let tiles = log_len - above;
        let launches = above.div_ceil(MOST_ROWS);
        let bound = |i: u32| tiles + above * i / launches;
        let strips = (0..launches).map(|i| Strips { layer: bound(i), log_rows: bound(i + 1) - bound(i) });
        Self { tiles, strips: strips.collect() }
    }
}

/// Log of the coefficients that a block evaluates at a point.
///
/// It is smaller if there would be few blocks.
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
            let schedule = LayerSchedule::new(log_len);
            let mut next = schedule.tiles;
            assert!(next <= LOG_PAIR);
            for strips in &schedule.strips {
                assert_eq!(strips.layer, next);
                assert!((LEAST_ROWS..=MOST_ROWS).contains(&strips.log_rows), "{schedule:?}");
                let params = DomainSpan::whole(log_len).strips(*strips, log_len, log_len, 0);
                assert!(params.log_width <= strips.layer);
                assert!(params.log_rows + params.log_width <= CircleStripParams::LOG_WIDE_STRIP, "{schedule:?}");
                next += strips.log_rows;
            }
            assert_eq!(next, log_len);
        }
    }

    #[test]
    fn rows_have_all_that_memory_reads_at_once_and_no_launch_more_than_needed() {
        for log_len in 12..=30 {
            let schedule = LayerSchedule::new(log_len);
            for strips in &schedule.strips {
                let params = DomainSpan::whole(log_len).strips(*strips, log_len, log_len, 0);
                assert!(params.log_width >= 3, "rows of 32 bytes: {schedule:?}");
            }
            let launches = match log_len {
                ..=12 => 0,
                13..=24 => 1,
                _ => 2,
            };
            assert_eq!(schedule.strips.len(), launches, "{schedule:?}");
            assert_eq!(schedule.tiles > LOG_TILE, log_len == 24, "pairs only where they save a launch: {schedule:?}");
        }
    }

    #[test]
    fn blocks_take_columns_until_they_keep_any_device_busy() {
        for ((log_size, layers, columns), (columns_of_launch, columns_per_block, words)) in [
            // Columns of less than a tile are one run of words.
            ((11, 11, 5), (1, 1, 5 << 11)),
            ((12, 12, 0), (0, 1, 0)),
            ((12, 12, 8192), (8192, 1, 8192 << 12)),
            ((12, 12, 8193), (8193, 2, 8193 << 12)),
            ((13, 12, 4097), (4097, 2, 4097 << 13)),
            ((13, 13, 4097), (4097, 1, 4097 << 13)),
            ((26, 12, 7), (7, 7, 7 << 26)),
        ] {
            let p = DomainSpan { log_domain: 27, log_size, position: 3 }.tiles(9, layers, 5, columns);
            assert_eq!(
                (p.columns, p.columns_per_block, p.words),
                (columns_of_launch, columns_per_block, words),
                "{p:?}"
            );
            assert_eq!(
                (p.log_domain, p.log_size, p.log_source, p.layers, p.scale, p.position),
                (27, log_size, 9, layers, 5, 3)
            );
        }
        for (log_rows, log_strip) in [(4, 12), (8, 12), (9, 14), (11, 14)] {
            let p = DomainSpan::first(20, 21).strips(Strips { layer: 9, log_rows }, 19, 18, 5);
            assert_eq!((p.log_rows, p.log_rows + p.log_width), (log_rows, log_strip));
            assert_eq!((p.log_domain, p.log_size, p.log_source, p.log_region), (21, 20, 19, 18));
            assert_eq!((p.layer, p.scale, p.position), (9, 5, 0));
        }
    }

    #[test]
    fn tiles_cover_all_columns() {
        for log_size in 3..=30 {
            for columns in [1, 2, 3, 100, 65_537] {
                let p = DomainSpan::whole(log_size).tiles(log_size, 3, 0, columns);
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
