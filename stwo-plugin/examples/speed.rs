//! Times proofs of wide Fibonacci: stwo's prover on its SIMD backend, the same prover on Trefoil's, and Trefoil's own prover, in turns.
//!
//! `speed [LOG_ROWS [COLUMNS [ROUNDS]]]`, 18, 100 and 5 without arguments, prints medians of milliseconds by the clock and of processor
//! time. One thread of each: `TREFOIL_THREADS=1`, and stwo without its feature `parallel`. Build it with `-C target-cpu=native`, which
//! stwo needs to use the processor's vectors. Trefoil finds them when it runs.

use std::{
    env,
    error::Error,
    fs,
    io::{Write as _, stdout},
    time::Instant,
};

use core_types::field::M31;
use stark::{PcsConfig, Protocol, StatementProver};
use stark_airs::WideFibonacci;
use stwo_vectors::timed::fibonacci::{Fibonacci, FibonacciProver};
use trefoil_stwo::TrefoilBackend;

/// Nanoseconds that the process has run, on all of its threads that still do.
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let mut sum = 0.0;
    for task in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        sum += text.split(' ').next().map_or(Ok(0.0), str::parse::<f64>)?;
    }
    Ok(sum)
}

/// Times of one prover in milliseconds: by the clock, and of the processor.
#[derive(Default)]
struct Times([Vec<f64>; 2]);

impl Times {
    fn take(&mut self, run: impl FnOnce()) -> Result<(), Box<dyn Error>> {
        let (start, processor) = (Instant::now(), processor_time()?);
        run();
        self.0[0].push(start.elapsed().as_secs_f64() * 1e3);
        self.0[1].push((processor_time()? - processor) * 1e-6);
        Ok(())
    }

    fn medians(&mut self) -> [f64; 2] {
        let middle = |times: &mut Vec<f64>| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        };
        self.0.each_mut().map(middle)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<u32> = env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let argument = |place: usize, default| arguments.get(place).copied().unwrap_or(default);
    let (log_rows, columns, rounds) = (argument(0, 18), argument(1, 100), argument(2, 5));

    let (q, fibonacci) = (trefoil_stwo::open()?, Fibonacci::new(log_rows, columns));
    let trefoil = FibonacciProver::<TrefoilBackend>::new(log_rows, columns);
    let statement = WideFibonacci::new(log_rows, columns)?;
    let rows = fibonacci.trace().into_iter().map(|column| {
        let words = column.values.as_slice().iter().map(|word| M31::from_u32(word.0));
        words.collect::<Vec<_>>()
    });
    let rows = [rows.collect::<Vec<_>>()];
    let mut own = StatementProver::new(q, Protocol::V2_3, PcsConfig::default(), &statement)?;

    let mut times = [(); 3].map(|()| Times::default());
    for round in 0..=rounds {
        if round == 1 {
            // The first round takes memory that the others find.
            times = [(); 3].map(|()| Times::default());
        }
        let [on_simd, on_trefoil, by_own] = &mut times;
        let trace = fibonacci.trace();
        on_simd.take(|| fibonacci.prove(trace))?;
        let trace = TrefoilBackend::columns(fibonacci.trace());
        on_trefoil.take(|| trefoil.prove(trace))?;
        by_own.take(|| drop(own.prove(q, &rows).expect("the trace satisfies the constraints")))?;
    }
    let mut out = stdout().lock();
    writeln!(out, "{columns} columns of 2^{log_rows} rows, medians of {rounds} rounds, ms")?;
    for (name, times) in ["stwo, SimdBackend", "stwo, TrefoilBackend", "Trefoil's own prover"].iter().zip(&mut times) {
        let [clock, processor] = times.medians();
        writeln!(out, "{name:22}{clock:9.1} by the clock{processor:9.1} of the processor")?;
    }
    Ok(())
}
