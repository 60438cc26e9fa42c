//! The device memory that arithmetic on shares takes, besides the shares it starts from.

use core_types::params::share::{BitTerm, WordTerm};

use super::bytes::{granules, padded};
use crate::{
    Gate,
    gates::{
        plan::TaskPlan,
        shares::sums::summed_at_once,
        suf::most_word_terms,
        walk::comparison::{BitSums, Comparison},
    },
    lanes::LANES,
};

/// Greatest number of terms of a sum of a gate without a descriptor.
///
/// Its sums of bits have fewer.
const TERMS: u64 = 16;

/// Bytes of a buffer without elements, which takes a granule all the same.
const EMPTY: u64 = 0;

/// The sums of one step of a gate.
///
/// The step that takes the most of each kind of row stands for all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Combining {
    term_bytes: u64,
    /// Offsets of points, which lie after the public words.
    points: u64,
    /// Rows of bits, read or written.
    bit_rows: u64,
    /// Rows of the bundle's words.
    held_rows: u64,
    /// Sums of words.
    sums: u64,
}

impl Combining {
    /// Between the walk of a tree and the end of its step, for trees with `points` points in all.
    pub(super) fn walking(gate: &Gate, plan: &TaskPlan, points: u64) -> Self {
        // where thresholds are hidden, the rows of all points are combined in the end
        let of = |(sums, rows): (&BitSums, usize)| [sums.terms() as u64, rows as u64, sums.len() as u64];
        // the terms of all trees are copied at once, and their sums are kept until they are read together
        let most =
            |[terms, rows, sums]: [u64; 3], [more, also, other]: [u64; 3]| [terms + more, rows.max(also), sums + other];
        let bits = match plan {
            TaskPlan::Compare(_) | TaskPlan::Bits(_) => {
                plan.comparisons().iter().map(Comparison::over).map(of).reduce(most)
            }
            TaskPlan::Suf(plan) => plan.bit_sums().map(of).reduce(most),
            TaskPlan::Payload(plan) => {
                let (term_bytes, sums) =
                    (size_of::<WordTerm>() as u64 * plan.sums().terms(), plan.sums().count() as u64);
                return Self { term_bytes, points, bit_rows: 0, held_rows: gate.word_rows(), sums };
            }
            TaskPlan::Look(_) | TaskPlan::Product => return Self::default(),
        };
        let [bit_terms, rows, sums] = bits.unwrap_or_default(); // a descriptor may have no sums of bits
        let term_bytes = size_of::<BitTerm>() as u64 * bit_terms;
        let bits = Self { term_bytes, points, bit_rows: rows + sums, ..Self::default() };
        match plan {
            TaskPlan::Suf(plan) if plan.sums_words() => {
                let lists = plan.lists().into_iter().map(|list| size_of_val(list) as u64).sum::<u64>();
                let words = bits.and(Self { bit_rows: 0, ..Self::closing(gate) });
                Self { term_bytes: words.term_bytes.max(lists), ..words }
            }
            _ => bits,
        }
    }

    /// After an exchange.
    pub(super) fn closing(gate: &Gate) -> Self {
        let (terms, sums) = match gate.program() {
            Some(program) => {
                let (words, bools) = (program.desc().words().len(), program.desc().bools().len());
                (most_word_terms(program), words.max(bools) as u64)
            }
            None => (TERMS * u64::from(gate.masks().max(1)), gate.masks().max(1).into()),
        };
        let term_bytes = size_of::<WordTerm>() as u64 * terms;
        Self { term_bytes, points: 0, bit_rows: gate.bit_rows(), held_rows: gate.word_rows(), sums }
    }

    /// Enough for either.
    fn and(self, other: Self) -> Self {
        Self {
            term_bytes: self.term_bytes.max(other.term_bytes),
            points: self.points.max(other.points),
            bit_rows: self.bit_rows.max(other.bit_rows),
            held_rows: self.held_rows.max(other.held_rows),
            sums: self.sums.max(other.sums),
        }
    }

    /// Elements that are combined at once after an exchange.
    pub(super) fn at_once(&self) -> usize {
        summed_at_once(self.held_rows as usize)
    }

    /// Bytes for `count` elements at once, rounded up buffer by buffer.
    pub(super) fn bytes(&self, count: usize) -> u64 {
        let (padded, count) = (padded(count), count as u64);
        let bits = 4 * self.bit_rows * padded / LANES;
        let words = [8 * (count + self.points), 8 * self.held_rows * padded, 8 * self.sums * count];
        // rows of bits are in two buffers
        [self.term_bytes, bits, EMPTY, EMPTY].into_iter().chain(words).map(granules).sum()
    }
}
