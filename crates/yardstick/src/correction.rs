//! Speed lines of the `correction` op set, on one thread.

use std::{hint::black_box, num::NonZeroUsize};

use backend_api::{Buffer, Queue};
use cpu_backend::{CpuConfig, CpuQueue};
use nn_ops::{
    CorrectionEstimates, CorrectionParams, EncoderPlan, EncoderResults, ResidualStore, SimilarStates, TensorMut,
    TensorRef, TrainingState, TrainingStates, apply_correction,
};

use super::{Contender, Contest, Goal, Show};

/// Features of a state.
const WIDTH: usize = 64;
/// Elements of a code.
const OUTPUTS: usize = 128;

/// Every contest of the op set, by name, each built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    vec![
        ("nn.features".to_owned(), Box::new(features)),
        ("nn.encode_state/features".to_owned(), Box::new(encode)),
        ("nn.similar_states".to_owned(), Box::new(similar)),
        ("nn.correction".to_owned(), Box::new(correct)),
    ]
}

/// One thread on the strongest path.
#[expect(clippy::expect_used, reason = "a bench without its queue cannot go on")]
fn queue() -> CpuQueue {
    CpuQueue::open(CpuConfig { threads: NonZeroUsize::new(1), ..CpuConfig::default() }).expect("one thread is enough")
}

/// Values in -1..1.
fn input(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Trainings whose rings are full.
fn trainings(count: usize) -> Vec<TrainingState> {
    let noise = input(300);
    let training = |i: usize| {
        let mut training = TrainingState::new();
        noise.iter().for_each(|x| training.record_step(2.0 + x / (i + 1) as f32, 1.5 + x));
        training
    };
    (0..count).map(training).collect()
}

/// Mean, deviation, least and greatest of rings of losses and norms, in plain loops over f64.
fn plain_statistics(rings: &[f32], len: usize, results: &mut [f64]) {
    for (ring, results) in rings.chunks_exact(len).zip(results.chunks_exact_mut(4)) {
        let mean = ring.iter().map(|&x| f64::from(x)).sum::<f64>() / len as f64;
        let variance = ring.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / len as f64;
        let least = ring.iter().fold(f64::INFINITY, |least, &x| least.min(x.into()));
        let greatest = ring.iter().fold(f64::NEG_INFINITY, |greatest, &x| greatest.max(x.into()));
        results.copy_from_slice(&[mean, variance.sqrt(), least, greatest]);
    }
}

/// The statistics alone of `count` trainings.
fn plain(count: usize) -> Contender {
    let (losses, norms, mut results) = (input(count * 256), input(count * 64), vec![0.0; count * 4]);
    Contender::new("statistics in plain loops", move || {
        plain_statistics(black_box(&losses), 256, &mut results);
        plain_statistics(black_box(&norms), 64, &mut results);
        black_box(&mut results);
    })
}

/// The bound of implementations that read the input once.
///
/// It reads sixteen words of each 64 bytes, so that nothing but reading takes time.
fn read(count: usize) -> Contender {
    let x = input(count);
    Contender::new("reading", move || {
        let mut words = [0u32; 64];
        for chunk in black_box(&x).chunks_exact(64) {
            for (word, x) in words.iter_mut().zip(chunk) {
                *word |= x.to_bits();
            }
        }
        black_box(words);
    })
}

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn features() -> Contest {
    const COUNT: usize = 1024;
    let q = queue();
    let states = TrainingStates::new(&q, &trainings(COUNT)).expect("1 MiB is free");
    let mut results = q.zeros::<f32>(COUNT * WIDTH).expect("256 KiB are free");
    let mut run = move || states.features(&q, TensorMut::contiguous(results.view_mut(), &[COUNT, WIDTH])?);
    Contest {
        id: "nn.features".to_owned(),
        unit: "state",
        work: COUNT as f64,
        show: Show::Nanoseconds,
        contenders: vec![Contender::new("trefoil", move || run().expect("the shapes fit")), plain(COUNT)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 2.0 }, "")],
    }
}

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn encode() -> Contest {
    const COUNT: usize = 32;
    let q = queue();
    let states = TrainingStates::new(&q, &trainings(COUNT)).expect("64 KiB are free");
    let plan = EncoderPlan::new(COUNT, OUTPUTS).expect("the sizes are valid");
    let weights = q.upload(&input(WIDTH * OUTPUTS)).expect("32 KiB are free");
    let bias = q.upload(&input(OUTPUTS)).expect("512 bytes are free");
    let mut codes = q.zeros::<f32>(COUNT * OUTPUTS).expect("16 KiB are free");
    let mut run = move || {
        let weights = TensorRef::contiguous(weights.view(), &[WIDTH, OUTPUTS])?;
        let bias = TensorRef::contiguous(bias.view(), &[OUTPUTS])?;
        let codes = TensorMut::contiguous(codes.view_mut(), &[COUNT, OUTPUTS])?;
        plan.run(&q, &states, weights, bias, EncoderResults { features: None, codes })
    };
    Contest {
        id: "nn.encode_state/features".to_owned(),
        unit: "state",
        work: COUNT as f64,
        show: Show::Nanoseconds,
        contenders: vec![Contender::new("trefoil", move || run().expect("the shapes fit")), plain(COUNT)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 1.0 }, "")],
    }
}

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn similar() -> Contest {
    const STATES: usize = 1 << 16;
    let q = queue();
    let mut store = ResidualStore::new(&q, STATES, WIDTH).expect("17 MiB are free");
    let states = q.upload(&input(STATES * WIDTH)).expect("16 MiB are free");
    let outcomes = q.zeros::<f32>(3 * STATES).expect("1 MiB is free");
    let states = TensorRef::contiguous(states.view(), &[STATES, WIDTH]).expect("the shape fits");
    store.store(&q, states, TensorRef::contiguous(outcomes.view(), &[STATES, 3]).expect("it fits")).expect("room");
    let query = q.upload(&input(WIDTH)).expect("256 bytes are free");
    let mut similar = SimilarStates::new(&q, 1, 10).expect("80 bytes are free");
    let mut run = move || store.similar(&q, TensorRef::contiguous(query.view(), &[1, WIDTH])?, &mut similar);
    Contest {
        id: "nn.similar_states".to_owned(),
        unit: "byte",
        work: (4 * STATES * WIDTH) as f64,
        show: Show::Rate,
        contenders: vec![Contender::new("trefoil", move || run().expect("the shapes fit")), read(STATES * WIDTH)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.9 }, "")],
    }
}

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn correct() -> Contest {
    const COUNT: usize = 1 << 20;
    let q = queue();
    let upload = || q.upload(&input(COUNT)).expect("4 MiB are free");
    let (predictions, a, b, mut y) = (upload(), upload(), upload(), upload());
    let mut run = move || {
        let at = |x| TensorRef::contiguous(x, &[COUNT]);
        let estimates = CorrectionEstimates { history: at(a.view())?, model: at(b.view())? };
        let (predictions, y) = (at(predictions.view())?, TensorMut::contiguous(y.view_mut(), &[COUNT])?);
        apply_correction(&q, CorrectionParams::default(), predictions, estimates, y)
    };
    let (from, mut to) = (input(2 * COUNT), input(2 * COUNT));
    let copy = Contender::new("copy_from_slice", move || black_box(&mut to).copy_from_slice(black_box(&from)));
    Contest {
        id: "nn.correction".to_owned(),
        unit: "byte",
        work: (16 * COUNT) as f64,
        show: Show::Rate,
        contenders: vec![Contender::new("trefoil", move || run().expect("the shapes fit")), copy],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.9 }, "")],
    }
}
