//! Times stwo's SIMD prover, stage by stage, on wide Fibonacci or on Poseidon2.
//!
//! It is the peer of this project's prover.
//!
//! `stages fibonacci LOG_ROWS COLUMNS ROUNDS` or `stages poseidon2 LOG_ROWS ROUNDS`, with stwo's
//! default parameters and coefficients kept, as is fastest. Build it with `-C target-cpu=native`.

use std::{
    collections::BTreeMap,
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use stwo_vectors::{
    timed::{fibonacci::Fibonacci, permutations::Permutations},
    witness::trace::TraceColumn,
};
use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

/// Adds up the time that is spent in each span.
struct Clock {
    next: AtomicU64,
    names: Mutex<BTreeMap<u64, &'static str>>,
    running: Mutex<BTreeMap<u64, Instant>>,
}

static TIMES: Mutex<BTreeMap<&'static str, Duration>> = Mutex::new(BTreeMap::new());

impl Subscriber for Clock {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.names.lock().unwrap().insert(id, span.metadata().name());
        Id::from_u64(id)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        self.running.lock().unwrap().insert(span.into_u64(), Instant::now());
    }

    fn exit(&self, span: &Id) {
        let id = span.into_u64();
        if let Some(start) = self.running.lock().unwrap().remove(&id) {
            let name = self.names.lock().unwrap()[&id];
            *TIMES.lock().unwrap().entry(name).or_default() += start.elapsed();
        }
    }
}

/// Times proofs, after one that is not counted, and prints medians.
fn time(rounds: u32, trace: impl Fn() -> Vec<TraceColumn>, prove: impl Fn(Vec<TraceColumn>)) {
    let mut by_stage: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..=rounds {
        let trace = trace();
        TIMES.lock().unwrap().clear();
        let start = Instant::now();
        prove(trace);
        let whole = start.elapsed();
        if round > 0 {
            for (stage, time) in TIMES.lock().unwrap().iter() {
                by_stage.entry(stage).or_default().push(*time);
            }
            by_stage.entry("whole proof").or_default().push(whole);
        }
    }
    for (stage, mut times) in by_stage {
        times.sort_unstable();
        println!("{:>10.2} ms  {stage}", times[times.len() / 2].as_secs_f64() * 1e3);
    }
}

fn main() {
    let mut arguments = env::args().skip(1);
    let statement = arguments.next().expect("a statement");
    let mut next = |default| arguments.next().map_or(default, |argument| argument.parse::<u32>().expect("a number"));
    let clock = Clock { next: AtomicU64::new(1), names: Mutex::default(), running: Mutex::default() };
    tracing::subscriber::set_global_default(clock).expect("no other subscriber");
    match &*statement {
        "fibonacci" => {
            let fibonacci = Fibonacci::new(next(18), next(100));
            time(next(5), || fibonacci.trace(), |trace| fibonacci.prove(trace));
        }
        "poseidon2" => {
            let permutations = Permutations::new(next(16));
            time(next(5), || permutations.trace(), |trace| drop(permutations.prove(trace)));
        }
        other => panic!("no statement {other}"),
    }
}
