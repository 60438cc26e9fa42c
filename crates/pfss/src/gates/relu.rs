//! `max(x, 0)` and `|x|`: the sign of a secret times the secret.
//!
//! With `P(y) = 1[r mod 2^(n-1) <= y]`, the bit `b = 1[x >= 0]` is
//! `P(x_hat mod 2^(n-1)) ^ msb(r) ^ msb(x_hat)`. Opened as `w = b ^ c`, it gives
//! `max(x, 0) = b x = w (x_hat - [r]) + (1 - 2w) (x_hat [c] - [c r])`, and `|x| = 2 b x - x`. For
//! inputs of `k` bits, `k` replaces `n` in `b`.

use core_types::{Ring, params::share::WordTerm};

use super::{
    shares::{pending::Pending, sums::BundleSums},
    tasks::{evaluation::GateEvaluation, plan::TaskPlan},
    walk::comparison::Comparison,
};
use crate::{
    Evaluator, Gate, MaskedKeys, PfssError, SignedRange, Task,
    answers::ComparisonProgram,
    gate::kinds::relu::{C_ROW, PRODUCT_ROW, R_ROW, Relu},
};

impl GateEvaluation for Relu {
    /// The plan of `b x` for the sign `b` and the opened bit `w = b ^ c`.
    ///
    /// `b x = w (x_hat - [r]) + (1 - 2w) (x_hat [c] - [c r])`.
    fn plan(&self, gate: &Gate, task: &Task<'_>) -> Result<TaskPlan, PfssError> {
        let ring = gate.ring();
        let product = [WordTerm::bit(0, C_ROW).power(1), WordTerm::selected(0, R_ROW, PRODUCT_ROW).minus()];
        let (range, terms) = match task {
            Task::Relu => (SignedRange::of_bits(gate.n()), product.to_vec()),
            Task::ReluWithin(range) => (*range, product.to_vec()),
            Task::Abs => {
                let x = [WordTerm::ONE.power(1), WordTerm::word(R_ROW).minus()].map(WordTerm::minus);
                (SignedRange::of_bits(gate.n()), product.iter().map(|term| term.times(2)).chain(x).collect())
            }
            _ => return Err(task.not_for(gate)),
        };
        let sign_ring = self.sign_ring(ring);
        range.fits(sign_ring.bits())?;
        Ok(TaskPlan::compare(gate, vec![sign(sign_ring)], BundleSums::new(ring, ring).sum(terms)))
    }
}

/// Shares of `msb(r) ^ 1[x >= 0]` for a signed `x` in `ring`.
///
/// They come from the comparison key of the bits below the sign.
pub(super) fn sign(ring: Ring) -> Comparison {
    let domain = Ring::new(ring.bits() - 1).unwrap_or(ring); // at least 2 bits for gates with such a tree
    Comparison::new(&ComparisonProgram::non_negative(domain, ring))
}

impl MaskedKeys {
    /// The first step of `max(x, 0)`, `x` read as signed, from the masked inputs `x_hat`.
    ///
    /// The sign bit is `msb(x_hat) ^ msb(r) ^ P(x_hat mod 2^(n-1))` with `P` the comparison key of
    /// the low bits of `r`; the dealer's bit is `msb(r) ^ c`, so that the opened bit is the sign
    /// under the mask `c`.
    ///
    /// # Errors
    /// [`PfssError::Kind`] for keys of another gate, [`PfssError::Range`] for keys of
    /// [`Gate::relu_within`] fewer bits, [`PfssError::Length`] unless there is one input per
    /// element, [`PfssError::Backend`].
    pub fn eval_relu<Q: Evaluator>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.eval(q, Task::Relu, x_hat)
    }

    /// The first step of `max(x, 0)` for inputs in a proven range.
    ///
    /// The keys may have fewer bits: the sign of an integer of `k` bits is the top bit of its low
    /// `k` bits.
    ///
    /// # Errors
    /// [`PfssError::Range`] if the keys look at fewer bits than the range needs, and as
    /// [`eval_relu`](Self::eval_relu).
    pub fn eval_relu_within<Q: Evaluator>(
        self,
        q: &Q,
        range: SignedRange,
        x_hat: &[u64],
    ) -> Result<Pending, PfssError> {
        self.eval(q, Task::ReluWithin(range), x_hat)
    }

    /// The first step of `|x|`, `x` read as signed, from the masked inputs `x_hat`.
    ///
    /// The keys are for [`Gate::relu`]. `|x| = 2 max(x, 0) - x`, and shares of `x = x_hat - r` are
    /// at hand. `|-2^(n-1)|` is `2^(n-1)`, unsigned.
    ///
    /// # Errors
    /// As [`eval_relu`](Self::eval_relu).
    pub fn eval_abs<Q: Evaluator>(self, q: &Q, x_hat: &[u64]) -> Result<Pending, PfssError> {
        self.eval(q, Task::Abs, x_hat)
    }
}
