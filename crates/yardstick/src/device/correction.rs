//! Device speed of corrections.

use backend_api::{Buffer, Queue};
use nn_ops::{
    CorrectionEstimates, CorrectionParams, EncoderPlan, EncoderResults, ResidualStore, SimilarStates, TensorMut,
    TensorRef, TrainingState, TrainingStates, apply_correction,
};

use super::{DeviceLine, Extent, RunSize};

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    match extent {
        Extent::Full => {
            let mut all: Vec<_> = [1, 32, 256, 4096, 65_536].into_iter().map(|batch| encode(batch, 128)).collect();
            all.extend([1 << 10, 1 << 20].map(|states| similar(states, 64)));
            all.extend([32 * 128, 1 << 20, 1 << 26].map(correct));
            all
        }
        Extent::Small => vec![encode(5, 3), similar(9, 4), correct(33)],
    }
}

/// Codes of trainings, with their features.
fn encode(batch: usize, outputs: usize) -> DeviceLine {
    let bytes = (4 * batch * (256 + 64 + 12 + 4 + outputs)) as f64;
    let size = RunSize { unit: "byte", work: bytes, bytes, resident: bytes };
    DeviceLine::new(format!("nn.encode_state/{batch}x{outputs}"), size, move |q| {
        let mut training = TrainingState::new();
        (0..300).for_each(|i| training.record_step(i as f32, 1.0));
        let states = TrainingStates::new(q, &vec![training; batch])?;
        let plan = EncoderPlan::new(batch, outputs)?;
        let (weights, bias) = (q.upload(&vec![0.01f32; 64 * outputs])?, q.upload(&vec![0.5f32; outputs])?);
        let mut codes = q.zeros::<f32>(batch * outputs)?;
        Ok(Box::new(move |q| {
            let weights = TensorRef::contiguous(weights.view(), &[64, outputs])?;
            let bias = TensorRef::contiguous(bias.view(), &[outputs])?;
            let codes = TensorMut::contiguous(codes.view_mut(), &[batch, outputs])?;
            Ok(plan.run(q, &states, weights, bias, EncoderResults { features: None, codes })?)
        }))
    })
}

/// The ten most similar of a full store of states.
fn similar(states: usize, width: usize) -> DeviceLine {
    let bytes = (4 * states * (width + 1)) as f64;
    let size = RunSize { unit: "byte", work: bytes, bytes, resident: bytes };
    DeviceLine::new(format!("nn.similar_states/{states}x{width}"), size, move |q| {
        let mut store = ResidualStore::new(q, states, width)?;
        let features: Vec<f32> = (0..states * width).map(|i| (i * 7919 % 1000) as f32 - 500.0).collect();
        let (features, outcomes) = (q.upload(&features)?, q.zeros::<f32>(3 * states)?);
        let features = TensorRef::contiguous(features.view(), &[states, width])?;
        store.store(q, features, TensorRef::contiguous(outcomes.view(), &[states, 3])?)?;
        let (query, mut similar) = (q.upload(&vec![1.0f32; width])?, SimilarStates::new(q, 1, 10)?);
        Ok(Box::new(move |q| Ok(store.similar(q, TensorRef::contiguous(query.view(), &[1, width])?, &mut similar)?)))
    })
}

/// Corrections of `count` predictions.
fn correct(count: usize) -> DeviceLine {
    let bytes = (16 * count) as f64;
    let size = RunSize { unit: "byte", work: bytes, bytes, resident: bytes };
    DeviceLine::new(format!("nn.correction/{count}"), size, move |q| {
        let upload = |x: f32| q.upload(&vec![x; count]);
        let (predictions, a, b, mut y) = (upload(2.0)?, upload(0.1)?, upload(0.2)?, upload(0.0)?);
        Ok(Box::new(move |q| {
            let at = |x| TensorRef::contiguous(x, &[count]);
            let estimates = CorrectionEstimates { history: at(a.view())?, model: at(b.view())? };
            let (predictions, y) = (at(predictions.view())?, TensorMut::contiguous(y.view_mut(), &[count])?);
            Ok(apply_correction(q, CorrectionParams::default(), predictions, estimates, y)?)
        }))
    })
}
