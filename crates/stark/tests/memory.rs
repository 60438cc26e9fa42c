//! The memory of a prover is what was planned.

use core::num::NonZeroUsize;

use backend_api::{Counted as _, Queue as _};
use runtime::{AnyQueue, Choice, Settings};
use stark::{
    MemoryParts, MemoryPlan, PcsConfig, Protocol, ProveError, ProverError, Residency, StatementProver, memory_plan,
    memory_plan_of_rank, memory_plan_on, verify,
};
use stark_airs::WideFibonacci;

use crate::{
    common::{configs, little_work, open_with, refused_by_one_byte, simulate},
    samples::Sample,
    stated::{Fibonaccis, Stated},
};

const LIMIT: u64 = 1 << 30;

fn open(choice: Choice) -> AnyQueue {
    let threads = NonZeroUsize::new(2);
    open_with(choice, &Settings { mem_limit_bytes: Some(LIMIT), threads, ..Settings::default() })
}

/// Provers hold what was planned, and none is made where a byte less is free.
fn hold(sample: &Sample, residency: Residency) {
    let statement = &sample.statement;
    for (config, choice) in configs().into_iter().flat_map(|config| [(config, Choice::Cpu), (config, Choice::Sim)]) {
        let plan = memory_plan(&config, statement, residency).unwrap();
        let q = open(choice);
        let planned = plan.bytes_on(&q);
        let made = || StatementProver::with_residency(&q, Protocol::V2_3, config, statement, residency);
        let prover = made().unwrap();
        assert_eq!(q.budget().live_bytes(), planned, "{choice:?}, {config:?}");
        drop(prover);
        let parts = plan.parts();
        let all = parts.bytes();
        assert!(all <= planned && parts.rest < all && parts.trees > 0 && parts.values > 0, "{parts:?}");

        let free_bytes = planned - 1;
        let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
        let before = q.submissions();
        assert_eq!(made().err(), Some(refused_by_one_byte(planned, LIMIT)));
        assert_eq!((q.submissions() - before).calls, 0, "{choice:?}, {config:?}");
        assert_eq!(q.budget().live_bytes(), LIMIT - free_bytes);
    }
}

#[test]
fn provers_take_what_was_planned_and_are_refused_before_any_work_with_a_byte_less() {
    let _machine = simulate("");
    let residencies =
        [Residency::Full, Residency::Truncated, Residency::Blocks(4), Residency::Blocks(8), Residency::Host(4)];
    let samples = Sample::small();
    for (sample, residency) in samples.iter().flat_map(|sample| residencies.map(|residency| (sample, residency))) {
        hold(sample, residency);
    }
}

/// The bytes of a plan: its parts in their order, trace generation on the device, and host memory.
fn sizes(plan: &MemoryPlan) -> [u64; 10] {
    let MemoryParts { coefficients, values, trees, look_ups, quotients, fri, twiddles, rest } = plan.parts();
    [coefficients, values, trees, look_ups, quotients, fri, twiddles, rest, plan.making_bytes(), plan.host_bytes()]
}

