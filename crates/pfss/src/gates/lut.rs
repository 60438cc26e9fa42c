//! A public table at a secret position: every entry is read, and the bits of a unit vector say which counts.

use std::sync::Arc;

use core_types::{
    Ring, block_words,
    cmp::cmp_blocks,
    params::share::{NO_ROW, WordTerm},
};
use zeroize::Zeroizing;

use super::{BitShares, Pending, Plan, sums::Sums, tree::WholeTree};
use crate::{
    Gate, KeyBundle, MaskedKeys, PfssError, Task, Walk,
    dealer::{Draw, Secrets, map, map2},
    gate::{Bounds, BoundsOfF, Parameters, Rule, Tree, aes_of_all_points},
};

/// Rows of the words section after the input mask: `[e]`, `[ρ]`, `[ρ e]` with `e = 1 - 2c`.
const E_ROW: u32 = 1;
const RHO_ROW: usize = 2;
const RHO_E_ROW: u32 = 3;

/// Words of 128 points that are evaluated at once: bounds memory, not results.
const BLOCKS_AT_ONCE: usize = 1 << 18;

/// Elements whose tables of `2^bits` entries are gone through at once, a multiple of 32.
pub(crate) const fn elements_at_once(bits: u32) -> usize {
    BLOCKS_AT_ONCE / cmp_blocks(bits) as usize // at most 64 blocks
}

/// A table of words of `out` bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lut {
    out: u32,
}

impl Lut {
    pub(crate) const BOUNDS: Bounds = Bounds { f: BoundsOfF::Words, ..Bounds::of_ring(1, Gate::MAX_LUT_BITS) };

    pub(crate) fn of(parameters: Parameters) -> Option<Self> {
        Some(Self { out: parameters.f })
    }
}

impl Rule for Lut {
    fn parameters(&self) -> Parameters {
        Parameters { f: self.out, ..Parameters::default() }
    }

    fn out_ring(&self, ring: Ring) -> Ring {
        Ring::new(self.out).unwrap_or(ring) // checked with the parameters
    }

    fn trees(&self, ring: Ring) -> Vec<Tree> {
        vec![Tree::Cmp { bits: ring.bits() }]
    }

    fn word_rows(&self) -> u64 {
        3
    }

    fn word_ring(&self, ring: Ring, row: usize) -> Ring {
        if row > 0 { self.out_ring(ring) } else { ring }
    }

    fn bit_rows(&self) -> u64 {
        1
    }

    /// The sign and the masked word.
    fn opened(&self) -> (u64, u64) {
        (1, self.out.into())
    }

    fn aes(&self, ring: Ring) -> u64 {
        aes_of_all_points(ring.bits())
    }

    fn draw(&self, ring: Ring, draw: &mut Draw<'_>, secrets: &mut Secrets) {
        let (c, out) = (draw.fresh_bits(), self.out_ring(ring));
        let rho = draw.fresh_words(out);
        let e = map(&c, |c| out.sub(1, c << 1));
        let rho_e = map2(&rho, &e, |rho, e| out.mul(rho, e));
        secrets.words.extend([e, rho, rho_e]);
        secrets.bits.push(c);
    }

    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<Plan, PfssError> {
        let Task::Lut(table) = task else { return Err(task.not_for(gate)) };
        let ring = gate.out_ring();
        check_table(gate.ring(), ring, table)?;
        // (1 - 2w) (y_hat e - ρ e), over the opened words
        let flipped = |row| WordTerm::selected(0, NO_ROW, row);
        let sums = Sums::new(ring, ring).sum([flipped(E_ROW).power(1), flipped(RHO_E_ROW).minus()]);
        let sums = Arc::new(sums.under_output_masks(gate));
        Ok(Plan::Look(Table { entries: Entries::new(gate.ring(), table), ring, sums }))
    }

    fn plain(&self, _: Ring, task: Option<&Task<'_>>, x: u64) -> Vec<u64> {
        match task {
            Some(Task::Lut(table)) => vec![table[x as usize]], // a word for every element of a ring of at most 13 bits
            _ => Vec::new(),
        }
    }
}

/// Whether there is a word of `out` for each element of `domain`.
fn check_table(domain: Ring, out: Ring, table: &[u64]) -> Result<(), PfssError> {
    let (expected, got) = (1 << domain.bits(), table.len());
    if expected != got {
        return Err(PfssError::Length { what: "words of the table", expected, got });
    }
    match table.iter().position(|&word| word > out.mask()) {
        Some(index) => Err(PfssError::Constant { index, bits: out.bits(), got: table[index] }),
        None => Ok(()),
    }
}

/// The evaluation of a given table.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    entries: Entries,
    /// The ring of the words.
    ring: Ring,
    sums: Arc<Sums>,
}

