//! Whatever a rank is refused, all end: with the proof, or with an error that names who failed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Barrier, Mutex, atomic::AtomicU64, mpsc},
    time::Duration,
};

use backend_api::{BackendError, Queue as _, Ranks as _};
use collective::Local;
use cuda_sim::driver::{Report, Rule};
use runtime::Choice;
use stark::{
    CollectiveError, M31, PcsConfig, Protocol, ProveError, ProveOptions, ProverError, StatementProof, StatementProver,
    TraceSource,
};
use stark_airs::StateMachine;

use crate::{
    common::configs,
    devices::{bytes::config, devices, on_ranks, open, watched::Failing, wide},
};

type Proven = Result<StatementProof, ProveError>;

/// Logs of the blow-up, and ranks: two that gather coefficients, and four that are column-partitioned.
const WAYS: [(u32, usize); 2] = [(2, 2), (1, 4)];

fn expected(config: PcsConfig) -> StatementProof {
    let (air, trace) = wide(4, 6);
    let q = runtime::cpu().unwrap();
    StatementProver::new(&q, Protocol::V2_3, config, &air).unwrap().prove(&q, &trace).unwrap()
}

fn collective(error: CollectiveError) -> ProveError {
    ProveError::Prover(ProverError::Collective(error))
}

#[test]
fn whatever_exchange_fails_on_a_rank_all_end_with_its_name() {
    let (air, trace) = wide(4, 6);
    let session = devices();
    let prove = |choice, config, ranks: usize, at: u64, odd: usize| -> (Vec<Proven>, u64) {
        let calls = Arc::new(AtomicU64::new(0));
        let proven = on_ranks(Local::group(ranks), choice, |q, rank| {
            let counted = if rank.rank() == odd { Arc::clone(&calls) } else { Arc::default() };
            let at = if rank.rank() == odd { at } else { u64::MAX };
            let failing = Failing { inner: rank, calls: counted, at };
            StatementProver::sharded(q, failing, Protocol::V2_3, config, &air)?.prove(q, &trace)
        });
        (proven, calls.load(core::sync::atomic::Ordering::Relaxed))
    };
    for ((log_blowup, ranks), choice) in WAYS.into_iter().flat_map(|way| [(way, Choice::Cpu), (way, Choice::Sim)]) {
        let config = config(log_blowup);
        let expected = expected(config);
        let prove = |at, odd| prove(choice, config, ranks, at, odd);
        let (proven, calls) = prove(u64::MAX, 0);
        assert!(proven.iter().all(|proven| proven.as_ref() == Ok(&expected)));
        assert!(calls > 15, "{calls}");
        for (at, odd) in (0..calls).flat_map(|at| [(at, 0), (at, ranks - 1)]) {
            let (proven, _) = prove(at, odd);
            for (rank, proven) in proven.into_iter().enumerate() {
                let why = match rank == odd {
                    true => CollectiveError::Transport("refused".to_owned()),
                    false => CollectiveError::GaveUp { rank: odd },
                };
                assert_eq!(proven, Err(collective(why)), "call {at} of rank {odd} of {ranks}, {choice:?}");
            }
            assert_eq!(session.reports(), [], "call {at} of rank {odd} of {ranks}");
        }
    }
}