/// The sizes come from a separate model of the protocol, written from its description.
#[test]
fn plans_have_the_sizes_of_a_separate_model() {
    use Residency::{Blocks, Full, Host, Truncated};
    let [config, mut other] = configs();
    other.fri_config.log_last_layer_degree_bound = 2;
    let wide =
        |log_rows, columns| Stated::WideFibonacci(Fibonaccis(vec![WideFibonacci::new(log_rows, columns).unwrap()]));
    let steps = |log_steps| Sample::steps(log_steps, [1, 2]).statement;
    let gates = Sample::plonk(60, [3, 9]).statement;
    let alone = [
        (wide(5, 40), other, Full, [6144, 24576, 16352, 0, 1024, 4320, 512, 58232, 0, 0]),
        (wide(13, 32), config, Truncated, [1310720, 2621440, 2097120, 0, 262144, 2620736, 65536, 30892, 0, 0]),
        (wide(14, 32), config, Truncated, [2621440, 5242880, 1048544, 0, 524288, 6290688, 131072, 36348, 0, 0]),
        (wide(14, 33), config, Truncated, [2686976, 5373952, 2621408, 0, 524288, 6290688, 131072, 34532, 0, 0]),
        (wide(5, 40), config, Blocks(4), [6144, 3328, 6112, 0, 1024, 3424, 256, 18412, 0, 0]),
        (wide(5, 40), config, Host(4), [2304, 3328, 6112, 0, 1024, 3424, 256, 18412, 5120, 5120]),
        (
            wide(21, 40),
            config,
            Host(2),
            [100663296, 436207616, 33554400, 0, 67108864, 234880352, 16777216, 112812, 335544320, 335544320],
        ),
        (steps([6, 4]), config, Full, [3968, 7936, 24512, 2752, 3840, 20000, 512, 13900, 0, 0]),
        (steps([6, 4]), other, Host(4), [2560, 12288, 32704, 3136, 3840, 9248, 1024, 163448, 512, 1920]),
        (steps([4, 6]), other, Blocks(8), [3968, 7744, 49088, 2752, 3840, 7200, 1024, 171128, 0, 0]),
        (gates.clone(), config, Host(2), [2560, 11776, 6016, 6176, 3072, 9024, 512, 21308, 1280, 4096]),
        (gates.clone(), other, Blocks(4), [6144, 13824, 32640, 6176, 3072, 9248, 1024, 185544, 0, 0]),
    ];
    for (statement, config, residency, expected) in alone {
        let plan = memory_plan(&config, &statement, residency).unwrap();
        assert_eq!(sizes(&plan), expected, "{residency:?}, {statement:?}");
    }
    let shared = [
        (steps([6, 4]), config, 2, [3008, 9216, 4640, 3776, 3840, 6976, 512, 28404, 0, 0]),
        (steps([6, 4]), other, 2, [3968, 7744, 24832, 2752, 3840, 7200, 1024, 206400, 0, 0]),
        (gates, config, 4, [3072, 7168, 7808, 8224, 3072, 5952, 512, 43788, 1024, 0]),
        // Columns are exchanged in two rounds.
        (wide(14, 131), config, 2, [4849664, 13434880, 196992, 0, 524288, 1834560, 131072, 176356, 8585216, 0]),
    ];
    for (statement, config, ranks, expected) in shared {
        let plan = memory_plan_of_rank(&config, &statement, ranks).unwrap();
        assert_eq!(sizes(&plan), expected, "{ranks} ranks, {statement:?}");
    }
}

#[test]
fn a_budget_that_holds_a_plan_to_the_byte_gets_it() {
    let (config, sample, q) = (PcsConfig::default(), Sample::wide(9, 37, 0), open(Choice::Cpu));
    for ranks in [1, 2] {
        let plan = match ranks {
            1 => memory_plan(&config, &sample.statement, Residency::Truncated),
            _ => memory_plan_of_rank(&config, &sample.statement, ranks),
        };
        let plan = plan.unwrap();
        // Ranks have room for trace generation too.
        let needed = plan.bytes_on(&q) + if ranks == 1 { 0 } else { plan.making_bytes() };
        let planned = |free_bytes: u64| {
            let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
            memory_plan_on(&q, &config, &sample.statement, ranks).unwrap()
        };
        assert_eq!(planned(needed), plan, "{ranks} ranks");
        assert_ne!(planned(needed - 1), plan, "{ranks} ranks");
    }
}

#[test]
fn trees_with_few_leaves_take_the_same_memory_truncated_and_whole() {
    for sample in Sample::small() {
        let plan = |residency| memory_plan(&PcsConfig::default(), &sample.statement, residency).unwrap();
        assert_eq!(plan(Residency::Full).parts(), plan(Residency::Truncated).parts());
    }
}

