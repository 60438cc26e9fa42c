//! When programs are compiled, how many are held, and what runs a program that is not compiled.

use crate::air_programs::job::Job;
use backend_api::{BackendError, Buffer, Queue, Record};
use core_types::{
    field::M31,
    params::air::{Instruction, MaskAt, Opcode},
};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{CudaConfig, CudaQueue, ModuleError, ProgramKind, ProgramSource};
use cuda_sim::driver::{Simulation, simulate};

/// The most programs that a device holds.
const MOST: usize = 512;

const STEPS: [(Opcode, [u16; 3]); 3] =
    [(Opcode::Mask, [0, 6, 0]), (Opcode::Constant, [1, 0, 0]), (Opcode::Mul, [0, 0, 1])];

fn instructions(steps: &[(Opcode, [u16; 3])]) -> Vec<Instruction> {
    let step = |&(opcode, [target, left, right]): &(Opcode, [u16; 3])| Instruction {
        opcode: opcode as u16,
        target,
        left,
        right,
    };
    steps.iter().map(step).collect()
}

/// Writes the first column, times a constant specific to the job.
fn multiple(constant: u32) -> Job {
    let mut job = Job::new(instructions(&[&STEPS[..], &[(Opcode::Out, [0, 0, 0])]].concat()), [3, 3], 1);
    job.constants = vec![M31::from_u32(constant)];
    job
}

fn expect(q: &CudaQueue, job: &Job) {
    let made = job.run(q, ProgramKind::Fractions).unwrap();
    let expected: Vec<M31> = job.first_column().iter().map(|&value| value * job.constants[0]).collect();
    assert_eq!(made[..8], expected);
    assert!(made[8..].iter().all(|word| word.is_zero()));
}

fn open(machine: &str) -> (Simulation, CudaQueue) {
    let session = simulate(machine).unwrap();
    (session, CudaQueue::open(CudaConfig::default()).unwrap())
}

#[test]
fn a_program_is_compiled_once_and_the_last_ones_are_held() {
    let (session, q) = open("schedule=lazy;checks=sanitize");
    let counts = || {
        let counters = session.counters();
        (counters.modules, counters.calls_of("cuModuleUnload"))
    };
    for _ in 0..2 {
        (0..MOST as u32).for_each(|constant| expect(&q, &multiple(constant + 2)));
        assert_eq!(counts(), (MOST as u64, 0));
    }
    expect(&q, &multiple(2));
    // The second one was not used for longest, and makes room.
    expect(&q, &multiple(1000));
    assert_eq!(counts(), (MOST as u64 + 1, 1));
    expect(&q, &multiple(2));
    assert_eq!(counts(), (MOST as u64 + 1, 1));
    expect(&q, &multiple(3));
    assert_eq!(counts(), (MOST as u64 + 2, 2));
    let facts = q.device().programs();
    assert_eq!((facts.held, facts.compiled, facts.refused), (MOST, MOST as u64 + 2, vec![]));
    drop(q);
    assert_eq!(session.reports(), []);
}

/// Records `jobs`, and returns whether there is a graph that writes what each makes.
fn record(q: &CudaQueue, jobs: &[Job]) -> Result<(), BackendError> {
    let values = q.upload(&jobs[0].values)?;
    let challenges = q.upload(&jobs[0].challenges)?;
    let mut made: Vec<_> = jobs.iter().map(|_| q.zeros::<M31>(32)).collect::<Result<_, _>>()?;
    let graph = q.record(|q| {
        let mut each = jobs.iter().zip(&mut made);
        each.try_for_each(|(job, made)| job.fractions(q, (&values, &challenges), made))
    })?;
    let graph = graph.unwrap();
    assert!(graph.kernels().iter().all(|kernel| **kernel == *"air_fractions_compiled"));
    // Others take the places of what was recorded, which the graph keeps.
    (0..MOST as u32).for_each(|constant| expect(q, &multiple(constant + 5000)));
    for _ in 0..2 {
        q.replay(&graph)?;
    }
    for (job, made) in jobs.iter().zip(&made) {
        let expected: Vec<M31> = job.first_column().iter().map(|&value| value * job.constants[0]).collect();
        assert_eq!(q.download(made)?[..8], expected);
    }
    q.finish()
}

