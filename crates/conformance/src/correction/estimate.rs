//! Estimates of residuals against their definition.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::correction::{CorrectionOps, EstimateResiduals},
};
use core_types::params::correction::{EstimateParams, NO_STATE};

use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _, spec::BATCHES};

/// The known losses and the queries of one estimate.
#[derive(Clone)]
struct Estimate {
    params: EstimateParams,
    known: Vec<f32>,
    places: Vec<u32>,
    features: Vec<f32>,
    steps: Vec<f32>,
    model: Vec<f32>,
}

impl Estimate {
    fn new([capacity, width, queries, count, coefficients]: [usize; 5]) -> Self {
        let mut random = InputSource::new((capacity * 31 + queries) as u64);
        let known = (0..capacity).flat_map(|i| {
            let noise = random.reals::<f32>(2);
            [noise[0], 40.0 * i as f32, 0.6 + noise[1] / 2.0]
        });
        let place = |i: usize| if i % 7 == 6 { NO_STATE } else { (i * 11 % capacity.max(1)) as u32 };
        Self {
            params: EstimateParams {
                capacity: capacity as u64,
                width: width as u64,
                queries: queries as u64,
                count: count as u64,
                coefficients: coefficients as u64,
                decay: 0.95,
                reserved: 0,
            },
            known: known.list(),
            places: (0..queries * count).map(place).list(),
            features: random.reals(queries * width),
            steps: (0..queries).map(|i| 100.0 * i as f32).list(),
            model: random.reals(coefficients + 1),
        }
    }

    /// Both estimates by their definition.
    fn results(&self) -> [Vec<f64>; 2] {
        let (width, count) = (self.params.width as usize, self.params.count as usize);
        let (mut history, mut modelled) = (Vec::new(), Vec::new());
        for query in 0..self.params.queries as usize {
            let places =
                self.places[query * count..][..count].iter().filter(|&&place| u64::from(place) < self.params.capacity);
            let found: Vec<[f64; 3]> =
                places.map(|&place| core::array::from_fn(|i| f64::from(self.known[3 * place as usize + i]))).list();
            let weight = |known: &[f64; 3]| {
                let ago = (f64::from(self.steps[query]) - known[1]).max(0.0);
                // A weight below the range of f32 is zero.
                f64::from(f64::from(self.params.decay).powf(ago / 100.0) as f32) * known[2]
            };
            let sum: f64 = found.iter().map(|known| weight(known) * known[0]).sum();
            let weights: f64 = found.iter().map(weight).sum();
            history.push(if weights > 0.0 { sum / weights } else { sum });
            let (bias, coefficients) = self.model.split_last().map_or((0.0, &[][..]), |(&bias, all)| (bias, all));
            let terms = self.features[query * width..].iter().zip(coefficients);
            let product: f64 = terms.map(|(&x, &c)| f64::from(x) * f64::from(c)).sum();
            modelled.push(if found.is_empty() { 0.0 } else { product + f64::from(bias) });
        }
        [history, modelled]
    }

    fn run(&self, q: &Conditioned) -> Result<[Vec<f32>; 2], BackendError> {
        let (known, places) = (q.upload(&self.known)?, q.upload(&self.places)?);
        let (features, steps, model) = (q.upload(&self.features)?, q.upload(&self.steps)?, q.upload(&self.model)?);
        let queries = self.params.queries as usize;
        let (mut history, mut modelled) = (q.alloc::<f32>(queries)?, q.alloc::<f32>(queries)?);
        q.estimate_residuals(EstimateResiduals {
            params: &self.params,
            known: known.view(),
            places: places.view(),
            features: features.view(),
            steps: steps.view(),
            model: model.view(),
            history: history.view_mut(),
            modelled: modelled.view_mut(),
        })?;
        Ok([q.download(&history)?, q.download(&modelled)?])
    }

    fn hold(&self, q: &Conditioned) -> Result<(), Failure> {
        let ([history, modelled], [got, got_modelled]) = (self.results(), self.run(q)?);
        Failure::unless_close(&history, &got, 1e-5, 1e-6)?;
        Failure::unless_close(&modelled, &got_modelled, 1e-6, 1e-6)
    }
}

pub(super) fn spec() -> OpSpec {
    let sizes = [[1, 1, 1, 1, 1], [50, 64, 65, 10, 32], [3, 64, 2, 32, 64], [9, 4, 3, 0, 4], [0, 5, 2, 2, 0]];
    let mut cases: Vec<Case> = Vec::new();
    for sizes in sizes {
        cases.push(Case::new(format!("{sizes:?}"), move |q| Estimate::new(sizes).hold(q)));
    }
    for queries in BATCHES {
        let sizes = [20, 7, queries as usize, 3, 5];
        cases.push(Case::new(format!("{queries} queries"), move |q| Estimate::new(sizes).hold(q)));
    }
    cases.push(Case::new("no state, no confidence, far away and to come", |q| {
        let plain = Estimate::new([6, 3, 4, 2, 3]);
        let mut none = plain.clone();
        none.places.fill(NO_STATE);
        none.hold(q)?;
        for confidence in [0.0, -0.5] {
            let mut doubtful = plain.clone();
            doubtful.known.iter_mut().skip(2).step_by(3).for_each(|known| *known = confidence);
            doubtful.hold(q)?;
        }
        let mut apart = plain;
        apart.steps = vec![1e6, 0.0, 120.0, -50.0];
        apart.hold(q)?;
        // what does not fall weighs the same however long ago it was
        apart.params.decay = 1.0;
        apart.steps[1] = f32::INFINITY;
        apart.hold(q)
    }));
    cases.push(Case::new("places that the ring does not have", |q| {
        let mut estimate = Estimate::new([6, 3, 4, 2, 3]);
        estimate.places[2] = 6;
        let got = estimate.run(q)?;
        estimate.places[2] = NO_STATE;
        let expected = estimate.run(q)?;
        Failure::unless_equal(&expected[0], &got[0])?;
        estimate.hold(q)
    }));
    cases.push(Case::new("refusals", |q| {
        let plain = Estimate::new([6, 3, 4, 2, 3]);
        for decay in [0.0, -0.5, 1.5, f32::NAN] {
            let mut other = plain.clone();
            other.params.decay = decay;
            Failure::unless_refused(&format!("a decay of {decay}"), other.run(q).map(drop))?;
        }
        let many = Estimate::new([6, 3, 4, 2, 4]);
        Failure::unless_refused("more coefficients than features", many.run(q).map(drop))?;
        Failure::unless_refused("33 states", Estimate::new([6, 3, 4, 33, 3]).run(q).map(drop))
    }));
    OpSpec { op: "correction.estimate_residuals", cases }
}
