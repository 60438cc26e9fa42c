//! Pending, flushed, final, cleared: every call out of turn is refused, and stale handles find nothing.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use backend_api::{BackendError, BackendKind};
use pfss::{
    ChannelError, Dealer, Gate, GateKind, KeyBundle, MatrixShape, Operation, Parameters, Party, PfssError, Ring,
    Session, SignedRange, Task,
    batch::{BatchConfig, BatchError, Job, State, Streams, SuperBatch, finalize_lockstep},
    memory_pair,
};

use crate::{
    batch::common::{cases, flushed, relu},
    common::{
        add, both, flat,
        queues::{Sim, cpu},
    },
};

fn wrong(expected: State, got: State) -> BatchError {
    BatchError::State { expected, got }
}

#[test]
fn calls_out_of_turn_are_refused_and_change_nothing() {
    let q = cpu(None);
    let [case, late] = [relu(40, 1), relu(40, 2)];
    let [mut zero, mut one] = [0, 1].map(|_| SuperBatch::new(&q, None, BatchConfig::default()).unwrap());
    let [job_0, job_1] = case.jobs();
    let (handle, other) = (zero.enqueue(job_0).unwrap(), one.enqueue(job_1).unwrap());

    assert_eq!(zero.round().unwrap_err(), wrong(State::Flushed, State::Pending).into());
    assert_eq!(zero.absorb(&[]).unwrap_err(), wrong(State::Flushed, State::Pending).into());
    assert_eq!(zero.shares(handle).unwrap_err(), wrong(State::Finalized, State::Pending));

    zero.flush().unwrap();
    one.flush().unwrap();
    let [late, _] = late.jobs();
    assert_eq!(zero.enqueue(late).unwrap_err(), wrong(State::Pending, State::Flushed).into());
    assert_eq!(zero.flush().unwrap_err(), wrong(State::Pending, State::Flushed).into());
    assert_eq!(zero.absorb(&[0; 5]).unwrap_err(), BatchError::NoRound.into());
    assert_eq!(zero.round().unwrap(), zero.round().unwrap(), "a round is the same until it is answered");
    assert_eq!(zero.shares(handle).unwrap_err(), wrong(State::Finalized, State::Flushed));
    assert!(zero.budget().live_bytes() > 0);

    finalize_lockstep([&mut zero, &mut one], |_, _| {}).unwrap();
    assert_eq!(zero.budget().live_bytes(), 0);
    let shares = [flat(zero.shares(handle).unwrap()), flat(one.shares(other).unwrap())];
    assert_eq!(shares, case.expected());
    let sum = |shares: &[Vec<u64>; 2]| add(case.gate.ring(), [&shares[0], &shares[1]]);
    let plain = sum(&case.x).into_iter().map(|x| if x >> 63 == 0 { x } else { 0 });
    assert_eq!(sum(&shares), plain.collect::<Vec<_>>());
    assert_eq!(one.take(other).unwrap().words, shares[1]);
    assert_eq!(one.take(other).unwrap_err(), BatchError::Ticket { got: 0 });

    zero.clear().unwrap();
    assert_eq!(zero.shares(handle).unwrap_err(), BatchError::Stale { expected: 1, got: 0 });
    // A cleared batch takes in jobs again.
    let [next, _] = relu(8, 3).jobs();
    let next = zero.enqueue(next).unwrap();
    zero.flush().unwrap();
    assert_eq!(zero.shares(handle).unwrap_err(), BatchError::Stale { expected: 1, got: 0 });
    assert_eq!(zero.shares(next).unwrap_err(), wrong(State::Finalized, State::Flushed));
    zero.clear().unwrap();
    assert_eq!(zero.budget().live_bytes(), 0);
}

