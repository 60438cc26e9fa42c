//! The shape of a gate: its keys, its cost, and its result in the clear.
//!
//! It follows from the parameters alone. The secrets in `dealer/dealing` and the plans in `gates`
//! build on it.

use core::ops::RangeInclusive;
use std::sync::Arc;

use core_types::Ring;

use crate::{Cost, Task, suf::SufProgram, tree::KeyTree};

/// Parameters of a gate in a bundle header, besides kind and ring; 0 if unused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct HeaderParameters {
    /// Low bits compared or shifted off, bits of the input of a ReLU, or bits of a table's words.
    pub(crate) f: u32,
    /// Highest power of powers on intervals or of a descriptor; 1 for a gap shift in one round.
    pub(crate) degree: u32,
    pub(crate) masks: u32,
    /// Width of the output words, if it is more than the width of the input.
    pub(crate) out: u32,
}

/// Bounds on the parameters of a gate.
pub(crate) struct Bounds {
    /// Widths of the ring in bits.
    pub(crate) ring: RangeInclusive<u32>,
    pub(crate) f: BoundsOfF,
    /// The greatest degree.
    pub(crate) degree: u32,
    /// The most masked bits.
    pub(crate) masks: u32,
    /// Whether output words may be wider than the input.
    pub(crate) widens: bool,
}

/// The meaning of the parameter `f` of a gate.
pub(crate) enum BoundsOfF {
    /// The gate has none.
    Nothing,
    /// A number of low bits of the input that leaves at least `left` bits.
    LowBits { left: u32 },
    /// Bits that hold the input: at least two and less than the ring's width, or 0 for all bits.
    Narrow,
    /// The width of a separate ring.
    Words,
}

impl Bounds {
    /// No parameters but the ring.
    pub(crate) const fn of_ring(min: u32, max: u32) -> Self {
        Self { ring: min..=max, f: BoundsOfF::Nothing, degree: 0, masks: 0, widens: false }
    }

    /// A ring, and a number of its low bits that leaves at least `left` bits.
    pub(crate) const fn of_shift(left: u32) -> Self {
        Self { f: BoundsOfF::LowBits { left }, ..Self::of_ring(left + 1, 64) }
    }
}

/// The shape of a gate with its parameters. `ring` is the ring of its input, of `n` bits.
pub(crate) trait GateShape {
    /// The program of a descriptor.
    fn program(&self) -> Option<&Arc<SufProgram>> {
        None
    }

    /// The ring of the output, or of each of several outputs.
    fn out_ring(&self, ring: Ring) -> Ring {
        ring
    }

    /// Number of secrets of an element, each with its own mask.
    ///
    /// Their rows of masks come before all other rows.
    fn inputs(&self) -> usize {
        1
    }

    /// Output words of an element that can be masked.
    fn output_words(&self) -> usize {
        1
    }

    /// The key trees, in the order of the sections.
    fn trees(&self, ring: Ring) -> Vec<KeyTree>;

    /// Rows of additive shares after the input mask `[r]` and before the masks of outputs.
    fn word_rows(&self) -> u64;

    /// The ring of row `row` of these and the input mask.
    fn word_ring(&self, ring: Ring, _row: usize) -> Ring {
        ring
    }

    /// Rows of XOR shares.
    fn bit_rows(&self) -> u64;

    /// Numbers of bits, and of bits of a word, opened by an element after its masked input.
    ///
    /// The word is opened together with the bits. Most gates open a bit under each XOR share.
    fn opened(&self) -> (u64, u64) {
        (self.bit_rows(), 0)
    }

    /// AES blocks of one element.
    fn aes(&self, ring: Ring) -> u64 {
        self.trees(ring).into_iter().map(KeyTree::aes_per_point).sum()
    }

    /// What one element costs each party besides keys.
    fn work(&self, ring: Ring) -> Cost {
        let (bits, word_bits) = self.opened();
        let masked_bits = bits + word_bits;
        Cost {
            aes: self.aes(ring),
            // all secrets are opened at once
            input_bits: u64::from(ring.bits()) * self.inputs() as u64,
            masked_bits,
            rounds: 1 + u64::from(masked_bits > 0),
            ..Cost::default()
        }
    }

    /// The result for an element `x` of the ring in the clear.
    ///
    /// The result is empty for gates whose results depend on the predicates or intervals evaluated,
    /// or on a second secret. Not for secrets: may branch on `x`.
    fn plain(&self, _ring: Ring, _task: &Task<'_>, _x: u64) -> Vec<u64> {
        Vec::new()
    }
}
