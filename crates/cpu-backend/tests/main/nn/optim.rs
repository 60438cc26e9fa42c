//! Steps on every vector level and on several threads: the same bits.

use backend_api::ops::optim::{AdamStep, AdvanceStep, OptimOps, ScaleLoss, SgdStep, SquareSums};
use core_types::params::optim::{AdamParams, AdvanceParams, Anneal, PART, ScheduleParams, SgdParams, StepState};
use cpu_backend::CpuQueue;
use half::bf16;

use crate::levels::{expect_equal, queues};

/// Several tasks, the last one short.
const LEN: usize = (1 << 17) + 4321;

fn numbers(salt: usize) -> Vec<f32> {
    (0..LEN).map(|i| ((i * 37 + salt * 11) % 1009) as f32 / 500.0 - 1.0).collect()
}

/// What two steps of each optimizer make, as bit patterns.
fn results(q: &CpuQueue) -> Vec<u64> {
    let schedule = ScheduleParams {
        rate: 0.01,
        least: 0.0,
        factor: 1.0,
        warmup: 2,
        period: 5,
        anneal: Anneal::Cosine,
        reserved: 0,
    };
    let params = AdvanceParams {
        schedule,
        beta1: 0.9,
        beta2: 0.999,
        decay: 0.1,
        clip: 3.0,
        growth: 2.0,
        backoff: 0.5,
        interval: 1,
        reserved: 0,
    };
    let adam = AdamParams { decayed: 70_000, rest1: 0.1, rest2: 0.001, eps: 1e-8, coupled: 0.0 };
    let sgd = SgdParams { decayed: 70_000, momentum: 0.9, coupled: 0.01, nesterov: 1, reserved: 0 };
    let (mut w, mut x, mut m, mut v) = (numbers(0), numbers(1), vec![0.0; LEN], vec![0.0; LEN]);
    let (mut running, mut copy, mut scaled) = (vec![0.0; LEN], vec![bf16::ZERO; LEN], vec![bf16::ZERO; LEN]);
    let mut state = [StepState::new(16.0)];
    let mut sums = vec![0.0; LEN.div_ceil(PART)];
    for salt in [2, 3] {
        let wide = numbers(salt);
        q.scale_loss(ScaleLoss { state: &state, x: &wide, y: &mut scaled }).unwrap();
        q.square_sums(SquareSums { g: &scaled[..], sums: &mut sums }).unwrap();
        q.advance_step(AdvanceStep { params: &params, sums: Some(&sums), state: &mut state }).unwrap();
        let (m, v, w, copy) = (&mut m[..], &mut v[..], &mut w[..], Some(&mut copy[..]));
        let g = Some(&scaled[..]);
        q.adam_step(AdamStep { params: &adam, state: &state, g, wide: None, m, v, w, copy }).unwrap();
        let (w, v) = (&mut x[..], Some(&mut running[..]));
        q.sgd_step::<f32>(SgdStep { params: &sgd, state: &state, g: Some(&wide), wide: None, v, w, copy: None })
            .unwrap();
    }
    assert_eq!(state[0].step, 2);
    let singles = [&w, &x, &m, &v, &running].into_iter().flatten().map(|x| u64::from(x.to_bits()));
    singles.chain(copy.iter().map(|x| u64::from(x.to_bits()))).chain([state[0].norm.to_bits()]).collect()
}

#[test]
fn results_are_the_same_bits_on_every_level_and_number_of_threads() {
    expect_equal(&queues(), "steps", results);
}
