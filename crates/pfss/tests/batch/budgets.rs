//! Device memory is reserved before it is used, and never exceeded.

use backend_api::Queue;
use pfss::{
    PfssError, Task,
    batch::{
        BatchConfig, BatchError, BatchLimits, Fit, LayerLimits, Limit, Pace, Streams, SuperBatch, finalize_lockstep,
    },
};
use runtime::AnyQueue;

use crate::{
    batch::common::{Case, cases, flushed, relu},
    common::{
        flat,
        queues::{Sim, cpu},
    },
};

fn limited(device_bytes: u64, fit: Fit) -> BatchConfig {
    let limits = BatchLimits { device_bytes: Some(device_bytes), ..BatchLimits::default() };
    BatchConfig { limits, fit, ..BatchConfig::default() }
}

/// The number of bytes that a job reports as needed.
fn need(q: &AnyQueue, case: &Case, fit: Fit) -> u64 {
    let streams = Streams::fork(q).unwrap();
    let mut batch = SuperBatch::new(q, Some(&streams), limited(0, fit)).unwrap();
    let [job, _] = case.jobs();
    match batch.enqueue(job).unwrap_err() {
        PfssError::Batch(BatchError::BudgetExceeded { need, have: 0 }) => need,
        other => panic!("{other}"),
    }
}

/// Evaluates the case within exactly `bytes` of device memory, and returns the most that was live.
fn peak_within(q: &AnyQueue, bytes: u64, fit: Fit, case: &Case) -> Result<u64, PfssError> {
    let streams = Streams::fork(q).unwrap();
    let before = q.budget().live_bytes();
    assert!(before < 4096, "{before} bytes of an idle queue");
    let [(mut zero, zeros), (mut one, ones)] = flushed(q, Some(&streams), limited(bytes, fit), &[case])?;
    let peak = q.budget().peak_bytes();
    finalize_lockstep([&mut zero, &mut one], |_, _| {}).unwrap();
    let got = [flat(zero.shares(zeros[0]).unwrap()), flat(one.shares(ones[0]).unwrap())];
    assert_eq!(got, case.expected(), "{}", case.gate.kind());
    assert_eq!((zero.budget().live_bytes(), q.budget().live_bytes()), (0, before), "not given back");
    assert!(zero.budget().peak_bytes() <= bytes);
    Ok(peak)
}

/// Runs on a queue whose own budget is exactly the reported need.
///
/// It fails past the limit.
fn exact_fit(exact: impl Fn(u64) -> AnyQueue, case: &Case) -> AnyQueue {
    let bytes = need(&cpu(None), case, Fit::Whole);
    let q = exact(bytes);
    let peak = peak_within(&q, bytes, Fit::Whole, case).unwrap();
    assert!(peak <= q.budget().limit_bytes(), "{}: {peak} of {bytes}", case.gate.kind());
    let one_less = peak_within(&q, bytes - 1, Fit::Whole, case).unwrap_err();
    assert_eq!(one_less, BatchError::BudgetExceeded { need: bytes, have: bytes - 1 }.into());
    q
}

#[test]
fn an_exact_fit_passes_and_one_byte_less_fails() {
    cases(300).iter().for_each(|case| drop(exact_fit(|bytes| cpu(Some(bytes)), case)));
}

#[test]
fn a_bundle_of_any_size_is_streamed_within_the_budget() {
    let q = cpu(Some(1 << 20));
    let case = relu(20_000, 7); // 18.5 MB of keys
    let peak = peak_within(&q, 1 << 20, Fit::Split, &case).unwrap();
    assert!(peak < 1 << 14, "{peak}"); // a processor reads the keys where they are
    assert!(peak_within(&q, 1 << 20, Fit::Whole, &case).is_err());
}

#[test]
fn an_exact_fit_passes_and_any_bundle_is_streamed_on_the_simulated_device() {
    let sim = Sim::new("");
    // a device takes 64 KiB at least
    for look_up in cases(1500).iter().filter(|case| matches!(case.task, Task::Lut(_))) {
        drop(exact_fit(|bytes| sim.queue(Some(bytes)), look_up));
    }
    let q = exact_fit(|bytes| sim.queue(Some(bytes)), &relu(300, 6));
    let bytes = q.budget().limit_bytes();
    let case = relu(2_000, 7); // 1.9 MB of keys
    let peak = peak_within(&q, bytes, Fit::Split, &case).unwrap();
    assert!((bytes / 2..=bytes).contains(&peak), "{peak}");
    drop(q);
    // the keys of a part for each slot
    let part = need(&cpu(None), &relu(64, 1), Fit::Whole);
    for slots in 1..=3 {
        let q = sim.queue(None);
        let (streams, idle) = (Streams::fork(&q).unwrap(), q.budget().live_bytes());
        let config = BatchConfig { fit: Fit::Split, part: 64, slots, ..BatchConfig::default() };
        drop(flushed(&q, Some(&streams), config, &[&relu(320, 6)]).unwrap());
        let (peak, slots) = (q.budget().peak_bytes() - idle, slots as u64);
        assert!((slots - 1) * part < peak && peak <= slots * part, "{slots} slots: {peak}, {part} each");
    }
    assert_eq!(sim.session.reports(), []);
}

