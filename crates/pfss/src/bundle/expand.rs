//! Party 0's uniform sections, from the seed that its bundle holds in their place.
//!
//! Row `i` of the bundle's section `s` is section `2^32 s + i` of the seed.

use bytemuck::Pod;
use zeroize::Zeroize;

use super::{BundleKeys, layout::SectionId};
use crate::{Gate, lanes::LANES, secret::section::Section, secret::seed::Seed, tree::TreeRows};

impl BundleKeys {
    /// Fills roots, words and bits of party 0 from `seed`, in rows of `padded` elements.
    pub(crate) fn expand(&mut self, seed: &Seed, gate: &Gate, padded: usize) {
        let section = |id: SectionId, row: usize| u64::from(id.number()) << 32 | row as u64;
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
    fn a_slice_holds_its_shares_and_no_seed() {
        let q = runtime::cpu().unwrap();
        let [zero, _] = Dealer::insecure_from_seed(3).deal(&q, &Gate::ars(10, 3).unwrap(), 40).unwrap();
        let part = zero.slice(32..40);
        assert!(part.seed.is_none());
        let read = KeyBundle::from_bytes(&part.to_bytes()).unwrap();
        for row in 0..zero.word_rows() {
            assert_eq!(read.word_row(row), &zero.word_row(row)[32..]);
        }
    }
}
