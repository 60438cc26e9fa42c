//! Features of trainings against their definition, and codes against sums in f64.

use backend_api::{
    Buffer, Queue,
    ops::correction::{CorrectionOps, EncodeStates, TrainingFeatures},
};
use core_types::params::correction::EncodeParams;

use super::training::{Records, TrainingRecord};
use crate::{Case, Conditioned, Failure, OpSpec, linalg::model::InputSource, list::ListIterator as _, spec::BATCHES};

/// Records of a training: around sixteen, thirty-two, and the ends of the rings.
const LENGTHS: [usize; 19] = [0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 255, 256, 257, 300, 511, 1000];

/// Lengths of the encoded states, around the lanes of a warp and the threads of a block.
const OUTPUTS: [usize; 8] = [0, 1, 31, 33, 127, 128, 129, 300];

pub(super) fn specs() -> Vec<OpSpec> {
    let mut features = vec![
        Case::new("every length", |q| {
            let mut all: Vec<TrainingRecord> = LENGTHS.map(|n| TrainingRecord::new(n, n)).into();
            all.extend([TrainingRecord::new(40, 0), TrainingRecord::new(0, 40), TrainingRecord::new(257, 3)]);
            hold(q, &all)
        }),
        Case::new("so many records that they cannot be listed", |q| {
            let mut all = LENGTHS.map(|n| TrainingRecord::new(n + 256, n + 64));
            all.iter_mut().for_each(|training| training.before = 256 << 40);
            hold(q, &all)
        }),
        Case::new("what is not a number", |q| hold(q, &not_numbers())),
        Case::new("ends of the range", |q| hold(q, &extremes())),
    ];
    let mut codes: Vec<Case> = Vec::new();
    for outputs in OUTPUTS {
        codes.push(Case::new(format!("{outputs} elements"), move |q| encode(q, &mixed(9), outputs)));
    }
    for batch in BATCHES.map(|batch| batch as usize) {
        features.push(Case::new(format!("batch {batch}"), move |q| hold(q, &mixed(batch))));
        codes.push(Case::new(format!("batch {batch}"), move |q| encode(q, &mixed(batch), 5)));
    }
    codes.push(Case::new("what is not a number", |q| {
        let (batch, codes) = (mixed(7), encoded(q, &mixed(7), 20, false)?.1);
        for (training, code) in batch.iter().zip(codes.chunks(20)) {
            let none = training.features().iter().any(|x| x.is_nan());
            if code.iter().any(|x| x.is_nan() != none) {
                return Err(Failure::Broken(format!("features with NaN {none}: {code:?}")));
            }
        }
        Ok(())
    }));
    vec![
        OpSpec { op: "correction.training_features", cases: features },
        OpSpec { op: "correction.encode_states", cases: codes },
    ]
}

/// Trainings of many lengths.
fn mixed(batch: usize) -> Vec<TrainingRecord> {
    (0..batch).map(|i| TrainingRecord::new(i * 37 % 400, i * 23 % 90)).list()
}

/// Trainings with NaN and infinity at positions that matter.
///
/// The optimizer's numbers are below and above their bounds.
fn not_numbers() -> Vec<TrainingRecord> {
    let plain = TrainingRecord::new(100, 50);
    let with = |change: &dyn Fn(&mut TrainingRecord)| {
        let mut training = plain.clone();
        change(&mut training);
        training
    };
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    vec![
        with(&|training| training.losses[7] = nan),
        with(&|training| training.losses[99] = nan),
        with(&|training| training.losses[70] = nan),
        with(&|training| training.losses.fill(nan)),
        with(&|training| training.losses[3] = inf),
        with(&|training| training.losses[3] = -inf),
        with(&|training| training.norms[49] = nan),
        with(&|training| training.norms.fill(nan)),
        with(&|training| training.norms[20] = inf),
        with(&|training| training.norms.fill(0.0)),
        with(&|training| training.losses.fill(0.0)),
        with(&|training| training.scalars = [nan; 12]),
        with(&|training| training.scalars = [inf; 12]),
        with(&|training| training.scalars = [-1.0; 12]),
        with(&|training| training.scalars = [0.0; 12]),
        with(&|training| training.scalars[2] = 1e6),
        with(&|training| training.scalars[2] = 1e-12),
    ]
}

