//! Programs of register operations.

use core_types::{air::Tree, field::M31, params::air::Instruction};

/// A program that computes the outputs of a row: what `AirOps` of any backend runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) constants: Vec<M31>,
    pub(crate) registers: u32,
    pub(crate) outputs: u32,
    pub(crate) masks: Vec<MaskRead>,
}

impl Program {
    /// The steps, in order.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The constants that steps name.
    #[must_use]
    pub fn constants(&self) -> &[M31] {
        &self.constants
    }

    /// Registers of one word, at most 2^16.
    #[must_use]
    pub const fn registers(&self) -> u32 {
        self.registers
    }

    /// Outputs. Each is written once.
    #[must_use]
    pub const fn outputs(&self) -> u32 {
        self.outputs
    }

    /// What each mask that steps name reads.
    #[must_use]
    pub fn masks(&self) -> &[MaskRead] {
        &self.masks
    }
}

/// A column at an offset from the row at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MaskRead {
    /// The column.
    pub source: MaskSource,
    /// Rows from the row at hand.
    pub offset: i32,
}

/// A column, as an AIR names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskSource {
    /// The preprocessed column in a slot.
    Preprocessed {
        /// The slot.
        slot: u32,
    },
    /// A column of another tree.
    Column {
        /// The tree.
        tree: Tree,
        /// The column's index within the component's columns in that tree.
        column: u32,
    },
}
