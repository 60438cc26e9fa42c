//! Parameters of FRI and of openings.

use bytemuck::{Pod, Zeroable};

use crate::{air::lifted, params::sizes::sizes};

/// Folding of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct FriFoldParams {
    /// Log of the number of values, at most 30 on the circle and 29 on a line.
    pub log_size: u32,
    /// Log of how many values fold to one, 1 to `log_size`.
    pub folds: u32,
    /// 1 if the values are on a canonic circle domain, 0 if they are on a line.
    ///
    /// The first fold from a circle domain leads to a line.
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
    /// Log of the number of leaves of the tree, at most 30.
    ///
    /// It is at least the log length of every column.
    pub log_leaves: u32,
    /// Number of queries.
    pub queries: u32,
}

sizes!(OpenColumnsParams { log_from, log_leaves, queries });

impl OpenColumnsParams {
    /// The row of a queried position in a column of `2^log_len` words.
    #[inline]
    #[must_use]
    pub const fn row(self, position: u32, log_len: u32) -> u32 {
        let leaf = lifted(modulo(position, self.log_from), self.log_from, self.log_leaves);
        // A column of one word has no pairs: that word belongs to every leaf.
        modulo(lifted(leaf, self.log_leaves, log_len), log_len)
    }
}

/// Groups of values of the secure field around queried positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct OpenGroupsParams {
    /// Log of the number of values, at most 30.
    pub log_size: u32,
    /// Log of the number of queried positions, `log_size..=30`.
    ///
    /// A query reads the value at its position shifted to the right by the difference.
    pub log_from: u32,
    /// Log of the values of a group, at most `log_size`.
    pub log_group: u32,
    /// Number of queries.
    pub queries: u32,
}

sizes!(OpenGroupsParams { log_size, log_from, log_group, queries });

impl OpenGroupsParams {
    /// The place of the first value of the group that a queried position is in.
    #[inline]
    #[must_use]
    pub const fn first(self, position: u32) -> u32 {
        let shifted = modulo(position, self.log_from).wrapping_shr(self.log_from.wrapping_sub(self.log_size));
        shifted & u32::MAX.wrapping_shl(self.log_group)
    }
}

/// `position` modulo `2^log`, for `log` at most 31.
const fn modulo(position: u32, log: u32) -> u32 {
    position & 1u32.wrapping_shl(log).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_leaf() {
        let params = OpenColumnsParams { log_from: 4, log_leaves: 4, queries: 0 };
        // Position 13 is the odd one of pair 6, which doubling takes to pair 3, pair 1, pair 0.
        assert_eq!([4, 3, 2, 1, 0].map(|log_len| params.row(13, log_len)), [13, 7, 3, 1, 0]);
        assert_eq!(params.row(0xffff_fff0 | 13, 3), 7);
        // Two positions in four leaves: the first leaves of their pairs.
        let params = OpenColumnsParams { log_from: 1, log_leaves: 2, queries: 0 };
        assert_eq!([0, 1, 2, 3].map(|position| params.row(position, 2)), [0, 1, 0, 1]);
    }

    #[test]
    fn a_tree_of_one_leaf_has_one_row() {
        for log_from in [0, 1, 5] {
            let params = OpenColumnsParams { log_from, log_leaves: 0, queries: 0 };
            assert!((0..40).all(|position| params.row(position, 0) == 0));
        }
    }

    #[test]
    fn groups_begin_at_multiples_of_their_length() {
        let params = OpenGroupsParams { log_size: 4, log_from: 6, log_group: 2, queries: 0 };
        // 45 is 11 in the layer, and 11 is in the group 8..12.
        assert_eq!(params.first(45), 8);
        assert_eq!(params.first(45 + (5 << 6)), 8);
        let whole = OpenGroupsParams { log_group: 4, ..params };
        assert_eq!(whole.first(45), 0);
        let single = OpenGroupsParams { log_group: 0, ..params };
        assert_eq!(single.first(45), 11);
    }
}
