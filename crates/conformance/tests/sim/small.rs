//! The small cases as they are, and what needs a hand on the driver.
//!
//! `cargo xtask test` runs every case there in a random order of blocks and warps with every checker on and late streams; with
//! `--all` also in reverse on shuffled streams, and under every condition. These tests have the natural order, but for bitsliced AES.

use backend_api::BackendError;
use conformance::{Condition, Conditioned, Failure, OpSpec, Outcome, Selection};
use cuda_backend::{AesKernel, AirKernel, CudaConfig, CudaQueue};
use cuda_sim::driver::simulate;
use runtime::AnyQueue;

/// The elements of small cases.
const MAX_ELEMENTS: u64 = 1 << 12;

/// Allocations to refuse, one after the other, counted from the start of a case.
const REFUSED: u32 = 4;

fn small(mut specs: Vec<OpSpec>) -> Vec<OpSpec> {
    for spec in &mut specs {
        spec.limit_elements(MAX_ELEMENTS);
    }
    specs
}

/// Holds small cases on a simulated machine, which must have nothing to report at the end.
fn hold_on(machine: &str, specs: Vec<OpSpec>) {
    hold_with(CudaConfig::default(), machine, specs);
}

/// As [`hold_on`], on a device that is opened like this.
fn hold_with(config: CudaConfig, machine: &str, specs: Vec<OpSpec>) {
    let session = simulate(machine).unwrap();
    let q = Conditioned::plain(AnyQueue::Cuda(CudaQueue::open(config).unwrap()));
    let report = conformance::run(&q, &small(specs), |_| ());
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new());
    assert!(!report.outcomes.is_empty());
    drop(q);
    assert_eq!(session.reports(), []);
}

/// A test for each op set, on a machine.
macro_rules! holds {
    ($(fn $test:ident() = $set:ident on $machine:literal;)*) => {
        $(
            #[test]
            fn $test() {
                hold_on($machine, conformance::$set::specs());
            }
        )*
    };
}

holds! {
    fn programs_and_look_ups_hold_under_every_checker() = air on "checks=sanitize";
    fn circle_transforms_hold_under_every_checker() = circle on "checks=sanitize";
    fn commitment_trees_hold_under_every_checker() = merkle on "checks=sanitize";
    fn transcripts_hold_under_every_checker() = channel on "checks=sanitize";
    fn corrections_hold_under_every_checker() = correction on "checks=sanitize";
    fn factorisations_hold_under_every_checker() = factor on "checks=sanitize";
    fn optimizers_hold_under_every_checker() = optim on "checks=sanitize";
    fn maps_copies_and_reductions_hold_under_every_checker() = tensor on "checks=sanitize";
    fn linear_algebra_holds_under_every_checker() = linalg on "checks=sanitize";
    fn quotients_hold_under_every_checker() = deep on "checks=sanitize";
    fn folds_and_openings_hold_under_every_checker() = fri on "checks=sanitize";
    fn recurrent_networks_hold_under_every_checker() = recurrent on "checks=sanitize";
    fn random_streams_change_no_tensor() = tensor on "schedule=random;seed=4";
}

#[test]
fn interpreted_programs_hold_under_every_checker() {
    hold_with(interpreted(), "checks=sanitize", conformance::air::specs());
}

/// A device that runs programs of AIRs step by step.
fn interpreted() -> CudaConfig {
    CudaConfig { air: AirKernel::Interpreted, ..CudaConfig::default() }
}

#[test]
fn proofs_hold_whichever_way_programs_are_run() {
    hold_on("", conformance::stark::specs());
    hold_with(interpreted(), "", conformance::stark::specs());
}

#[test]
fn factorisations_are_recorded() {
    hold_recorded(["factor.svd", "factor.residual"]);
}

#[test]
fn keys_hold_under_every_checker_with_either_aes() {
    let bitsliced = CudaConfig { aes: AesKernel::Bitsliced, ..CudaConfig::default() };
    hold_on("checks=sanitize", conformance::fss::specs());
    hold_with(bitsliced, "checks=sanitize;order=reverse;schedule=lazy", conformance::fss::specs());
}

/// Holds the small cases of ops whose names contain one of `filters`, recorded and replayed.
fn hold_recorded(filters: [&str; 2]) {
    let session = simulate("").unwrap();
    let q = AnyQueue::Cuda(CudaQueue::open(CudaConfig::default()).unwrap());
    for filter in filters {
        let selection = Selection { filter, max_elements: MAX_ELEMENTS, ..Selection::default() };
        let report = Condition::Recorded.run(&q, selection, |_| ()).unwrap();
        assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new());
        assert!(!report.outcomes.is_empty());
    }
    drop(q);
    assert_eq!(session.reports(), []);
}

#[test]
fn norms_and_inversions_are_recorded_unless_they_wait() {
    hold_recorded(["norm", "inverse"]);
}

#[test]
fn programs_and_proofs_are_recorded() {
    hold_recorded(["air.", "stark."]);
}

#[test]
fn quotients_and_folds_are_recorded() {
    hold_recorded(["deep.", "fri."]);
}

/// Wherever the driver refuses memory, a case fails for lack of memory or holds, and holds once there is memory again.
#[test]
fn every_op_holds_again_after_the_driver_was_out_of_memory() {
    let session = simulate("").unwrap();
    let q = Conditioned::plain(AnyQueue::Cuda(CudaQueue::open(CudaConfig::default()).unwrap()));
    let allocations = || -> u64 {
        let counters = session.counters();
        counters.calls.iter().filter(|(name, _)| name.contains("MemAlloc")).map(|(_, calls)| calls).sum()
    };
    let mut refusals = 0;
    for spec in small(conformance::specs()) {
        let case = spec.cases.last().unwrap();
        for call in 1..=REFUSED {
            let before = allocations();
            // The backend retries once after it has returned its cached blocks.
            for call in [call, call + 1] {
                session.inject(format!("oom@alloc:{call}").parse().unwrap());
            }
            match case.hold(&q) {
                Ok(()) => {}
                Err(Failure::Backend(BackendError::OutOfMemory { .. })) => refusals += 1,
                Err(other) => panic!("{} {case:?}, allocation {call} refused: {other}", spec.op),
            }
            session.clear_faults();
            if allocations() - before < call.into() {
                break; // it allocates less often: this turn was without a refusal, as all others would be
            }
            case.hold(&q).unwrap();
        }
    }
    assert!(refusals > 60, "only {refusals} allocations were refused");
    drop(q);
    assert_eq!(session.reports(), []);
}