impl Table {
    /// The first step, from the masked input of each element.
    pub(super) fn eval<W: Walk>(&self, walk: &W, bundle: KeyBundle, x_hat: &[u64]) -> Result<Pending, PfssError> {
        let mut sums = TableSums::new(x_hat.len());
        let tree = WholeTree::of(walk, &bundle, self.entries.domain.bits())?;
        let at_once = elements_at_once(self.entries.domain.bits());
        for (first, x_hat) in (0..).step_by(at_once).zip(x_hat.chunks(at_once)) {
            let units = tree.units(first..first + x_hat.len())?;
            for (block, row) in units.chunks_exact(x_hat.len()).enumerate() {
                for (at, (&bits, &x)) in row.iter().zip(x_hat).enumerate() {
                    sums.add(first + at, bits, self.entries.of(block, x));
                }
            }
        }
        drop(tree);
        let (words, sign) = sums.finish(&bundle, self.ring);
        let bits = BitShares::new(bundle.party(), bundle.count(), sign);
        Ok(Pending::summed(bundle, &bits, 0, None, Arc::clone(&self.sums)).with_words(self.ring, words))
    }
}

impl MaskedKeys {
    /// The first step of `table[x]` from the masked inputs `x_hat`, for a public table of `2^n` words.
    ///
    /// The leaves of the comparison key are shares of the unit vector of `r`: the parties' bits differ at position `r`
    /// only. So the parties' sums `Σ_i bit_i table[x_hat - i]`, one of them negated, add up to the wanted word up to its
    /// sign, and their sums of bits to that sign. The sign is opened under `c` and the word under `ρ`, in one round; the
    /// result is `(1 - 2w) e (y_hat - ρ)` (Pika, PETS 2022; SIGMA, PETS 2024). Every entry is read whatever the secret.
    ///
    /// The key is evaluated at all `2^n` points at once, each node of its tree expanded once: `2^(n-6) - 2` AES blocks.
    ///
    /// # Errors
    /// [`PfssError::Length`] unless the table has `2^n` words, [`PfssError::Constant`] for a word outside its ring,
    /// and as [`eval_relu`](Self::eval_relu).
    pub fn eval_lut<Q: Walk>(self, q: &Q, table: &[u64], x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.eval(q, Task::Lut(table), x_hat)
    }
}

/// The table from its end to its start, twice, so that the entries for the masks `i`, `i + 1`, .. of one element lie one
/// after the other.
#[derive(Clone, Debug)]
struct Entries {
    domain: Ring,
    words: Vec<u64>,
}

impl Entries {
    fn new(domain: Ring, table: &[u64]) -> Self {
        let backwards = table[..1].iter().chain(table[1..].iter().rev());
        Self { domain, words: backwards.clone().chain(backwards).copied().collect() }
    }

    /// `table[x_hat - i]` for each `i` of a block of 128 masks, or for all if there are fewer.
    fn of(&self, block: usize, x_hat: u64) -> &[u64] {
        let start = self.domain.neg(x_hat) as usize + POINTS * block; // below twice the length of the table
        &self.words[start..][..POINTS.min(self.words.len() / 2)]
    }
}

/// Points whose bits one word of shares holds.
const POINTS: usize = 128;

/// Sums over the table of one party's bits, for each element.
struct TableSums {
    words: Zeroizing<Vec<u64>>,
    bits: Zeroizing<Vec<u64>>,
}

impl TableSums {
    fn new(count: usize) -> Self {
        Self { words: Zeroizing::new(vec![0; count]), bits: Zeroizing::new(vec![0; count]) }
    }

    /// Adds to the sums of element `e` the entries whose bits are set, without a branch on a bit.
    fn add(&mut self, e: usize, bits: u128, entries: &[u64]) {
        let mut sum = self.words[e];
        for (half, entries) in block_words(bits).into_iter().zip(entries.chunks(64)) {
            for (i, entry) in entries.iter().enumerate() {
                // a bit shifted into every place; of its negative the compiler makes a branch
                let mask = ((half << (63 - i)).cast_signed() >> 63).cast_unsigned();
                sum = sum.wrapping_add(entry & mask);
            }
        }
        self.words[e] = sum;
        self.bits[e] += u64::from(bits.count_ones());
    }

    /// The masked words, and shares of the signs: the sum of both parties' bits, one negated, is 1 or 3 modulo 4, so
    /// one of the two is odd and their second bits add up without a carry.
    fn finish(&self, bundle: &KeyBundle, ring: Ring) -> (Vec<u64>, Vec<u32>) {
        let negate = |value: u64| bundle.party().public(value).wrapping_sub(bundle.party().peer().public(value));
        let rho = bundle.word_row(RHO_ROW);
        let words = self.words.iter().zip(rho).map(|(&word, &rho)| ring.add(negate(word), rho)).collect();
        let signs = self.bits.chunks(32).map(|lanes| {
            lanes.iter().enumerate().fold(0, |word, (lane, &bits)| word | ((negate(bits) >> 1) as u32 & 1) << lane)
        });
        (words, signs.collect())
    }
}
