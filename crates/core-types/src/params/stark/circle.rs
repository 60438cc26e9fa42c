//! Parameters of the circle op set.
//!
//! All buffers are column-major: column `c` starts at `c * 2^log_size`.

use bytemuck::{NoUninit, Pod, Zeroable};

use crate::{circle::CirclePoint, field::QM31, params::sizes::sizes};

/// A batch of transforms of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleFftParams {
    /// Log of the number of values in a column, 1..=30.
    pub log_size: u32,
    /// Number of columns.
    pub columns: u32,
}

sizes!(CircleFftParams { log_size, columns });

/// A batch of low-degree extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleExtendParams {
    /// Log of the number of coefficients in a column.
    pub log_coefficients: u32,
    /// Log of the number of values in a column, at least `log_coefficients`.
    pub log_size: u32,
    /// Number of columns.
    pub columns: u32,
}

sizes!(CircleExtendParams { log_coefficients, log_size, columns });

/// A batch of extensions to one block of a domain.
///
/// The stored positions of the domain are cut into blocks of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleRestrictParams {
    /// Log of the number of coefficients in a column, at most `log_domain`.
    pub log_coefficients: u32,
    /// Log of the number of points of the canonic domain, 1..=30.
    pub log_domain: u32,
    /// Log of the number of values in a block, 1..=`log_domain`.
    pub log_block: u32,
    /// Which of the `2^(log_domain - log_block)` blocks.
    pub block: u32,
    /// Number of columns.
    pub columns: u32,
}

sizes!(CircleRestrictParams { log_coefficients, log_domain, log_block, block, columns });

impl CircleRestrictParams {
    /// Log of the number of parts of `2^log_block` coefficients in a column.
    ///
    /// A smaller column counts as one part.
    #[inline]
    #[must_use]
    pub const fn log_parts(&self) -> u32 {
        self.log_coefficients.saturating_sub(self.log_block)
    }

    /// Stored position of the block's first value.
    #[inline]
    #[must_use]
    pub const fn position(&self) -> u32 {
        self.block << self.log_block
    }
}

/// A batch of interpolations from the first values on a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CirclePartParams {
    /// Log of the number of values in a column, 1..=`log_domain`.
    pub log_size: u32,
    /// Log of the number of points of the canonic domain, at most 30.
    pub log_domain: u32,
    /// Number of columns.
    pub columns: u32,
}

sizes!(CirclePartParams { log_size, log_domain, columns });

/// Evaluation of a batch of polynomials at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CirclePointParams {
    /// Log of the number of coefficients in a column, 0..=30.
    pub log_size: u32,
    /// Number of columns.
    pub columns: u32,
    /// The point, on the circle over QM31.
    pub point: CirclePoint<QM31>,
}

sizes!(CirclePointParams { log_size, columns });

// SAFETY: two u32 and a repr(C) pair of four words each: 40 bytes of 4-byte words, no padding.
unsafe impl NoUninit for CirclePointParams {}

/// Twiddle factors of one domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleTwiddleParams {
    /// Log of the number of points of the domain, 1..=30.
    pub log_size: u32,
}

sizes!(CircleTwiddleParams { log_size });

/// One launch over contiguous tiles of `2^12` words, or pairs of tiles.
///
/// It runs the lowest layers of whole columns. Columns smaller than a tile are taken as one column
/// of `words` words, with positions counted modulo `2^log_size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleTileParams {
    /// Words of the batch.
    pub words: u64,
    /// Log of the number of points of the domain that the twiddles belong to.
    pub log_domain: u32,
    /// Log of the words of a column; at least 3.
    pub log_size: u32,
    /// Log of the words of a source column.
    ///
    /// It is `log_size` in place. It is less if copies read the same source column, and more if
    /// parts of `2^log_size` words of the source column are added up.
    pub log_source: u32,
    /// Layers to run, from layer 0 on: at most 12 in tiles, 13 in pairs.
    pub layers: u32,
    /// The inverse multiplies its results by `2^scale`, below 31.
    pub scale: u32,
    /// Number of columns if they are at least a tile, 1 for smaller ones.
    pub columns: u32,
    /// Columns that one block runs one after the other.
    pub columns_per_block: u32,
    /// Position of a column's first word in the domain, a multiple of `2^log_size`.
    pub position: u32,
}

impl CircleTileParams {
    /// Log of the words of a tile.
    pub const LOG_TILE: u32 = 12;
}

/// One launch over strips: `2^log_rows` rows at distance `2^layer`.
///
/// A strip has `2^log_width` consecutive words of each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleStripParams {
    /// Log of the number of points of the domain that the twiddles belong to.
    pub log_domain: u32,
    /// Log of the words of a target column.
    pub log_size: u32,
    /// Log of the words of a source column.
    ///
    /// It is `log_size` in place, and `log_region` if every copy reads the same source column. It
    /// is more than `log_size` if parts of `2^log_region` words of the source column are added up.
    pub log_source: u32,
    /// Log of the words of one copy of the polynomial in a target column.
    pub log_region: u32,
    /// The lowest layer to run, at least `log_width`.
    pub layer: u32,
    /// Layers to run, 4..=12.
    pub log_rows: u32,
    /// Log of the words of a row.
    pub log_width: u32,
    /// The inverse multiplies its results by `2^scale`, below 31.
    pub scale: u32,
    /// Position of a column's first word in the domain, a multiple of `2^log_size`.
    pub position: u32,
}

impl CircleStripParams {
    /// Log of the words of a strip.
    pub const LOG_STRIP: u32 = 12;
    /// Log of the words of a wide strip.
    pub const LOG_WIDE_STRIP: u32 = 14;
}

/// One launch over whole columns of two or four words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleSmallParams {
    /// Log of the number of points of the domain that the twiddles belong to.
    pub log_domain: u32,
    /// Log of the words of a column; 1 or 2.
    pub log_size: u32,
    /// Log of the words of a source column.
    ///
    /// Missing words are zero. If it is more than `log_size`, the source's parts of `2^log_size`
    /// words are added up.
    pub log_source: u32,
    /// Number of columns.
    pub columns: u32,
    /// Position of a column's first word in the domain, a multiple of `2^log_size`.
    pub position: u32,
}

/// A column of coefficients to evaluate, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CircleSampleAt {
    /// The column's first word.
    pub first: u64,
    /// The point, by its place in the list.
    pub point: u32,
    /// The value's place among all.
    pub value: u32,
}

/// One launch over ranges of `2^log_range` coefficients of columns of one size.
///
/// Each block evaluates one range at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CirclePointRangeParams {
    /// Log of the coefficients of a column.
    pub log_size: u32,
    /// Log of the coefficients of a block, at most 16.
    pub log_range: u32,
}

impl CirclePointRangeParams {
    /// Bits of the index of a coefficient.
    ///
    /// Each has a factor at a point: `y, x, pi(x), pi(pi(x)), ...`
    pub const FACTORS: usize = 30;
}
