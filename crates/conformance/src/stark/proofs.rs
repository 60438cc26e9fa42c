//! Proofs of every AIR that ships.

use core_types::field::{M31, P};
use sha2::{Digest as _, Sha256};
use stark::{
    FriConfig, PcsConfig, Protocol, ProveError, ProverError, Residency, Statement, StatementProof, StatementProver,
    verify,
};
use stark_airs::{AirError, Blake2s, Circuit, Plonk, Poseidon2Chain, StateMachine, WideFibonacci};

use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _};

impl From<ProveError> for Failure {
    fn from(error: ProveError) -> Self {
        match error {
            ProveError::Prover(ProverError::Backend(error)) => Self::Backend(error),
            ProveError::Prover(ProverError::Fft(error)) => error.into(),
            error => Self::Broken(error.to_string()),
        }
    }
}

impl From<AirError> for Failure {
    fn from(error: AirError) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Builds a configuration from numbers.
///
/// They are the logs of the blowup factor, the fold step and the last layer's degree bound, then
/// queries and bits of work.
const fn config([blowup, fold_step, last, queries, pow_bits]: [u32; 5], lifting_log_size: Option<u32>) -> PcsConfig {
    let fri_config = FriConfig {
        log_blowup_factor: blowup,
        log_last_layer_degree_bound: last,
        n_queries: queries as usize,
        fold_step,
    };
    PcsConfig { pow_bits, fri_config, lifting_log_size }
}

/// A way to prove: from a given trace, or from the inputs of its generation.
type ProveFn<'w, 's, S> = &'w dyn Fn(&mut StatementProver<'s, Conditioned, S>) -> Result<StatementProof, ProveError>;

/// Proves a statement in each of these ways, in the first one again, and verifies the proofs.
///
/// The proof in postcard is compared by its SHA-256.
fn hold<'s, S: Statement>(
    q: &Conditioned,
    config: PcsConfig,
    residency: Residency,
    statement: &'s S,
    expected: &str,
    ways: &[ProveFn<'_, 's, S>],
) -> Result<(), Failure> {
    let mut prover = StatementProver::with_residency(q, Protocol::V2_3, config, statement, residency)?;
    for way in ways.iter().chain(ways.first()) {
        let proof = way(&mut prover)?;
        let bytes = postcard::to_allocvec(&proof.proof).map_err(|error| Failure::Broken(error.to_string()))?;
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        if digest != expected {
            return Err(Failure::Broken(format!("expected the proof with digest {expected}, got {digest}")));
        }
        let root = prover.preprocessed_root(q)?;
        verify(Protocol::V2_3, config, statement, root, &proof).map_err(|error| Failure::Broken(error.to_string()))?;
    }
    Ok(())
}

/// Word `k` of the messages of the vectors.
const fn message_word(k: u32) -> u32 {
    (k + 1).wrapping_mul(0x9e37_79b9).rotate_left(k % 31) ^ 0x5555_aaaa
}

/// The first two columns of the wide Fibonacci proof of 64 rows.
///
/// The proof is in the grid of stwo's vectors; its program makes the columns from seed 71.
fn fibonacci_seeds() -> [Vec<M31>; 2] {
    let mut state = 71u64.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        M31::from_u32(((state >> 32) % u64::from(P)) as u32)
    };
    [(); 2].map(|()| (0..64).map(|_| next()).list())
}

fn steps(
    name: &str,
    log_steps: [u32; 2],
    first: [u32; 2],
    (config, residency): (PcsConfig, Residency),
    expected: &'static str,
) -> Case {
    Case::new(name, move |q| {
        let machine = StateMachine::new(log_steps, first.map(M31::from_u32))?;
        let ways: [ProveFn<'_, '_, _>; 2] =
            [&|prover| prover.prove(q, &machine.trace()), &|prover| prover.prove_from(q, &machine)];
        hold(q, config, residency, &machine, expected, &ways)
    })
}

