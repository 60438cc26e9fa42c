//! Fail closed: whatever the device answers, a batch gives the right shares or none at all.

use cuda_sim::driver::Rule;
use pfss::{
    PfssError,
    batch::{BatchConfig, BatchError, Fit, Handle, Job, Streams, SuperBatch},
};
use runtime::AnyQueue;

use crate::{
    batch::common::{Case, relu},
    common::queues::Sim,
};

const CONFIG: BatchConfig = BatchConfig { fit: Fit::Split, part: 32, slots: 2, limits: DEFAULT_LIMITS };
const DEFAULT_LIMITS: pfss::batch::BatchLimits =
    pfss::batch::BatchLimits { jobs: 4, words: 1 << 12, bytes: 1 << 15, flushes: 4, device_bytes: None };

/// Runs a batch while a fault is set, without its peer.
fn flush_under(sim: &Sim, q: &AnyQueue, case: &Case, fault: &str) -> Result<Vec<u8>, PfssError> {
    let streams = Streams::fork(q)?;
    let mut batch = SuperBatch::new(q, Some(&streams), CONFIG)?;
    let [job, other]: [Job<'_>; 2] = case.jobs();
    let handle = batch.enqueue(job)?;
    if !fault.is_empty() {
        sim.session.inject(fault.parse::<Rule>().unwrap());
    }
    let flushed = batch.flush();
    sim.session.clear_faults();
    match flushed {
        Ok(()) => batch.round().map(Option::unwrap_or_default),
        Err(error) => {
            assert_poisoned(&mut batch, handle, other, fault);
            Err(error)
        }
    }
}

/// No share, no masked bit, and no way on.
fn assert_poisoned<'a>(batch: &mut SuperBatch<'a, AnyQueue>, handle: Handle, job: Job<'a>, fault: &str) {
    assert_eq!(batch.shares(handle).unwrap_err(), BatchError::Poisoned, "{fault}");
    assert_eq!(batch.take(handle).unwrap_err(), BatchError::Poisoned, "{fault}");
    assert_eq!(batch.budget().live_bytes(), 0, "{fault}");
    let calls = [
        batch.round().map(|_| ()),
        batch.absorb(&[]),
        batch.flush(),
        batch.enqueue(job).map(|_| ()),
        batch.clear().map_err(PfssError::from),
    ];
    for call in calls {
        assert_eq!(call.unwrap_err(), BatchError::Poisoned.into(), "{fault}");
    }
}

/// Calls of each class that one flush makes, in the driver's names.
fn calls_of_a_flush(sim: &Sim, q: &AnyQueue, case: &Case) -> Vec<(&'static str, u64)> {
    let before = sim.session.counters().calls;
    flush_under(sim, q, case, "").unwrap();
    let after = sim.session.counters().calls;
    let made = after.into_iter().map(|(call, count)| (call, count - before.get(call).copied().unwrap_or(0)));
    made.filter(|(call, count)| *count > 0 && !call.starts_with("cuGetError")).collect()
}

#[test]
fn whatever_call_is_refused_there_are_right_shares_or_none() {
    let sim = Sim::new("");
    let q = sim.queue(None);
    let case = relu(70, 9);
    let expected = flush_under(&sim, &q, &case, "").unwrap();
    assert!(!expected.is_empty());
    let (mut refused, mut cases) = (Vec::new(), 0);
    for (call, count) in calls_of_a_flush(&sim, &q, &case) {
        for turn in [1, count.div_ceil(2), count] {
            cases += 1;
            match flush_under(&sim, &q, &case, &format!("fail=1@{call}:{turn}")) {
                Ok(message) => assert_eq!(message, expected, "{call}:{turn}"),
                Err(PfssError::Backend(_)) => refused.push(call),
                Err(other) => panic!("{call}:{turn}: {other}"),
            }
        }
    }
    assert!(cases >= 15, "{cases}");
    // Of the copies to the device, the last ones overwrite keys that are done with.
    for (call, times) in [("cuLaunchKernel", 3), ("cuMemcpyDtoHAsync_v2", 3), ("cuMemcpyHtoDAsync_v2", 1)] {
        assert!(refused.iter().filter(|refused| **refused == call).count() >= times, "{call}: {refused:?}");
    }
    // The device itself is as good as before.
    assert_eq!(flush_under(&sim, &q, &case, "").unwrap(), expected);
}

#[test]
fn a_lost_device_gives_nothing_and_no_processor_steps_in() {
    let case = relu(70, 9);
    for fault in ["fail=700@cuLaunchKernel:2", "late=719@cuMemcpyHtoDAsync_v2:3"] {
        let sim = Sim::new("");
        let q = sim.queue(None);
        let lost =
            |error: &PfssError| matches!(error, PfssError::Backend(backend_api::BackendError::DeviceLost { .. }));
        let error = flush_under(&sim, &q, &case, fault).unwrap_err();
        assert!(lost(&error), "{fault}: {error}");
        let again = flush_under(&sim, &q, &case, "").unwrap_err();
        assert!(lost(&again), "{fault}: {again}");
    }
}
