//! The product of two secrets: one triple, and no key tree.

use core_types::Ring;

use crate::{
    gate::shape::{Bounds, GateShape, HeaderParameters},
    tree::KeyTree,
};

/// Rows of the words section: the masks `[a]` and `[b]` of the factors, and `[a b]`.
pub(crate) const A_ROW: usize = 0;
pub(crate) const B_ROW: usize = 1;
pub(crate) const PRODUCT_ROW: usize = 2;

/// A triple `a`, `b`, `a b` for each element.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Product;

impl Product {
    pub(crate) const BOUNDS: Bounds = Bounds::of_ring(1, 64);

    pub(crate) fn of(_: HeaderParameters) -> Option<Self> {
        Some(Self)
    }
}

impl GateShape for Product {
    fn inputs(&self) -> usize {
        2
    }

    fn trees(&self, _: Ring) -> Vec<KeyTree> {
        Vec::new()
    }

    fn word_rows(&self) -> u64 {
        2
    }

    fn bit_rows(&self) -> u64 {
        0
    }
}
