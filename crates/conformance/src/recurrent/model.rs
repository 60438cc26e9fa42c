//! Gated recurrent units in f64, by their definition, and seeded inputs.

use core_types::{
    params::recurrent::{GruInputs, GruParams, GruVariant, LossHead, StateMask, Stochastic},
    philox,
};

use crate::{linalg::model::InputSource, list::ListIterator as _};

/// `count` reproducible values in `-size..size`.
pub(super) fn values(seed: u64, count: usize, size: f32) -> Vec<f32> {
    let mut random = InputSource::of_state(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..count).map(|_| (i64::from(random.word() >> 7) - (1 << 23)) as f32 / (1 << 23) as f32 * size).list()
}

/// The second part of the combined state of `h`, of `len` elements.
pub(super) fn second_part(part: Stochastic, len: u64, h: &[f64]) -> Vec<f64> {
    let len = len as usize;
    match part {
        Stochastic::CopyHidden => h.to_vec(),
        Stochastic::Zeros => vec![0.0; len],
        Stochastic::StridedSoftmax => {
            let terms: Vec<f64> = (0..len).map(|i| h[i * h.len() / len].exp()).list();
            let sum: f64 = terms.iter().sum();
            terms.iter().map(|term| term / sum).list()
        }
    }
}

/// The product of a combined state with the weights of the head, and the loss.
pub(super) fn head_loss(head: LossHead, weights: &[f32], h: &[f64], part: &[f64]) -> [f64; 2] {
    let product = h.iter().chain(part).zip(weights).map(|(v, &weight)| v * f64::from(weight)).sum::<f64>();
    [product, if head == LossHead::Linear { product } else { product.clamp(-10.0, 10.0).exp() }]
}

/// Sizes of a case.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecurrentSizes {
    pub(super) members: usize,
    pub(super) batch: usize,
    pub(super) steps: usize,
    pub(super) input: usize,
    pub(super) hidden: usize,
}

/// An ensemble, its inputs and its first states.
#[derive(Clone)]
pub(super) struct EnsembleInputs {
    pub(super) params: GruParams,
    pub(super) w: Vec<f32>,
    pub(super) u: Vec<f32>,
    pub(super) b: Vec<f32>,
    pub(super) bu: Option<Vec<f32>>,
    pub(super) x: Vec<f32>,
    pub(super) h0: Option<Vec<f32>>,
}

/// The outputs of a forward pass.
pub(super) struct ForwardResults<R> {
    pub(super) states: Vec<R>,
    pub(super) last: Vec<R>,
    pub(super) saved: Vec<R>,
}

impl EnsembleInputs {
    /// Initial weights, uniform in `+-sqrt(2 / (input + hidden))`.
    ///
    /// All other values are of order 1.
    pub(super) fn new(sizes: RecurrentSizes, variant: GruVariant, inputs: GruInputs) -> Self {
        let RecurrentSizes { members, batch, steps, input, hidden } = sizes;
        let params = GruParams {
            members: members as u64,
            batch: batch as u64,
            steps: steps as u64,
            input: input as u64,
            hidden: hidden as u64,
            variant,
            inputs,
        };
        let limit = (2.0 / (input + hidden).max(1) as f32).sqrt();
        let x = params.input_shape().iter().product::<u64>() as usize;
        let bu = (variant == GruVariant::ResetAfter).then(|| values(4, members * hidden, 0.5));
        Self {
            params,
            w: values(1, members * input * 3 * hidden, limit),
            u: values(2, members * hidden * 3 * hidden, limit),
            b: values(3, members * 3 * hidden, 0.5),
            bu,
            x: values(5, x, 1.5),
            h0: Some(values(6, members * batch * hidden, 1.0)),
        }
    }

    /// Runs one step of row `row` of `member` from the state `h` on the input `x`.
    ///
    /// Returns z, r, c and the reset state: r * h with reset before the product, the product with
    /// bias otherwise.
    pub(super) fn step(&self, member: usize, x: &[f64], h: &[f64]) -> [Vec<f64>; 4] {
        let n = h.len();
        // `values` times the columns of a gate.
        let product = |values: &[f64], of: &[f32], gate: usize| {
            let mut sums = vec![0.0; n];
            for (i, &value) in values.iter().enumerate() {
                let row = &of[((member * values.len() + i) * 3 + gate) * n..][..n];
                for (sum, &weight) in sums.iter_mut().zip(row) {
                    *sum += value * f64::from(weight);
                }
            }
            sums
        };
        let bias = |of: &[f32], gates: usize, gate: usize, j: usize| f64::from(of[(gates * member + gate) * n + j]);
        let input = |gate: usize| {
            let sums = product(x, &self.w, gate);
            sums.into_iter().enumerate().map(|(j, sum)| sum + bias(&self.b, 3, gate, j)).list()
        };
        let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
        let gated = |gate: usize| -> Vec<f64> {
            let (input, state) = (input(gate), product(h, &self.u, gate));
            input.iter().zip(&state).map(|(input, state)| sigmoid(input + state)).list()
        };
        let (z, r, input) = (gated(0), gated(1), input(2));
        let (c, reset): (Vec<f64>, Vec<f64>) = match &self.bu {
            None => {
                let reset: Vec<f64> = r.iter().zip(h).map(|(r, h)| r * h).list();
                let state = product(&reset, &self.u, 2);
                ((0..n).map(|j| (input[j] + state[j]).tanh()).list(), reset)
            }
            Some(bu) => {
                let state = product(h, &self.u, 2);
                let reset: Vec<f64> = (0..n).map(|j| state[j] + bias(bu, 1, 0, j)).list();
                ((0..n).map(|j| (input[j] + r[j] * reset[j]).tanh()).list(), reset)
            }
        };
        [z, r, c, reset]
    }

