//! How the layers of FRI are cut.

use crate::shape::Shape;

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
}

impl LayerForm {
    /// Those of all layers.
    pub(crate) fn all(shape: &Shape) -> Vec<Self> {
        let of = |(log_size, &fold): (u32, &u32)| {
            let log_packed = if fold > 1 && log_size >= LOG_PACKED { LOG_PACKED } else { 0 };
            Self { log_size, fold, log_packed }
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

    /// Levels from there to the root.
    pub(crate) const fn levels(self) -> usize {
        (self.log_size - self.fold) as usize
    }
}
