use core_types::Ring;
use zeroize::Zeroizing;

use super::{
    BitShares, Pending,
    pending::{Opened, Rest},
    tree::{CmpKeys, check_inputs},
};
use crate::{GateKind, KeyBundle, PfssError, Walk};

/// Rows of the words section behind the input mask: `[e]`, `[ρ]`, `[ρ e]` with `e = 1 - 2c`.
const E_ROW: usize = 1;
const RHO_ROW: usize = 2;
const RHO_E_ROW: usize = 3;

/// Points of all elements evaluated at once: bounds memory, not results.
pub(crate) const POINTS_AT_ONCE: usize = 1 << 20;

impl KeyBundle {
    /// The first step of `table[x]` from the masked inputs `x_hat`, for a public table of `2^n` words.
    ///
    /// Neighbouring prefix bits of the comparison key are shares of the unit vector of `r`: the parties' bits differ at
    /// position `r` only. So the parties' sums `Σ_i bit_i table[x_hat - i]`, one of them negated, add up to the wanted
    /// word up to its sign, and their sums of bits to that sign. The sign is opened under `c` and the word under `ρ`,
    /// in one round; the result is `(1 - 2w) e (y_hat - ρ)` (Pika, PETS 2022; SIGMA, PETS 2024). Every entry is read
    /// whatever the secret.
    ///
    /// The key is evaluated at all `2^n` points, `n - 7` AES blocks each; walking the whole tree at once would take
    /// `2^(n-6) - 2` blocks in all.
    ///
    /// # Errors
    /// [`PfssError::Length`] unless the table has `2^n` words, [`PfssError::Constant`] for a word outside its ring,
    /// and as [`eval_relu`](Self::eval_relu).
    pub fn eval_lut<Q: Walk>(self, q: &Q, table: &[u64], x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.check_use(GateKind::Lut, x_hat.len())?;
        self.gate().check_table(table)?;
        let (domain, ring) = (self.gate().ring(), self.gate().out_ring());
        let x_hat = check_inputs(&self, x_hat)?;
        let mut sums = Sums::new(x_hat.len());
        let keys = CmpKeys::stage(q, &self, 0, domain)?;
        let per_row = x_hat.len().div_ceil(32);
        let (mut first, mut last) = (Vec::new(), Vec::new());
        let offsets: Vec<u64> = (0..1 << domain.bits()).collect();
        for block in offsets.chunks((POINTS_AT_ONCE / x_hat.len().max(1)).max(1)) {
            let shares = Zeroizing::new(keys.eval(block, &x_hat)?);
            for (&offset, row) in block.iter().zip(shares.chunks(per_row.max(1))) {
                match offset.checked_sub(1) {
                    None => first = row.to_vec(),
                    Some(before) => sums.add(before, table[before as usize], &x_hat, [&last, row]),
                }
                last = row.to_vec();
            }
        }
        sums.add(domain.mask(), table[domain.mask() as usize], &x_hat, [&last, &first]);
        let (words, sign) = sums.finish(&self, ring);
        let bits = BitShares::new(self.party(), self.count(), sign);
        let rest = Signed { ring, e: self.word_copy(E_ROW), rho_e: self.word_copy(RHO_E_ROW) };
        Ok(Pending::new(&self, &bits, 0, rest).with_words(ring, words))
    }
}

/// Sums over the table of one party's bits, for each element.
struct Sums {
    words: Zeroizing<Vec<u64>>,
    bits: Zeroizing<Vec<u64>>,
}

impl Sums {
    fn new(count: usize) -> Self {
        Self { words: Zeroizing::new(vec![0; count]), bits: Zeroizing::new(vec![0; count]) }
    }

    /// Adds the entry at `offset`, whose bit is the prefix bit at `x_hat - offset` less the one before it, which is
    /// that of `offset + 1`; nothing comes before the point 0.
    fn add(&mut self, offset: u64, entry: u64, x_hat: &[u64], [here, before]: [&[u32]; 2]) {
        let bit = |row: &[u32], e: usize| u64::from((row[e / 32] >> (e % 32)) & 1);
        for (e, &x) in x_hat.iter().enumerate() {
            let before = if x == offset { 0 } else { bit(before, e) };
            let unit = bit(here, e) ^ before;
            self.words[e] = self.words[e].wrapping_add(entry & unit.wrapping_neg());
            self.bits[e] += unit;
        }
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

/// `(1 - 2w) (y_hat e - ρ e)`.
struct Signed {
    ring: Ring,
    e: Zeroizing<Vec<u64>>,
    rho_e: Zeroizing<Vec<u64>>,
}

impl Rest<Vec<u64>> for Signed {
    fn finish(self: Box<Self>, opened: &Opened) -> Vec<u64> {
        let ring = self.ring;
        opened.map(|e| {
            let word = ring.sub(opened.word(e).wrapping_mul(self.e[e]), self.rho_e[e]);
            if opened.bit(0, e) == 0 { word } else { ring.neg(word) }
        })
    }
}
