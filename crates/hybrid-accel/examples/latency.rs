//! The four calls with the sizes of HybridTrainer's plan, next to the plan's times.
//!
//! ```sh
//! cargo run --release -p hybrid-accel --example latency          # on the processor
//! cargo run --release -p hybrid-accel --example latency -- cuda  # on a GPU
//! ```
//!
//! The environment selects threads, vector level and device. Each time is the median of several rounds, in which all lines take
//! turns; a round waits for the device. Encoding includes the copy of the records to the device.

use std::{
    error::Error,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use hybrid_accel::{AccelError, GpuAccelerator, GpuBackend, GpuTensor, TrainingState, TrefoilCpu, TrefoilCuda};
use runtime::Settings;

const BATCH: usize = 32;
const STEPS: usize = 10;
const RANK: usize = 32;
const CODE: usize = 128;
/// The plan names no size of the residuals.
const RESIDUAL: [usize; 2] = [1024, 256];
const ROUNDS: usize = 31;
/// Rounds before the first that counts: memory is made in the first and calls are recorded in the second.
const WARM: usize = 3;

/// Lines of the plan with its times of a CPU and its targets for a GPU, in milliseconds.
const LINES: [(&str, f64, f64); 5] = [
    ("state encode", 5.0, 0.25),
    ("GRU forward (10 steps)", 50.0, 5.0),
    ("SVD (rank 32, 1024 x 256)", 15.0, 3.0),
    ("correction", 2.0, 0.04),
    ("all four in one sequence", 72.0, 8.29),
];

fn main() -> Result<(), Box<dyn Error>> {
    let settings = Settings::from_env()?;
    match std::env::args().nth(1).as_deref() {
        None => measure(TrefoilCpu::new(settings)),
        Some("cuda") => measure(TrefoilCuda::new(settings)),
        Some(other) => Err(format!("expected `cuda` or nothing, got `{other}`").into()),
    }
}

fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 50.0).collect()
}

fn trainings() -> Vec<TrainingState> {
    let training = |number: usize| {
        let mut state = TrainingState::new();
        for step in 0..300 {
            state.record_step(3.0 * (0.99 - 0.0005 * number as f32).powi(step), 1.0 / (1.0 + step as f32));
        }
        state
    };
    (0..BATCH).map(training).collect()
}

fn measure<B: GpuBackend>(backend: B) -> Result<(), Box<dyn Error>> {
    let accelerator = GpuAccelerator::new(backend)?;
    let q = accelerator.queue();
    let of = |shape: &[usize]| GpuTensor::from_slice(q, &numbers(shape.iter().product()), shape);
    let states = trainings();
    let (codes, residual) = (of(&[BATCH, CODE])?, of(&RESIDUAL)?);
    let (predictions, corrections) = (of(&[BATCH, CODE])?, of(&[BATCH, CODE])?);
    let of_predictions = of(&[BATCH, STEPS, CODE])?;
    let calls: [&dyn Fn() -> Result<(), AccelError>; 5] = [
        &|| accelerator.encode_states(&states).map(drop),
        &|| accelerator.predict_batch(std::slice::from_ref(&codes), STEPS).map(drop),
        &|| accelerator.compress_residuals(&residual, RANK).map(drop),
        &|| accelerator.apply_corrections(&predictions, &corrections).map(drop),
        &|| accelerator.cycle(&states, &of_predictions, STEPS, RANK).map(drop),
    ];
    // All lines in turn, so that a busy moment of the machine meets all of them.
    let mut times: [Vec<Duration>; 5] = Default::default();
    for round in 0..WARM + ROUNDS {
        for (call, times) in calls.iter().zip(&mut times) {
            let start = Instant::now();
            call()?;
            accelerator.synchronize()?;
            if round >= WARM {
                times.push(start.elapsed());
            }
        }
    }

    let mut out = io::stdout().lock();
    let (info, usage) = (accelerator.device_info(), accelerator.memory_usage());
    writeln!(out, "{}: {}, batch {BATCH}", accelerator.backend().name(), info.name)?;
    writeln!(out, "{:<28} {:>10} {:>12} {:>10}", "milliseconds", "plan, CPU", "plan, GPU", "here")?;
    for ((name, of_cpu, of_gpu), times) in LINES.into_iter().zip(&mut times) {
        times.sort_unstable();
        let here = times[times.len() / 2].as_secs_f64() * 1e3;
        let verdict = if here <= of_gpu { "meets the GPU's target" } else { "slower than the GPU's target" };
        writeln!(out, "{name:<28} {of_cpu:>10.2} {of_gpu:>12.2} {here:>10.4}  {verdict}")?;
    }
    writeln!(out, "memory: {} bytes, at most {}", usage.allocated, usage.peak_usage)?;
    Ok(())
}
