//! Backward passes of gated recurrent units against the chain rule in f64.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::recurrent::{GruBackward, RecurrentOps},
};
use core_types::params::recurrent::{GruInputs, GruVariant};

use super::{
    forward::{SIZES, VARIANTS, sizes, unless_all_close},
    model::{EnsembleInputs, values},
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// A forward pass, and the gradients of its results.
#[derive(Clone)]
pub(super) struct BackwardInputs {
    pub(super) inputs: EnsembleInputs,
    pub(super) saved: Vec<f32>,
    pub(super) d_states: Option<Vec<f32>>,
    pub(super) d_h_t: Option<Vec<f32>>,
}

/// The gradients of the gates' sums, and of the first states.
pub(super) struct GateGradients<R> {
    pub(super) gates: Vec<R>,
    pub(super) first: Vec<R>,
}

impl BackwardInputs {
    fn new(of: [usize; 5], variant: GruVariant) -> Self {
        Self::of(EnsembleInputs::new(sizes(of), variant, GruInputs::Sequence))
    }

    /// The pass on `inputs`.
    pub(super) fn of(inputs: EnsembleInputs) -> Self {
        let results = inputs.results();
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).list();
        Self {
            saved: narrow(&results.saved),
            d_states: Some(values(11, results.states.len(), 1.0)),
            d_h_t: Some(values(12, results.last.len(), 1.0)),
            inputs,
        }
    }

    /// By the chain rule, a row and a step at a time.
    pub(super) fn gradients(&self) -> GateGradients<f64> {
        let p = &self.inputs.params;
        let [members, batch, steps, n] = [p.members, p.batch, p.steps, p.hidden].map(|len| len as usize);
        let plane = members * steps * batch * n;
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).list();
        let mut all = GateGradients { gates: vec![0.0; 3 * plane], first: Vec::new() };
        for (member, row) in (0..members).flat_map(|member| (0..batch).map(move |row| (member, row))) {
            let u = |k: usize, column: usize| f64::from(self.inputs.u[(member * n + k) * 3 * n + column]);
            let mut d = vec![0.0; n];
            if let Some(d_h_t) = &self.d_h_t {
                d = wide(&d_h_t[(member * batch + row) * n..][..n]);
            }
            for step in (0..steps).rev() {
                let at = ((member * steps + step) * batch + row) * n;
                if let Some(d_states) = &self.d_states {
                    d.iter_mut().zip(&d_states[at..]).for_each(|(d, &of_step)| *d += f64::from(of_step));
                }
                let of = |matrix: usize| wide(&self.saved[matrix * plane + at..][..n]);
                let [z, r, c, h, reset] = [of(0), of(1), of(2), of(3), of(4)];
                let d_c: Vec<f64> = (0..n).map(|j| d[j] * z[j] * (1.0 - c[j] * c[j])).list();
                let d_z: Vec<f64> = (0..n).map(|j| d[j] * (c[j] - h[j]) * z[j] * (1.0 - z[j])).list();
                let mut next: Vec<f64> = (0..n).map(|j| d[j] * (1.0 - z[j])).list();
                let through = |of_c: &[f64], k: usize| (0..n).map(|j| of_c[j] * u(k, 2 * n + j)).sum::<f64>();
                let of_gate: Vec<f64> = if p.variant == GruVariant::ResetBefore {
                    let of_reset: Vec<f64> = (0..n).map(|k| through(&d_c, k)).list();
                    next.iter_mut().enumerate().for_each(|(k, next)| *next += of_reset[k] * r[k]);
                    (0..n).map(|k| of_reset[k] * h[k]).list()
                } else {
                    let of_product: Vec<f64> = (0..n).map(|j| d_c[j] * r[j]).list();
                    next.iter_mut().enumerate().for_each(|(k, next)| *next += through(&of_product, k));
                    (0..n).map(|j| d_c[j] * reset[j]).list()
                };
                let d_r: Vec<f64> = (0..n).map(|j| of_gate[j] * r[j] * (1.0 - r[j])).list();
                for (k, next) in next.iter_mut().enumerate() {
                    *next += (0..n).map(|j| d_z[j] * u(k, j) + d_r[j] * u(k, n + j)).sum::<f64>();
                }
                all.gates[3 * at..][..3 * n].copy_from_slice(&[d_z, d_r, d_c].concat());
                d = next;
            }
            all.first.extend(d);
        }
        all
    }

    fn run(&self, q: &Conditioned) -> Result<GateGradients<f32>, BackendError> {
        let p = &self.inputs.params;
        let (u, saved) = (q.upload(&self.inputs.u)?, q.upload(&self.saved)?);
        let d_states = self.d_states.as_ref().map(|d| q.upload(d)).transpose()?;
        let d_h_t = self.d_h_t.as_ref().map(|d| q.upload(d)).transpose()?;
        let state = (p.members * p.batch * p.hidden) as usize;
        let (mut gates, mut first) = (q.alloc::<f32>(3 * p.steps as usize * state)?, q.alloc::<f32>(state)?);
        q.gru_backward(GruBackward {
            params: p,
            u: u.view(),
            saved: saved.view(),
            d_states: d_states.as_ref().map(|d| d.view()),
            d_h_t: d_h_t.as_ref().map(|d| d.view()),
            d_gates: gates.view_mut(),
            d_h0: first.view_mut(),
        })?;
        Ok(GateGradients { gates: q.download(&gates)?, first: q.download(&first)? })
    }

    fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        let (expected, got) = (self.gradients(), self.run(q)?);
        unless_all_close([("gates", &expected.gates, &got.gates), ("first states", &expected.first, &got.first)])
    }
}

pub(super) fn backward() -> OpSpec {
    let mut cases = Vec::new();
    for variant in VARIANTS {
        for of in SIZES {
            cases.push(Case::new(format!("{variant:?}, {of:?}"), move |q| BackwardInputs::new(of, variant).hold(q)));
        }
    }
    for variant in VARIANTS {
        cases.push(Case::new(format!("{variant:?}, batches"), move |q| {
            BATCHES.into_iter().try_for_each(|batch| BackwardInputs::new([2, batch as usize, 2, 3, 5], variant).hold(q))
        }));
        cases.push(Case::new(format!("{variant:?}, gradients that are left out"), move |q| {
            let both = BackwardInputs::new([2, 3, 3, 4, 9], variant);
            BackwardInputs { d_states: None, ..both.clone() }.hold(q)?;
            BackwardInputs { d_h_t: None, ..both.clone() }.hold(q)?;
            BackwardInputs { d_h_t: None, d_states: None, ..both }.hold(q)
        }));
    }
    OpSpec { op: "recurrent.gru_backward", cases }
}