#[test]
fn jobs_that_do_not_fit_their_keys_are_refused() {
    let q = cpu(None);
    let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).unwrap();
    let keys = || relu(4, 1).keys();
    let [zero, one] = keys();
    let refused = batch.enqueue(Job::new(Task::Relu, zero, vec![1; 5])).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements", expected: 4, got: 5 });
    let [zero, _] = keys();
    assert!(matches!(batch.enqueue(Job::new(Task::Ars, zero, vec![1; 4])), Err(PfssError::Kind { .. })));
    let [zero, _] = keys();
    assert!(matches!(batch.enqueue(Job::new(Task::Suf, zero, vec![1; 4])), Err(PfssError::Kind { .. })));
    let [zero, _] = keys();
    let refused = Job::new(Task::Relu, zero, vec![1; 4]).with_rows(vec![1, 2]).unwrap_err();
    assert_eq!(refused, BatchError::Rows { expected: 4, got: 3 });
    batch.enqueue(Job::new(Task::Relu, one, vec![1; 4])).unwrap();
    let [other, _] = relu(4, 2).jobs();
    let refused = batch.enqueue(other).unwrap_err();
    assert_eq!(refused, PfssError::WrongParty { expected: Party::One, got: Party::Zero });
}

#[test]
fn keys_of_another_ring_are_refused_for_every_gate() {
    let (q, host) = (cpu(None), runtime::cpu().unwrap());
    let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).unwrap();
    let mut session = Session::new(memory_pair(Duration::from_secs(1)).0);
    let mut kinds = HashSet::from([GateKind::Product]);
    let others = |own: Ring| (1..=64).filter(move |&bits| bits != own.bits()).map(|bits| Ring::new(bits).unwrap());
    for case in cases(3) {
        let (own, task, what) = (case.gate.ring(), case.task, case.gate.kind());
        kinds.insert(what);
        let refusal = |ring: Ring| PfssError::KeyRing { expected: ring.bits(), got: own.bits() };
        // A batch gives the job back, which it takes under the ring of its keys.
        let [mut job, _] = case.jobs();
        for ring in others(own) {
            let refused = batch.try_enqueue(job.in_ring(ring)).unwrap_err();
            assert_eq!(refused.error, refusal(ring), "{what}");
            job = *refused.job;
        }
        batch.enqueue(job.in_ring(own)).unwrap();
        // A session sends nothing for other rings, and gives the shares of the task in the ring of the keys.
        for ring in [others(own).next(), others(own).next_back(), Ring::new(own.bits() - 1)].into_iter().flatten() {
            let ([bundle, _], [keys, _]) = (case.deal(), case.keys());
            assert_eq!(session.run_in(&host, ring, task, bundle, &case.x[0]).unwrap_err(), refusal(ring), "{what}");
            assert_eq!(session.eval_in(&host, ring, task, keys, &case.x_hat()).unwrap_err(), refusal(ring), "{what}");
        }
        let run = both(case.deal(), |mut session, party, bundle| {
            flat(&session.run_in(&host, own, task, bundle, &case.x[party]).unwrap())
        });
        let evaluated = both(case.keys(), |mut session, _, keys| {
            flat(&session.eval_in(&host, own, task, keys, &case.x_hat()).unwrap())
        });
        assert_eq!([run, evaluated], [case.expected(), case.expected()], "{what}");
    }

    let [own, other] = [20, 21].map(|bits| Ring::new(bits).unwrap());
    let refusal = PfssError::KeyRing { expected: 21, got: 20 };
    let deal = || Dealer::insecure_from_seed(5).deal(&q, &Gate::product(20).unwrap(), 1).unwrap();
    let [bundle, _] = deal();
    assert_eq!(session.run_in(&host, other, Task::Product, bundle, &[3, 5]).unwrap_err(), refusal);
    let x = [[3, 5], [1, 6]];
    let shares = both(deal(), |mut session, party, bundle| {
        session.run_in(&host, own, Task::Product, bundle, &x[party]).unwrap().words
    });
    assert_eq!(add(own, [&shares[0], &shares[1]]), [4 * 11]);
    let shape = MatrixShape { batch: 1, rows: 1, inner: 1, cols: 1 };
    let deal = || Dealer::insecure_from_seed(5).deal_matrix(&host, own, shape).unwrap();
    let [triple, _] = deal();
    assert_eq!(session.matmul_in(&host, other, triple, [&[3], &[5]]).unwrap_err(), refusal);
    let shares = both(deal(), |mut session, party, triple| {
        let [x, y] = x[party];
        session.matmul_in(&host, own, triple, [&[x], &[y]]).unwrap()
    });
    assert_eq!(add(own, [&shares[0], &shares[1]]), [4 * 11]);

    let mut all = (1..).map_while(GateKind::from_number);
    assert!(all.all(|kind| kinds.contains(&kind)), "{kinds:?}");
    assert_eq!(session.traffic().rounds, 0);
}

