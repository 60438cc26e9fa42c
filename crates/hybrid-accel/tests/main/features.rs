//! Features against numbers that hybrid-predict-trainer-rs printed, and against numbers worked out by hand from its
//! `TrainingState::compute_features`: statistics in f64 with the deviation of a population, and Rust's `max` and `min`, which
//! drop NaN.

use core::f32::consts::LOG10_2;

use hybrid_accel::{GpuAccelerator, GpuBackend, OptimizerStateSummary, Phase, TrainingState};
use nn_ops::Feedback;

use crate::common::{cpu, sim};

/// A training with these losses and norms.
fn recorded(steps: impl IntoIterator<Item = (f32, f32)>) -> TrainingState {
    let mut state = TrainingState::new();
    steps.into_iter().for_each(|(loss, norm)| state.record_step(loss, norm));
    state
}

/// Each case with the features from the given place on.
fn cases() -> Vec<(&'static str, TrainingState, usize, Vec<f32>)> {
    const NAN: f32 = f32::NAN;
    let rest = |count: usize| vec![0.0; count];
    let mut two = TrainingState::new();
    two.record_step(2.5, 1.0);
    two.enter_phase(Phase::Predict);
    two.record_step(1.5, 0.125);
    two.optimizer.momentum_mean = 0.25;
    two.optimizer.momentum_deviation = 0.5;
    two.optimizer.variance_mean = 0.125;
    two.optimizer.variance_deviation = 0.0625;
    two.optimizer.rate = 1e-3;
    two.optimizer.beta1_power = 0.81;
    two.optimizer.beta2_power = 0.998_001;
    let halves = |count: usize| (0..count).map(|i| (if i < 16 { 4.0 } else { 3.0 }, 1.0));
    let counting = |count: usize| (0..count).map(|i| (i as f32, 1.0));
    let growing = (0..300).map(|i| (i as f32, if i == 299 { 10.0 } else { 0.01 }));
    let mut all = vec![
        // Loss and norm are NaN: the logarithm falls to -10 and the quotient to 10, by max and min.
        ("empty", TrainingState::new(), 0, {
            let start = vec![NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, NAN, 0.0, 0.0, 0.0, 0.0, -10.0, 10.0, 0.0];
            [start, vec![0.0; 4], vec![-10.0], rest(43)].concat()
        }),
        // Losses 2.5 and 1.5; norms 1 and 1/8: mean 9/16, deviation 7/16; their quotients 2/9 and 7/9.
        ("two steps", two, 0, {
            let losses = vec![1.5, 2.0, 0.5, 1.5, 2.5, 0.0, 1.0, 2e-4];
            let norms = vec![0.125, 0.5625, 0.4375, 0.125, 1.0, -0.903_09, 2.0 / 9.0, 7.0 / 9.0];
            let optimizer = vec![0.25, 0.5, 0.125, 0.0625, -3.0, 0.81, 0.998_001, 0.0];
            [losses, norms, optimizer, vec![2.0, 0.01], rest(38)].concat()
        }),
        // A first loss that is NaN: no mean and no deviation, while least and greatest leave it out.
        ("NaN first", recorded([(NAN, NAN), (2.0, 1.0), (1.0, 0.5)]), 0, vec![1.0, NAN, NAN, 1.0, 2.0, 0.0, 1.0, 3e-4]),
        // Norms with NaN: the mean is NaN, and falls to 1e-8 as a divisor; the deviation stays NaN.
        ("NaN norm", recorded([(1.0, NAN), (1.0, 0.5)]), 8, vec![0.5, NAN, NAN, 0.5, 0.5, -LOG10_2, 10.0, NAN]),
        // Fewer than 32 losses have no trend.
        ("31 losses", recorded(halves(31)), 5, vec![0.0, 1.0]),
        ("32 losses", recorded(halves(32)), 0, vec![3.0, 3.5, 0.5, 3.0, 4.0, -1.0, 0.75, 3.2e-3]),
        ("16 losses", recorded(halves(16)), 0, vec![4.0, 4.0, 0.0, 4.0, 4.0, 0.0, 1.0, 1.6e-3]),
        ("256 losses", recorded(counting(256)), 0, {
            vec![255.0, 127.5, 5461.25f32.sqrt(), 0.0, 255.0, 16.0, 247.5 / 231.5, 0.0256]
        }),
        ("257 losses", recorded(counting(257)), 0, {
            vec![256.0, 128.5, 5461.25f32.sqrt(), 1.0, 256.0, 16.0, 248.5 / 232.5, 0.0257]
        }),
        // The last 256 losses are 44 to 299: mean 171.5, deviation sqrt((256^2 - 1) / 12).
        ("300 losses", recorded(growing), 0, {
            let losses = vec![299.0, 171.5, 5461.25f32.sqrt(), 44.0, 299.0, 16.0, 291.5 / 275.5, 0.03];
            // The last 64 norms are 63 of 0.01 and one of 10.
            let mean = 10.63 / 64.0;
            let deviation = (63.0f64 * (0.01 - mean) * (0.01 - mean) + (10.0 - mean) * (10.0 - mean)) / 64.0;
            let (mean, deviation) = (mean as f32, deviation.sqrt() as f32);
            [losses, vec![10.0, mean, deviation, 0.01, 10.0, 1.0, 10.0, deviation / mean]].concat()
        }),
        ("no gradient", recorded([(1.0, 0.0), (1.0, 0.0)]), 8, vec![0.0, 0.0, 0.0, 0.0, 0.0, -10.0, 0.0, 0.0]),
    ];
    // Phases are numbered in their order.
    for (number, phase) in [Phase::Warmup, Phase::Full, Phase::Predict, Phase::Correct].into_iter().enumerate() {
        let mut state = recorded([(1.0, 1.0); 3]);
        state.enter_phase(phase);
        state.record_step(1.0, 1.0);
        all.push(("phase", state, 24, vec![number as f32, 0.01, 0.0]));
    }
    all
}

