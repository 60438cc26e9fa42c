//! Programs of AIRs as PTX that the driver compiles.
//!
//! The code is straight-line, with a thread for each position.
//!
//! A long program is cut into texts that each make some of its outputs: the compiler's time grows
//! faster than a text.
//!
//! A text depends on the steps, the constants and the offsets of the masks. The places and heights
//! of columns, challenges and powers are arguments, so that a text serves every proof of an AIR. It
//! holds one kernel, [`ProgramKind::kernel`], with the same results, word for word, as the kernel
//! that interprets programs. Challenges and powers are read four words at a time: views of them
//! begin at a multiple of 16 bytes, since blocks of memory do.

mod assembly;
mod columns;
mod cut;
mod field;
mod kernel;
mod outputs;
mod steps;

use std::{borrow::Cow, collections::HashSet};

use core_types::{
    field::M31,
    params::air::{Instruction, MaskAt},
};
use sha2::{Digest as _, Sha256};

use crate::ModuleText;

/// Threads of a block.
const THREADS: u32 = 128;

/// The use of a program's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProgramKind {
    /// They are multiplied by powers and added up.
    Evaluate,
    /// They are written.
    Fractions,
}

impl ProgramKind {
    /// The name of the kernel in the text of a program.
    #[must_use]
    pub const fn kernel(self) -> &'static str {
        match self {
            Self::Evaluate => "air_evaluate_compiled",
            Self::Fractions => "air_fractions_compiled",
        }
    }
}

/// The source of a program's text.
#[derive(Clone, Copy, Debug)]
pub struct ProgramSource<'a> {
    /// The use of the outputs.
    pub kind: ProgramKind,
    /// The steps.
    pub instructions: &'a [Instruction],
    /// The columns that they read; the text holds their offsets.
    pub masks: &'a [MaskAt],
    /// The constants.
    pub constants: &'a [M31],
}

impl ProgramSource<'_> {
    /// Maximum instructions of a compiled text.
    ///
    /// Wide Fibonacci with 1200 columns has about this length, and `ptxas` takes up to ten seconds
    /// for it. Its time grows faster than the text.
    pub const MOST_INSTRUCTIONS: usize = 1 << 15;

    /// Target length of the parts of a program: `ptxas` takes half a second for one.
    const PART_INSTRUCTIONS: usize = 1 << 13;

    /// The most instructions of all parts of a program.
    const ALL_INSTRUCTIONS: usize = 1 << 18;

    /// About how many instructions the text has.
    #[must_use]
    pub fn instructions_of_text(&self) -> usize {
        let offsets: HashSet<i32> = self.masks.iter().map(|mask| mask.offset).filter(|&offset| offset != 0).collect();
        self.instructions.iter().map(|step| steps::cost(step.opcode)).sum::<usize>()
            + offsets.len() * columns::OFFSET_COST
    }

    /// The steps of each part that is compiled: all steps, or the steps of some outputs each.
    ///
    /// `None` if the program is too long: the text of a single output, or all texts together, where
    /// outputs share most of their steps. `None` also if it is long and has no outputs.
    #[must_use]
    pub fn parts(&self) -> Option<Vec<Cow<'_, [Instruction]>>> {
        let all = self.instructions_of_text();
        if all <= Self::PART_INSTRUCTIONS {
            return Some(vec![Cow::Borrowed(self.instructions)]);
        }
        let together = Self::ALL_INSTRUCTIONS.min(2 * all);
        let mut most = Self::PART_INSTRUCTIONS;
        while most <= Self::MOST_INSTRUCTIONS && all <= Self::ALL_INSTRUCTIONS {
            let parts = cut::cut(self.instructions, self.masks, most, together);
            if let Some(parts) = parts.filter(|parts| !parts.is_empty()) {
                return Some(parts.into_iter().map(Cow::Owned).collect());
            }
            most *= 2;
        }
        None
    }

    /// A digest of all that the text depends on.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        let counts = [self.instructions.len(), self.masks.len(), self.constants.len()].map(|count| count as u64);
        digest.update(self.kind.kernel());
        digest.update(bytemuck::bytes_of(&counts));
        digest.update(bytemuck::cast_slice(self.instructions));
        for mask in self.masks {
            digest.update(mask.offset.to_le_bytes());
        }
        digest.update(bytemuck::cast_slice(self.constants));
        digest.finalize().into()
    }

    /// The texts of its parts; none if it is too long.
    pub(crate) fn texts(&self) -> Vec<ModuleText> {
        let parts = self.parts().unwrap_or_default();
        parts.iter().map(|instructions| ProgramSource { instructions, ..*self }.text()).collect()
    }

    /// The text, as a module with the manifest of its kernel.
    ///
    /// Steps that name masks or constants that there are not read zero in their place.
    #[must_use]
    pub fn text(&self) -> ModuleText {
        let name: String = self.digest()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        kernel::module(self, format!("air_program_{name}"))
    }
}
