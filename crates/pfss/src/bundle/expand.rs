//! Party 0's uniform sections, from the seed that its bundle holds in their place.
//!
//! Row `i` of the bundle's section `s` is section `2^32 s + i` of the seed.

use core::ops::Range;

use backend_api::{BackendError, BufferMut as _, Mut, Queue, ops::fss::FssOps};
use bytemuck::Pod;
use zeroize::Zeroize;

use super::{BundleKeys, KeyBundle, layout::SectionId};
use crate::{
    Gate,
    lanes::LANES,
    secret::{
        section::Section,
        seed::{SectionBlocks, Seed},
    },
    tree::TreeRows,
};

/// The rows of a bundle's seed, for a device to expand.
#[derive(Clone, Copy)]
pub(crate) struct SeededRows<'a> {
    bundle: &'a KeyBundle,
    seed: &'a Seed,
}

impl KeyBundle {
    /// The rows of the seed, if `q` expands `bytes` bytes of them rather than copying them.
    ///
    /// `None` for keys without a seed, for a queue that reads the host's memory, and for few bytes.
    pub(crate) fn seeded_rows<Q: Queue>(&self, q: &Q, bytes: usize) -> Option<SeededRows<'_>> {
        let seed = self.seed.as_ref()?;
        let copied = bytes < Seed::LEAST_EXPANDED || q.host_view(&self.keys.words).is_some();
        (!copied).then_some(SeededRows { bundle: self, seed })
    }
}

impl SeededRows<'_> {
    /// Writes the roots of tree `index`, two words each.
    pub(crate) fn roots<Q: FssOps>(self, q: &Q, index: usize, roots: Mut<'_, Q, u64>) -> Result<(), BackendError> {
        let Self { bundle, seed } = self;
        let row = TreeRows::of(&bundle.gate().trees()[..index]).root as usize;
        let section = section(SectionId::Root, row);
        let of = SectionBlocks { section, sections: 1, first: bundle.first, blocks: bundle.padded() };
        seed.expand_on(q, of, [!3, u64::MAX], roots)
    }

    /// Writes the elements `columns` of the rows `of` of additive shares.
    ///
    /// The columns start at a multiple of [`LANES`] and are a multiple of them.
    pub(crate) fn words<Q: FssOps>(
        self,
        q: &Q,
        of: Range<usize>,
        columns: Range<usize>,
        words: Mut<'_, Q, u64>,
    ) -> Result<(), BackendError> {
        let Self { bundle, seed } = self;
        let (gate, width) = (bundle.gate(), columns.len());
        // Neighbouring rows in one ring take one launch. A block has two words.
        let (mut row, mut rest) = (of.start, words);
        while row < of.end {
            let ring = gate.word_ring(row);
            let end = (row + 1..of.end).find(|&next| gate.word_ring(next) != ring).unwrap_or(of.end);
            let (part, after) = rest.split_at((end - row) * width)?;
            let (section, first) = (section(SectionId::Words, row), (bundle.first + columns.start) / 2);
            let blocks = SectionBlocks { section, sections: end - row, first, blocks: width / 2 };
            seed.expand_on(q, blocks, [ring.mask(); 2], part)?;
            (row, rest) = (end, after);
        }
        Ok(())
    }
}

/// The seed's section of row `row` of a section of the bundle.
fn section(id: SectionId, row: usize) -> u64 {
    u64::from(id.number()) << 32 | row as u64
}

impl BundleKeys {
    /// Fills roots, words and bits of party 0 from `seed`, in rows of `padded` elements.
    pub(crate) fn expand(&mut self, seed: &Seed, gate: &Gate, padded: usize) {
        self.roots = zeros(TreeRows::of(&gate.trees()).root, padded);
        for (row, roots) in self.roots.chunks_mut(padded.max(LANES as usize)).enumerate() {
            seed.fill_roots(section(SectionId::Root, row), roots);
        }
        self.words = zeros(gate.word_rows(), padded);
        for (row, words) in self.words.chunks_mut(padded.max(LANES as usize)).enumerate() {
            seed.fill_words(section(SectionId::Words, row), gate.word_ring(row), words);
        }
        let packed = padded / LANES as usize;
        self.bits = zeros(gate.bit_rows(), packed);
        for (row, bits) in self.bits.chunks_mut(packed.max(1)).enumerate() {
            seed.fill_bits(section(SectionId::Bits, row), bits);
        }
    }
}