#[test]
fn recordings_compile_programs_and_keep_them() {
    for schedule in ["eager", "lazy"] {
        let (session, q) = open(&format!("schedule={schedule};checks=sanitize"));
        record(&q, &[multiple(7)]).unwrap();
        // More than are held: none is released before the recording has ended.
        let many: Vec<Job> = (0..MOST as u32 + 6).map(|constant| multiple(constant + 100)).collect();
        record(&q, &many).unwrap();
        assert_eq!(q.device().memory().unwrap().refused_recordings, 0);
        drop(q);
        assert_eq!(session.reports(), []);
    }
}

#[test]
fn long_programs_are_interpreted() {
    let (session, q) = open("");
    let short = multiple(3);
    let negations = |count: usize| {
        let negated = instructions(&vec![(Opcode::Neg, [0, 0, 0]); count]);
        let mut job = multiple(3);
        job.instructions.splice(3..3, negated);
        job
    };
    let size = |job: &Job| job.source(ProgramKind::Fractions).instructions_of_text();
    let of_two = size(&negations(2)) - size(&short);
    let count = 2 * ((ProgramSource::MOST_INSTRUCTIONS - size(&short)) / of_two);
    // Estimates are of all offsets; the text holds those that are read.
    for count in [count, count + 20] {
        expect(&q, &negations(count));
    }
    let launches = session.counters().launches_of;
    assert_eq!((launches["air_fractions_compiled"], launches["air_fractions"]), (1, 1));
}

/// A program whose text is too long for one, with outputs that need steps from its beginning on.
fn long(copies: u16) -> Job {
    let of_each = Job::of_each_step([4, 5]);
    let outputs = of_each.params.outputs as u16 + 1;
    let mut steps = Vec::new();
    for copy in 0..copies {
        steps.extend(of_each.instructions.iter().map(|&step| {
            let is_output = [Opcode::Out, Opcode::OutExt].map(|out| out as u16).contains(&step.opcode);
            Instruction { target: step.target + if is_output { copy * outputs } else { 0 }, ..step }
        }));
        let chain =
            [(Opcode::Add, [50, 50, 2]), (Opcode::Mul, [50, 50, 1]), (Opcode::Out, [(copy + 1) * outputs - 1, 50, 0])];
        steps.extend(instructions(&chain));
    }
    Job::new(steps, [4, 5], u32::from(copies * outputs))
}

#[test]
fn a_long_program_is_compiled_in_parts_and_gives_the_words_of_the_processor() {
    let processor = CpuQueue::open(CpuConfig::default()).unwrap();
    let (session, q) = open("checks=sanitize");
    let mut job = long(40);
    for kind in [ProgramKind::Evaluate, ProgramKind::Fractions] {
        // Fractions are of rows.
        job.params.log_rows = if kind == ProgramKind::Fractions { 5 } else { 4 };
        let parts = job.source(kind).parts().unwrap().len() as u64;
        assert!((3..9).contains(&parts), "{kind:?}: {parts}");
        for _ in 0..2 {
            assert!(job.run(&q, kind).unwrap() == job.run(&processor, kind).unwrap(), "{kind:?}");
        }
        let counters = session.counters();
        assert_eq!(counters.launches_of[kind.kernel()], 2 * parts, "{kind:?}");
    }
    let facts = q.device().programs();
    assert_eq!((facts.held, facts.compiled, facts.refused), (2, session.counters().modules, vec![]));
}

#[test]
fn a_long_program_is_interpreted_where_one_of_its_parts_is_refused() {
    let processor = CpuQueue::open(CpuConfig::default()).unwrap();
    let mut job = long(40);
    for kind in [ProgramKind::Fractions, ProgramKind::Evaluate] {
        job.params.log_rows = if kind == ProgramKind::Fractions { 5 } else { 4 };
        // 218 is an invalid PTX.
        let (session, q) = open("fail=218@cuModuleLoadDataEx:2");
        let expected = job.run(&processor, kind).unwrap();
        for _ in 0..2 {
            assert!(job.run(&q, kind).unwrap() == expected, "{kind:?}");
        }
        let launches = session.counters().launches_of;
        let interpreted = if kind == ProgramKind::Evaluate { "air_evaluate" } else { "air_fractions" };
        assert_eq!((launches.get(kind.kernel()), launches[interpreted]), (None, 2));
        assert_eq!(q.device().programs().refused.len(), 1);
    }
    // 2 is a lack of memory.
    let (session, q) = open("fail=2@cuModuleLoadDataEx:3");
    let failed = job.run(&q, ProgramKind::Evaluate);
    assert!(matches!(failed, Err(BackendError::OutOfMemory { .. })), "{failed:?}");
    assert_eq!(session.counters().launches_of.get("air_evaluate_compiled"), None);
    assert!(job.run(&q, ProgramKind::Evaluate).unwrap() == job.run(&processor, ProgramKind::Evaluate).unwrap());
}

