//! What an AIR reads, counted by letting it read a row that has no values.

use alloc::vec::Vec;
use core::ops::{Add, Mul, Neg, Sub};

use core_types::{
    air::{BaseValue, ExtensionValue, Row, Tree},
    field::{M31, QM31},
};

/// Trees that an AIR can read.
pub(crate) const MOST_TREES: usize = 1 << 8;

/// What an AIR reads.
#[derive(Debug, Default)]
pub(crate) struct Census {
    /// Offsets of each column, by tree; the preprocessed tree has none here.
    pub(crate) masks: Vec<Vec<Vec<i32>>>,
    /// Slots of preprocessed columns.
    pub(crate) preprocessed: u32,
    /// Slots of challenges.
    pub(crate) challenges: u32,
    /// Whether the AIR requested a mask of the preprocessed tree, whose columns have no order.
    pub(crate) preprocessed_mask: bool,
    /// The first requested tree beyond the trees of a proof.
    pub(crate) no_tree: Option<Tree>,
}

/// In the place of every value.
#[derive(Clone, Copy)]
pub(crate) struct CensusValue;

impl Row for Census {
    type F = CensusValue;
    type E = CensusValue;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [CensusValue; K] {
        self.preprocessed_mask |= tree == Tree::PREPROCESSED;
        let place = tree.0 as usize;
        if place >= MOST_TREES {
            self.no_tree.get_or_insert(tree);
            return [CensusValue; K];
        }
        if self.masks.len() <= place {
            self.masks.resize_with(place + 1, Vec::new);
        }
        self.masks[place].push(offsets.to_vec());
        [CensusValue; K]
    }

    fn preprocessed(&mut self, slot: u32) -> CensusValue {
        self.preprocessed = self.preprocessed.max(slot.saturating_add(1));
        CensusValue
    }

    fn challenge(&mut self, slot: u32) -> CensusValue {
        self.challenges = self.challenges.max(slot.saturating_add(1));
        CensusValue
    }

    fn mean(&mut self) -> CensusValue {
        CensusValue
    }

    fn constraint(&mut self, _: CensusValue) {}

    fn constraint_ext(&mut self, _: CensusValue) {}
}

impl BaseValue for CensusValue {}

impl ExtensionValue<Self> for CensusValue {
    fn from_coordinates(_: [Self; 4]) -> Self {
        Self
    }
}

macro_rules! marks {
    ($($operation:ident :: $method:ident),*) => {
        $(
            impl $operation for CensusValue {
                type Output = Self;
                fn $method(self, _: Self) -> Self {
                    self
                }
            }

            impl $operation<M31> for CensusValue {
                type Output = Self;
                fn $method(self, _: M31) -> Self {
                    self
                }
            }
        )*
    };
}

marks!(Add::add, Sub::sub, Mul::mul);

impl Neg for CensusValue {
    type Output = Self;
    fn neg(self) -> Self {
        self
    }
}

impl From<M31> for CensusValue {
    fn from(_: M31) -> Self {
        Self
    }
}

impl From<QM31> for CensusValue {
    fn from(_: QM31) -> Self {
        Self
    }
}
