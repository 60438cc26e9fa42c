//! The processor and the simulated device, recordings, streams and memory.

use backend_api::Queue as _;
use hybrid_accel::{GpuAccelerator, GpuBackend, GpuTensor, TrainingState};
use nn_ops::Feedback;
use runtime::ReplayCounts;

use crate::common::{OUTPUT, cpu, difference, numbers, sim, simulated, trainings};

const BATCH: usize = 3;
const STEPS: usize = 4;
const RANK: usize = 2;

/// Trainings and residuals of a round, the latter of this shape.
fn inputs<B: GpuBackend>(on: &GpuAccelerator<B>, round: usize, shape: &[usize]) -> (Vec<TrainingState>, GpuTensor) {
    let residual = numbers(BATCH * STEPS * OUTPUT + round).split_off(round);
    let mut states = trainings(BATCH);
    states[0].record_step(0.5 + round as f32, 1.0);
    (states, GpuTensor::from_slice(on.queue(), &residual, shape).unwrap())
}

/// The results of a cycle on the host: codes, predictions, corrected predictions, and singular values.
fn cycle<B: GpuBackend>(accelerator: &GpuAccelerator<B>, round: usize) -> [Vec<f32>; 4] {
    let (states, residual) = inputs(accelerator, round, &[BATCH, STEPS, OUTPUT]);
    let cycle = accelerator.cycle(&states, &residual, STEPS, RANK).unwrap();
    assert_eq!(cycle.corrected.shape(), [BATCH, STEPS, OUTPUT]);
    assert_eq!(cycle.compressed.rank(), RANK);
    [&cycle.encoded, &cycle.predicted, &cycle.corrected, cycle.compressed.s()].map(|tensor| tensor.to_host().unwrap())
}

/// The same by the four calls.
fn by_calls<B: GpuBackend>(accelerator: &GpuAccelerator<B>, round: usize) -> [Vec<f32>; 4] {
    let (states, residual) = inputs(accelerator, round, &[BATCH * STEPS, OUTPUT]);
    let encoded = accelerator.encode_states(&states).unwrap();
    let predicted = accelerator.predict_batch(std::slice::from_ref(&encoded), STEPS).unwrap().remove(0);
    let compressed = accelerator.compress_residuals(&residual, RANK).unwrap();
    let predictions = predicted.to_host().unwrap();
    let flat = GpuTensor::from_slice(accelerator.queue(), &predictions, &[BATCH * STEPS, OUTPUT]).unwrap();
    let corrected = accelerator.apply_corrections(&flat, &compressed.reconstruct().unwrap()).unwrap();
    [&encoded, &predicted, &corrected, compressed.s()].map(|tensor| tensor.to_host().unwrap())
}

fn bits(results: [Vec<f32>; 4]) -> [Vec<u32>; 4] {
    results.map(|values| values.into_iter().map(f32::to_bits).collect())
}

/// Runs cycles and single calls in turn; both have to give the same bits in every round.
fn cycles_are_the_four_calls<B: GpuBackend>(accelerator: &GpuAccelerator<B>) {
    for round in 0..4 {
        assert_eq!(bits(cycle(accelerator, round)), bits(by_calls(accelerator, round)), "round {round}");
    }
}

#[test]
fn four_calls_are_one_recording_that_is_replayed_with_new_inputs() {
    let (on_cpu, on_sim) = (cpu(Feedback::State), sim(Feedback::State));
    cycles_are_the_four_calls(&on_cpu);
    cycles_are_the_four_calls(&on_sim);
    // A cycle, codes, a prediction and a compression: each is recorded in the second of four rounds.
    let counts = ReplayCounts { eager: 4, fallbacks: 0, recorded: 4, replayed: 12, evicted: 0 };
    assert_eq!(on_sim.replay_counts(), counts);
    // The processor records nothing.
    assert_eq!(on_cpu.replay_counts(), ReplayCounts { fallbacks: 12, recorded: 0, replayed: 0, ..counts });
}

#[test]
fn both_backends_agree_to_1e_5() {
    let (on_cpu, on_sim) = (cpu(Feedback::State), sim(Feedback::State));
    for round in 0..3 {
        let of = ["codes", "predictions", "corrected", "singular values"];
        for ((what, on_cpu), on_sim) in of.into_iter().zip(cycle(&on_cpu, round)).zip(cycle(&on_sim, round)) {
            assert!(difference(&on_sim, &on_cpu) < 1e-5, "{what} of round {round}");
        }
    }
}

#[test]
fn forks_share_weights_and_tensors_and_nothing_is_left_behind() {
    let first = sim(Feedback::None);
    let queue = first.queue().clone();
    let second = first.fork().unwrap();
    let states = trainings(BATCH);
    // Codes of one stream are predicted on the other.
    let encoded = first.encode_states(&states).unwrap();
    let on_second = second.predict_batch(std::slice::from_ref(&encoded), STEPS).unwrap().remove(0);
    let on_first = first.predict_batch(&[encoded], STEPS).unwrap().remove(0);
    assert_eq!(on_second.to_host().unwrap(), on_first.to_host().unwrap());
    second.synchronize().unwrap();
    first.synchronize().unwrap();

    let usage = first.memory_usage();
    assert_eq!(usage, second.memory_usage());
    assert_eq!(usage.allocated as u64, queue.budget().live_bytes());
    assert!(
        usage.allocated > 0 && usage.allocated <= usage.peak_usage && usage.allocated <= usage.pool_size,
        "{usage:?}"
    );
    drop((first, second, on_first, on_second));
    queue.finish().unwrap();
    assert_eq!(queue.budget().live_bytes(), 0);
}

#[test]
fn a_thousand_cycles_take_no_more_memory_than_a_few() {
    let accelerator = cpu(Feedback::State);
    (0..4).for_each(|round| drop(cycle(&accelerator, round)));
    let before = accelerator.memory_usage();
    (0..1000).for_each(|round| drop(cycle(&accelerator, round % 50)));
    assert_eq!(accelerator.memory_usage(), before);
}

#[test]
fn the_simulated_device_has_the_facts_of_its_description() {
    let backend = simulated(0);
    assert!(backend.is_available());
    assert_eq!(backend.name(), "CUDA (simulated)");
    let accelerator = sim(Feedback::State);
    let info = accelerator.device_info();
    assert_eq!((info.compute_capability, info.num_sms, info.total_memory), (Some((8, 0)), Some(4), 256 << 20));
    assert!(info.available_memory > 0 && info.available_memory <= info.total_memory && !info.name.is_empty());
    assert_eq!(accelerator.backend().name(), "CUDA (simulated)");
}
