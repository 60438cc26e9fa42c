//! Out-of-domain samples and the DEEP quotients of all columns.
//!
//! `Q(p) = sum over j of gamma^j (c_j f_j(p) - a_j p.y - b_j) / D_j(p)` is the first layer of FRI.
//! Term `j` claims the value `v` of column `f` at the point `z`: `a = conj(v) - v`,
//! `c = conj(z.y) - z.y`, `b = v c - a z.y` and
//! `D(p) = (Re z.x - p.x) Im z.y - (Re z.y - p.y) Im z.x`, where `Re` and `Im` are the halves of a
//! secure element (DEEP-FRI, <https://eprint.iacr.org/2019/336>; stwo 2.3,
//! `core/pcs/quotients.rs`).

use backend_api::{
    Buffer as _,
    ops::{
        air::SecurePowers,
        circle::{CircleExtend, CircleInterpolatePart},
        deep::{DeepLines, DeepPoints, DeepQuotients},
    },
};
use core_types::params::{
    air::SecurePowersParams,
    circle::{CircleExtendParams, CirclePartParams},
    deep::DeepQuotientsParams,
};
use stark_fft::CanonicDomain;

use crate::{Prover, ProverError, StarkOps, storage::answers::Answers};

impl<Q: StarkOps> Prover<Q> {
    /// Samples all columns around the out-of-domain point.
    pub(crate) fn sample(&mut self, q: &Q) -> Result<(), ProverError> {
        // All sample points follow from the drawn parameter.
        let memory = &mut self.memory;
        let Answers { secure, places, .. } = &memory.answers;
        q.deep_points(DeepPoints {
            points_at: &self.samples.points,
            parameter: secure.slice(places.parameter.clone())?,
            points: memory.points.view_mut(),
        })?;
        self.sample_columns(q)
    }

    /// Computes the quotients, which are the first layer of FRI.
    ///
    /// They are computed on the first positions of the domain, and extended to all of it.
    pub(crate) fn make_quotients(&mut self, q: &Q) -> Result<(), ProverError> {
        // Powers of the challenge, and the lines of all batches.
        let (memory, samples) = (&mut self.memory, &self.samples);
        let params = SecurePowersParams { count: samples.terms.len() as u32, descending: 0 };
        let powers = memory.quotient_powers.view_mut();
        q.secure_powers(SecurePowers { params: &params, base: memory.quotient_challenge.view(), powers })?;
        q.deep_lines(DeepLines {
            terms: &samples.terms,
            batches: &samples.batches,
            points: memory.points.view(),
            sampled: memory.answers.secure.slice(memory.answers.places.sampled.clone())?,
            powers: memory.quotient_powers.view(),
            factors: memory.factors.view_mut(),
            lines: memory.lines.view_mut(),
        })?;
        // Numerators: sums of columns times their factors.
        self.add_numerators(q)?;
        // Division by the denominators, on the first positions only.
        let (memory, samples) = (&mut self.memory, &self.samples);
        let domain = CanonicDomain::new(self.shape.log_size)?;
        let (log_size, log_domain) = (self.shape.log_degree, self.shape.log_size);
        q.deep_quotients(DeepQuotients {
            params: &DeepQuotientsParams { log_size, log_domain },
            batches: &samples.batches,
            points: memory.points.view(),
            lines: memory.lines.view(),
            numerators: memory.numerators.view(),
            quotients: memory.quotients.view_mut(),
        })?;
        // Interpolation there, and extension to the domain of FRI.
        q.circle_interpolate_part(CircleInterpolatePart {
            params: &CirclePartParams { log_size, log_domain, columns: 4 },
            inverse_twiddles: self.twiddles.inverse(domain)?,
            columns: memory.quotients.view_mut(),
        })?;
        q.circle_extend(CircleExtend {
            params: &CircleExtendParams { log_coefficients: log_size, log_size: log_domain, columns: 4 },
            twiddles: self.twiddles.forward(domain)?,
            coefficients: memory.quotients.view(),
            values: memory.layers[0].values.view_mut(),
        })?;
        Ok(())
    }
}
