//! What every gate says about itself: its keys, what the dealer hides in them, how it is evaluated, and its plain
//! meaning.

use core::ops::RangeInclusive;
use std::sync::Arc;

use core_types::Ring;

use super::{Cost, Gate, Tree};
use crate::{
    PfssError, Task,
    dealer::{Draw, Secrets},
    gates::Plan,
    suf::SufProgram,
};

/// The numbers of a bundle header that say what a gate is besides its kind and ring; 0 where it has no such parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    /// Low bits that are compared or shifted off, the bits that hold the input of a ReLU, or those of a table's words.
    pub(crate) f: u32,
    pub(crate) degree: u32,
    pub(crate) masks: u32,
}

/// What the parameters of a gate may be.
pub(crate) struct Bounds {
    /// Widths of the ring in bits.
    pub(crate) ring: RangeInclusive<u32>,
    pub(crate) f: BoundsOfF,
    /// The greatest degree.
    pub(crate) degree: u32,
    /// The most masked bits.
    pub(crate) masks: u32,
}

/// What the parameter `f` of a gate stands for.
pub(crate) enum BoundsOfF {
    /// The gate has none.
    Nothing,
    /// Low bits of the input, of which at least so many are left.
    LowBits { left: u32 },
    /// Bits that hold the input, at least two and fewer than those of the ring; 0 for all of these.
    Narrow,
    /// The width of a ring of its own.
    Words,
}

impl Bounds {
    /// No parameters but the ring.
    pub(crate) const fn of_ring(min: u32, max: u32) -> Self {
        Self { ring: min..=max, f: BoundsOfF::Nothing, degree: 0, masks: 0 }
    }

    /// A ring, and low bits of which at least `left` are left.
    pub(crate) const fn of_shift(left: u32) -> Self {
        Self { ring: left + 1..=64, f: BoundsOfF::LowBits { left }, degree: 0, masks: 0 }
    }
}

/// A gate of one kind, with its parameters. `ring` is that of its input, of `n` bits.
pub(crate) trait Rule {
    fn parameters(&self) -> Parameters {
        Parameters::default()
    }

    /// The program of a descriptor.
    fn program(&self) -> Option<&Arc<SufProgram>> {
        None
    }

    /// The ring of the output, or of each of several outputs.
    fn out_ring(&self, ring: Ring) -> Ring {
        ring
    }

    /// Secrets of an element, each under a mask of its own: the rows of masks that come before all other rows.
    fn inputs(&self) -> usize {
        1
    }

    /// Output words of an element that can be masked.
    fn output_words(&self) -> usize {
        1
    }

    /// The key trees, in the order of the sections.
    fn trees(&self, ring: Ring) -> Vec<Tree>;

    /// Rows of additive shares after the input mask `[r]` and before the masks of outputs.
    fn word_rows(&self) -> u64;

    /// The ring of row `row` of these and the input mask.
    fn word_ring(&self, ring: Ring, _row: usize) -> Ring {
        ring
    }

    /// Rows of XOR shares.
    fn bit_rows(&self) -> u64;

    /// Bits that an element opens after its masked input, and the bits of a word that it opens with them.
    fn opened(&self) -> (u64, u64) {
        (0, 0)
    }

    /// AES blocks of one element.
    fn aes(&self, ring: Ring) -> u64 {
        self.trees(ring).into_iter().map(Tree::aes_per_point).sum()
    }

    /// What one element costs each party besides keys.
    fn work(&self, ring: Ring) -> Cost {
        let (bits, word_bits) = self.opened();
        let masked_bits = bits + word_bits;
        Cost {
            key_bits: 0,
            aes: self.aes(ring),
            // all secrets are opened at once
            input_bits: u64::from(ring.bits()) * self.inputs() as u64,
            masked_bits,
            rounds: 1 + u64::from(masked_bits > 0),
        }
    }

    /// What the dealer hides besides the input mask, which is already the first row of words, and the threshold of
    /// every tree. The order of the draws decides the bytes of bundles.
    fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets);

    /// How `task` is evaluated, checked against `gate`, which this is the rule of.
    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<Plan, PfssError> {
        Err(task.not_for(gate))
    }

    /// The result of `task` (`None` for a descriptor) for an element `x` of the ring in the clear. Empty for gates
    /// whose results depend on questions or on a second secret. Not for secrets: may branch on `x`.
    fn plain(&self, _ring: Ring, _task: Option<&Task<'_>>, _x: u64) -> Vec<u64> {
        Vec::new()
    }
}
