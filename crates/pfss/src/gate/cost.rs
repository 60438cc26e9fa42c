//! The cost of a gate for each party, computed by formula.

use super::Gate;
use crate::{Cost, Party, lanes::LANES, secret::seed::Seed, tree::TreeRows};

/// The most bytes that a seed may expand to, for each other byte of keys.
///
/// Readers allocate the expansion, so this limits the memory that a few hostile bytes can claim.
const MOST_EXPANSION: u64 = 16;

impl Gate {
    /// What one element costs each party.
    ///
    /// ```
    /// use pfss::Gate;
    ///
    /// // An exact shift walks a key of 12 bits and one of 63, and opens two bits in one round.
    /// let cost = Gate::ars(64, 12)?.cost();
    /// assert_eq!((cost.aes, cost.masked_bits, cost.rounds), (5 + 56, 2, 2));
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    #[must_use]
    pub fn cost(&self) -> Cost {
        Cost { key_bits: self.key_bits_per_element(), ..self.shape().work(self.ring()) }
    }

    /// Bytes that each party sends for `count` elements, step digests included, and rounds.
    ///
    /// Exact for additive results of every gate; each row of masked bits is padded to whole bytes.
    #[must_use]
    pub fn traffic(&self, count: usize) -> (u64, u64) {
        let (Cost { input_bits, masked_bits, rounds, .. }, count) = (self.cost(), count as u64);
        let (_, word_bits) = self.shape().opened();
        let masked = (count * word_bits).div_ceil(8) + (masked_bits - word_bits) * count.div_ceil(8);
        ((count * input_bits).div_ceil(8) + masked + 16 * rounds, rounds)
    }

    /// Bytes of `party`'s keys for `count` elements in a bundle, saturating.
    ///
    /// It counts the seed and the sections with keys, whose elements are padded to words of bits.
    /// Headers, the encoding of a descriptor and gaps between sections are not counted.
    ///
    /// Source: `docs/key-bundles.md`.
    #[must_use]
    pub fn key_bytes(&self, party: Party, count: usize) -> u64 {
        let (bits, all) = (self.key_bits_of(party), self.key_bits_per_element());
        let seed = if bits < all { Seed::BYTES as u64 } else { 0 };
        // a word of bits for each 32 elements
        (count as u64).div_ceil(LANES).saturating_mul(LANES / 8 * bits).saturating_add(seed)
    }

    /// Size of one party's keys for one element, in bits, without header and padding.
    ///
    /// They take this in memory. Party 0's bytes are fewer: see [`key_bits_of`](Self::key_bits_of).
    #[must_use]
    pub fn key_bits_per_element(&self) -> u64 {
        8 * TreeRows::of(&self.trees()).bytes() + 64 * self.word_rows() + self.bit_rows()
    }

    /// Size of `party`'s keys for one element in the bytes of a bundle, in bits.
    ///
    /// Party 0's shares and roots are uniform, so its bytes hold a seed of 32 bytes for all
    /// elements in their place. The seed is not counted; neither are header and padding.
    ///
    /// Party 1 stores the whole [size](Self::key_bits_per_element). So does party 0 if the other
    /// keys would be less than a sixteenth of the bytes that a seed replaces: for instance for
    /// products, and for predicates of 7 bits with more than 30 masked bits.
    ///
    /// ```
    /// use pfss::{Gate, Party};
    ///
    /// // Of a shift, party 0 stores four correction words and two leaves.
    /// let shift = Gate::gap_ars(64, 12)?;
    /// assert_eq!(Party::BOTH.map(|party| shift.key_bits_of(party)), [8 * 96, 8 * 144 + 1]);
    /// # Ok::<(), pfss::PfssError>(())
    /// ```
    #[must_use]
    pub fn key_bits_of(&self, party: Party) -> u64 {
        let replaced = if self.is_seeded(party) { self.uniform_bits() } else { 0 };
        self.key_bits_per_element() - replaced
    }

    /// Whether the bytes of `party`'s bundles hold a seed in place of its uniform sections.
    pub(crate) fn is_seeded(&self, party: Party) -> bool {
        let uniform = self.uniform_bits();
        let others = self.key_bits_per_element() - uniform;
        party == Party::Zero && uniform <= MOST_EXPANSION * others
    }

