//! Estimates from the residuals of similar states and from a linear model.
//!
//! The first is `sum of weight residual / sum of weight`, with the weight
//! `decay^(d / 100) confidence` of a state `d` steps ago. The second is
//! `bias + sum over j of c_j feature_j`.

use backend_api::ops::correction::EstimateResiduals;
use core_types::params::correction::DECAY_STEPS;

use crate::CpuQueue;

/// The op has checked its lengths.
pub(super) fn run(op: EstimateResiduals<'_, CpuQueue>) {
    let EstimateResiduals { params, known, places, features, steps, model, history, modelled } = op;
    let (width, count) = (params.width as usize, params.count as usize);
    let (coefficients, bias) = model.split_at(params.coefficients as usize);
    for (i, (history, modelled)) in history.iter_mut().zip(modelled).enumerate() {
        let (mut weights, mut sum, mut found) = (0.0, 0.0, false);
        for &place in &places[i * count..][..count] {
            let Some(&[residual, step, confidence]) = known.as_chunks::<3>().0.get(place as usize) else { continue };
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
}
