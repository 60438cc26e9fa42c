//! Proofs over several ranks are identical to proofs of one.

use backend_api::{Counted as _, Queue as _, Ranks as _};
use collective::Local;
use runtime::{Choice, Settings};
use stark::{PcsConfig, ProofGraph, Residency, memory_plan, memory_plan_of_rank, memory_plan_on};

use crate::{
    common::{configs, open, open_with, processor, refused_by_one_byte},
    devices::{bytes::config, devices, watched::Watched},
    queues::on_ranks,
    samples::{Sample, prove_replayed},
};

/// The proof of one device, and that the ranks of each group make the same, twice.
fn hold(choice: Choice, groups: &[usize], config: PcsConfig, sample: &Sample) {
    let expected = sample.proven(config);
    for &ranks in groups {
        let proofs = on_ranks(Local::group(ranks), choice, |q, rank| {
            let mut prover = sample.sharded(q, Watched::new(rank), config).unwrap();
            let residency = prover.residency();
            assert_eq!(matches!(residency, Residency::Full | Residency::Truncated), ranks == 1);
            let planned = match ranks {
                1 => memory_plan(&config, &sample.statement, residency),
                _ => memory_plan_of_rank(&config, &sample.statement, ranks),
            };
            assert_eq!(q.budget().live_bytes(), planned.unwrap().bytes_on(q));
            [(); 2].map(|()| prover.prove(q, &sample.trace))
        });
        assert!(proofs.iter().flatten().all(|proof| *proof == expected), "{ranks} ranks, {choice:?}, {config:?}");
    }
}

#[test]
fn ranks_on_the_processor_make_the_proof_of_one() {
    for config in configs() {
        for sample in Sample::small() {
            hold(Choice::Cpu, &[1, 2, 4, 8], config, &sample);
        }
    }
    // Columns that are exchanged in several rounds arrive in their places. A rank sends 64 columns of 2^14 rows at
    // once, in the last round fewer or none.
    for sample in [Sample::wide(14, 4 * 64 + 3, 0), Sample::poseidon2(14, [0; 16])] {
        hold(Choice::Cpu, &[4], PcsConfig::default(), &sample);
    }
}

#[test]
fn ranks_that_keep_the_root_of_their_part_of_a_tree_alone_make_the_proof_of_one() {
    for (log_rows, lifting, ranks) in [(1, 5, 2), (3, 7, 8), (5, 8, 4), (3, 7, 4), (4, 8, 8)] {
        let config = PcsConfig { lifting_log_size: Some(lifting), ..PcsConfig::default() };
        hold(Choice::Cpu, &[ranks], config, &Sample::wide(log_rows, 4, 0));
    }
}

#[test]
fn as_many_ranks_as_copies_keep_the_coefficients_of_their_own_columns_alone() {
    // A rank's words of the coefficients of 37 columns, plus the eight of the composition polynomial.
    let words = |columns: u64| 4 * ((columns + 8) << 9);
    let sample = Sample::wide(9, 37, 0);
    for (log_blowup, ranks, columns) in
        [(1, 2, 19), (1, 4, 10), (1, 8, 5), (2, 2, 37), (2, 4, 10), (2, 8, 5), (3, 4, 37), (3, 16, 3)]
    {
        let config = config(log_blowup);
        let plan = memory_plan_of_rank(&config, &sample.statement, ranks).unwrap();
        assert_eq!(plan.parts().coefficients, words(columns), "{ranks} ranks, 2^{log_blowup} copies");
        hold(Choice::Cpu, &[ranks], config, &sample);
    }
    // Of rows as few as these, not every rank can have a block in each copy.
    let plan = memory_plan_of_rank(&config(1), &Sample::wide(2, 37, 0).statement, 4).unwrap();
    assert_eq!(plan.parts().coefficients, 4 * ((37 + 8) << 2));
}

#[test]
fn ranks_on_simulated_devices_make_the_proof_of_one() {
    let _devices = devices();
    let (wide, steps) = (Sample::wide(5, 12, 0), Sample::steps([6, 4], [1, 2]));
    for config in configs() {
        hold(Choice::Sim, &[1, 2, 4, 8], config, &wide);
        hold(Choice::Sim, &[2, 4], config, &steps);
    }
}

#[test]
fn what_generators_make_on_every_rank_is_proven_too() {
    let [config, other] = configs();
    let all = [(config, 2), (config, 8), (other, 2), (other, 4)];
    // Look-ups in tables whose uses are counted.
    let blocks: Vec<[u32; 16]> = (0..16).map(|block| [block; 16]).collect();
    let tables = (Sample::blake2s(&blocks), vec![(config, 2), (config, 4), (other, 2)]);
    let others = [
        Sample::steps([6, 5], [3, 4]),
        Sample::plonk(60, [3, 9]),
        Sample::poseidon2(4, [0; 16]),
        Sample::wide(5, 13, 0),
        Sample::wide(7, 3, 0),
    ];
    for (sample, groups) in others.map(|sample| (sample, all.to_vec())).into_iter().chain([tables]) {
        for (config, ranks) in groups {
            let expected = sample.proven(config);
            let proofs = on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
                let mut prover = sample.sharded(q, Watched::new(rank), config).unwrap();
                let from = prover.prove_from(q, &sample.source);
                [from, prover.prove(q, &sample.trace), prover.prove_from(q, &sample.source)]
            });
            assert!(proofs.iter().flatten().all(|proof| *proof == expected), "{ranks} ranks");
        }
    }
}

