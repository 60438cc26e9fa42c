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

use super::{shares::sums::BundleSums, tasks::table::TablePlan};
use crate::{
    Gate, PfssError,
    error::check_len,
    gate::kinds::lut::{E_ROW, Lut, RHO_E_ROW},
};

impl Lut {
    /// The plan of `table[x]` for a public table of `2^n` words.
    ///
    /// The leaves of the comparison key are shares of the unit vector of `r`: the parties' bits
    /// differ at position `r` only. So the parties' sums `Σ_i bit_i table[x_hat - i]`, one of them
    /// negated, add up to the wanted word up to its sign, and their sums of bits add up to that
    /// sign. Both are opened in one round.
    ///
    /// The key is evaluated at all `2^n` points at once, each node of its tree expanded once:
    /// `2^(n-6) - 2` AES blocks.
    pub(super) fn plan(gate: &Gate, table: &[u64]) -> Result<TablePlan, PfssError> {
        let ring = gate.out_ring();
        check_table(gate.ring(), ring, table)?;
        // (1 - 2w) (y_hat e - ρ e), over the opened words
        let flipped = |row| WordTerm::selected(0, NO_ROW, row);
        let sums = BundleSums::new(ring, ring).sum([flipped(E_ROW).power(1), flipped(RHO_E_ROW).minus()]);
        Ok(TablePlan::new([gate.ring(), ring], table, sums.under_output_masks(gate)))
    }
}

/// Whether there is a word of `out` for each element of `domain`.
fn check_table(domain: Ring, out: Ring, table: &[u64]) -> Result<(), PfssError> {
    check_len("words of the table", 1 << domain.bits(), table.len())?;
    match table.iter().position(|&word| word > out.mask()) {
        Some(index) => Err(PfssError::Constant { index, bits: out.bits(), got: table[index] }),
        None => Ok(()),
    }
}
