//! Output words: sums that select polynomials, by each way of selecting.
//!
//! Since `x = x_hat - r`, piece `i` has `p_i(x) = sum over j of G_(i,j)(x_hat) (-r)^j`, where
//! `G_(i,j)` has the coefficient `c_(j+t) C(j+t, j)` of `x_hat^t`. A word is
//! `sum over j of G_(0,j) [(-r)^j]` plus, for each later piece,
//! `sum over j of (G_(i,j) - G_(i-1,j)) [1[x >= a_i] (-r)^j]`.

use core_types::params::share::{NO_ROW, ONE_ROW, Threshold, WordTerm};

use super::super::{intervals::mask_power, shares::sums::BundleSums};
use crate::{
    Gate,
    gate::kinds::intervals::mask_row,
    suf::{Shifted, SufProgram},
    tree::cluster::TreePoints,
};

/// The sums of all words, `[elements][words]`.
///
/// `reached(i, j)` returns terms for `1[x >= a_i] (-r)^j`; `i` counts the pieces after the first,
/// from 0 on. A piece adds its change of the polynomial: a public polynomial of `x_hat` for each
/// `j`.
pub(super) fn words(gate: &Gate, program: &SufProgram, reached: impl Fn(usize, usize) -> Vec<WordTerm>) -> BundleSums {
    let desc = program.desc();
    let (ring, powers) = (desc.ring(), desc.degree() as usize + 1);
    let sums = BundleSums::new(ring, ring).interleaved();
    let sums = (0..desc.words().len()).fold(sums, |sums, word| {
        let polys: Vec<Shifted> =
            desc.pieces().iter().map(|piece| Shifted::new(ring, desc.degree(), &piece.polys[word])).collect();
        let changes = polys.windows(2).map(|pair| pair[1].minus(&pair[0])).enumerate();
        let mut terms = Vec::new();
        let mut add = |poly: &Shifted, j: usize, of: &[WordTerm]| {
            for term in of {
                let powers = (0..powers - j).map(|t| (t, poly.constant(j, t))).filter(|&(_, constant)| constant != 0);
                terms.extend(powers.map(|(t, constant)| term.times(constant).power(t as u32)));
            }
        };
        if let Some(first) = polys.first() {
            (0..powers).for_each(|j| add(first, j, &[mask_power(j)]));
        }
        for (i, change) in changes {
            (0..powers).for_each(|j| add(&change, j, &reached(i, j)));
        }
        sums.sum(terms)
    });
    sums.under_output_masks(gate)
}

/// Greatest total number of terms of the word sums of a program.
///
/// It is three for each power of each polynomial, plus the masks of words and the terms of additive
/// bits.
pub(crate) fn most_word_terms(program: &SufProgram) -> u64 {
    let (desc, powers) = (program.desc(), u64::from(program.desc().degree()) + 1);
    let words = desc.pieces().len() * desc.words().len();
    let steps = program.output_steps().map(|step| 1 + 3 * step.toggles.len()).sum::<usize>();
    3 * words as u64 * powers * (powers + 1) / 2 + (desc.words().len() + steps + desc.bools().len()) as u64
}

/// Terms for `1[x >= a_i] (-r)^j`, with its bit opened in row `i`.
///
/// Row `product` holds `[c_i (-r)^j]`.
pub(super) fn selected(i: usize, j: usize, product: usize) -> Vec<WordTerm> {
    let (i, product) = (i as u32, product as u32);
    match j {
        0 => vec![WordTerm::selected(i, ONE_ROW, product)],
        // the dealer has given [r]
        1 => vec![WordTerm::selected(i, mask_row(1), NO_ROW).minus(), WordTerm::selected(i, NO_ROW, product)],
        _ => vec![WordTerm::selected(i, mask_row(j), product)],
    }
}

/// Terms for shares of `1[x >= a] (-r)^j` from the payload key `D(y) = (-r)^j 1[y < r]`.
///
/// They are `D(x_hat) - D(x_hat - a) + 1[x_hat >= a] (-r)^j`.
pub(super) struct Reached<'a> {
    pub(super) gate: &'a Gate,
    pub(super) program: &'a SufProgram,
    /// In ascending order, the first of them 0.
    pub(super) offsets: &'a [u64],
    /// Where the key is evaluated: at these offsets.
    pub(super) points: &'a TreePoints,
}

impl Reached<'_> {
    /// The terms for the start `a`, which is one of the offsets and above 0.
    fn terms(&self, a: u64, j: usize) -> Vec<WordTerm> {
        let at = self.offsets.partition_point(|&offset| offset < a);
        let (word_rows, words) = (self.gate.word_rows() as usize, self.program.payload_words() as usize);
        let share = |point: usize| WordTerm::word((word_rows + self.points.rows()[point] * words + j) as u32);
        let domain = self.program.domain();
        let wrapped = Threshold { shift: 0, bound: a, bits: domain.bits(), wanted: 0 };
        // offset 0 comes first
        vec![share(0), share(at).minus(), mask_power(j).when(wrapped)]
    }

    /// The words, `[elements][words]`.
    pub(super) fn words(&self) -> BundleSums {
        let starts = self.program.starts();
        words(self.gate, self.program, |i, j| self.terms(starts[i + 1], j))
    }

    /// Additive shares of the output bits, which are step functions, `[elements][steps]`.
    pub(super) fn steps(&self) -> BundleSums {
        let ring = self.gate.ring();
        self.program.output_steps().fold(BundleSums::new(ring, ring).interleaved(), |sums, step| {
            let mut terms = vec![WordTerm::ONE.times(step.initial.into())];
            let mut value = step.initial;
            for &at in &step.toggles {
                // a step function of value v changes by 1 - 2v
                let reached = self.terms(at, 0).into_iter();
                terms.extend(reached.map(|term| if value { term.minus() } else { term }));
                value = !value;
            }
            sums.sum(terms)
        })
    }
}

/// The sums of each piece for the words, `[elements][words]`, with hidden starts.
///
/// They are over shares of a key that hides the start of the piece. The coefficients at `x_hat` are
/// the ones active at the greatest `x_hat` (the words from row `base_row` on), less every change
/// that is still to come.
pub(super) fn hidden_pieces(gate: &Gate, program: &SufProgram, base_row: usize) -> Vec<BundleSums> {
    let (desc, ring) = (program.desc(), gate.ring());
    let (coefficients, words, word_rows) = (desc.degree() as usize + 1, desc.words().len(), gate.word_rows() as usize);
    let of_piece = |piece: usize| {
        let sums = (0..words).fold(BundleSums::new(ring, ring).interleaved(), |sums, word| {
            let terms = (0..coefficients).flat_map(|k| {
                let at = word * coefficients + k;
                let active = (piece == 0).then(|| WordTerm::word((base_row + at) as u32));
                let ahead = WordTerm::word((word_rows + at) as u32).minus();
                active.into_iter().chain([ahead]).map(move |term| term.power(k as u32))
            });
            sums.sum(terms)
        });
        if piece == 0 { sums.under_output_masks(gate) } else { sums }
    };
    (0..desc.pieces().len()).map(of_piece).collect()
}
