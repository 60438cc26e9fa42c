//! Whatever a rank is refused, all end: with the proof, or with an error that names who failed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use backend_api::{Queue as _, Ranks as _};
use collective::Local;
use cuda_sim::driver::Report;
use runtime::Choice;
use stark::{CollectiveError, M31, PcsConfig, ProveError, ProveOptions, ProverError, TraceSource};

use crate::{
    common::{Proven, calls_of, configs, inject, is_refusal, on_queues},
    devices::{bytes::config, devices, gave_up, watched::Watched},
    queues::{on_ranks, queues},
    samples::Sample,
};

/// Logs of the blow-up, and ranks: two that gather coefficients, and four that are column-partitioned.
const WAYS: [(u32, usize); 2] = [(2, 2), (1, 4)];

fn sample() -> Sample {
    Sample::wide(4, 6, 0)
}

#[test]
fn whatever_exchange_fails_on_a_rank_all_end_with_its_name() {
    let (session, sample) = (devices(), sample());
    let prove = |choice, config, ranks: usize, at: u64, odd: usize| -> (Vec<Proven>, u64) {
        let calls = Arc::new(AtomicU64::new(0));
        let proven = on_ranks(Local::group(ranks), choice, |q, rank| {
            let watched = match rank.rank() == odd {
                true => Watched::failing(rank, Arc::clone(&calls), at),
                false => Watched::new(rank),
            };
            sample.prove_sharded(q, watched, config)
        });
        (proven, calls.load(Ordering::Relaxed))
    };
    for ((log_blowup, ranks), choice) in WAYS.into_iter().flat_map(|way| [(way, Choice::Cpu), (way, Choice::Sim)]) {
        let config = config(log_blowup);
        let expected = sample.proven(config);
        let prove = |at, odd| prove(choice, config, ranks, at, odd);
        let (proven, calls) = prove(u64::MAX, 0);
        assert!(proven.iter().all(|proven| *proven == expected));
        assert!(calls > 15, "{calls}");
        for (at, odd) in (0..calls).flat_map(|at| [(at, 0), (at, ranks - 1)]) {
            let (proven, _) = prove(at, odd);
            for (rank, proven) in proven.into_iter().enumerate() {
                let refused = CollectiveError::Transport("refused".to_owned());
                let own = ProveError::Prover(ProverError::Collective(refused));
                let why = if rank == odd { own } else { gave_up(odd) };
                assert_eq!(proven, Err(why), "call {at} of rank {odd} of {ranks}, {choice:?}");
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
    let (session, sample, queues) = (devices(), sample(), queues(Choice::Sim, ranks));
    let prove = || on_queues(&queues, Local::group(ranks), |q, rank| sample.prove_sharded(q, rank, config));
    inject(&session, rule);
    let (proven, made) = calls_of(&session, prove);
    session.clear_faults();
    let is_lost = rule.is_some_and(|rule| rule.starts_with("fail=700"));
    if again && !is_lost {
        assert_eq!(prove(), vec![sample.proven(config); ranks], "after {rule:?}");
    }
    drop(queues);
    // A device that is lost takes nothing back.
    let leaks = session.reports().into_iter().filter(|report| matches!(report, Report::Leak(_)));
    assert_eq!(leaks.filter(|_| !is_lost).collect::<Vec<_>>(), [], "{rule:?}");
    (proven, made)
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
    let expected = sample().proven(config);
    let (proven, made) = prove(config, ranks, None, false);
    assert!(proven.iter().all(|proven| *proven == expected));
    let (mut failed, mut refused) = (0, BTreeMap::new());
    for (call, count) in made {
        let turns = (1..=count).step_by(count.div_ceil(most(call)) as usize);
        for (number, (turn, code)) in turns.zip([700, 1, 2].into_iter().cycle()).enumerate() {
            let rule = format!("fail={code}@{call}:{turn}");
            // Two of three devices are not lost.
            let (proven, _) = prove(config, ranks, Some(&rule), number % 5 == 1);
            let odd = proven.iter().position(|proven| proven.as_ref().is_err_and(|why| is_refusal(why, code)));
            let Some(odd) = odd else {
                // Some refusals cost nothing.
                assert!(proven.iter().all(|proven| *proven == expected), "{rule}: {proven:?}");
                continue;
            };
            *refused.entry(call).or_insert(0) += 1;
            for (_, other) in proven.iter().enumerate().filter(|(rank, _)| *rank != odd) {
                // A device that is lost after the last exchange has no proof, and the others have.
                assert!(*other == expected || *other == Err(gave_up(odd)), "{rule}: {other:?}");
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
    let (session, sample) = (devices(), sample());
    let (made, (failed, has_failed)) = (Barrier::new(2), mpsc::channel());
    let has_failed = Mutex::new(has_failed);
    let proven = on_ranks(Local::group(2), Choice::Sim, |q, rank| {
        let is_first = rank.rank() == 0;
        let mut prover = sample.sharded(q, rank, PcsConfig::default()).unwrap();
        q.finish().unwrap();
        // The first wait of the first rank fails, before the other begins.
        if made.wait().is_leader() {
            inject(&session, ["fail=700@cuStreamSynchronize:1"]);
        }
        made.wait();
        if !is_first {
            has_failed.lock().unwrap().recv_timeout(Duration::from_mins(1)).unwrap();
        }
        let mut stages = Vec::new();
        let watch = &mut |stage| stages.push(stage);
        let source = TraceSource::columns(&sample.trace);
        let proven = prover.prove_with(q, &source, ProveOptions::new().watching(watch));
        if is_first {
            failed.send(()).unwrap();
        }
        (proven, stages.len())
    });
    assert!(proven[0].0.as_ref().is_err_and(|why| is_refusal(why, 700)) && proven[0].1 == 0, "{proven:?}");
    assert_eq!(proven[1].0, Err(gave_up(0)));
}

#[test]
fn a_rank_that_stalls_ends_all() {
    let (session, sample) = (devices(), sample());
    let prove = |choice| {
        // Ranks also wait for each other as provers are made, so patience is long enough for a busy machine. Rank 1 comes
        // after rank 0 gave it up.
        let has_failed = Barrier::new(2);
        on_ranks(Local::patient_group(2, Duration::from_secs(10)), choice, |q, rank| {
            let is_late = rank.rank() == 1;
            let mut prover = sample.sharded(q, rank, PcsConfig::default()).unwrap();
            if is_late {
                has_failed.wait();
                return prover.prove(q, &sample.trace);
            }
            let failed = prover.prove(q, &sample.trace);
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
    let [config, other_config] = configs();
    for (ranks, own, other, config_of_1) in [
        (4, [4, 6], [5, 6], config),
        // Equal columns and heights, but another first challenge.
        (4, [4, 6], [4, 6], other_config),
        (2, [4, 7], [4, 6], config),
    ] {
        let [own, other] = [own, other].map(|[log_rows, columns]| Sample::wide(log_rows, columns, 0));
        let made = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            let (sample, config) = if rank.rank() == 1 { (&other, config_of_1) } else { (&own, config) };
            sample.sharded(q, rank, config).map(drop)
        });
        assert_eq!(made, vec![Err(ProveError::Prover(ProverError::Disagreement { rank: 1 })); ranks]);
    }
}

#[test]
fn a_rank_whose_transcript_differs_in_the_end_is_named_by_the_others() {
    // Another trace has other claimed sums, which each rank computes from the rows that it was given.
    let [machine, other] = [[1, 2], [1, 3]].map(|first| Sample::steps([4, 4], first));
    for (config, ranks) in configs().into_iter().flat_map(|config| [(config, 2), (config, 4)]) {
        let proven = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            let given = if rank.rank() == 1 { &other } else { &machine };
            machine.sharded(q, rank, config)?.prove(q, &given.trace)
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
    let sample = Sample::wide(2, 3, 0);
    for ranks in [3, 6, 8, 64] {
        let made = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            sample.sharded(q, rank, PcsConfig::default()).map(drop)
        });
        assert_eq!(made, vec![Err(ProveError::Prover(ProverError::Ranks { most: 4, got: ranks })); ranks]);
    }
}

#[test]
fn a_trace_that_breaks_a_constraint_has_no_proof_on_any_rank() {
    let (sample, config) = (sample(), PcsConfig::default());
    let mut broken = sample.trace.clone();
    broken[0][3][5] += M31::ONE;
    let proven = on_ranks(Local::group(4), Choice::Cpu, |q, rank| {
        let mut prover = sample.sharded(q, rank, config).unwrap();
        // The group goes on.
        [prover.prove(q, &broken), prover.prove(q, &sample.trace)]
    });
    let refused = Err(ProveError::Prover(ProverError::Constraints));
    assert_eq!(proven, vec![[refused, sample.proven(config)]; 4]);
}
