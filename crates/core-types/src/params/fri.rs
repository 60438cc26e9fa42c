//! Parameters of FRI and of openings.

use bytemuck::{Pod, Zeroable};

use super::sizes::sizes;

/// Folding of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FriFoldParams {
    /// Log of the number of values, at most 30 on the circle and 29 on a line.
    pub log_size: u32,
    /// Log of how many values fold to one, 1 to `log_size`.
    pub folds: u32,
    /// 1 if the values are on a canonic circle domain and the first fold leads to a line, 0 if they are on a line.
    pub on_circle: u32,
}

sizes!(FriFoldParams { log_size, folds, on_circle });

impl FriFoldParams {
    /// Log of the number of points of the canonic domain whose inverse twiddles the fold takes.
    #[inline]
    #[must_use]
    pub const fn log_domain(self) -> u32 {
        if self.on_circle == 1 { self.log_size } else { self.log_size.wrapping_add(1) }
    }
}

/// Some of the folds of a layer, by one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FriFoldLayers {
    /// Log of the number of values.
    pub log_size: u32,
    /// Log of the number of points of the canonic domain whose inverse twiddles the folds take.
    pub log_domain: u32,
    /// The layer of that domain whose factors the first fold takes.
    pub layer: u32,
    /// How often the challenge is squared before the first fold.
    pub squarings: u32,
}

/// The last layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FriLastLayerParams {
    /// Log of the number of values, at most 29.
    pub log_size: u32,
    /// Log of the number of coefficients that may be other than zero, at most `log_size`.
    pub log_bound: u32,
}

sizes!(FriLastLayerParams { log_size, log_bound });

/// Values of columns at queried positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct OpenColumnsParams {
    /// Log of the number of positions that queries are of, at most 30.
    pub log_from: u32,
    /// Log of the number of leaves of the tree, at least that of every column, at most 30.
    pub log_leaves: u32,
    /// Number of queries.
    pub queries: u32,
}

sizes!(OpenColumnsParams { log_from, log_leaves, queries });

/// Groups of values of the secure field around queried positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct OpenGroupsParams {
    /// Log of the number of values, at most 30.
    pub log_size: u32,
    /// Log of the number of positions that queries are of, `log_size..=30`; the values are those of the positions shifted to
    /// the right by the difference.
    pub log_from: u32,
    /// Log of the values of a group, at most `log_size`.
    pub log_group: u32,
    /// Number of queries.
    pub queries: u32,
}

sizes!(OpenGroupsParams { log_size, log_from, log_group, queries });