/// The states whose features the original printed, with the names of their lines.
fn original_states() -> Vec<(String, TrainingState)> {
    let loss = |i: usize| 3.0 / (1.0 + 0.37 * i as f32) + ((37 * i) % 101) as f32 / 64.0;
    let norm = |i: usize| 0.3 + ((53 * i) % 97) as f32 / 32.0;
    let of_length = |count: usize| {
        let mut state = TrainingState::new();
        for i in 0..count {
            if i == count / 2 {
                state.enter_phase([Phase::Warmup, Phase::Full, Phase::Predict, Phase::Correct][count % 4]);
            }
            state.record_step(loss(i), norm(i));
        }
        state.optimizer = OptimizerStateSummary {
            momentum_mean: 0.01 * count as f32,
            momentum_deviation: 0.7,
            variance_mean: 0.002,
            variance_deviation: 1e-5,
            rate: 3e-4 / (1.0 + count as f32),
            beta1_power: 0.9,
            beta2_power: 0.999,
        };
        (count.to_string(), state)
    };
    let lengths = [0, 1, 2, 15, 16, 31, 32, 33, 63, 64, 65, 255, 256, 257, 300, 1000];
    // Forty steps, with a loss or a norm of another kind.
    let of_steps = |name: &str, step: &dyn Fn(usize) -> (f32, f32)| (name.to_owned(), recorded((0..40).map(step)));
    let nan_at = |at: usize| move |i: usize| if i == at { (f32::NAN, f32::NAN) } else { (loss(i), norm(i)) };
    let special = [
        of_steps("falling below zero", &|i| (2.0 - 0.3 * i as f32, norm(i))),
        of_steps("infinite loss", &|i| (if i == 20 { f32::INFINITY } else { loss(i) }, norm(i))),
        of_steps("NaN", &nan_at(9)),
        of_steps("NaN last", &nan_at(39)),
        of_steps("norms of zero", &|i| (loss(i), 0.0)),
        of_steps("great norm last", &|i| (loss(i), if i == 39 { 1e9 } else { norm(i) })),
        of_steps("small norms", &|i| (loss(i), 1e-12 * norm(i))),
    ];
    lengths.into_iter().map(of_length).chain(special).collect()
}

/// Compares with the features that the original printed.
///
/// The trend is the difference of two means, which the original adds up in f32: its bound is relative to the losses.
fn original_holds<B: GpuBackend>(accelerator: &GpuAccelerator<B>) {
    const TREND: usize = 5;
    let lines = include_str!("../golden/features.csv").lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let states = original_states();
    assert_eq!(lines.len(), states.len());
    for (line, (name, state)) in lines.iter().zip(&states) {
        assert_eq!(line[0], name);
        let expected: Vec<f32> = line[1..].iter().map(|x| x.parse().unwrap()).collect();
        let got = accelerator.compute_features(state).unwrap();
        assert_eq!((expected.len(), got.len(), &got[26..]), (26, 64, &[0.0; 38][..]), "{name}");
        let loss = expected[3].abs().max(expected[4].abs());
        for (place, (&got, &expected)) in got.iter().zip(&expected).enumerate() {
            let bound = 1e-6 * if place == TREND { loss } else { expected.abs() };
            let is_equal = got == expected || got.is_nan() && expected.is_nan();
            let is_close = expected.is_finite() && (got - expected).abs() <= bound;
            assert!(is_equal || is_close, "{name}: feature {place} is {got}, the original's {expected}");
        }
    }
}

fn features_hold<B: GpuBackend>(accelerator: &GpuAccelerator<B>) {
    for (name, state, first, expected) in cases() {
        let got = accelerator.compute_features(&state).unwrap();
        assert_eq!(got.len(), 64);
        for (place, (got, expected)) in got[first..].iter().zip(&expected).enumerate() {
            let is_same =
                if expected.is_nan() { got.is_nan() } else { (got - expected).abs() <= 1e-6 * expected.abs() };
            assert!(is_same, "{name}: feature {} is {got}, expected {expected}", first + place);
        }
    }
}

#[test]
fn features_are_those_of_the_original_on_the_processor() {
    features_hold(&cpu(Feedback::State));
    original_holds(&cpu(Feedback::State));
}

#[test]
fn features_are_those_of_the_original_on_the_simulated_device() {
    features_hold(&sim(Feedback::State));
    original_holds(&sim(Feedback::State));
}