    /// Row `row` of what `member` sees at step `step`.
    pub(super) fn input_of(&self, member: usize, step: usize, row: usize) -> Vec<f64> {
        let (p, input) = (&self.params, self.params.input as usize);
        let (steps, batch) = (p.steps as usize, p.batch as usize);
        let at = match p.inputs {
            GruInputs::Sequence => step * batch + row,
            GruInputs::MemberSequences => (member * steps + step) * batch + row,
            GruInputs::Constant => row,
            GruInputs::MemberConstants => member * batch + row,
        };
        self.x[at * input..][..input].iter().map(|&x| f64::from(x)).list()
    }

    /// The state of a row before the first step.
    pub(super) fn first(&self, member: usize, row: usize) -> Vec<f64> {
        let (batch, hidden) = (self.params.batch as usize, self.params.hidden as usize);
        match &self.h0 {
            None => vec![0.0; hidden],
            Some(h0) => h0[(member * batch + row) * hidden..][..hidden].iter().map(|&h| f64::from(h)).list(),
        }
    }

    /// The whole pass.
    pub(super) fn results(&self) -> ForwardResults<f64> {
        let p = &self.params;
        let [members, batch, steps, hidden] = [p.members, p.batch, p.steps, p.hidden].map(|len| len as usize);
        let plane = members * steps * batch * hidden;
        let (mut states, mut saved) = (vec![0.0; plane], vec![0.0; 5 * plane]);
        let mut last = Vec::with_capacity(members * batch * hidden);
        for (member, row) in (0..members).flat_map(|member| (0..batch).map(move |row| (member, row))) {
            let mut h = self.first(member, row);
            for step in 0..steps {
                let [z, r, c, reset] = self.step(member, &self.input_of(member, step, row), &h);
                let next: Vec<f64> = (0..hidden).map(|j| (1.0 - z[j]) * h[j] + z[j] * c[j]).list();
                let at = ((member * steps + step) * batch + row) * hidden;
                for (i, part) in [&z, &r, &c, &h, &reset].into_iter().enumerate() {
                    saved[i * plane + at..][..hidden].copy_from_slice(part);
                }
                states[at..][..hidden].copy_from_slice(&next);
                h = next;
            }
            last.extend(h);
        }
        ForwardResults { states, last, saved }
    }
}

/// A transformation of states before they are read: layer norm, then a mask.
#[derive(Clone)]
pub(super) struct StateChange {
    pub(super) norm: Option<[Vec<f32>; 2]>,
    pub(super) eps: f32,
    pub(super) mask: StateMask,
}

impl StateChange {
    /// The state `h`, whose first element has the index `first`.
    pub(super) fn apply(&self, first: u64, h: &[f64]) -> Vec<f64> {
        let mut seen = h.to_vec();
        if let Some([gamma, beta]) = &self.norm {
            let n = h.len() as f64;
            let mean = h.iter().sum::<f64>() / n;
            let variance = h.iter().map(|h| (h - mean) * (h - mean)).sum::<f64>() / n;
            let root = (variance + f64::from(self.eps)).sqrt();
            for (seen, (gamma, beta)) in seen.iter_mut().zip(gamma.iter().zip(beta)) {
                *seen = (*seen - mean) / root * f64::from(*gamma) + f64::from(*beta);
            }
        }
        let StateMask { seed, threshold, site, step, scale, .. } = self.mask;
        if threshold > 0 {
            for (index, seen) in (first..).zip(&mut seen) {
                let word = philox::block(seed, site, step, index / 4)[(index % 4) as usize];
                *seen *= if u64::from(word) < threshold { 0.0 } else { f64::from(scale) };
            }
        }
        seen
    }

    /// The factors, or the addends.
    pub(super) fn norm_mut(&mut self, which: usize) -> &mut [f32] {
        self.norm.as_mut().map(|norm| &mut norm[which][..]).unwrap_or_default()
    }
}