#[test]
fn ranks_without_room_for_the_making_of_a_trace_gather_coefficients() {
    let (config, sample) = (PcsConfig::default(), Sample::wide(10, 200, 0));
    let expected = sample.proven(config);
    let plan = memory_plan_of_rank(&config, &sample.statement, 2).unwrap();
    assert_eq!(plan.making_bytes(), 4 * (200 << 10));
    // Seeds and what single ops need take some more.
    let enough = plan.bytes_on(&processor()) + plan.making_bytes() + (64 << 10);
    for (limit, blocks) in [(enough, 4), (enough - plan.making_bytes(), 8)] {
        let made = on_ranks(Local::group(2), Choice::Cpu, |_, rank| {
            let q = open(Choice::Cpu, Some(limit));
            let mut prover = sample.sharded(&q, rank, config).unwrap();
            (prover.residency(), prover.prove_from(&q, &sample.source))
        });
        assert_eq!(made, vec![(Residency::Blocks(blocks), expected.clone()); 2]);
    }
}

#[test]
fn ranks_take_at_most_two_percent_more_than_was_planned() {
    let sample = Sample::wide(16, 8, 0);
    for (log_blowup, ranks) in [(2, 2), (1, 4)] {
        let config = config(log_blowup);
        let plan = memory_plan_of_rank(&config, &sample.statement, ranks).unwrap();
        on_ranks(Local::group(ranks), Choice::Cpu, |q, rank| {
            sample.prove_sharded(q, rank, config).unwrap();
            let (planned, peak) = (plan.bytes_on(q), q.budget().peak_bytes());
            assert!(planned <= peak && peak - planned <= planned / 50, "{ranks} ranks: {peak} instead of {planned}");
        });
    }
}

#[test]
fn ranks_on_simulated_devices_are_refused_before_any_work_with_a_byte_less_than_the_least() {
    let (_devices, config) = (devices(), config(1));
    // Its preprocessed columns are committed to when the prover is made.
    let sample = Sample::plonk(60, [3, 9]);
    let made = |limit: u64| {
        on_ranks(Local::group(4), Choice::Sim, |_, rank| {
            let cuda_device = rank.rank() as u32;
            let settings = Settings { cuda_device, mem_limit_bytes: Some(limit), ..Settings::default() };
            let q = open_with(Choice::Sim, &settings);
            let before = q.submissions();
            let planned = memory_plan_on(&q, &config, &sample.statement, 4).unwrap().bytes_on(&q);
            let made = sample.sharded(&q, rank, config);
            let submitted = q.submissions() - before;
            // Ranks copy what they were made for, to agree.
            let work = [submitted.launches, submitted.allocations];
            (planned, work, made.map(|prover| (prover.residency(), q.budget().live_bytes())))
        })
    };
    let all = on_ranks(Local::group(4), Choice::Sim, |q, _| {
        memory_plan_of_rank(&config, &sample.statement, 4).unwrap().bytes_on(q)
    });
    // The least memory that a budget can have does not hold it.
    let least = made(1 << 16)[0].0;
    assert!(least <= all[0] && least > 1 << 16, "{least} of {}", all[0]);
    for (planned, work, made) in made(least - 1) {
        assert_eq!((planned, work, made), (least, [0, 0], Err(refused_by_one_byte(least, least - 1))));
    }
    // Single ops need some more.
    for (planned, work, made) in made(least + 4096) {
        assert_eq!((planned, made.map(|(_, live)| live)), (least, Ok(least)));
        assert!(work[0] > 0, "{work:?}");
    }
}

#[test]
fn proofs_with_a_graph_are_made_op_by_op() {
    let _devices = devices();
    let (config, sample) = (PcsConfig::default(), Sample::wide(5, 12, 0));
    let expected = sample.proven(config);
    on_ranks(Local::group(2), Choice::Sim, |q, rank| {
        let mut prover = sample.sharded(q, rank, config).unwrap();
        let mut graph = ProofGraph::new();
        for _ in 0..3 {
            assert!(prove_replayed(&mut prover, q, &mut graph, &sample.trace) == expected);
        }
        assert!(!graph.is_recorded());
    });
}

#[test]
fn all_ranks_take_as_many_blocks_as_the_one_with_the_least_memory() {
    let (config, sample) = (PcsConfig::default(), Sample::wide(10, 200, 0));
    let expected = sample.proven(config).unwrap();
    let few = memory_plan_of_rank(&config, &sample.statement, 2).unwrap();
    let made = on_ranks(Local::group(2), Choice::Cpu, |_, rank| {
        let limit = few.bytes_on(&processor()) - 1;
        let q = open(Choice::Cpu, (rank.rank() == 1).then_some(limit));
        let mut prover = sample.sharded(&q, rank, config).unwrap();
        (prover.residency(), prover.prove(&q, &sample.trace).unwrap())
    });
    assert_eq!(made, vec![(Residency::Blocks(8), expected); 2]);
}
