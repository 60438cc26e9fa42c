use core_types::{
    Ring, block_words,
    cmp::cmp_blocks,
    params::share::{NO_ROW, WordTerm},
};
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    sums::Sums,
    tree::{CmpKeys, check_inputs},
};
use crate::{GateKind, KeyBundle, MaskedKeys, PfssError, Walk};

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
        let Self(bundle) = self;
        bundle.check_use(GateKind::Lut, x_hat.len())?;
        bundle.gate().check_table(table)?;
        let (domain, ring) = (bundle.gate().ring(), bundle.gate().out_ring());
        let x_hat = check_inputs(&bundle, x_hat)?;
        let (entries, mut sums) = (Entries::new(domain, table), TableSums::new(x_hat.len()));
        let keys = CmpKeys::stage(q, &bundle, 0, domain)?;
        let at_once = elements_at_once(domain.bits());
        for (first, x_hat) in (0..).step_by(at_once).zip(x_hat.chunks(at_once)) {
            let units = keys.units(first..first + x_hat.len())?;
            for (block, row) in units.chunks_exact(x_hat.len()).enumerate() {
                for (at, (&bits, &x)) in row.iter().zip(x_hat).enumerate() {
                    sums.add(first + at, bits, entries.of(block, x));
                }
            }
        }
        let (words, sign) = sums.finish(&bundle, ring);
        let bits = BitShares::new(bundle.party(), bundle.count(), sign);
        // (1 - 2w) (y_hat e - ρ e), over the opened words
        let flipped = |row| WordTerm::selected(0, NO_ROW, row);
        let result = [flipped(E_ROW).power(1), flipped(RHO_E_ROW).minus()];
        let results = Sums::new(ring, ring).sum(result);
        Ok(Pending::summed(bundle, &bits, 0, None, results).with_words(ring, words))
    }
}

/// The table from its end to its start, twice, so that the entries for the masks `i`, `i + 1`, .. of one element lie one
/// after the other.
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
