//! A public table at a secret position.
//!
//! Every entry is read, and the bits of a unit vector select the entry that counts.
//!
//! With the sign `s`, opened as `w = s ^ c`, `e = 1 - 2c`, and the word
//! `y_hat = (1 - 2s) table[x] + ρ`, the result is `(1 - 2w) (y_hat [e] - [ρ e])` (Pika, PETS 2022;
//! SIGMA, PETS 2024).

use core_types::{
    Ring,
    params::share::{NO_ROW, WordTerm},
};

use super::{
    shares::{pending::Pending, sums::BundleSums},
    tasks::{
        plan::TaskPlan,
        table::{RHO_ROW, TablePlan},
    },
};
use crate::{
    Evaluator, Gate, MaskedKeys, PfssError, Task,
    dealer::{Draw, Secrets, map, map2},
    gate::{Bounds, BoundsOfF, GateRule, HeaderParameters, KeyTree, aes_of_all_points},
};

/// Rows of the words section around `[ρ]`: `[e]` and `[ρ e]` with `e = 1 - 2c`.
const E_ROW: u32 = RHO_ROW as u32 - 1;
const RHO_E_ROW: u32 = RHO_ROW as u32 + 1;

/// A table of words of `out` bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LutRule {
    out: u32,
}

impl LutRule {
    pub(crate) const BOUNDS: Bounds = Bounds { f: BoundsOfF::Words, ..Bounds::of_ring(1, Gate::MAX_LUT_BITS) };

    pub(crate) fn of(parameters: HeaderParameters) -> Option<Self> {
        Some(Self { out: parameters.f })
    }
}

impl GateRule for LutRule {
    fn parameters(&self) -> HeaderParameters {
        HeaderParameters { f: self.out, ..HeaderParameters::default() }
    }

    fn out_ring(&self, ring: Ring) -> Ring {
        Ring::new(self.out).unwrap_or(ring) // checked with the parameters
    }

    fn trees(&self, ring: Ring) -> Vec<KeyTree> {
        vec![KeyTree::Cmp { bits: ring.bits() }]
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

    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<TaskPlan, PfssError> {
        let Task::Lut(table) = task else { return Err(task.not_for(gate)) };
        let ring = gate.out_ring();
        check_table(gate.ring(), ring, table)?;
        // (1 - 2w) (y_hat e - ρ e), over the opened words
        let flipped = |row| WordTerm::selected(0, NO_ROW, row);
        let sums = BundleSums::new(ring, ring).sum([flipped(E_ROW).power(1), flipped(RHO_E_ROW).minus()]);
        Ok(TaskPlan::Look(TablePlan::new([gate.ring(), ring], table, sums.under_output_masks(gate))))
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

impl MaskedKeys {
    /// The first step of `table[x]` from the masked inputs `x_hat`.
    ///
    /// The public table has `2^n` words.
    ///
    /// The leaves of the comparison key are shares of the unit vector of `r`: the parties' bits
    /// differ at position `r` only. So the parties' sums `Σ_i bit_i table[x_hat - i]`, one of them
    /// negated, add up to the wanted word up to its sign, and their sums of bits add up to that
    /// sign. The sign is opened under `c` and the word under `ρ`, in one round; the result is
    /// `(1 - 2w) e (y_hat - ρ)` (Pika, PETS 2022; SIGMA, PETS 2024). Every entry is read, whatever
    /// the secret.
    ///
    /// The key is evaluated at all `2^n` points at once, each node of its tree expanded once:
    /// `2^(n-6) - 2` AES blocks.
    ///
    /// # Errors
    /// [`PfssError::Length`] unless the table has `2^n` words, [`PfssError::Constant`] for a word
    /// outside its ring, and as [`eval_relu`](Self::eval_relu).
    pub fn eval_lut<Q: Evaluator>(self, q: &Q, table: &[u64], x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.eval(q, Task::Lut(table), x_hat)
    }
}
