//! Output words: shares of the selected polynomials, by each way of selecting.

use core::ops::Range;

use core_types::Ring;
use zeroize::Zeroizing;

use super::super::tree::dcf_shares;
use crate::{
    KeyBundle, PfssError, Walk,
    suf::{Shifted, SufProgram},
};

/// Elements whose sums are kept close at once.
const AT_ONCE: usize = 512;

/// The polynomials of all words and pieces, seen from the masked side.
pub(super) struct Polys {
    /// Those of the first piece, one per word.
    first: Vec<Shifted>,
    /// What changes at each further piece, one per word.
    changes: Vec<Vec<Shifted>>,
    degree: usize,
}

impl Polys {
    pub(super) fn new(program: &SufProgram) -> Self {
        let desc = program.desc();
        let of = |poly: &Vec<u64>| Shifted::new(desc.ring(), desc.degree(), poly);
        let pieces: Vec<Vec<Shifted>> =
            desc.pieces().iter().map(|piece| piece.polys.iter().map(of).collect()).collect();
        let change = |pair: &[Vec<Shifted>]| pair[1].iter().zip(&pair[0]).map(|(new, old)| new.minus(old)).collect();
        let changes = pieces.windows(2).map(change).collect();
        let first = pieces.into_iter().next().unwrap_or_default(); // there is at least one piece
        Self { first, changes, degree: desc.degree() as usize }
    }

    /// Shares of the words, `[elements][words]`, where `selected(i, j, range, row)` fills `row` with shares of
    /// `1[x >= a_i] (-r)^j` for a range of elements, and `i` counts the pieces behind the first from 0 on.
    ///
    /// Constants times shares are added up for each power of `x_hat` first, so that the powers come in once at the end.
    pub(super) fn combine(
        &self,
        bundle: &KeyBundle,
        x_hat: &[u64],
        selected: impl Fn(usize, usize, Range<usize>, &mut [u64]),
    ) -> Vec<u64> {
        let (ring, powers, words) = (bundle.gate().ring(), self.degree + 1, self.first.len());
        let mut out = Vec::with_capacity(x_hat.len() * words);
        let mut row = Zeroizing::new(vec![0u64; AT_ONCE]);
        let mut sums = Zeroizing::new(vec![0u64; words * powers * AT_ONCE]);
        for start in (0..x_hat.len()).step_by(AT_ONCE) {
            let range = start..(start + AT_ONCE).min(x_hat.len());
            sums.fill(0);
            for (i, polys) in [&self.first].into_iter().chain(&self.changes).enumerate() {
                for j in 0..powers {
                    let row = &mut row[..range.len()];
                    match i.checked_sub(1) {
                        None => bundle.mask_powers(j, range.clone(), row),
                        Some(i) => selected(i, j, range.clone(), row),
                    }
                    for (word, poly) in polys.iter().enumerate() {
                        for t in 0..powers - j {
                            let constant = poly.constant(j, t);
                            let sums = &mut sums[(word * powers + t) * AT_ONCE..][..row.len()];
                            let pairs = sums.iter_mut().zip(&*row);
                            pairs.for_each(|(sum, share)| *sum = sum.wrapping_add(constant.wrapping_mul(*share)));
                        }
                    }
                }
            }
            for (e, &x) in x_hat[range].iter().enumerate() {
                for word in 0..words {
                    let sum = |t: usize| sums[(word * powers + t) * AT_ONCE + e];
                    let horner = |value: u64, t: usize| value.wrapping_mul(x).wrapping_add(sum(t));
                    out.push(ring.reduce((0..powers).rev().fold(0, horner)));
                }
            }
        }
        out
    }
}

/// Shares of `1[x >= a] (-r)^j` from the payload key `D(y) = (-r)^j 1[y < r]`:
/// `D(x_hat) - D(x_hat - a) + 1[x_hat >= a] (-r)^j`.
pub(super) struct Payload {
    domain: Ring,
    offsets: Vec<u64>,
    shares: Zeroizing<Vec<u64>>,
    words: usize,
}

impl Payload {
    /// Evaluates the payload key in tree `tree`.
    pub(super) fn eval<Q: Walk>(
        q: &Q,
        bundle: &KeyBundle,
        program: &SufProgram,
        tree: usize,
        x_hat: &[u64],
    ) -> Result<Self, PfssError> {
        let offsets = program.payload_offsets();
        let shares = Zeroizing::new(dcf_shares(q, bundle, tree, &offsets, x_hat)?);
        Ok(Self { domain: program.domain(), offsets, shares, words: program.payload_words() as usize })
    }

    /// The share for the start `a`, one of the offsets and above 0.
    pub(super) fn reached(&self, bundle: &KeyBundle, a: u64, j: usize, e: usize, x_hat: u64) -> u64 {
        let at = self.offsets.partition_point(|&offset| offset < a);
        let share = |point: usize| self.shares[(point * self.words + j) * bundle.count() + e];
        let wrapped = if self.domain.reduce(x_hat) >= a { bundle.mask_power(j, e) } else { 0 };
        // offset 0 comes first
        bundle.gate().ring().reduce(share(0).wrapping_sub(share(at)).wrapping_add(wrapped))
    }
}

/// Shares of the words, `[elements][words]`, from keys that hide where each piece starts, from tree `first_tree` on:
/// the coefficients at `x_hat` are those active at the greatest `x_hat`, less every change that still lies ahead.
pub(super) fn hidden_pieces<Q: Walk>(
    q: &Q,
    bundle: &KeyBundle,
    program: &SufProgram,
    (first_tree, base_row): (usize, usize),
    x_hat: &[u64],
) -> Result<Vec<u64>, PfssError> {
    let (desc, ring, count) = (program.desc(), bundle.gate().ring(), x_hat.len());
    let (coefficients, words) = (desc.degree() as usize + 1, desc.words().len());
    let mut active = Zeroizing::new(Vec::with_capacity(words * coefficients * count));
    (0..words * coefficients).for_each(|at| active.extend_from_slice(bundle.word_row(base_row + at)));
    for piece in 0..desc.pieces().len() {
        let ahead = Zeroizing::new(dcf_shares(q, bundle, first_tree + piece, &[0], x_hat)?);
        active.iter_mut().zip(ahead.iter()).for_each(|(active, ahead)| *active = active.wrapping_sub(*ahead));
    }
    let mut out = Vec::with_capacity(count * words);
    for (e, &x) in x_hat.iter().enumerate() {
        for word in 0..words {
            let coefficient = |k: usize| active[(word * coefficients + k) * count + e];
            let horner = |sum: u64, k: usize| sum.wrapping_mul(x).wrapping_add(coefficient(k));
            out.push(ring.reduce((0..coefficients).rev().fold(0, horner)));
        }
    }
    Ok(out)
}
