//! How the layers of FRI are cut.

use crate::plan::shape::StatementShape;

/// Log of how many values share a leaf, in layers that fold more than two to one.
const LOG_PACKED: u32 = 2;

/// How a layer of FRI is cut.
#[derive(Clone, Copy)]
pub(crate) struct LayerForm {
    pub(crate) log_size: u32,
    /// Log of how many values fold to one.
    pub(crate) fold: u32,
    /// Log of how many values share a leaf.
    pub(crate) log_packed: u32,
    /// Levels of the tree that are not kept.
    pub(crate) truncated: u32,
    /// Log of the leaves that are hashed at a time.
    pub(crate) log_part: u32,
}

impl LayerForm {
    /// Returns the forms of all layers.
    pub(crate) fn all(shape: &StatementShape) -> Vec<Self> {
        let of = |(log_size, &fold): (u32, &u32)| {
            let log_packed = if fold > 1 && log_size >= LOG_PACKED { LOG_PACKED } else { 0 };
            let log_leaves = log_size - log_packed;
            let truncation = shape.truncation.filter(|truncation| truncation.with_layers);
            let (truncated, log_part) = truncation.map_or((0, log_leaves), |truncation| {
                let log_part = truncation.log_part.min(shape.log_size - shape.log_blocks).max(truncation.levels);
                (truncation.levels.min(log_leaves), log_leaves.min(log_part))
            });
            Self { log_size, fold, log_packed, truncated, log_part }
        };
        shape.layers().into_iter().zip(&shape.folds).map(of).collect()
    }

    /// Log of the number of leaves.
    pub(crate) const fn log_leaves(self) -> u32 {
        self.log_size - self.log_packed
    }

    /// Level of the node above all leaves of a group.
    pub(crate) const fn group_level(self) -> u32 {
        self.fold - self.log_packed
    }

    /// Log of the number of nodes of the lowest level that is kept.
    pub(crate) const fn log_kept(self) -> u32 {
        self.log_leaves() - self.truncated
    }

    /// The first level of what opens a group, among those that are kept.
    pub(crate) const fn first_kept(self) -> u32 {
        self.group_level().saturating_sub(self.truncated)
    }

    /// Kept levels of what opens a group.
    pub(crate) const fn kept_levels(self) -> usize {
        (self.log_kept() - self.first_kept()) as usize
    }

    /// Levels of what opens a group.
    pub(crate) const fn levels(self) -> usize {
        (self.log_size - self.fold) as usize
    }

    /// Log of the number of values that are gathered for a query.
    ///
    /// They are the values that fold with it, and the values needed to rehash its path below the
    /// stored levels.
    pub(crate) const fn log_gathered(self) -> u32 {
        let opening = self.truncated + self.log_packed;
        if opening > self.fold { opening } else { self.fold }
    }

    /// Whether the leaves are hashed part by part, in memory of their own.
    pub(crate) const fn is_hashed_in_parts(self) -> bool {
        self.truncated > 0 || self.log_part < self.log_leaves()
    }

    /// Words of the values of a part.
    pub(crate) const fn part_words(self) -> usize {
        4 << (self.log_part + self.log_packed)
    }
}