/// The peak of proofs is at most 2 % above the plan plus the workspace of trace generation.
fn hold_peak(choice: Choice, residency: Residency, Sample { statement, trace, source }: &Sample) {
    let config = PcsConfig::default();
    let q = open(choice);
    let plan = memory_plan(&config, statement, residency).unwrap();
    let planned = plan.bytes_on(&q);
    let mut prover = StatementProver::with_residency(&q, Protocol::V2_3, config, statement, residency).unwrap();
    for _ in 0..2 {
        prover.prove(&q, trace).unwrap();
    }
    let peak = q.budget().peak_bytes();
    assert!(
        planned <= peak && peak - planned <= planned / 50,
        "{choice:?}, {residency:?}: {peak} instead of {planned}"
    );
    // The source data of the trace belongs to the caller, and is at most the size of the trace.
    let inputs: u64 = trace.iter().flatten().map(|column| 4 * column.len() as u64).sum();
    prover.prove_from(&q, source).unwrap();
    let (peak, most) = (q.budget().peak_bytes(), planned + planned / 50 + plan.making_bytes() + inputs);
    assert!(peak <= most, "{choice:?}, {residency:?}: {peak} instead of {most}");
}

#[test]
fn proofs_take_at_most_two_percent_more_than_was_planned() {
    let _machine = simulate("");
    let residencies = [Residency::Full, Residency::Truncated, Residency::Blocks(8), Residency::Host(8)];
    let heights = |log_rows| [Sample::wide(log_rows, 8, 0), Sample::steps([log_rows, log_rows - 2], [1, 2])];
    let on_processor: Vec<_> =
        heights(15).into_iter().chain([Sample::plonk(1 << 15, [3, 9]), Sample::poseidon2(14, [5; 16])]).collect();
    // The trees of this many columns are truncated from more rows on, which take long.
    let [few_rows, many_rows] =
        [10, 11].map(|log_blocks| Sample::blake2s(&(0..1 << log_blocks).map(|block| [block; 16]).collect::<Vec<_>>()));
    let trees = |sample: &Sample, residency| {
        memory_plan(&PcsConfig::default(), &sample.statement, residency).unwrap().parts().trees
    };
    let is_truncated = |sample| trees(sample, Residency::Truncated) < trees(sample, Residency::Full);
    assert!(on_processor.iter().chain([&many_rows]).all(is_truncated));
    for residency in residencies {
        heights(10).iter().for_each(|sample| hold_peak(Choice::Sim, residency, sample));
        let blake2s = if residency == Residency::Truncated { &many_rows } else { &few_rows };
        on_processor.iter().chain([blake2s]).for_each(|sample| hold_peak(Choice::Cpu, residency, sample));
    }
}

#[test]
fn a_budget_without_room_for_all_values_gets_as_few_blocks_as_fit() {
    const LOG_ROWS: u32 = 14;
    let (config, sample) = (PcsConfig::default(), Sample::wide(LOG_ROWS, 40, 0));
    let proof = |free_bytes: u64| {
        let q = open(Choice::Cpu);
        let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
        let mut prover = sample.prover(&q, config)?;
        Ok::<_, ProveError>((prover.residency(), prover.prove(&q, &sample.trace)?))
    };
    let (residency, expected) = proof(LIMIT).unwrap();
    assert_eq!(residency, Residency::Truncated);
    let plan = |residency| memory_plan(&config, &sample.statement, residency);
    let needs = |residency| plan(residency).unwrap().bytes_on(&open(Choice::Cpu));
    let residencies = [Residency::Truncated, Residency::Blocks(2), Residency::Blocks(4)];
    for pair in residencies.windows(2) {
        let (residency, proof) = proof(needs(pair[0]) - 1).unwrap();
        assert_eq!(residency, pair[1]);
        assert!(proof == expected, "{residency:?}");
    }
    // With very many blocks, the openings of all blocks take more than is gained.
    let least = (1..=LOG_ROWS).map(|log_blocks| needs(Residency::Blocks(1 << log_blocks))).min().unwrap();
    assert_eq!(proof(least - 1).err(), Some(refused_by_one_byte(least, LIMIT)));
    for got in [0, 1, 3, 2 << LOG_ROWS, u32::MAX] {
        let refused = ProverError::Blocks { least: 2, most: 1 << LOG_ROWS, got };
        assert_eq!(plan(Residency::Blocks(got)).unwrap_err(), ProveError::Prover(refused));
    }
}

