//! Speed lines of whole proofs, on one thread, by provers that have made one before.
//!
//! The unit is a cell of the trace that is given.

use std::sync::LazyLock;

use cpu_backend::SimdLevel;
use stark::{M31, PcsConfig, Protocol, Statement, StatementProver, TraceColumns};
use stark_airs::{Poseidon2Chain, WideFibonacci};

use crate::{Line, RunSize};

/// A statement and its trace, which provers borrow.
type Given<S> = LazyLock<(S, Vec<TraceColumns>)>;

static FIBONACCI: Given<WideFibonacci> = LazyLock::new(|| {
    let air = WideFibonacci::new(18, 100).expect("an AIR of this size");
    let seeds: Vec<[M31; 2]> = (0..1 << 18).map(|row| [M31::ONE, M31::from_u32(row)]).collect();
    let trace = air.trace(&seeds).expect("two seeds for each row");
    (air, trace)
});

static POSEIDON2: Given<Poseidon2Chain> = LazyLock::new(|| {
    let first = core::array::from_fn(|k| M31::from_u32(k as u32));
    Poseidon2Chain::run(16, first).expect("a chain of this length")
});

/// Every line of proofs.
pub(crate) fn contests() -> Vec<Line> {
    vec![
        line("stark.prove/fibonacci-100x2^18", 100 << 18, &FIBONACCI),
        line("stark.prove/poseidon2-2^16", 300 << 16, &POSEIDON2),
    ]
}

fn line<S: Statement + 'static>(id: &str, cells: u32, given: &'static Given<S>) -> Line {
    let line = Line::new(id, RunSize::computing("cell", f64::from(cells), 0.0), move |q| {
        let (statement, trace) = &**given;
        let mut prover = StatementProver::new(q, Protocol::V2_3, PcsConfig::default(), statement)?;
        Ok(Box::new(move |q| {
            prover.prove(q, trace)?;
            Ok(())
        }))
    });
    line.in_nanoseconds().level("trefoil, AVX2", SimdLevel::Avx2)
}
