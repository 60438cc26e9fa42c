//! The composition polynomial: all constraints, combined.
//!
//! `H(p) = sum over k of alpha^(K-1-k) C_k(p) / V(p)` for constraints `0..K`. `V(p)` is
//! `pi^(n-1)(p.x)` with `pi(x) = 2 x^2 - 1` for a component of `2^n` rows; sums of smaller heights
//! are lifted to the largest. `H = left + pi^(n-1)(x) right`, with the largest `n`, is committed as
//! the four coordinates of both halves (Circle STARKs, <https://eprint.iacr.org/2024/278>;
//! stwo 2.3, `prover/air/accumulation.rs`).

use backend_api::{
    Buffer as _,
    ops::{
        air::{SecureAddLifted, SecurePowers},
        circle::CircleInterpolatePart,
    },
};
use core_types::params::{
    air::{SecureAddLiftedParams, SecurePowersParams},
    circle::CirclePartParams,
};
use stark_fft::CanonicDomain;

use crate::{Prover, ProverError, StarkOps, storage::answers::Answers};

impl<Q: StarkOps> Prover<Q> {
    /// Adds up the constraints with the powers of their challenge.
    ///
    /// The sums are divided by the vanishing polynomial. They are computed on the first positions
    /// of the committed columns.
    pub(crate) fn evaluate_composition(&mut self, q: &Q) -> Result<(), ProverError> {
        // Powers of the challenge, the highest first.
        let memory = &mut self.memory;
        let Answers { secure, places, .. } = &memory.answers;
        let params = SecurePowersParams { count: self.shape.constraints as u32, descending: 1 };
        if self.shape.constraints > 0 {
            let base = secure.slice(places.composition_challenge.clone())?;
            q.secure_powers(SecurePowers { params: &params, base, powers: memory.composition_powers.view_mut() })?;
        }

        // Sums start from zero, and each component reads its challenges.
        for (_, sums) in &mut memory.sums {
            q.clear(sums.view_mut())?;
        }
        q.clear(memory.coefficients.slice_mut(self.shape.composition().coefficients())?)?;
        for index in 0..self.components.len() {
            self.read_challenges(q, index)?;
        }
        // Constraints over the vanishing polynomial, added up by height and lifted to the largest.
        self.add_constraints(q)?;
        self.lift_sums(q)
    }

    /// Interpolates the composition polynomial; the commitment extends its two parts.
    pub(crate) fn interpolate_composition(&mut self, q: &Q) -> Result<(), ProverError> {
        // Coefficients of the four coordinates; each is two columns, left and right.
        let (log_rows, log_blowup) = (self.shape.log_rows, self.shape.log_blowup);
        let domain = CanonicDomain::new(log_rows + log_blowup)?;
        q.circle_interpolate_part(CircleInterpolatePart {
            params: &CirclePartParams { log_size: log_rows + 1, log_domain: domain.log_size(), columns: 4 },
            inverse_twiddles: self.twiddles.inverse(domain)?,
            columns: self.memory.coefficients.slice_mut(self.shape.composition().coefficients())?,
        })?;
        Ok(())
    }

    /// The components that have constraints.
    ///
    /// The others add nothing to the composition; their columns are committed to and sampled.
    pub(crate) fn constrained(&self) -> Vec<usize> {
        (0..self.components.len()).filter(|&index| self.components[index].air.constraints() > 0).collect()
    }

    /// Copies the challenges that a component reads to its own place.
    fn read_challenges(&mut self, q: &Q, index: usize) -> Result<(), ProverError> {
        let memory = &mut self.memory;
        // The mean, if there is one, is already in its slot.
        let slots = self.components[index].air.challenges() as usize;
        let challenges = memory.answers.places.inputs[index].clone();
        let own = challenges.start..challenges.start + slots;
        Ok(q.copy(memory.challenges.slice(0..slots)?, memory.answers.secure.slice_mut(own)?)?)
    }

    /// Adds the sums of each height to the sums of the next greater height, from the smallest up.
    fn lift_sums(&mut self, q: &Q) -> Result<(), ProverError> {
        let whole = self.shape.composition().coefficients();
        let memory = &mut self.memory;
        for index in 0..memory.sums.len() {
            let (smaller, larger) = memory.sums.split_at_mut(index + 1);
            let (log_small, small) = &smaller[index];
            let log_large = larger.first().map_or(self.shape.log_rows, |(log_rows, _)| *log_rows);
            let params = SecureAddLiftedParams { log_small: log_small + 1, log_large: log_large + 1 };
            let large = match larger.first_mut() {
                Some((_, large)) => large.view_mut(),
                None => memory.coefficients.slice_mut(whole.clone())?,
            };
            q.secure_add_lifted(SecureAddLifted { params: &params, small: small.view(), large })?;
        }
        Ok(())
    }
}
