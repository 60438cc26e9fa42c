//! The text of a program equals the assembled one, passes every lint, and gives the CPU's results.

use std::path::Path;

use crate::air_programs::job::Job;
use core_types::params::air::{Instruction, Opcode};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{AirKernel, CudaConfig, CudaQueue, ProgramKind};
use cuda_sim::driver::simulate;
use ptx::{KernelSpec, Table, lint};

const KINDS: [ProgramKind; 2] = [ProgramKind::Evaluate, ProgramKind::Fractions];

/// Where the committed texts are.
const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels-ptx/ptx/programs");

#[test]
fn the_text_of_every_step_is_the_committed_one_and_passes_the_lints() {
    let job = Job::of_each_step([4, 4]);
    let mut stale = Vec::new();
    for kind in KINDS {
        let text = job.source(kind).text();
        let file = format!("{}.ptx", kind.kernel());
        let committed = std::fs::read_to_string(Path::new(COMMITTED).join(&file)).unwrap_or_default();
        if committed != text.ptx {
            let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&file);
            std::fs::write(&made, &*text.ptx).unwrap();
            stale.push(made);
        }
        let kernel = KernelSpec { name: kind.kernel().to_owned(), block: [128, 1, 1], min_blocks: 0, barriers: 0 };
        let findings = lint::check(&ptx::parse(&text.ptx).unwrap(), &Table { kernels: vec![kernel] });
        assert_eq!(findings, []);
    }
    assert!(stale.is_empty(), "{COMMITTED} is not what is made now: compare it with {stale:?}");
}

#[test]
fn the_length_of_a_text_is_about_what_was_estimated() {
    let job = Job::of_each_step([4, 4]);
    let mut long = Job::of_each_step([4, 4]);
    (0..9).for_each(|_| long.instructions.extend_from_slice(&job.instructions));
    for kind in KINDS {
        let [short, long] = [&job, &long].map(|job| {
            let source = job.source(kind);
            (source.text().ptx.lines().count(), source.instructions_of_text())
        });
        // The fixed beginning and end of a text do not count.
        let (lines, estimate) = (long.0 - short.0, long.1 - short.1);
        assert!(lines <= estimate && 2 * lines > estimate, "{kind:?}: {lines} lines, estimated {estimate}");
    }
}

#[test]
fn both_ways_to_run_every_step_give_the_words_of_the_processor() {
    let processor = CpuQueue::open(CpuConfig::default()).unwrap();
    for machine in ["checks=sanitize", "checks=sanitize;order=reverse;schedule=lazy"] {
        for air in AirKernel::ALL {
            let session = simulate(machine).unwrap();
            let q = CudaQueue::open(CudaConfig { air, ..CudaConfig::default() }).unwrap();
            for kind in KINDS {
                for logs in [[1, 1], [1, 3], [2, 2], [4, 5], [7, 7], [8, 9]] {
                    let log_rows = if kind == ProgramKind::Fractions { logs[1] } else { logs[0] };
                    let job = Job::of_each_step([log_rows, logs[1]]);
                    let expected = job.run(&processor, kind).unwrap();
                    assert_eq!(job.run(&q, kind).unwrap(), expected, "{machine} {air:?} {kind:?} {logs:?}");
                }
            }
            let launches = session.counters().launches_of;
            let names: Vec<&str> = launches.keys().map(String::as_str).collect();
            match air {
                AirKernel::Compiled => assert_eq!(names, ["air_evaluate_compiled", "air_fractions_compiled"]),
                AirKernel::Interpreted => assert_eq!(names, ["air_evaluate", "air_fractions"]),
            }
            assert_eq!(q.device().programs().held, if air == AirKernel::Compiled { 2 } else { 0 });
            drop(q);
            assert_eq!(session.reports(), []);
        }
    }
}

#[test]
fn products_of_lifted_words_are_those_of_the_processor() {
    // Three coordinates of each factor are known to be zero, so some sums of products have no terms.
    let steps = [
        (Opcode::Mask, 0, 7, 0),
        (Opcode::Mask, 1, 2, 0),
        (Opcode::Lift, 4, 0, 0),
        (Opcode::Lift, 8, 1, 0),
        (Opcode::MulExt, 12, 4, 8),
        (Opcode::OutExt, 0, 12, 0),
    ];
    let steps = steps.map(|(opcode, target, left, right)| Instruction { opcode: opcode as u16, target, left, right });
    let job = Job::new(steps.to_vec(), [3, 4], 1);
    let expected = job.run(&CpuQueue::open(CpuConfig::default()).unwrap(), ProgramKind::Evaluate).unwrap();
    let session = simulate("checks=sanitize").unwrap();
    let q = CudaQueue::open(CudaConfig::default()).unwrap();
    assert_eq!(job.run(&q, ProgramKind::Evaluate).unwrap(), expected);
    assert_eq!(q.device().programs().held, 1);
    drop(q);
    assert_eq!(session.reports(), []);
}