fn zeros<T: Pod + Zeroize>(rows: u64, columns: usize) -> Section<T> {
    Section::zeroed(rows as usize * columns)
}

#[cfg(test)]
mod tests {
    use crate::{
        Dealer, Gate, KeyBundle, Party,
        suf::{BoolExpr, CoeffMode, Piece, Pred, SufDesc, SufModes, SufProgram, SufSpec},
    };

    /// Two pieces and a conjunction of two predicates.
    fn suf(coeffs: CoeffMode) -> Gate {
        let piece =
            |start, c1| Piece { start, polys: vec![vec![3, c1]], bools: vec![BoolExpr::Var(0) & BoolExpr::Var(1)] };
        let desc = SufDesc::new(SufSpec {
            n: 10,
            degree: 1,
            words: vec!["y".into()],
            bools: vec!["b".into()],
            preds: vec![Pred::Msb, Pred::LtLow { f: 8, gamma: 1 }],
            pieces: vec![piece(0, 1), piece(80, 0)],
        });
        Gate::suf(SufProgram::new(desc.unwrap(), SufModes { coeffs, ..SufModes::default() }).unwrap())
    }

    #[test]
    fn keys_read_from_a_seed_equal_the_dealt_ones() {
        let gates = [
            Gate::full_predicates(9).unwrap().with_masks(2).unwrap(),
            Gate::relu_ars(10, 3).unwrap(),
            Gate::lrs(64, 12).unwrap(),
            Gate::interval_powers(5, 2).unwrap(),
            Gate::truncate_reduce(16, 7).unwrap().with_masked_outputs().unwrap(),
            Gate::gap_ars_to(20, 9, 64).unwrap().with_masked_outputs().unwrap(),
            Gate::gap_ars_to(20, 9, 64).and_then(Gate::in_one_round).unwrap(),
            Gate::lut(8, 40).unwrap(),
            suf(CoeffMode::MaskedSelect),
            suf(CoeffMode::IntervalLut),
            suf(CoeffMode::StepDcf),
        ];
        let q = runtime::cpu().unwrap();
        for gate in gates {
            assert!(gate.is_seeded(Party::Zero) && !gate.is_seeded(Party::One), "{}", gate.kind());
            for count in [1, 32, 33] {
                let [zero, one] = Dealer::insecure_from_seed(3).deal(&q, &gate, count).unwrap();
                assert!(zero.seed.is_some() && one.seed.is_none());
                for dealt in [zero, one] {
                    let read = KeyBundle::from_bytes(&dealt.to_bytes()).unwrap();
                    let (a, b) = (&read.keys, &dealt.keys);
                    assert!(
                        *a.roots == *b.roots && *a.common.cw == *b.common.cw && *a.leaf == *b.leaf,
                        "{}",
                        gate.kind()
                    );
                    assert!(*a.common.vcw == *b.common.vcw && *a.common.last == *b.common.last, "{}", gate.kind());
                    assert!(*a.words == *b.words && *a.bits == *b.bits, "{}", gate.kind());
                }
            }
        }
    }

    #[test]
    fn the_bytes_of_a_slice_hold_its_shares_and_no_seed() {
        let q = runtime::cpu().unwrap();
        let [zero, _] = Dealer::insecure_from_seed(3).deal(&q, &Gate::ars(10, 3).unwrap(), 40).unwrap();
        let part = zero.slice(32..40);
        let read = KeyBundle::from_bytes(&part.to_bytes()).unwrap();
        assert!(read.seed.is_none());
        for row in 0..zero.word_rows() {
            assert_eq!(read.word_row(row), &zero.word_row(row)[32..]);
        }
    }
}