#[test]
fn coefficients_on_the_host_make_the_same_proofs() {
    let _machine = simulate("");
    let samples = [Sample::wide(5, 9, 0), Sample::steps([5, 3], [1, 2]), Sample::plonk(60, [3, 9])];
    for (choice, sample) in
        [Choice::Cpu, Choice::Sim].into_iter().flat_map(|choice| samples.each_ref().map(|sample| (choice, sample)))
    {
        let q = open(choice);
        let with = |residency| sample.prover_with(&q, residency).unwrap();
        let expected = with(Residency::Blocks(4)).prove(&q, &sample.trace).unwrap();
        let mut prover = with(Residency::Host(4));
        for _ in 0..2 {
            assert!(prover.prove(&q, &sample.trace).unwrap() == expected, "{choice:?}");
            assert!(prover.prove_from(&q, &sample.source).unwrap() == expected, "{choice:?}");
        }
        let plan = |residency| memory_plan(&PcsConfig::default(), &sample.statement, residency).unwrap();
        let [blocks, host] = [Residency::Blocks(4), Residency::Host(4)].map(plan);
        assert_eq!(blocks.host_bytes(), 0);
        // The coefficients on the host are those missing on the device, but for the eight columns of the composition
        // polynomial, which have the greatest height.
        let rows = sample.trace.iter().map(|columns| columns[0].len() as u64).max().unwrap();
        assert_eq!(host.host_bytes(), blocks.parts().coefficients - 32 * rows);
        assert_eq!(host.parts().values, blocks.parts().values);
    }
}

#[test]
fn a_device_without_room_for_coefficients_leaves_them_on_the_host() {
    let _machine = simulate("");
    let (config, sample, q) = (PcsConfig::default(), Sample::wide(8, 200, 0), open(Choice::Sim));
    let needs = |residency| memory_plan(&config, &sample.statement, residency).unwrap().bytes_on(&q);
    let all = (1..=8).map(|log_blocks| 1 << log_blocks);
    let in_blocks = all.clone().map(|blocks| needs(Residency::Blocks(blocks))).min().unwrap();
    let fits = |blocks: &u32| needs(Residency::Host(*blocks)) < in_blocks;
    let expected = all.clone().find(fits).unwrap();
    let made = |free_bytes: u64| {
        let _held = q.budget().reserve(LIMIT - free_bytes).unwrap();
        sample.prover(&q, config)
    };
    assert!(matches!(made(in_blocks).unwrap().residency(), Residency::Blocks(_)));
    let mut prover = made(in_blocks - 1).unwrap();
    assert_eq!(prover.residency(), Residency::Host(expected));
    let proof = prover.prove(&q, &sample.trace).unwrap();
    drop(prover);
    let in_memory = made(LIMIT).unwrap().prove(&q, &sample.trace).unwrap();
    assert!(proof == in_memory);
    let least = all.map(|blocks| needs(Residency::Host(blocks))).min().unwrap();
    assert_eq!(made(least - 1).err(), Some(refused_by_one_byte(least, LIMIT)));
}

#[test]
fn blocks_of_several_parts_and_columns_in_several_pieces_are_proven() {
    // Blocks of 2^21 leaves are hashed in parts of 2^20; columns come to the device one by one.
    let (q, sample) = (runtime::cpu().unwrap(), Sample::wide(21, 3, 0));
    let proofs = [Residency::Blocks(2), Residency::Host(2)].map(|residency| {
        let mut prover = sample.prover_with(&q, residency).unwrap();
        let proof = prover.prove(&q, &sample.trace).unwrap();
        let root = prover.preprocessed_root(&q).unwrap();
        verify(Protocol::V2_3, little_work(), &sample.statement, root, &proof).unwrap();
        proof
    });
    assert!(proofs[0] == proofs[1]);
}