fn plonk(name: &str, gates: u32, inputs: [u32; 2], config: PcsConfig, expected: &'static str) -> Case {
    Case::new(name, move |q| {
        let plonk = Plonk::evaluate(Circuit::sample(gates)?, inputs.map(M31::from_u32).to_vec())?;
        let wires = plonk.wires();
        hold(
            q,
            config,
            Residency::Full,
            &plonk,
            expected,
            &[&|prover| prover.prove(q, &plonk.trace()), &|prover| prover.prove_from(q, &wires)],
        )
    })
}

pub(super) fn prove() -> OpSpec {
    let two_heights = |how: &str, residency| {
        steps(
            &format!("state machine, two components of two heights{how}"),
            [4, 6],
            [1, 1 << 30],
            (config([2, 2, 1, 3, 0], None), residency),
            "d83df35193dad1ef68397208454c6a76ebfc59311b070b68fed6df42b729d5c8",
        )
    };
    let cases = vec![
        steps(
            "state machine, two components of one height",
            [4, 4],
            [3, 5],
            (config([1, 1, 0, 3, 5], None), Residency::Full),
            "6a51f961498a5a481f9ee7f8ec7fc82aaab30236f1adffe3d6f688f7f5b33f29",
        ),
        two_heights("", Residency::Full),
        two_heights(", trees truncated", Residency::Truncated),
        two_heights(", in blocks", Residency::Blocks(8)),
        two_heights(", coefficients on the host", Residency::Host(8)),
        plonk(
            "circuit of 16 gates",
            16,
            [1, 1],
            config([1, 1, 0, 3, 5], None),
            "4a0149626ff969036960b2d8598c048df064dccb9be28cdcfda8353ff4a1064a",
        ),
        plonk(
            "circuit of 200 gates, lifted",
            200,
            [1 << 20, 5],
            config([1, 2, 2, 4, 5], Some(10)),
            "4cdb48e7893c47e3b63af9337d78f2f68dc46484fd227371a74118c8b7e1db96",
        ),
        Case::new("wide Fibonacci of 64 rows and 17 columns", |q| {
            let air = WideFibonacci::new(6, 17)?;
            let [a, b] = fibonacci_seeds();
            let seeds: Vec<[M31; 2]> = a.into_iter().zip(b).map(|(a, b)| [a, b]).list();
            let (trace, given) = (air.trace(&seeds)?, air.seeds(&seeds)?);
            hold(
                q,
                config([1, 2, 1, 2, 4], None),
                Residency::Full,
                &air,
                "ff4d2114be898a7abf1c911640dcc831d4b487082d7490d9fe94bd0f4e1c5b84",
                &[&|prover| prover.prove(q, &trace), &|prover| prover.prove_from(q, &given)],
            )
        }),
        Case::new("chain of 16 Poseidon2 permutations", |q| {
            let first = core::array::from_fn(|k| M31::from_u32(k as u32 + 4));
            let (chain, trace) = Poseidon2Chain::run(4, first)?;
            let (_, states) = Poseidon2Chain::states(4, first)?;
            hold(
                q,
                config([1, 1, 0, 2, 5], None),
                Residency::Full,
                &chain,
                "dd8f03fe013adfd129a3996f7e3a8aa26fd6af09b63a5b5fe950f5f1c656ec3d",
                &[&|prover| prover.prove(q, &trace), &|prover| prover.prove_from(q, &states)],
            )
        }),
        Case::new("Blake2s of 16 blocks", |q| {
            let block = |k: u32| core::array::from_fn(|word| message_word(16 * k + word as u32));
            let blocks: Vec<_> = (0..16).map(block).list();
            let ((hash, trace), (_, states)) = (Blake2s::run(&blocks)?, Blake2s::states(&blocks)?);
            hold(
                q,
                config([1, 1, 0, 2, 5], None),
                Residency::Full,
                &hash,
                "9bdd0498c3ab20764740c4d1d7dfdf5470c2584d5f4a7807abe64a6a835b6bfe",
                &[&|prover| prover.prove(q, &trace), &|prover| prover.prove_from(q, &states)],
            )
        })
        .on_elements(1 << 16),
    ];
    OpSpec { op: "stark.prove", cases }
}