#[test]
fn a_plan_that_is_kept_lets_nothing_pass_that_it_was_not_made_for() {
    let q = cpu(None);
    let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).unwrap();
    let range = SignedRange::new(-4, 4).unwrap();
    let mut enqueue = |gate: &Gate, task: Task<'static>| {
        let [keys, _] = Dealer::insecure_from_seed(3).deal(&q, gate, 2).unwrap();
        batch.enqueue(Job::new(task, keys.with_open_inputs().unwrap(), vec![1, 2])).map(drop)
    };
    let gap = Gate::gap_ars(16, 4).unwrap();
    enqueue(&gap, Task::GapArs(range.gap_cert(16).unwrap())).unwrap();
    let foreign = Task::GapArs(range.gap_cert(17).unwrap());
    assert_eq!(enqueue(&gap, foreign), Err(PfssError::CertWidth { expected: 16, got: 17 }));

    let narrow = Gate::relu_within(16, 4).unwrap();
    enqueue(&narrow, Task::ReluWithin(range)).unwrap();
    for wide in [Task::Relu, Task::Abs, Task::ReluWithin(SignedRange::new(-9, 4).unwrap())] {
        assert!(matches!(enqueue(&narrow, wide), Err(PfssError::Range(_))), "{wide:?}");
    }

    static TABLES: [[u64; 4]; 2] = [[0, 1, 2, 3], [0, 1, 2, 8]];
    let table = Gate::lut(2, 3).unwrap();
    enqueue(&table, Task::Lut(&TABLES[0])).unwrap();
    assert_eq!(enqueue(&table, Task::Lut(&TABLES[1])), Err(PfssError::Constant { index: 3, bits: 3, got: 8 }));

    // no predicates have the facts of a ReLU
    let relu = Gate::relu(16).unwrap();
    enqueue(&relu, Task::Relu).unwrap();
    let refused = PfssError::Kind { expected: GateKind::FullPredicates, got: GateKind::Relu };
    assert_eq!(enqueue(&relu, Task::Predicates(&[])), Err(refused));
}

#[test]
fn ragged_rows_are_found_by_their_lengths() {
    let q = cpu(None);
    let all = cases(10);
    let (relu, suf) = (&all[0], &all[12]);
    let rows = vec![0, 3, 1, 0, 6];
    let mut batches = Vec::new();
    for ((first, second), _) in relu.jobs().into_iter().zip(suf.jobs()).zip(0..) {
        let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).unwrap();
        let first = batch.enqueue(first.with_rows(rows.clone()).unwrap()).unwrap();
        let second = batch.enqueue(second.with_rows(rows.clone()).unwrap()).unwrap();
        batch.flush().unwrap();
        batches.push((batch, first, second));
    }
    let [(zero, first, second), (one, ..)] = &mut batches[..] else { unreachable!("two parties") };
    finalize_lockstep([zero, one], |_, _| {}).unwrap();
    for (handle, stride) in [(*first, 1), (*second, 2)] {
        let words = zero.shares(handle).unwrap().words.clone();
        let mut start = 0;
        for (row, len) in rows.iter().enumerate() {
            assert_eq!(zero.row(handle, row).unwrap(), &words[start..start + len * stride]);
            start += len * stride;
        }
        let outside = BackendError::OutOfRange { start: 5, end: 6, len: 5 };
        assert_eq!(zero.row(handle, 5), Err(outside.into()));
    }
}