#[test]
fn a_long_program_is_recorded_with_all_its_kernels_and_kept() {
    let processor = CpuQueue::open(CpuConfig::default()).unwrap();
    let (session, q) = open("checks=sanitize");
    let mut job = long(40);
    job.params.log_rows = 5;
    let parts = job.source(ProgramKind::Fractions).parts().unwrap().len();
    let (values, challenges) = (q.upload(&job.values).unwrap(), q.upload(&job.challenges).unwrap());
    let mut made = q.upload(&job.before(ProgramKind::Fractions)).unwrap();
    let graph = q.record(|q| job.fractions(q, (&values, &challenges), &mut made)).unwrap().unwrap();
    assert_eq!(graph.kernels().len(), parts);
    // Others take its place: programs of one text each, which leave no room for it.
    (0..MOST as u32).for_each(|constant| expect(&q, &multiple(constant + 5000)));
    assert_eq!(q.device().programs().held, MOST);
    let expected = job.run(&processor, ProgramKind::Fractions).unwrap();
    for _ in 0..2 {
        q.clear(made.view_mut()).unwrap();
        q.replay(&graph).unwrap();
        assert!(q.download(&made).unwrap() == expected);
    }
    drop((graph, made, values, challenges, q));
    assert_eq!(session.reports(), []);
}

#[test]
fn masks_at_many_offsets_are_counted_where_they_are_read() {
    let outputs = 629;
    let steps: Vec<_> = (0..outputs).flat_map(|k| [(Opcode::Mask, [0, k, 0]), (Opcode::Out, [k, 0, 0])]).collect();
    let mut job = Job::new(instructions(&steps), [10, 10], outputs.into());
    let mask = |offset| MaskAt { first: 0, offset, reserved: 0 };
    job.masks = (1..=i32::from(outputs)).map(mask).collect();
    assert_eq!(job.source(ProgramKind::Evaluate).parts().unwrap().len(), 2);
}

#[test]
fn outputs_that_share_most_of_their_steps_stay_together() {
    let chain = |outputs: u16| {
        let squares = (0..outputs).flat_map(|k| [(Opcode::Mul, [0, 0, 0]), (Opcode::Out, [k, 0, 0])]);
        let steps: Vec<_> = core::iter::once((Opcode::Mask, [0, 6, 0])).chain(squares).collect();
        Job::new(instructions(&steps), [4, 4], outputs.into())
    };
    let parts = |outputs: u16| chain(outputs).source(ProgramKind::Evaluate).parts().map(|parts| parts.len());
    assert_eq!([400, 1000, 1900].map(parts), [Some(1), Some(2), Some(1)]);
    assert_eq!(parts(60_000), None);
}

#[test]
fn a_program_that_the_driver_refuses_is_interpreted_and_one_without_memory_is_tried_again() {
    // 218 is an invalid PTX.
    let (session, q) = open("fail=218@cuModuleLoadDataEx:1");
    let job = multiple(9);
    expect(&q, &job);
    expect(&q, &job);
    let launches = session.counters().launches_of;
    assert_eq!((launches.get("air_fractions_compiled"), launches["air_fractions"]), (None, 2));
    let refused = q.device().programs().refused;
    let [ModuleError::Load { module, .. }] = &refused[..] else { panic!("{refused:?}") };
    assert!(module.starts_with("air_program_"), "{module}");
    // 2 is a lack of memory.
    session.inject("fail=2@cuModuleLoadDataEx:1".parse().unwrap());
    let job = multiple(10);
    let failed = job.run(&q, ProgramKind::Fractions);
    assert!(matches!(failed, Err(BackendError::OutOfMemory { .. })), "{failed:?}");
    expect(&q, &job);
    assert_eq!(session.counters().launches_of["air_fractions_compiled"], 1);
}
