//! Cairo's constraints are recorded whole, and proven wherever a witness is generated.
#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use cairo_air::relations::CommonLookupElements;
use cairo_vectors::{Production, Visit, each};
use core_types::{
    air::Air as _,
    field::{M31, QM31},
};
use runtime::{AnyQueue, Choice, Domain, Settings};
use stark::{PcsConfig, ProverError};
use stwo_constraint_framework::FrameworkEval;

/// The components that are recorded and not proven.
const LEFT_OUT: [&str; 3] = [
    // No row is found that satisfies its constraints.
    "partial_ec_mul_generic",
    // A table of 2^23 rows and 57 columns: about 6 GiB.
    "pedersen_points_table_window_bits_18",
    // No row is found.
    "poseidon_aggregator",
];

/// Log of the number of rows of the largest table that is proven, and of the largest on the simulated device.
const MOST: [u32; 2] = [20, 8];

fn open(choice: Choice) -> AnyQueue {
    runtime::open_with(&Settings::default(), Some(Domain::Stark), Some(choice)).unwrap().0
}

struct Check {
    cpu: AnyQueue,
    sim: AnyQueue,
    proven: usize,
    constraints: usize,
    left_out: Vec<&'static str>,
}

impl Visit for Check {
    fn component<E: FrameworkEval + Sync + 'static>(
        &mut self,
        name: &'static str,
        build: impl Fn(CommonLookupElements) -> E,
    ) {
        let (production, config) = (Production::record(build), PcsConfig::default());
        self.constraints += stark_air::Recorded::new(production.air()).unwrap().constraints();
        let log_rows = production.air().log_rows();
        let Some(mut trace) = (log_rows <= MOST[0]).then(|| production.trace(1)).flatten() else {
            self.left_out.push(name);
            return;
        };
        let mut proof = production.prove(&self.cpu, config, &trace).unwrap();
        assert!(production.is_accepted(config, &proof), "{name}");
        if log_rows <= MOST[1] {
            assert!(production.prove(&self.sim, config, &trace).unwrap() == proof, "{name}");
            proof.claimed_sums[0] += QM31::ONE;
            assert!(!production.is_accepted(config, &proof), "{name}");
        }
        if name == "add_opcode" {
            // This column is a bit.
            trace[6][3] = M31::from_u32(2);
            assert_eq!(production.prove(&self.cpu, config, &trace), Err(ProverError::Constraints));
        }
        self.proven += 1;
    }
}

#[test]
fn all_components_are_recorded_and_those_with_a_witness_proven() {
    let mut check =
        Check { cpu: open(Choice::Cpu), sim: open(Choice::Sim), proven: 0, constraints: 0, left_out: Vec::new() };
    each(&mut check);
    assert_eq!((check.left_out.as_slice(), check.proven), (&LEFT_OUT[..], 65));
    assert_eq!(check.constraints, 2013);
}