/// Two sessions over channels, all gates of a batch in one message a round.
#[test]
fn parties_over_channels_open_all_gates_together() {
    let q = cpu(None);
    let all = cases(50);
    let expected: Vec<_> = all.iter().map(|case| case.expected()).collect();
    let [mine, theirs] = both([(), ()], |mut session, party, ()| {
        let inputs = all.iter().map(|case| (one_of(case.deal(), party), &case.x[party][..])).collect();
        let masked = session.open_masked(&q, inputs).unwrap();
        assert_eq!(session.traffic().rounds, 1);
        let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).unwrap();
        let mut handles = Vec::new();
        for (case, (keys, x_hat)) in all.iter().zip(masked) {
            assert_eq!(x_hat, case.x_hat());
            handles.push(batch.enqueue(Job::new(case.task, keys, x_hat)).unwrap());
        }
        batch.flush().unwrap();
        session.finalize(&mut batch).unwrap();
        // the number of rounds of the longest gate
        let rounds = all.iter().map(|case| case.gate.cost().rounds).max().unwrap();
        assert_eq!(session.traffic().rounds, rounds);
        assert_eq!(batch.counters().rounds, rounds - 1);
        handles.into_iter().map(|handle| flat(batch.shares(handle).unwrap())).collect::<Vec<_>>()
    });
    for ((zero, one), expected) in mine.into_iter().zip(theirs).zip(expected) {
        assert_eq!([zero, one], expected);
    }
}

fn one_of<T>(of_each: [T; 2], party: usize) -> T {
    let [zero, one] = of_each;
    if party == 0 { zero } else { one }
}

#[test]
fn parties_with_other_jobs_are_told_and_nobody_gets_a_share() {
    let q = cpu(None);
    let errors = both([(), ()], |mut session, party, ()| {
        let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).unwrap();
        let case = relu(8, 5);
        // The same keys and sizes, another task.
        let task = if party == 0 { Task::Relu } else { Task::Abs };
        let job = Job::new(task, one_of(case.keys(), party), case.x_hat());
        let handle = batch.enqueue(job).unwrap();
        batch.flush().unwrap();
        let error = session.finalize(&mut batch).unwrap_err();
        assert_eq!(batch.shares(handle).unwrap_err(), BatchError::Poisoned);
        assert_eq!(batch.clear().unwrap_err(), BatchError::Poisoned);
        assert_eq!(session.finalize(&mut batch).unwrap_err(), BatchError::Poisoned.into());
        let refused = session.open_masked(&q, vec![]).unwrap_err();
        assert_eq!(refused, PfssError::Closed);
        error
    });
    let [(mut zero, _), _] = flushed(&q, None, BatchConfig::default(), &[&relu(8, 5)]).unwrap();
    let [_, (mut one, _)] = flushed(&q, None, BatchConfig::default(), &[&relu(8, 6)]).unwrap();
    let alone = finalize_lockstep([&mut zero, &mut one], |_, _| {}).unwrap_err();
    for error in errors.into_iter().chain([alone]) {
        assert!(matches!(error, PfssError::Channel(ChannelError::Step { round: 0, .. })), "{error}");
    }
}

#[test]
fn a_message_of_the_wrong_length_poisons_the_batch() {
    let q = cpu(None);
    let case = relu(33, 1);
    assert_eq!(case.gate, Gate::relu(64).unwrap());
    for bytes in [0, 4, 6] {
        let [(mut batch, handles), _] = flushed(&q, None, BatchConfig::default(), &[&case]).unwrap();
        assert_eq!(batch.round().unwrap().unwrap().len(), 5);
        let refused = batch.absorb(&vec![0; bytes]).unwrap_err();
        assert_eq!(refused, PfssError::Channel(ChannelError::Length { expected: 5, got: bytes as u64 }));
        assert_eq!(batch.shares(handles[0]).unwrap_err(), BatchError::Poisoned);
        assert_eq!(batch.round().unwrap_err(), BatchError::Poisoned.into());
    }
}

