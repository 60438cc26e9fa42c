//! Speed lines of whole proofs, on one thread, by provers that have made one before.
//!
//! The unit is a cell of the trace that is given.

use std::num::NonZeroUsize;

use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};
use stark::{M31, PcsConfig, Protocol, Statement, StatementProver, TraceColumns};
use stark_airs::{Poseidon2Chain, WideFibonacci};

use super::{Contender, Contest, Show};

/// Every contest, by name; each is built only when its turn comes.
#[must_use]
pub(crate) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let [fibonacci, poseidon2] = ["stark.prove/fibonacci-100x2^18", "stark.prove/poseidon2-2^16"].map(str::to_owned);
    vec![
        (fibonacci.clone(), Box::new(|| wide_fibonacci(fibonacci))),
        (poseidon2.clone(), Box::new(|| permutations(poseidon2))),
    ]
}

fn wide_fibonacci(id: String) -> Contest {
    let air = WideFibonacci::new(18, 100).expect("an AIR of this size");
    let seeds: Vec<[M31; 2]> = (0..1 << 18).map(|row| [M31::ONE, M31::from_u32(row)]).collect();
    let trace = air.trace(&seeds).expect("two seeds for each row");
    contest(id, air, trace)
}

fn permutations(id: String) -> Contest {
    let first = core::array::from_fn(|k| M31::from_u32(k as u32));
    let (chain, trace) = Poseidon2Chain::run(16, first).expect("a chain of this length");
    contest(id, chain, trace)
}

fn contest<S: Statement + 'static>(id: String, statement: S, trace: Vec<TraceColumns>) -> Contest {
    let cells: usize = trace.iter().flatten().map(Vec::len).sum();
    // A line is measured once; its provers borrow the statement for as long as it lasts.
    let (statement, trace): (&'static S, &'static [TraceColumns]) = (Box::leak(Box::new(statement)), trace.leak());
    let ours = |name, simd| {
        let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
        let q = CpuQueue::open(config).expect("one thread needs no pool");
        let mut prover =
            StatementProver::new(&q, Protocol::V2_3, PcsConfig::default(), statement).expect("there are such proofs");
        Contender::new(name, move || {
            prover.prove(&q, trace).expect("the trace satisfies the constraints");
        })
    };
    Contest {
        id,
        unit: "cell",
        work: cells as f64,
        show: Show::Nanoseconds,
        contenders: vec![ours("trefoil", SimdLevel::Avx512), ours("trefoil, AVX2", SimdLevel::Avx2)],
        goals: Vec::new(),
    }
}