    /// Bits of an element's roots and shares, all of them uniform for party 0.
    fn uniform_bits(&self) -> u64 {
        128 * TreeRows::of(&self.trees()).root + 64 * self.word_rows() + self.bit_rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree_bytes(gate: &Gate) -> u64 {
        TreeRows::of(&gate.trees()).bytes()
    }

    #[test]
    fn key_sizes_are_those_of_the_construction() {
        for (n, bytes) in [(64, 944), (63, 928), (47, 672), (46, 656), (37, 512), (12, 112), (7, 16), (1, 16)] {
            assert_eq!(tree_bytes(&Gate::full_predicates(n).unwrap()), bytes);
        }
        for (degree, bytes, aes) in [(0, 1560, 129), (1, 2080, 129), (3, 3120, 194)] {
            let gate = Gate::interval_powers(64, degree).unwrap();
            assert_eq!((tree_bytes(&gate), gate.cost().aes), (bytes, aes));
        }
        assert_eq!(tree_bytes(&Gate::relu(64).unwrap()), 928);
    }

    /// Compares the documented table with the code.
    ///
    /// It covers bytes of trees and words, AES blocks, opened bits and rounds.
    #[test]
    fn gates_cost_what_the_documented_table_says() {
        let document = include_str!("../../../../docs/pfss.md");
        let table = [
            ("truncate_reduce", Gate::truncate_reduce(64, 12)),
            ("gap_ars", Gate::gap_ars(64, 12)),
            ("gap_ars`, `in_one_round", Gate::gap_ars(64, 12).and_then(Gate::in_one_round)),
            ("lrs", Gate::lrs(64, 12)),
            ("ars", Gate::ars(64, 12)),
            ("relu", Gate::relu(64)),
            ("relu_ars", Gate::relu_ars(64, 12)),
            ("lut", Gate::lut(8, 64)),
        ];
        for (name, gate) in table {
            let gate = gate.unwrap();
            let (trees, cost) = (tree_bytes(&gate), gate.cost());
            let words = (cost.key_bits - gate.bit_rows()) / 8 - trees;
            let Cost { aes, masked_bits, rounds, .. } = cost;
            // a table opens a sign and a word
            let opened = if name == "lut" { format!("1 + {}", masked_bits - 1) } else { masked_bits.to_string() };
            let row = format!("| {trees} + {words} | {aes} | {opened} | {rounds} |");
            let line = document.lines().find(|line| line.starts_with(&format!("| `{name}`")));
            assert!(line.is_some_and(|line| line.ends_with(&row)), "{name}: {row}");
        }
    }

    #[test]
    fn gates_cost_what_their_construction_says() {
        let table = [
            (Gate::relu(64), 928 + 3 * 8, 1, 56, 1),
            (Gate::gap_ars(64, 12), 112 + 4 * 8, 1, 5, 1),
            (Gate::ars(64, 12), 112 + 928 + 6 * 8, 2, 61, 2),
            (Gate::relu_ars(64, 12), 112 + 928 + 8 * 8, 2, 61, 2),
            (Gate::gap_ars(64, 7), 16 + 4 * 8, 1, 0, 1),
        ];
        for (gate, bytes, bits, aes, opened) in table {
            let cost = gate.unwrap().cost();
            assert_eq!(cost, Cost { key_bits: 8 * bytes + bits, aes, input_bits: 64, masked_bits: opened, rounds: 2 });
        }
        // a wider result has wider words, which take 8 bytes anyway
        let widened = Gate::gap_ars_to(43, 12, 64).unwrap();
        let cost = Cost { key_bits: 8 * (112 + 4 * 8) + 1, aes: 5, input_bits: 43, masked_bits: 1, rounds: 2 };
        assert_eq!((widened.cost(), widened.traffic(5)), (cost, (27 + 1 + 32, 2)));
        let lut = |n: u32, bytes: u64, aes: u64| {
            let expected = Cost { key_bits: 8 * bytes + 1, aes, input_bits: n.into(), masked_bits: 65, rounds: 2 };
            assert_eq!(Gate::lut(n, 64).unwrap().cost(), expected);
        };
        lut(13, 128 + 32, 126);
        lut(10, 80 + 32, 14);
        lut(8, 48 + 32, 2);
        lut(7, 16 + 32, 0);
        let product = Cost { key_bits: 8 * 24, aes: 0, input_bits: 128, masked_bits: 0, rounds: 1 };
        assert_eq!(Gate::product(64).unwrap().cost(), product);
    }
}
