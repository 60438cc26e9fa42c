//! Bits of the forward pass on every vector level: they depend neither on the batch, nor on the threads, nor on how steps are
//! dealt to calls. Values are the conformance suite's.

use backend_api::ops::recurrent::{GruForward, GruLayer, RecurrentOps, RssmLoss};
use core_types::params::recurrent::{
    GruInputs, GruParams, GruVariant, LossError, LossHead, RssmLossParams, Stochastic,
};
use cpu_backend::CpuQueue;

use super::values;
use crate::levels::{levels, queue};

const HIDDEN: usize = 37;
const INPUT: usize = 5;

/// The states of two members after every step of a sequence `x` for both, from states `h`, which become the last ones.
fn states(q: &CpuQueue, variant: GruVariant, batch: usize, steps: usize, x: &[f32], h: &mut [f32]) -> Vec<f32> {
    let (members, input, hidden) = (2, INPUT as u64, HIDDEN as u64);
    let (batch, steps) = (batch as u64, steps as u64);
    let params = GruParams { members, batch, steps, input, hidden, variant, inputs: GruInputs::Sequence };
    let (w, u) = (values(1, 2 * INPUT * 3 * HIDDEN), values(2, 2 * HIDDEN * 3 * HIDDEN));
    let (b, bu) = (values(3, 2 * 3 * HIDDEN), values(4, 2 * HIDDEN));
    let bu = (variant == GruVariant::ResetAfter).then_some(&bu[..]);
    let h0 = h.to_vec();
    let mut states = vec![0.0; steps as usize * h.len()];
    let layer = GruLayer { w: &w[..], u: &u[..], b: &b[..], bu };
    let (h0, into) = (Some(&h0[..]), Some(&mut states[..]));
    q.gru_forward(GruForward { params: &params, layer, x, h0, states: into, h_t: h, saved: None }).unwrap();
    states
}

/// Row `row` of each of `count` matrices of rows of `len`.
fn rows(of: &[f32], count: usize, row: usize, len: usize) -> Vec<f32> {
    of.chunks(of.len() / count).flat_map(|matrix| matrix[row * len..][..len].to_vec()).collect()
}

#[test]
fn bits_do_not_depend_on_the_batch_the_threads_or_the_number_of_calls() {
    const BATCH: usize = 35;
    const STEPS: usize = 4;
    for simd in levels() {
        let (one, three) = (queue(simd, 1), queue(simd, 3));
        for variant in [GruVariant::ResetBefore, GruVariant::ResetAfter] {
            let (x, h0) = (values(5, STEPS * BATCH * INPUT), values(6, 2 * BATCH * HIDDEN));
            let mut last = h0.clone();
            let all = states(&one, variant, BATCH, STEPS, &x, &mut last);
            let mut again = h0.clone();
            assert_eq!(states(&three, variant, BATCH, STEPS, &x, &mut again), all);
            assert_eq!(again, last);

            let (first, second) = x.split_at(BATCH * INPUT);
            let mut h = h0.clone();
            states(&one, variant, BATCH, 1, first, &mut h);
            states(&one, variant, BATCH, STEPS - 1, second, &mut h);
            assert_eq!(h, last, "{simd:?}");

            for row in [0, 16, BATCH - 1] {
                let x = rows(&x, STEPS, row, INPUT);
                let mut h = rows(&h0, 2, row, HIDDEN);
                let alone = states(&one, variant, 1, STEPS, &x, &mut h);
                assert_eq!(alone, rows(&all, 2 * STEPS, row, HIDDEN), "{simd:?}: row {row}");
            }
        }
    }
}

/// The product of the head with the combined state of `h`, and its gradient by each state.
fn linear_head(part: Stochastic, stochastic: usize, head: &[f32], h: &[f32]) -> (f64, Vec<f64>) {
    let wide = |values: &[f32]| values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let (h, head) = (wide(h), wide(head));
    let (of_h, of_part) = head.split_at(h.len());
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let (mut product, mut gradient) = (dot(&h, of_h), of_h.to_vec());
    match part {
        Stochastic::Zeros => {}
        Stochastic::CopyHidden => {
            product += dot(&h, of_part);
            gradient.iter_mut().zip(of_part).for_each(|(gradient, weight)| *gradient += weight);
        }
        Stochastic::StridedSoftmax => {
            let place = |i: usize| i * h.len() / stochastic;
            let exps: Vec<f64> = (0..stochastic).map(|i| h[place(i)].exp()).collect();
            let s: Vec<f64> = exps.iter().map(|exp| exp / exps.iter().sum::<f64>()).collect();
            let mean = dot(&s, of_part);
            product += mean;
            (0..stochastic).for_each(|i| gradient[place(i)] += s[i] * (of_part[i] - mean));
        }
    }
    (product, gradient)
}

#[test]
fn losses_and_gradients_of_states_are_those_of_a_model_in_f64() {
    const ROWS: usize = 3;
    const SCALE: f32 = 0.25;
    let close = |got: f32, expected: f64, what: &str| {
        assert!((f64::from(got) - expected).abs() <= 1e-5 * (1.0 + expected.abs()), "{what}: {got}, not {expected}");
    };
    for (hidden, part) in [1, 4, 17, HIDDEN].into_iter().flat_map(|hidden| {
        [Stochastic::Zeros, Stochastic::CopyHidden, Stochastic::StridedSoftmax].map(|part| (hidden, part))
    }) {
        let stochastic = if part == Stochastic::CopyHidden { hidden } else { 4 };
        let (head, states) = (values(1, hidden + stochastic), values(2, 2 * ROWS * hidden));
        let targets = values(3, 2 * ROWS);
        let params = RssmLossParams {
            members: 2,
            rows: ROWS as u64,
            hidden: hidden as u64,
            stochastic: stochastic as u64,
            part,
            head: LossHead::Linear,
            error: LossError::OfLosses,
            scale: SCALE,
            own_targets: 1,
            reserved: 0,
        };
        for (simd, threads) in levels().flat_map(|simd| [1, 3].map(|threads| (simd, threads))) {
            let what = format!("{hidden} {part:?} {simd:?} {threads}");
            let [mut predicted, mut errors, mut slopes] = [(); 3].map(|()| vec![9.0; 2 * ROWS]);
            let mut combined = vec![9.0; 2 * ROWS * (hidden + stochastic)];
            let mut d_states = vec![9.0; 2 * ROWS * hidden];
            queue(simd, threads)
                .rssm_loss(RssmLoss {
                    params: &params,
                    head: &head,
                    states: &states,
                    targets: &targets,
                    predicted: &mut predicted,
                    errors: &mut errors,
                    slopes: &mut slopes,
                    combined: &mut combined,
                    d_states: &mut d_states,
                })
                .unwrap();
            for (row, h) in states.chunks(hidden).enumerate() {
                let (loss, gradient) = linear_head(part, stochastic, &head, h);
                let error = loss - f64::from(targets[row]);
                let slope = f64::from(SCALE) * error;
                close(predicted[row], loss, &what);
                close(errors[row], error, &what);
                close(slopes[row], slope, &what);
                for (&got, by_state) in d_states[row * hidden..].iter().zip(&gradient) {
                    close(got, slope * by_state, &what);
                }
            }
        }
    }
}
