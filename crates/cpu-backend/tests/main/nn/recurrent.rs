//! Bits of the forward pass on every vector level: they depend neither on the batch, nor on the threads, nor on how steps are
//! dealt to calls. Values are the conformance suite's.

use backend_api::ops::recurrent::{GruForward, GruLayer, RecurrentOps};
use core_types::params::recurrent::{GruInputs, GruParams, GruVariant};
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