#[test]
fn many_jobs_share_the_slots_of_a_streamed_batch_but_add_up_in_a_whole_one() {
    let q = cpu(None);
    let all: Vec<Case> = (0..8).map(|seed| relu(500, seed)).collect();
    let refs: Vec<&Case> = all.iter().collect();
    let one = need(&q, &all[0], Fit::Whole);
    let [(batch, _), _] = flushed(&q, None, limited(one, Fit::Split), &refs).unwrap();
    assert!(batch.budget().peak_bytes() <= one);
    let [(batch, _), _] = flushed(&q, None, limited(8 * one, Fit::Whole), &refs).unwrap();
    assert_eq!(batch.budget().live_bytes(), 8 * one);
    let refused = flushed(&q, None, limited(8 * one - 1, Fit::Whole), &refs).unwrap_err();
    assert_eq!(refused, BatchError::BudgetExceeded { need: one, have: one - 1 }.into());
}

#[test]
fn less_than_one_slot_of_32_elements_is_refused() {
    let q = cpu(None);
    let case = relu(500, 1);
    let bytes = need(&q, &case, Fit::Split);
    let mut batch = SuperBatch::new(&q, None, limited(bytes, Fit::Split)).unwrap();
    let [job, other] = case.jobs();
    batch.enqueue(job).unwrap();
    let mut batch = SuperBatch::new(&q, None, limited(bytes - 1, Fit::Split)).unwrap();
    let refused = batch.enqueue(other).unwrap_err();
    assert_eq!(refused, BatchError::BudgetExceeded { need: bytes, have: bytes - 1 }.into());
}

#[test]
fn every_limit_of_a_batch_fails_by_its_name_and_takes_nothing_in() {
    let q = cpu(None);
    let base = BatchLimits::default();
    let table = [
        (BatchLimits { jobs: 1, ..base }, Limit::Jobs, 1, 2),
        (BatchLimits { words: 63, ..base }, Limit::Words, 63, 64),
        (BatchLimits { bytes: 511, ..base }, Limit::Bytes, 511, 512),
    ];
    for (limits, limit, max, got) in table {
        let mut batch = SuperBatch::new(&q, None, BatchConfig { limits, ..BatchConfig::default() }).unwrap();
        let [first, second] = [relu(32, 1), relu(32, 2)].map(|case| case.jobs()).map(|[job, _]| job);
        batch.enqueue(first).unwrap();
        let live = batch.budget().live_bytes();
        assert_eq!(batch.enqueue(second).unwrap_err(), BatchError::Limit { limit, max, got }.into());
        assert_eq!(batch.budget().live_bytes(), live);
        batch.flush().unwrap();
        assert_eq!(batch.counters().jobs, 1);
    }
    let limits = BatchLimits { flushes: 1, ..base };
    let mut batch = SuperBatch::new(&q, None, BatchConfig { limits, ..BatchConfig::default() }).unwrap();
    batch.flush().unwrap();
    assert_eq!(batch.round().unwrap(), None);
    batch.clear().unwrap();
    assert_eq!(batch.flush().unwrap_err(), BatchError::Limit { limit: Limit::Flushes, max: 1, got: 2 }.into());
}

#[test]
fn a_configuration_that_no_batch_can_have_is_refused() {
    let q = cpu(None);
    let (few, multiple) = ("1 to 3", "a positive multiple of 32");
    for (slots, part, what, expected, got) in
        [(0, 32, "slots", few, 0), (4, 32, "slots", few, 4), (2, 0, "part", multiple, 0), (2, 33, "part", multiple, 33)]
    {
        let refused = SuperBatch::new(&q, None, BatchConfig { slots, part, ..BatchConfig::default() }).unwrap_err();
        assert_eq!(refused, BatchError::Config { what, expected, got }.into());
    }
}

#[test]
fn slots_are_reserved_once_and_grow_to_the_largest_part() {
    let q = cpu(None);
    let [small, large] = [32, 64].map(|count| need(&q, &relu(count, 1), Fit::Whole));
    for slots in 1..=3 {
        let config = BatchConfig { fit: Fit::Split, part: 64, slots, ..BatchConfig::default() };
        let mut batch = SuperBatch::new(&q, None, config).unwrap();
        let live = [32, 32, 500, 64, 33].map(|count| {
            let [job, _] = relu(count, 1).jobs();
            batch.enqueue(job).unwrap();
            batch.budget().live_bytes()
        });
        let [small, large] = [small, large].map(|part| part * slots as u64);
        assert_eq!(live, [small, small, large, large, large], "{slots} slots");
    }
}

/// SUF has the same limits.
#[test]
fn defaults_are_the_documented_ones() {
    let limits =
        BatchLimits { jobs: 262_144, words: 16_777_216, bytes: 134_217_728, flushes: 65_536, device_bytes: None };
    assert_eq!(BatchConfig::default(), BatchConfig { limits, fit: Fit::Whole, slots: 2, part: 65_536 });
    let layer = LayerLimits {
        jobs: 65_536,
        words: 4_194_304,
        flushes: 1024,
        phases: 4096,
        elements: 268_435_456,
        element_bits: 4_294_967_296,
    };
    assert_eq!(LayerLimits::default(), layer);
    assert_eq!(Pace::default(), Pace::Lazy { open_words: 4_194_304, jobs: 16_384 });
}
