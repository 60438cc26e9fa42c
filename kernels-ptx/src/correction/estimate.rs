//! What residuals of similar states and a linear model come to, a thread to each query.
//!
//! Grid: any; block: 64.
//!
//! # Safety
//! `known` are `p.capacity x 3`, `places` `p.queries x p.count`, `features` `p.queries x p.width`,
//! `steps`, `history` and `modelled` `p.queries`, `model` `p.coefficients + 1`, and there are no
//! more coefficients than features.

use core_types::{
    float::ln,
    params::correction::{DECAY_STEPS, EstimateParams},
};

use crate::dev::{idx, numeric::functions::exp};

/// Both estimates.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn correction_estimate(
    p: EstimateParams,
    known: *const f32,
    places: *const u32,
    features: *const f32,
    steps: *const f32,
    model: *const f32,
    history: *mut f32,
    modelled: *mut f32,
) {
    let (rate, count, coefficients) = (ln(p.decay) / DECAY_STEPS, p.count as usize, p.coefficients as usize);
    for query in idx::grid_stride(p.queries) {
        let query = query as usize;
        let (mut weights, mut sum, mut found) = (0.0, 0.0, false);
        let mut i = 0;
        while i < count {
            let place = *places.add(query * count + i);
            if u64::from(place) < p.capacity {
                let known = known.add(3 * place as usize);
                let ago = *steps.add(query) - *known.add(1);
                let ago = if ago > 0.0 { ago } else { 0.0 };
                let fallen = if rate == 0.0 { 1.0 } else { exp(rate * ago) }; // however long ago
                let weight = f64::from(fallen * *known.add(2));
                weights += weight;
                sum += weight * f64::from(*known);
                found = true;
            }
            i += 1;
        }
        let (mut product, mut i) = (0.0, 0);
        while i < coefficients {
            product += f64::from(*features.add(query * p.width as usize + i)) * f64::from(*model.add(i));
            i += 1;
        }
        *history.add(query) = if weights > 0.0 { sum / weights } else { sum } as f32;
        *modelled.add(query) = if found { (product + f64::from(*model.add(coefficients))) as f32 } else { 0.0 };
    }
}

kernel_table! {
    correction_estimate: block [64, 1, 1], min_blocks 8, shared None, barriers 0;
}