/// Makes a proof on simulated devices under a fault rule, and returns the number of times each call was made.
///
/// If `again` is set and no device is lost, another group then makes the proof.
fn prove(
    config: PcsConfig,
    ranks: usize,
    rule: Option<&str>,
    again: bool,
) -> (Vec<Proven>, BTreeMap<&'static str, u64>) {
    let session = devices();
    let (air, trace) = wide(4, 6);
    let (air, trace) = (&air, &trace);
    let queues: Vec<_> = (0..ranks as u32).map(|device| open(Choice::Sim, device)).collect();
    let prove = || -> Vec<Proven> {
        let proven = test_process::scope(|scope| {
            let ranks = Local::group(ranks).into_iter().zip(&queues).map(|(rank, q)| {
                let made = move || StatementProver::sharded(q, rank, Protocol::V2_3, config, air)?.prove(q, trace);
                scope.spawn(made)
            });
            let ranks: Vec<_> = ranks.collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        assert!(queues.iter().all(|q| q.budget().live_bytes() == 0), "{rule:?}");
        proven
    };
    let before = session.counters().calls;
    if let Some(rule) = rule {
        session.inject(rule.parse::<Rule>().unwrap());
    }
    let proven = prove();
    let made = session.counters().calls.into_iter();
    let made = made.map(|(call, count)| (call, count - before.get(call).copied().unwrap_or(0))).collect();
    session.clear_faults();
    let is_lost = rule.is_some_and(|rule| rule.starts_with("fail=700"));
    if again && !is_lost {
        assert_eq!(prove(), vec![Ok(expected(config)); ranks], "after {rule:?}");
    }
    drop(queues);
    // A device that is lost takes nothing back.
    let leaks = session.reports().into_iter().filter(|report| matches!(report, Report::Leak(_)));
    assert_eq!(leaks.filter(|_| !is_lost).collect::<Vec<_>>(), [], "{rule:?}");
    (proven, made)
}

/// Whether a device's answer to a call was `code`.
fn is_refusal(error: &ProveError, code: i32) -> bool {
    let (ProveError::Prover(ProverError::Backend(error))
    | ProveError::Prover(ProverError::Collective(CollectiveError::Backend(error)))) = error
    else {
        return false;
    };
    match error {
        BackendError::DeviceLost { .. } => code == 700,
        BackendError::OutOfMemory { .. } => code == 2,
        BackendError::Driver { code: reported, .. } => *reported == code,
        // Modules are loaded when they are needed.
        BackendError::Kernel { reason, .. } => reason.contains(&format!("({code})")),
        _ => false,
    }
}

#[test]
fn some_calls_that_a_driver_refuses_to_four_ranks_end_all_with_the_proof_or_an_error() {
    let [_, (log_blowup, ranks)] = WAYS;
    refuse_calls(log_blowup, ranks, |_| 16);
}

/// Of calls that only make a context current, which are most of all, some are refused, and each of all others.
fn each_but_of_contexts(call: &str) -> u64 {
    if call.starts_with("cuCtx") { 32 } else { u64::MAX }
}

#[test]
fn whatever_call_is_refused_two_ranks_that_gather_coefficients_end_with_the_proof_or_an_error() {
    refuse_calls(2, 2, each_but_of_contexts);
}

#[test]
fn whatever_call_is_refused_two_column_partitioned_ranks_end_with_the_proof_or_an_error() {
    refuse_calls(1, 2, each_but_of_contexts);
}

/// Refuses calls of the driver in turn during a proof of ranks, `most` of each function or all of them.
fn refuse_calls(log_blowup: u32, ranks: usize, most: impl Fn(&str) -> u64) {
    let config = config(log_blowup);
    let expected = expected(config);
    let (proven, made) = prove(config, ranks, None, false);
    assert!(proven.iter().all(|proven| proven.as_ref() == Ok(&expected)));
    let (mut failed, mut refused) = (0, BTreeMap::new());
    let made = made.into_iter().filter(|(call, count)| *count > 0 && !call.starts_with("cuGetError"));
    for (call, count) in made {
        let turns = (1..=count).step_by(count.div_ceil(most(call)) as usize);
        for (number, (turn, code)) in turns.zip([700, 1, 2].into_iter().cycle()).enumerate() {
            let rule = format!("fail={code}@{call}:{turn}");
            // Two of three devices are not lost.
            let (proven, _) = prove(config, ranks, Some(&rule), number % 5 == 1);
            let odd = proven.iter().position(|proven| proven.as_ref().is_err_and(|why| is_refusal(why, code)));
            let Some(odd) = odd else {
                // Some refusals cost nothing.
                assert!(proven.iter().all(|proven| proven.as_ref() == Ok(&expected)), "{rule}: {proven:?}");
                continue;
            };
            *refused.entry(call).or_insert(0) += 1;
            for (_, other) in proven.iter().enumerate().filter(|(rank, _)| *rank != odd) {
                let gave_up = collective(CollectiveError::GaveUp { rank: odd });
                // A device that is lost after the last exchange has no proof, and the others have.
                assert!(other.as_ref() == Ok(&expected) || *other == Err(gave_up), "{rule}: {other:?}");
                failed += u32::from(other.is_err());
            }
        }
    }
    for call in ["cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2"] {
        assert!(refused.get(call).is_some_and(|&times| times > 1), "{call} of {ranks} ranks: {refused:?}");
    }
    assert!(failed > 15, "{failed} of {ranks} ranks");
}

#[test]
fn a_rank_whose_device_is_lost_before_a_watched_proof_ends_all() {
    let (air, trace) = wide(4, 6);
    let session = devices();
    let (made, (failed, has_failed)) = (Barrier::new(2), mpsc::channel());
    let has_failed = Mutex::new(has_failed);
    let proven = on_ranks(Local::group(2), Choice::Sim, |q, rank| {
        let is_first = rank.rank() == 0;
        let mut prover = StatementProver::sharded(q, rank, Protocol::V2_3, PcsConfig::default(), &air).unwrap();
        q.finish().unwrap();
        // The first wait of the first rank fails, before the other begins.
        if made.wait().is_leader() {
            session.inject("fail=700@cuStreamSynchronize:1".parse::<Rule>().unwrap());
        }
        made.wait();
        if !is_first {
            has_failed.lock().unwrap().recv_timeout(Duration::from_mins(1)).unwrap();
        }
        let mut stages = Vec::new();
        let watch = &mut |stage| stages.push(stage);
        let proven = prover.prove_with(q, &TraceSource::columns(&trace), ProveOptions::new().watching(watch));
        if is_first {
            failed.send(()).unwrap();
        }
        (proven, stages.len())
    });
    assert!(proven[0].0.as_ref().is_err_and(|why| is_refusal(why, 700)) && proven[0].1 == 0, "{proven:?}");
    assert_eq!(proven[1].0, Err(collective(CollectiveError::GaveUp { rank: 0 })));
}

#[test]
fn a_rank_that_stalls_ends_all() {
    let (air, trace) = wide(4, 6);
    let session = devices();
    let prove = |choice| {
        // Ranks also wait for each other as provers are made, so patience is long enough for a busy machine. Rank 1 comes
        // after rank 0 gave it up.
        let has_failed = Barrier::new(2);
        on_ranks(Local::patient_group(2, Duration::from_secs(10)), choice, |q, rank| {
            let is_late = rank.rank() == 1;
            let mut prover = StatementProver::sharded(q, rank, Protocol::V2_3, PcsConfig::default(), &air).unwrap();
            if is_late {
                has_failed.wait();
                return prover.prove(q, &trace);
            }
            let failed = prover.prove(q, &trace);
            has_failed.wait();
            failed
        })
    };
    // Both wait side by side.
    let proven = test_process::scope(|scope| {
        let on_processors = scope.spawn(|| prove(Choice::Cpu));
        [prove(Choice::Sim), on_processors.join().unwrap()].concat()
    });
    for proven in proven {
        let Err(ProveError::Prover(ProverError::Collective(CollectiveError::Stalled { rank: 1, seconds: 10, call }))) =
            proven
        else {
            panic!("{proven:?}")
        };
        assert!(call.starts_with("all-to-all of M31"), "{call}");
    }
    assert_eq!(session.reports(), []);
}

#[test]
fn ranks_with_other_statements_or_parameters_end_with_a_name() {
    let small = wide(4, 6).0;
    // Equal columns and heights, but another first challenge.
    for (other, config_of_1) in [(wide(5, 6).0, PcsConfig::default()), (small, configs()[1])] {
        let made = on_ranks(Local::group(4), Choice::Cpu, |q, rank| {
            let (air, config) = if rank.rank() == 1 { (&other, config_of_1) } else { (&small, PcsConfig::default()) };
            StatementProver::sharded(q, rank, Protocol::V2_3, config, air).map(drop)
        });
        assert_eq!(made, vec![Err(ProveError::Prover(ProverError::Disagreement { rank: 1 })); 4]);
    }
    let made = on_ranks(Local::group(2), Choice::Cpu, |q, rank| {
        let air = if rank.rank() == 1 { wide(4, 6).0 } else { wide(4, 7).0 };
        StatementProver::sharded(q, rank, Protocol::V2_3, PcsConfig::default(), &air).map(drop)
    });
    assert_eq!(made, vec![Err(ProveError::Prover(ProverError::Disagreement { rank: 1 })); 2]);
}

#[test]
fn a_rank_whose_transcript_differs_in_the_end_is_named_by_the_others() {
    let machine = StateMachine::new([4, 4], [1, 2].map(M31::from_u32)).unwrap();
    // Another trace has other claimed sums, which each rank computes from the rows that it was given.
    let other = StateMachine::new([4, 4], [1, 3].map(M31::from_u32)).unwrap();
    for (config, ranks) in configs().into_iter().flat_map(|config| [(config, 2), (config, 4)]) {
        let proven = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            let given = if rank.rank() == 1 { &other } else { &machine };
            StatementProver::sharded(q, rank, Protocol::V2_3, config, &machine)?.prove(q, &given.trace())
        });
        for (rank, proven) in proven.into_iter().enumerate() {
            let disagrees = ProveError::Prover(ProverError::Disagreement { rank: 1 });
            // The one that was given the other trace may see first that it is not the statement's.
            assert!(proven == Err(disagrees) || (rank == 1 && proven == Err(ProveError::Sums)), "{rank}: {proven:?}");
        }
    }
}

#[test]
fn groups_that_a_statement_cannot_be_shared_among_are_refused() {
    let (air, _) = wide(2, 3);
    for (ranks, most) in [(3, 4), (8, 4), (6, 4)] {
        let made = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            StatementProver::sharded(q, rank, Protocol::V2_3, PcsConfig::default(), &air).map(drop)
        });
        assert_eq!(made, vec![Err(ProveError::Prover(ProverError::Ranks { most, got: ranks })); ranks]);
    }
}

#[test]
fn a_trace_that_breaks_a_constraint_has_no_proof_on_any_rank() {
    let (air, mut trace) = wide(4, 6);
    trace[0][3][5] += stark::M31::ONE;
    let proven = on_ranks(Local::group(4), Choice::Cpu, |q, rank| {
        let mut prover = StatementProver::sharded(q, rank, Protocol::V2_3, PcsConfig::default(), &air).unwrap();
        let broken = prover.prove(q, &trace);
        // The group goes on.
        (broken, prover.prove(q, &wide(4, 6).1))
    });
    let expected = expected(PcsConfig::default());
    for (broken, whole) in proven {
        assert_eq!(broken, Err(ProveError::Prover(ProverError::Constraints)));
        assert_eq!(whole, Ok(expected.clone()));
    }
}
