//! Grouping, cutting and streams change no share.

use pfss::{
    Gate, SignedRange, Task,
    batch::{BatchConfig, BatchLimits, Fit, Streams, finalize_lockstep},
};
use runtime::AnyQueue;

use crate::{
    batch::common::{Case, cases, flushed, relu},
    common::{
        flat,
        queues::{Sim, cpu},
    },
};

/// Runs the cases in one batch, and compares every share with the gate run alone.
fn assert_equal(q: &AnyQueue, streams: bool, config: BatchConfig, cases: &[&Case], expected: &[[Vec<u64>; 2]]) {
    let forked = streams.then(|| Streams::fork(q).unwrap());
    let [(mut zero, zeros), (mut one, ones)] = flushed(q, forked.as_ref(), config, cases).unwrap();
    finalize_lockstep([&mut zero, &mut one], |_, _| {}).unwrap();
    for (at, expected) in expected.iter().enumerate() {
        let got = [flat(zero.shares(zeros[at]).unwrap()), flat(one.shares(ones[at]).unwrap())];
        let (kind, count) = (cases[at].gate.kind(), cases[at].masks.len());
        assert_eq!(got, *expected, "{count} shares of {kind} under {config:?}, streams: {streams}");
    }
}

fn split(part: usize, slots: usize) -> BatchConfig {
    BatchConfig { fit: Fit::Split, part, slots, ..BatchConfig::default() }
}

#[test]
fn shares_do_not_depend_on_batches_parts_or_streams_on_the_processor() {
    let q = cpu(None);
    for count in [0, 1, 31, 32, 33, 255, 256, 257] {
        let cases = cases(count);
        let all: Vec<&Case> = cases.iter().collect();
        let expected: Vec<_> = all.iter().map(|case| case.expected()).collect();
        for streams in [false, true] {
            assert_equal(&q, streams, BatchConfig::default(), &all, &expected);
            for slots in 1..=3 {
                assert_equal(&q, streams, split(32, slots), &all, &expected);
            }
            assert_equal(&q, streams, split(96, 2), &all, &expected);
        }
        for (case, expected) in all.iter().zip(&expected) {
            assert_equal(&q, false, BatchConfig::default(), &[case], std::slice::from_ref(expected));
        }
    }
}

#[test]
fn shares_do_not_depend_on_batches_parts_or_streams_on_the_shipped_kernels() {
    let sim = Sim::new("");
    let q = sim.queue(None);
    let cases = cases(65);
    let all: Vec<&Case> = cases.iter().collect();
    let expected: Vec<_> = all.iter().map(|case| case.expected()).collect();
    assert_equal(&q, true, BatchConfig::default(), &all, &expected);
    assert_equal(&q, true, split(32, 3), &all, &expected);
    drop(q);
    assert_eq!(sim.session.reports(), []);
}

/// A device expands the roots and words of all parts but the last, at their places in the rows of the seed. Roots and
/// words of the last part are copied. The words of the shift are in two rings.
#[test]
fn shares_do_not_depend_on_where_a_seed_is_expanded() {
    const PART: usize = 4096;
    let cert = SignedRange::new(-100, 100).unwrap().gap_cert(20).unwrap();
    let relu = Case::new(Gate::relu(10).unwrap(), Task::Relu, 2 * PART + 33, 70);
    let shift = Case::new(Gate::gap_ars_to(20, 9, 64).unwrap(), Task::GapArs(cert), 2 * PART, 71);
    let (cases, expected) = ([&relu, &shift], [relu.expected(), shift.expected()]);
    for schedule in ["", "schedule=lazy"] {
        let sim = Sim::new(schedule);
        let q = sim.queue(None);
        assert_equal(&q, true, split(PART, 2), &cases, &expected);
        drop(q);
        // for each part of party 0 the roots, and the words of each ring
        assert_eq!(sim.session.counters().launches_of["fss_expand_seed"], 2 * 2 + 2 * 3, "{schedule}");
        assert_eq!(sim.session.reports(), [], "{schedule}");
    }
}

/// Copies and walks in any order that the streams allow.
#[test]
fn shares_do_not_depend_on_the_schedule_of_the_streams() {
    for schedule in ["schedule=lazy", "schedule=random;seed=6;slow@memcpy:9"] {
        let sim = Sim::new(schedule);
        let q = sim.queue(Some(256 << 10));
        let (case, other) = (relu(200, 3), relu(90, 4));
        let expected = [case.expected(), other.expected()];
        assert_equal(&q, true, split(64, 2), &[&case, &other], &expected);
        drop(q);
        assert_eq!(sim.session.reports(), [], "{schedule}");
    }
}

#[test]
fn the_order_of_jobs_changes_no_share_and_jobs_of_one_program_form_a_group() {
    let q = cpu(None);
    let first = cases(40);
    let (a, b, c) = (relu(33, 50), relu(64, 51), relu(1, 52));
    // Three jobs of one program between others.
    let mixed = [&first[4], &a, &first[12], &b, &first[9], &c];
    let expected: Vec<_> = mixed.iter().map(|case| case.expected()).collect();
    assert_equal(&q, false, BatchConfig::default(), &mixed, &expected);
    let turned: Vec<_> = mixed.iter().rev().copied().collect();
    let expected: Vec<_> = expected.into_iter().rev().collect();
    assert_equal(&q, false, BatchConfig::default(), &turned, &expected);

    let [(mut batch, _), _] = flushed(&q, None, BatchConfig::default(), &mixed).unwrap();
    batch.round().unwrap();
    let counters = batch.counters();
    assert_eq!((counters.jobs, counters.groups, counters.parts, counters.flushes), (6, 4, 6, 1));
    // three jobs of 40 elements of 64, 20 and 33 bits, and 33, 64 and 1 of 64 bits
    assert_eq!((counters.elements, counters.input_bytes), (218, 8 * 218));
    assert_eq!(counters.packed_input_bytes, 8 * (40 + 33 + 64 + 1) + 100 + 165);
    // a bit of each element, but three of each element of the descriptor and of the predicates
    assert_eq!((counters.rounds, counters.opened_bytes), (1, 5 + 3 * 5 + 3 * 5 + 5 + 8 + 1));

    let [(batch, _), _] = flushed(&q, None, BatchConfig::default(), &[&relu(0, 1)]).unwrap();
    let counters = batch.counters();
    assert_eq!((counters.jobs, counters.groups, counters.parts, counters.elements), (1, 1, 1, 0));
}

/// More than one part of the default size, on the edge of a word.
#[test]
fn a_large_job_is_the_same_whole_and_in_parts() {
    let q = cpu(None);
    let case = relu((1 << 16) + 1, 8);
    let expected = [case.expected()];
    let config = BatchConfig { fit: Fit::Split, limits: BatchLimits::default(), ..BatchConfig::default() };
    assert_equal(&q, true, config, &[&case], &expected);
    let [(batch, _), _] = flushed(&q, None, config, &[&case]).unwrap();
    let counters = batch.counters();
    assert_eq!((counters.parts, counters.aes), (2, 56 * ((1 << 16) + 1)));
    assert_eq!(counters.key_bytes, 928 * ((1 << 16) + 32));
    // masked inputs, and one offset for each part
    assert_eq!((counters.point_bytes, counters.result_bytes), (8 * ((1 << 16) + 1 + 2), 4 * (2048 + 1)));
}