/// Trainings whose losses and norms are tiny or huge.
fn extremes() -> Vec<TrainingRecord> {
    let scaled = |scale: f32| {
        let mut training = TrainingRecord::new(300, 70);
        training.losses.iter_mut().chain(&mut training.norms).for_each(|x| *x *= scale);
        training
    };
    [1e-40, 1e-30, 1e-9, 1e9, 1e30, 1e37].map(scaled).into()
}

/// Features within an ulp or two of the definition; the difference of two means, of theirs.
fn hold(q: &Conditioned, batch: &[TrainingRecord]) -> Result<(), Failure> {
    let (records, mut features) = (Records::new(q, batch)?, q.alloc::<f32>(batch.len() * 64)?);
    q.training_features(TrainingFeatures {
        batch: batch.len(),
        records: records.views(),
        features: features.view_mut(),
    })?;
    for (i, (training, got)) in batch.iter().zip(q.download(&features)?.chunks(64)).enumerate() {
        let mut expected = training.features();
        // What exceeds f32 is infinite there.
        expected.iter_mut().filter(|x| x.is_finite() && (**x as f32).is_infinite()).for_each(|x| *x *= f64::INFINITY);
        Failure::unless_close(&expected, got, 3e-7, 1e-38)
            .map_err(|failure| Failure::Broken(format!("training {i}: {failure}")))?;
    }
    Ok(())
}

/// W and b.
fn weights(outputs: usize) -> [Vec<f32>; 2] {
    let mut random = InputSource::new(outputs as u64);
    [random.reals(64 * outputs), random.reals(outputs)]
}

/// Returns the features, empty unless `with_features`, and the codes.
fn encoded(
    q: &Conditioned,
    batch: &[TrainingRecord],
    outputs: usize,
    with_features: bool,
) -> Result<(Vec<f32>, Vec<f32>), Failure> {
    let records = Records::new(q, batch)?;
    let (weights, bias) = {
        let [weights, bias] = weights(outputs);
        (q.upload(&weights)?, q.upload(&bias)?)
    };
    let mut features = q.alloc::<f32>(batch.len() * 64)?;
    let mut codes = q.alloc::<f32>(batch.len() * outputs)?;
    q.encode_states(EncodeStates {
        params: &EncodeParams { batch: batch.len() as u64, outputs: outputs as u64 },
        records: records.views(),
        weights: weights.view(),
        bias: bias.view(),
        features: with_features.then(|| features.view_mut()),
        codes: codes.view_mut(),
    })?;
    let features = if with_features { q.download(&features)? } else { Vec::new() };
    Ok((features, q.download(&codes)?))
}

/// Checks features, codes, and that a batch of one gives the same bits.
///
/// Features have the same bits with and without codes. Codes are sums over the features.
fn encode(q: &Conditioned, batch: &[TrainingRecord], outputs: usize) -> Result<(), Failure> {
    let (features, codes) = encoded(q, batch, outputs, true)?;
    let bits = |all: &[f32]| all.iter().map(|x| x.to_bits()).list();
    let (records, mut alone) = (Records::new(q, batch)?, q.alloc::<f32>(batch.len() * 64)?);
    q.training_features(TrainingFeatures { batch: batch.len(), records: records.views(), features: alone.view_mut() })?;
    Failure::unless_equal(&bits(&q.download(&alone)?), &bits(&features))?;
    Failure::unless_equal(&bits(&encoded(q, batch, outputs, false)?.1), &bits(&codes))?;
    let [weights, bias] = weights(outputs);
    for (row, code) in features.chunks(64).zip(codes.chunks(outputs.max(1))) {
        for (j, &got) in code.iter().enumerate() {
            let term = |k: usize| f64::from(row[k]) * f64::from(weights[k * outputs + j]);
            let sum = f64::from(bias[j]) + (0..64).map(term).sum::<f64>();
            let size = f64::from(bias[j]).abs() + (0..64).map(|k| term(k).abs()).sum::<f64>();
            let expected = if sum < 0.0 { 0.0 } else { sum };
            Failure::unless_close(&[expected], &[got], 0.0, 2e-6 * size)?;
        }
    }
    if let Some(last) = batch.last() {
        let code = encoded(q, core::slice::from_ref(last), outputs, false)?.1;
        Failure::unless_equal(&bits(&codes[codes.len() - outputs..]), &bits(&code))?;
    }
    Ok(())
}