/// Operations own what they say, and shared batches their queues: nothing that made them is left.
#[test]
fn a_shared_batch_of_operations_outlives_its_makers_and_measures_by_its_clock() {
    let table: Vec<u64> = (0..32).map(|x| 31 - x).collect();
    let n = |n| Parameters { n, ..Parameters::default() };
    let operations = [
        Operation::named("ars", &Parameters { shift: Some(3), ..n(20) }),
        Operation::named("lut", &Parameters { word_bits: Some(5), table: Some(&table), ..n(5) }),
    ];
    let operations = operations.map(|operation| Arc::new(operation.unwrap()));
    drop(table);
    let (mut dealer, ticks) = (Dealer::insecure_from_seed(6), Arc::new(AtomicU64::new(0)));
    let [mut zero, mut one] = [0, 1].map(|_| {
        let (q, ticks) = (Arc::new(cpu(None)), Arc::clone(&ticks));
        let stager = Streams::fork(&*q).unwrap().into_queues().map(Arc::new);
        let batch = SuperBatch::shared(q, Some(stager), BatchConfig::default()).unwrap();
        batch.timed(move || Duration::from_millis(ticks.fetch_add(1, Ordering::Relaxed)))
    });
    let mut handles = Vec::new();
    for operation in &operations {
        // for a masked zero, the opened word is the mask, and the result is the function of zero
        let masks = [5, 31, 0];
        let q = cpu(None);
        let [first, second] = dealer.insecure_deal_for_masks(&q, operation.gate(), &masks).unwrap();
        let job =
            |bundle: KeyBundle| Job::new(Arc::clone(operation), bundle.with_open_inputs().unwrap(), masks.to_vec());
        handles.push((zero.enqueue(job(first)).unwrap(), one.enqueue(job(second)).unwrap()));
    }
    let [other, _] = dealer.deal(&cpu(None), &Gate::ars(20, 4).unwrap(), 1).unwrap();
    let other = other.with_open_inputs().unwrap();
    let foreign = zero.try_enqueue(Job::new(Arc::clone(&operations[0]), other, vec![0])).unwrap_err();
    assert_eq!((foreign.error, foreign.job.into_keys().count()), (PfssError::Program, 1));
    assert_eq!(zero.digest(), one.digest());

    zero.flush().unwrap();
    one.flush().unwrap();
    finalize_lockstep([&mut zero, &mut one], |_, _| {}).unwrap();
    for (operation, (a, b)) in operations.iter().zip(handles) {
        let shares = [flat(zero.shares(a).unwrap()), flat(one.shares(b).unwrap())];
        assert_eq!(add(operation.gate().out_ring(), [&shares[0], &shares[1]]), [operation.eval(0)[0]; 3]);
    }
    let times = zero.counters().times;
    for part in [times.copy_in, times.walk, times.copy_out, times.exchange, times.idle] {
        assert!(part > Duration::ZERO, "{times:?}");
    }
    assert!(times.flushes() + times.exchange <= Duration::from_millis(ticks.load(Ordering::Relaxed)));
}

#[test]
fn a_batch_on_a_gpu_asks_for_a_stager_and_for_its_own() {
    let sim = Sim::new("");
    let q = sim.queue(None);
    let missing = SuperBatch::new(&q, None, BatchConfig::default()).unwrap_err();
    assert_eq!(missing, BatchError::NoStager { kind: BackendKind::Cuda }.into());
    let foreign = Streams::fork(&cpu(None)).unwrap();
    let refused = SuperBatch::new(&q, Some(&foreign), BatchConfig::default()).unwrap_err();
    assert!(matches!(refused, PfssError::Batch(BatchError::ForeignStager { .. })), "{refused}");
    // The same device, opened a second time, has another memory.
    let again = Streams::fork(&sim.queue(None)).unwrap();
    let refused = SuperBatch::new(&q, Some(&again), BatchConfig::default()).unwrap_err().to_string();
    let name = "cuda (Simulated device 0)";
    assert_eq!(refused, format!("expected a stager for {name}, got one for {name}, opened separately"));
    let streams = Streams::fork(&q).unwrap();
    SuperBatch::new(&q, Some(&streams), BatchConfig::default()).unwrap();
}
