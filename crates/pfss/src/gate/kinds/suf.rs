//! Functions given by descriptors: the keys and rows of their programs.

use std::sync::Arc;

use core_types::Ring;

use crate::{
    Cost, Task,
    gate::shape::{Bounds, GateShape, HeaderParameters},
    suf::SufProgram,
    tree::KeyTree,
};

/// A descriptor with its program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Suf {
    pub(crate) program: Arc<SufProgram>,
}

impl Suf {
    /// No bound on the degree here: the program has its own.
    pub(crate) const BOUNDS: Bounds = Bounds { degree: u32::MAX, ..Bounds::of_ring(1, 64) };

    pub(crate) fn new(program: SufProgram) -> Self {
        Self { program: Arc::new(program) }
    }

    /// `None`: parameters alone do not define the program.
    pub(crate) const fn of(_: HeaderParameters) -> Option<Self> {
        None
    }
}

impl GateShape for Suf {
    fn program(&self) -> Option<&Arc<SufProgram>> {
        Some(&self.program)
    }

    fn output_words(&self) -> usize {
        self.program.desc().words().len()
    }

    fn trees(&self, _: Ring) -> Vec<KeyTree> {
        self.program.trees()
    }

    fn word_rows(&self) -> u64 {
        self.program.rows().words() - 1 // without the input mask
    }

    fn bit_rows(&self) -> u64 {
        self.program.rows().bits()
    }

    fn work(&self, _: Ring) -> Cost {
        self.program.work()
    }

    fn plain(&self, _: Ring, _: &Task<'_>, x: u64) -> Vec<u64> {
        let value = self.program.desc().eval(x);
        value.words.into_iter().chain(value.bools.into_iter().map(u64::from)).collect()
    }
}
