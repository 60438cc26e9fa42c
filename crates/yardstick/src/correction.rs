//! Speed lines of the `correction` op set.

use std::hint::black_box;

use nn_ops::{
    CorrectionEstimates, CorrectionParams, EncoderPlan, EncoderResults, ResidualStore, SimilarStates, Tensor,
    TrainingState, TrainingStates, apply_correction,
};

use crate::{
    Contender, Extent, Goal, Line,
    host::{against_copy, against_reading, tensor, values},
    line::RunSize,
};

/// Features of a state.
const WIDTH: usize = 64;

/// Every line of the op set on the processor.
pub(crate) fn contests() -> Vec<Line> {
    const STATES: usize = 1 << 16;
    let encode = encode(32, 128).called("nn.encode_state/features").counting("state", 32.0).in_nanoseconds();
    let similar = similar(STATES, WIDTH, [noise; 2]).called("nn.similar_states");
    let correct = correct(1 << 20).called("nn.correction");
    let at_least = |ratio| Goal::Ratio { peer: 1, ratio };
    vec![
        features().in_nanoseconds().peer(|| plain(1024)).goal(at_least(2.0), ""),
        encode.peer(|| plain(32)).goal(at_least(1.0), ""),
        against_reading(similar.counting("byte", (4 * STATES * WIDTH) as f64)).goal(at_least(0.9), ""),
        against_copy(correct).goal(at_least(0.9), ""),
    ]
}

/// Every line of the op set on a device.
pub(crate) fn lines(extent: Extent) -> Vec<Line> {
    let stored: [fn(usize) -> Vec<f32>; 2] =
        [|count| (0..count).map(|i| (i * 7919 % 1000) as f32 - 500.0).collect(), |count| vec![1.0; count]];
    match extent {
        Extent::Full => {
            let mut all = Vec::new();
            for batch in [1, 32, 256, 4096, 65_536] {
                all.push(encode(batch, 128));
            }
            for states in [1 << 10, 1 << 20] {
                all.push(similar(states, WIDTH, stored));
            }
            for count in [32 * 128, 1 << 20, 1 << 26] {
                all.push(correct(count));
            }
            all
        }
        Extent::Small => vec![encode(5, 3), similar(9, 4, stored), correct(33)],
    }
}

/// Values in -1..1.
fn noise(count: usize) -> Vec<f32> {
    values(count, 1.0)
}

/// Trainings whose rings are full.
fn trainings(count: usize) -> Vec<TrainingState> {
    let noise = noise(300);
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
    let (losses, norms, mut results) = (noise(count * 256), noise(count * 64), vec![0.0; count * 4]);
    Contender::new("statistics in plain loops", move || {
        plain_statistics(black_box(&losses), 256, &mut results);
        plain_statistics(black_box(&norms), 64, &mut results);
        black_box(&mut results);
    })
}

fn features() -> Line {
    const COUNT: usize = 1024;
    Line::new("nn.features", RunSize::computing("state", COUNT as f64, 0.0), |q| {
        let states = TrainingStates::new(q, &trainings(COUNT))?;
        let mut results = Tensor::alloc(q, &[COUNT, WIDTH])?;
        Ok(Box::new(move |q| Ok(states.features(q, results.at_mut())?)))
    })
}

/// Codes of trainings, with their features.
fn encode(batch: usize, outputs: usize) -> Line {
    let size = RunSize::of_bytes(4 * batch * (256 + 64 + 12 + 4 + outputs));
    Line::new(&format!("nn.encode_state/{batch}x{outputs}"), size, move |q| {
        let (states, plan) = (TrainingStates::new(q, &trainings(batch))?, EncoderPlan::new(batch, outputs)?);
        let (weights, bias) = (tensor(q, &[WIDTH, outputs], 1.0)?, tensor(q, &[outputs], 1.0)?);
        let mut codes = Tensor::alloc(q, &[batch, outputs])?;
        Ok(Box::new(move |q| {
            let results = EncoderResults { features: None, codes: codes.at_mut() };
            Ok(plan.run(q, &states, weights.at(), bias.at(), results)?)
        }))
    })
}

/// The ten most similar of a full store of states, which `features` and `query` make.
fn similar(states: usize, width: usize, [features, query]: [fn(usize) -> Vec<f32>; 2]) -> Line {
    let size = RunSize::of_bytes(4 * states * (width + 1));
    Line::new(&format!("nn.similar_states/{states}x{width}"), size, move |q| {
        let mut store = ResidualStore::new(q, states, width)?;
        let features = Tensor::from_values(q, &[states, width], &features(states * width))?;
        let outcomes = Tensor::from_values(q, &[states, 3], &vec![0.0; 3 * states])?;
        store.store(q, features.at(), outcomes.at())?;
        let query = Tensor::from_values(q, &[1, width], &query(width))?;
        let mut similar = SimilarStates::new(q, 1, 10)?;
        Ok(Box::new(move |q| Ok(store.similar(q, query.at(), &mut similar)?)))
    })
}

/// Corrections of `count` predictions.
fn correct(count: usize) -> Line {
    Line::new(&format!("nn.correction/{count}"), RunSize::of_bytes(16 * count), move |q| {
        let upload = || tensor(q, &[count], 1.0);
        let (predictions, a, b, mut y) = (upload()?, upload()?, upload()?, upload()?);
        Ok(Box::new(move |q| {
            let estimates = CorrectionEstimates { history: a.at(), model: b.at() };
            Ok(apply_correction(q, CorrectionParams::default(), predictions.at(), estimates, y.at_mut())?)
        }))
    })
}
