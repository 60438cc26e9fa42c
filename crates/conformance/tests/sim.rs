//! The whole suite on the simulated driver: the PTX and the host code that ship, with every checker on.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use backend_api::Fork;
use conformance::{OpSpec, Outcome};
use cuda_backend::{CudaConfig, CudaQueue};
use cuda_sim::driver::session;

/// Larger cases take the simulated device minutes.
const MAX_ELEMENTS: u64 = 1 << 12;

/// Turns of blocks and warps: one after the other, and two shuffles.
const ORDERS: [&str; 3] = ["order=natural", "order=seeded;seed=1", "order=seeded;seed=2"];

type Specs = fn() -> Vec<OpSpec<CudaQueue>>;

/// Holds one queue to the specifications and returns the number of cases that held.
fn hold(q: &CudaQueue, specs: Specs) -> usize {
    let mut specs = specs();
    for spec in &mut specs {
        spec.limit_elements(MAX_ELEMENTS);
    }
    let report = conformance::run(q, &specs, |_| ());
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new());
    report.outcomes.len()
}

/// The specifications on a simulated machine, which must have nothing to report at the end.
fn holds_on(machine: &str, specs: Specs) {
    let session = session(machine).unwrap();
    let q = CudaQueue::open(CudaConfig::default()).unwrap();
    assert!(hold(&q, specs) > 0);
    drop(q);
    assert_eq!(session.reports(), []);
}

#[test]
fn circle_transforms_hold_in_every_order() {
    for order in ORDERS {
        holds_on(&format!("{order};checks=sanitize"), conformance::circle::specs);
    }
}

#[test]
fn function_secret_sharing_holds_under_every_checker() {
    holds_on("checks=sanitize", conformance::fss::specs);
}

#[test]
fn linear_algebra_holds_under_every_checker() {
    holds_on("checks=sanitize", conformance::linalg::specs);
}

#[test]
fn late_streams_change_nothing() {
    holds_on("schedule=lazy", conformance::circle::specs);
}

#[test]
fn a_forked_queue_holds() {
    let session = session("schedule=random;seed=4").unwrap();
    let q = CudaQueue::open(CudaConfig::default()).unwrap();
    let fork = q.fork().unwrap();
    assert!(hold(&fork, conformance::linalg::specs) > 0);
    q.join(&fork).unwrap();
    drop((q, fork));
    assert_eq!(session.reports(), []);
}
