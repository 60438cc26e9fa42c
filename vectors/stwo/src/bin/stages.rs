//! Times stwo's SIMD prover, stage by stage, on the wide-Fibonacci AIR: the peer of this project's prover.
//!
//! `stages LOG_ROWS COLUMNS ROUNDS`, with stwo's default parameters and coefficients kept, as is fastest. Build it with
//! `-C target-cpu=native`.

use std::{
    collections::BTreeMap,
    env,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use stwo::core::{
    channel::Blake2sChannel, fields::m31::BaseField, fields::qm31::SecureField, pcs::PcsConfig,
    poly::circle::CanonicCoset, vcs_lifted::blake2_merkle::Blake2sMerkleChannel,
};
use stwo::prover::{
    CommitmentSchemeProver,
    backend::simd::{SimdBackend, column::BaseColumn},
    poly::{
        BitReversedOrder,
        circle::{CircleEvaluation, PolyOps},
    },
    prove,
};
use stwo_constraint_framework::{FrameworkComponent, TraceLocationAllocator};
use stwo_vectors::airs::WideFibonacci;
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

fn main() {
    let mut arguments = env::args().skip(1).map(|argument| argument.parse::<u32>().expect("a number"));
    let mut next = |default| arguments.next().unwrap_or(default);
    let (log_rows, width, rounds) = (next(18), next(100), next(5));
    let clock = Clock { next: AtomicU64::new(1), names: Mutex::default(), running: Mutex::default() };
    tracing::subscriber::set_global_default(clock).expect("no other subscriber");

    let config = PcsConfig::default();
    let blowup = config.fri_config.log_blowup_factor;
    let domain = CanonicCoset::new(log_rows).circle_domain();
    let twiddles =
        SimdBackend::precompute_twiddles(CanonicCoset::new(log_rows + blowup + 1).circle_domain().half_coset);
    let columns: Vec<BaseColumn> = {
        let mut all: Vec<Vec<BaseField>> =
            vec![vec![BaseField::from(1); 1 << log_rows], (0..1 << log_rows).map(BaseField::from).collect()];
        for k in 2..width as usize {
            let next = all[k - 2].iter().zip(&all[k - 1]).map(|(a, b)| *a * *a + *b * *b).collect();
            all.push(next);
        }
        all.into_iter().map(BaseColumn::from_iter).collect()
    };
    let mut by_stage: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..=rounds {
        let trace: Vec<_> = columns
            .iter()
            .map(|column| CircleEvaluation::<SimdBackend, BaseField, BitReversedOrder>::new(domain, column.clone()))
            .collect();
        TIMES.lock().unwrap().clear();
        let start = Instant::now();
        let channel = &mut Blake2sChannel::default();
        config.mix_into(channel);
        let mut scheme = CommitmentSchemeProver::<SimdBackend, Blake2sMerkleChannel>::new(config, &twiddles);
        scheme.set_store_polynomials_coefficients();
        scheme.tree_builder().commit(channel);
        let mut tree = scheme.tree_builder();
        tree.extend_evals(trace);
        tree.commit(channel);
        let component = FrameworkComponent::new(
            &mut TraceLocationAllocator::default(),
            WideFibonacci { log_rows, columns: width },
            SecureField::default(),
        );
        prove(&[&component], channel, scheme).expect("the trace satisfies the constraints");
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
