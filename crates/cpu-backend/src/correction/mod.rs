//! The correction op set.

mod apply;
mod cosines;
mod encode;
mod features;
mod product;
mod similar;

use backend_api::{
    BackendError,
    ops::correction::{ApplyCorrection, EncodeStates, EstimateResiduals, SimilarStates, StoreStates, TrainingFeatures},
};
use core_types::params::correction::{DECAY_STEPS, StoreParams, place};

use self::product::product;
use crate::checked::CorrectionOps;
use crate::{
    CpuQueue,
    simd::{LaneKernel, dispatch, floats::Floats},
};

/// The length of a state.
struct Norm<'a>(&'a [f32]);

impl<L: Floats> LaneKernel<L> for Norm<'_> {
    type Out = f32;

    #[inline(always)]
    fn run(self, l: L) -> f32 {
        product(l, self.0, self.0).sqrt()
    }
}

impl CorrectionOps for CpuQueue {
    fn apply_correction(&self, op: ApplyCorrection<'_, Self>) -> Result<(), BackendError> {
        apply::run(self, op.params, op.predictions, [op.a, op.b], op.y);
        Ok(())
    }

    fn encode_states(&self, op: EncodeStates<'_, Self>) -> Result<(), BackendError> {
        encode::run(self, op)
    }

    fn estimate_residuals(&self, op: EstimateResiduals<'_, Self>) -> Result<(), BackendError> {
        // The first estimate is `sum of weight residual / sum of weight`, with the weight `decay^(d / 100) confidence`
        // of a state `d` steps ago. The second is `bias + sum over j of c_j feature_j`, from a linear model.
        let EstimateResiduals { params, known, places, features, steps, model, history, modelled } = op;
        let (width, count) = (params.width as usize, params.count as usize);
        let (coefficients, bias) = model.split_at(params.coefficients as usize);
        for (i, (history, modelled)) in history.iter_mut().zip(modelled).enumerate() {
            let (mut weights, mut sum, mut found) = (0.0, 0.0, false);
            for &place in &places[i * count..][..count] {
                let Some(&[residual, step, confidence]) = known.as_chunks::<3>().0.get(place as usize) else {
                    continue;
                };
                let ago = steps[i] - step;
                let ago = if ago > 0.0 { ago } else { 0.0 };
                let weight = f64::from(params.decay.powf(ago / DECAY_STEPS) * confidence);
                weights += weight;
                sum += weight * f64::from(residual);
                found = true;
            }
            *history = if weights > 0.0 { sum / weights } else { sum } as f32;
            let terms = features[i * width..].iter().zip(coefficients);
            let product: f64 = terms.map(|(&x, &c)| f64::from(x) * f64::from(c)).sum();
            *modelled = if found { (product + f64::from(bias[0])) as f32 } else { 0.0 };
        }
        Ok(())
    }

    fn similar_states(&self, op: SimilarStates<'_, Self>) -> Result<(), BackendError> {
        similar::run(self, op)
    }

    fn store_states(&self, op: StoreStates<'_, Self>) -> Result<(), BackendError> {
        let StoreStates { params: &StoreParams { capacity, width, count }, features, outcomes, .. } = op;
        let width = width as usize;
        for i in 0..count as usize {
            let at = place(capacity, op.stored[0].wrapping_add(i as u64)) as usize;
            let state = &features[i * width..][..width];
            op.states[at * width..][..width].copy_from_slice(state);
            op.norms[at] = dispatch(self.simd(), Norm(state));
            op.known[3 * at..][..3].copy_from_slice(&outcomes[3 * i..][..3]);
        }
        op.stored[0] = op.stored[0].wrapping_add(count);
        Ok(())
    }

    fn training_features(&self, op: TrainingFeatures<'_, Self>) -> Result<(), BackendError> {
        features::run(self, op.records, op.features);
        Ok(())
    }
}
