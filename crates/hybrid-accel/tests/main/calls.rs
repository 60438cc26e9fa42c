//! The four calls against models in f64.

use backend_api::DType;
use hybrid_accel::{GpuAccelerator, GpuBackend, GpuTensor, TrefoilCpu};
use nn_ops::{Feedback, GruColumns, GruMember};

use crate::{
    common::{HIDDEN, MEMBERS, OUTPUT, config, cpu, difference, numbers, open, sim, trainings, weights},
    model,
};

const STEPS: usize = 4;

fn rounded(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

fn codes_and_predictions_hold<B: GpuBackend>(accelerator: &GpuAccelerator<B>) {
    let feedback = accelerator.config().feedback;
    let (weights, states) = (weights(accelerator.config()), trainings(3));
    let encoded = accelerator.encode_states(&states).unwrap();
    assert_eq!((encoded.shape(), encoded.numel()), (&[3, OUTPUT][..], 3 * OUTPUT));
    let codes = encoded.to_host().unwrap();
    for (state, code) in states.iter().zip(codes.chunks(OUTPUT)) {
        let expected = model::encode(&weights, &accelerator.compute_features(state).unwrap());
        assert!(difference(code, &rounded(&expected)) < 1e-5);
        assert_eq!(accelerator.encode_state(state).unwrap().to_host().unwrap(), code, "alone");
    }

    // Two rows as a matrix and one as a vector; a row does not depend on the others.
    let q = accelerator.queue();
    let two = GpuTensor::from_slice(q, &codes[..2 * OUTPUT], &[2, OUTPUT]).unwrap();
    let one = GpuTensor::from_slice(q, &codes[2 * OUTPUT..], &[OUTPUT]).unwrap();
    let predicted = accelerator.predict(&[two.clone(), one.clone()], &[1.0, 2.0, 3.0], STEPS).unwrap();
    let shapes: Vec<_> = predicted.states.iter().map(GpuTensor::shape).collect();
    assert_eq!(shapes, [&[2, STEPS, OUTPUT][..], &[STEPS, OUTPUT]]);
    assert_eq!(predicted.hidden.shape(), [MEMBERS, 3, HIDDEN]);
    let host: Vec<f32> = predicted.states.iter().flat_map(|tensor| tensor.to_host().unwrap()).collect();
    let (hidden, losses) = (predicted.hidden.to_host().unwrap(), predicted.losses().unwrap());
    for (row, code) in codes.chunks(OUTPUT).enumerate() {
        let code: Vec<f64> = code.iter().map(|&x| x.into()).collect();
        let expected = model::predict(&weights, feedback, &code, STEPS);
        let got = &host[row * STEPS * OUTPUT..][..STEPS * OUTPUT];
        assert!(difference(got, &rounded(&expected.codes.concat())) < 1e-5, "{feedback:?}, row {row}");
        for (member, expected) in expected.last.iter().enumerate() {
            let got = &hidden[(member * 3 + row) * HIDDEN..][..HIDDEN];
            assert!(difference(got, &rounded(expected)) < 1e-5, "{feedback:?}, row {row}, member {member}");
        }
        let got = rounded(&losses[row].mean);
        assert_eq!(got[0], 1.0 + row as f32);
        assert!(difference(&got[1..], &rounded(&expected.losses)) < 1e-5, "{feedback:?}, row {row}");
    }
    let separate = accelerator.predict_batch(&[one, two], STEPS).unwrap();
    let separate: Vec<f32> = separate.iter().rev().flat_map(|tensor| tensor.to_host().unwrap()).collect();
    assert_eq!(separate, host, "{feedback:?}");
}

#[test]
fn codes_and_predictions_hold_on_the_processor_with_every_feedback() {
    for feedback in Feedback::ALL {
        codes_and_predictions_hold(&cpu(feedback));
    }
}

#[test]
fn codes_and_predictions_hold_on_the_simulated_device() {
    codes_and_predictions_hold(&sim(Feedback::State));
}

fn residuals_hold<B: GpuBackend>(accelerator: &GpuAccelerator<B>) {
    let q = accelerator.queue();
    // Singular values 4, 3, 2 and 1 with unit vectors: rank 2 leaves the first two.
    let mut diagonal = vec![0.0; 6 * 4];
    (0..4).for_each(|i| diagonal[i * 4 + i] = 4.0 - i as f32);
    let residual = GpuTensor::from_slice(q, &diagonal, &[6, 4]).unwrap();
    let compressed = accelerator.compress_residuals(&residual, 2).unwrap();
    assert_eq!((compressed.rank(), compressed.compression_ratio()), (2, 22.0 / 24.0));
    let shapes = [compressed.u(), compressed.s(), compressed.v()].map(|factor| factor.shape().to_vec());
    assert_eq!(shapes, [vec![6, 2], vec![2], vec![4, 2]]);
    assert!(difference(&compressed.s().to_host().unwrap(), &[4.0, 3.0]) < 1e-5);
    let mut expected = vec![0.0; 6 * 4];
    (expected[0], expected[5]) = (4.0, 3.0);
    assert!(difference(&compressed.reconstruct().unwrap().to_host().unwrap(), &expected) < 1e-5);

    // A matrix of rank 3, from factors, by three times the rank: at most the short side.
    let (left, right) = (numbers(40 * 3), numbers(3 * 30 + 7));
    let product = |i: usize| (0..3).map(|k| left[i / 30 * 3 + k] * right[7 + k * 30 + i % 30]).sum::<f32>();
    let whole: Vec<f32> = (0..40 * 30).map(product).collect();
    let residual = GpuTensor::from_slice(q, &whole, &[40, 30]).unwrap();
    for (rank, expected) in [(3, 3), (9, 9), (100, 30)] {
        let compressed = accelerator.compress_residuals(&residual, rank).unwrap();
        assert_eq!(compressed.rank(), expected);
        assert!(difference(&compressed.reconstruct().unwrap().to_host().unwrap(), &whole) < 1e-5, "rank {rank}");
    }

    let (predictions, corrections) = (numbers(60), numbers(61));
    let of = |values: &[f32]| GpuTensor::from_slice(q, values, &[5, 12]).unwrap();
    let corrected = accelerator.apply_corrections(&of(&predictions), &of(&corrections[1..])).unwrap();
    let expected: Vec<f32> = predictions.iter().zip(&corrections[1..]).map(|(p, c)| p + c).collect();
    assert_eq!((corrected.shape(), corrected.to_host().unwrap()), (&[5, 12][..], expected));
}

#[test]
fn residuals_and_corrections_hold_on_both_backends() {
    residuals_hold(&cpu(Feedback::State));
    residuals_hold(&sim(Feedback::State));
}

#[test]
fn results_in_f16_are_those_in_f32_rounded_and_weights_that_do_not_fit_are_refused() {
    let (wide, half) = (cpu(Feedback::State), open(TrefoilCpu::default(), Feedback::State, DType::F16));
    let states = trainings(2);
    let codes = [wide.encode_states(&states).unwrap(), half.encode_states(&states).unwrap()];
    assert_eq!(codes.each_ref().map(GpuTensor::dtype), [DType::F32, DType::F16]);
    let [of_wide, of_half] = codes.each_ref().map(|tensor| tensor.to_host().unwrap());
    assert_eq!(of_half, codes[0].to_f16().unwrap().to_host().unwrap());
    // Half a unit in the last place of 11 bits.
    assert!(difference(&of_half, &of_wide) <= 1.0 / 2048.0);

    let [code, code_of_half] = codes;
    let predicted = wide.predict_batch(&[code], STEPS).unwrap().remove(0);
    let predicted_in_half = half.predict_batch(&[code_of_half], STEPS).unwrap().remove(0);
    assert_eq!(predicted_in_half.dtype(), DType::F16);
    // Codes, weights and results have 11 bits each.
    let [a, b] = [&predicted, &predicted_in_half].map(|tensor| tensor.to_host().unwrap());
    assert!(difference(&b, &a) < 1e-2, "{}", difference(&b, &a));

    let sum = half.apply_corrections(&predicted_in_half, &predicted_in_half).unwrap();
    let doubled: Vec<f32> = b.iter().map(|x| 2.0 * x).collect();
    assert_eq!((sum.dtype(), sum.to_host().unwrap()), (DType::F16, doubled));
    assert_eq!(sum.to_f32().unwrap().dtype(), DType::F32);

    let config = config(Feedback::State, DType::F16);
    let mut weights = weights(&config);
    let unit = &weights.members[0];
    let (mut w, u, b) = (unit.w().to_vec(), unit.u().to_vec(), unit.b().to_vec());
    w[5] = 1e6;
    let unit = GruMember::new(OUTPUT, HIDDEN, GruColumns { w, u, b, bu: None }).unwrap();
    weights.members[0] = unit;
    let refused = GpuAccelerator::with_weights(TrefoilCpu::default(), config, &weights).unwrap_err().to_string();
    assert!(refused.contains("beyond the range"), "{refused}");
}
