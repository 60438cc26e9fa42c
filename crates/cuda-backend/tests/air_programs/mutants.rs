//! Takes one instruction at a time out of the text of a program, or alters it: each time the result is another one, or
//! the simulator reports something.

use crate::air_programs::job::Job;
use backend_api::{BackendError, Buffer, Queue};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{CudaConfig, CudaQueue, KernelSource, ModuleText, ProgramKind};
use cuda_sim::driver::simulate;
use sha2::{Digest as _, Sha256};

/// What an instruction is changed to.
const CHANGES: &[(&str, &str)] = &[
    ("add.s32", "sub.s32"),
    ("sub.s32", "add.s32"),
    ("add.s64", "sub.s64"),
    ("min.u32", "max.u32"),
    ("and.b32", "or.b32"),
    ("and.b64", "or.b64"),
    ("shr.u32", "shl.b32"),
    ("shl.b32", "shr.u32"),
    ("shr.u64", "shl.b64"),
    ("shl.b64", "shr.u64"),
    ("setp.ge.u32", "setp.gt.u32"),
    ("setp.lt.u32", "setp.ge.u32"),
    ("setp.eq.b32", "setp.ne.b32"),
    ("mad.lo.s32", "mad.hi.s32"),
    ("brev.b32", "not.b32"),
];

/// The line with a fault, if there is one for it.
fn fault(line: &str) -> Option<String> {
    let instruction = line.trim();
    let (opcode, operands) = instruction.split_once(' ')?;
    if let Some((_, other)) = CHANGES.iter().find(|(known, _)| *known == opcode) {
        return Some(format!("\t{other} {operands}"));
    }
    let operands: Vec<&str> = operands.trim_end_matches(';').split(", ").collect();
    match (opcode, &operands[..]) {
        // A sum loses a term, a product a factor.
        ("mad.wide.u32", [target, left, right, _]) => Some(format!("\tmul.wide.u32 {target}, {left}, {right};")),
        ("mul.wide.u32", [target, left, _]) => Some(format!("\tmul.wide.u32 {target}, {left}, 1;")),
        ("selp.b32", [target, left, right, test]) => Some(format!("\tselp.b32 {target}, {right}, {left}, {test};")),
        ("ld.global.b32" | "ld.global.nc.b32" | "ld.global.nc.v4.b32" | "ld.global.nc.b64", _) => {
            let (start, bytes) = line.trim_end_matches("];").rsplit_once('+')?;
            Some(format!("{start}+{}];", bytes.parse::<u32>().ok()? + 16))
        }
        _ if opcode.starts_with("st.") || opcode.starts_with('@') => Some(String::new()),
        _ => None,
    }
}

/// `text` with another line, as a module.
fn altered(text: &ModuleText, number: usize, line: &str) -> ModuleText {
    let lines = text.ptx.lines().enumerate().map(|(at, old)| if at == number { line } else { old });
    let ptx = lines.collect::<Vec<_>>().join("\n") + "\n";
    let digest = |ptx: &str| Sha256::digest(ptx).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let manifest = text.manifest.replace(&digest(&text.ptx), &digest(&ptx));
    ModuleText { name: text.name.clone(), ptx: ptx.into(), manifest: manifest.into() }
}

/// Launches the kernel of a text as the op would.
fn launch(q: &CudaQueue, job: &Job, kind: ProgramKind) -> Result<Vec<core_types::field::M31>, BackendError> {
    let (masks, inverses) = (q.upload(&job.masks)?, q.upload(&job.inverses)?);
    let (values, challenges, powers) = (q.upload(&job.values)?, q.upload(&job.challenges)?, q.upload(&job.powers)?);
    let mut made = q.upload(&job.before(kind))?;
    let target = made.view_mut();
    let launch = q.kernel(kind.kernel())?.cover(1 << job.params.log_size).input("masks", masks.view());
    let launch = match kind {
        ProgramKind::Evaluate => {
            let launch = launch.input("vanishing_inverses", inverses.view()).input("values", values.view());
            let launch = launch.input("challenges", challenges.view()).input("powers", powers.view());
            launch.output("sums", &target)
        }
        ProgramKind::Fractions => {
            let launch = launch.input("values", values.view()).input("challenges", challenges.view());
            launch.output("fractions", &target)
        }
    };
    // SAFETY: the simulated device holds accesses to their buffers.
    unsafe { launch.value("params", &job.params).launch() }?;
    q.finish()?;
    q.download(&made)
}

/// The words of a text, or what was noticed instead.
fn words(text: ModuleText, job: &Job, kind: ProgramKind) -> Result<Vec<core_types::field::M31>, String> {
    let session = simulate("checks=sanitize").unwrap();
    let kernels = KernelSource::Texts(vec![text]);
    let q = CudaQueue::open(CudaConfig { kernels, ..CudaConfig::default() }).map_err(|error| error.to_string())?;
    let words = launch(&q, job, kind).map_err(|error| error.to_string());
    drop(q);
    session.reports().first().map_or(words, |report| Err(report.to_string()))
}

#[test]
fn every_fault_in_the_text_of_a_program_is_noticed() {
    let processor = CpuQueue::open(CpuConfig::default()).unwrap();
    // Two blocks, and part of one.
    for (kind, whole, part) in [(ProgramKind::Evaluate, [7, 8], [4, 5]), (ProgramKind::Fractions, [8, 8], [5, 5])] {
        let jobs =
            [Job::of_each_step(part), Job::of_each_step(whole).on_few_words(), Job::of_each_step(whole)].map(|job| {
                let expected = job.run(&processor, kind).unwrap();
                (job, expected)
            });
        let text = jobs[0].0.source(kind).text();
        for (job, expected) in &jobs {
            assert_eq!(words(text.clone(), job, kind).as_ref(), Ok(expected), "{kind:?}");
        }
        let (mut tried, mut unnoticed) = (0, Vec::new());
        let lines: Vec<&str> = text.ptx.lines().collect();
        let first_shift = lines.iter().position(|line| line.starts_with("\tshl.b32"));
        for (number, &line) in lines.iter().enumerate() {
            let changes_nothing = match kind {
                // A sum is the same with a term of P in the place of 0.
                ProgramKind::Evaluate => line.ends_with(", -2147483647;"),
                // Offsets are shifted by no bits if positions and rows are equal in number. The
                // first shift computes the number of positions.
                ProgramKind::Fractions => {
                    let of_number = number > 0 && lines[number - 1].starts_with("\tmov.b32");
                    line.starts_with("\tshl.b32") && of_number && first_shift != Some(number)
                }
            };
            if changes_nothing {
                continue;
            }
            let Some(other) = fault(line) else { continue };
            tried += 1;
            let altered = altered(&text, number, &other);
            if jobs.iter().all(|(job, expected)| words(altered.clone(), job, kind).as_ref() == Ok(expected)) {
                unnoticed.push(format!("{}: {line} -> {other}", number + 1));
            }
        }
        assert_eq!(unnoticed, Vec::<String>::new(), "of {tried} faults of {kind:?}");
        assert!(tried > 300, "{tried}");
    }
}
