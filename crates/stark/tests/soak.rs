//! Many proofs of changing traces by one prover keep the bytes in use as they were after the first ten.

use backend_api::Queue as _;
use runtime::{AnyQueue, Choice};
use stark::{ProofGraph, Protocol, Residency, verify};

use crate::{
    common::{little_work, open, simulate},
    samples::{Sample, prove_from_replayed, prove_replayed},
};

const PROOFS: u32 = 1000;
/// With other residencies, whose proofs take longer.
const FEWER_PROOFS: u32 = 200;
const WARM: u32 = 10;

/// The memory in use: bytes of live buffers, their peak, and the device's holdings.
fn usage(q: &AnyQueue) -> [u64; 5] {
    q.finish().unwrap();
    let budget = q.budget();
    let [held, reclaims, pinned] = match q {
        AnyQueue::Cuda(device) => {
            let memory = runtime::cuda_memory(device).unwrap();
            [memory.held_bytes, memory.reclaims, memory.pinned.live_bytes]
        }
        _ => [0; 3],
    };
    [budget.live_bytes(), budget.peak_bytes(), held, reclaims, pinned]
}

/// Proves in each way in turn, and verifies all of it.
fn soak(choice: Choice, residency: Residency, proofs: u32) {
    let _machine = (choice == Choice::Sim).then(|| simulate(""));
    let (q, first) = (open(choice, None), Sample::wide(2, 4, 0));
    let mut prover = first.prover_with(&q, residency).unwrap();
    let root = prover.preprocessed_root(&q).unwrap();
    // A graph is of one way to bring the trace.
    let ([mut graph, mut graph_from], mut before) = ([(); 2].map(|()| ProofGraph::new()), [0; 5]);
    for index in 0..proofs {
        let Sample { statement, trace, source } = Sample::wide(2, 4, index);
        let proof = match index % 4 {
            0 => prover.prove(&q, &trace),
            1 => prover.prove_from(&q, &source),
            2 => prove_replayed(&mut prover, &q, &mut graph, &trace),
            _ => prove_from_replayed(&mut prover, &q, &mut graph_from, &source),
        };
        verify(Protocol::V2_3, little_work(), &statement, root, &proof.unwrap()).unwrap();
        if index + 1 == WARM {
            before = usage(&q);
        }
    }
    assert_eq!(usage(&q), before);
    let is_recorded = choice == Choice::Sim && !matches!(residency, Residency::Host(_));
    assert_eq!([graph.is_recorded(), graph_from.is_recorded()], [is_recorded; 2]);
    drop((prover, graph, graph_from));
    assert_eq!(q.budget().live_bytes(), 0);
}

#[test]
fn the_processor_holds_what_it_held_after_the_first_proofs() {
    soak(Choice::Cpu, Residency::Full, PROOFS);
}

#[test]
fn the_simulated_device_holds_what_it_held_after_the_first_proofs() {
    soak(Choice::Sim, Residency::Full, PROOFS);
}

#[test]
fn blocks_on_the_simulated_device_take_what_they_took_for_the_first_proofs() {
    soak(Choice::Sim, Residency::Blocks(4), FEWER_PROOFS);
}

#[test]
fn coefficients_on_the_host_take_what_they_took_for_the_first_proofs() {
    soak(Choice::Sim, Residency::Host(4), FEWER_PROOFS);
}
