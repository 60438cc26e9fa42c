//! The elements of an arena that were read to the host.

use std::collections::HashMap;

use core_types::{circle::CirclePoint, field::QM31};

/// Elements that were read.
#[derive(Debug)]
pub(crate) struct KnownElements<D> {
    /// All of them.
    pub(crate) whole: Option<Vec<D>>,
    /// Some of them, by place.
    pub(crate) values: HashMap<usize, D>,
    /// The proof whose queries opened them.
    pub(crate) proof: u64,
    /// Queries whose values were read.
    pub(crate) queries: usize,
}

impl<D> Default for KnownElements<D> {
    fn default() -> Self {
        Self { whole: None, values: HashMap::new(), proof: 0, queries: 0 }
    }
}

/// A point outside the domain.
pub(crate) type Point = CirclePoint<QM31>;

/// What columns of coefficients are at points outside the domain.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    /// By points, and the first words and lengths of columns.
    pub(crate) values: HashMap<(Point, usize, usize), QM31>,
    /// Columns that were sampled at a point.
    pub(crate) columns: HashMap<Point, usize>,
}
