//! Kernels made of bytes, for a test and a fuzz target: kernels that pass the checkers leave the same memory in every
//! order.

use std::fmt::Write as _;

use cuda_sim::exec::{Checks, FaultKind, Grid, Memory, Options, Program, Schedule, launch};

/// Words of the buffer that kernels get.
const WORDS: usize = 512;
/// Warp instructions of a launch.
const WATCHDOG: u64 = 1 << 11;
/// Instructions of a kernel.
const MAX_STEPS: usize = 48;

/// What four bytes may stand for: the first chooses a line, the others fill it. `R`, `S` and `T` are registers, `P` and `Q`
/// predicates, `I` a number, `L` a label; `GLOBAL` and `SHARED` put an address by `S` into `%d1` and `%a`.
const LINES: &[&str] = &[
    "mov.u32 R, I;",
    "mov.u32 R, %tid.x;",
    "mov.u32 R, %ctaid.x;",
    "add.u32 R, S, T;",
    "add.u32 R, S, I;",
    "and.b32 R, S, I;",
    "xor.b32 R, S, T;",
    "mad.lo.u32 R, S, T, R;",
    "shr.u32 R, S, I;",
    "setp.lt.u32 P, S, T;",
    "setp.eq.u32 P, S, I;",
    "selp.b32 R, S, T, P;",
    "@P mov.b32 R, S;",
    "@P bra L;",
    "@!P bra L;",
    "bra L;",
    "@P ret;",
    "SHARED ld.shared.b32 R, [%a];",
    "SHARED st.shared.b32 [%a], T;",
    "SHARED st.shared.b8 [%a+1], T;",
    "SHARED red.shared.add.u32 [%a], T;",
    "GLOBAL ld.global.b32 R, [%d1];",
    "GLOBAL ld.global.nc.b32 R, [%d1];",
    "GLOBAL st.global.b32 [%d1], T;",
    "GLOBAL @P st.global.b32 [%d1], T;",
    "GLOBAL st.global.v2.b32 [%d1], {S, T};",
    "GLOBAL red.global.add.u32 [%d1], T;",
    "GLOBAL red.cta.global.add.u32 [%d1], T;",
    "GLOBAL SHARED cp.async.ca.shared.global [%a], [%d1], 4;",
    "cp.async.commit_group;",
    "cp.async.wait_group 0;",
    "cp.async.wait_all;",
    "bar.sync 0;",
    "bar.sync 1;",
    "bar.warp.sync -1;",
    "bar.red.popc.u32 R, 0, P;",
    "membar.cta;",
    "membar.gl;",
    "shfl.sync.idx.b32 R|P, S, T, 31, -1;",
    "shfl.sync.down.b32 R, S, 1, 31, -1;",
    "vote.sync.ballot.b32 R, P, -1;",
    "vote.sync.any.pred P, Q, S;",
    "match.any.sync.b32 R, S, -1;",
    "redux.sync.add.u32 R, S, -1;",
    "ld.shared.b32 R, [%t0];",
    "st.shared.b32 [%t0], S;",
    "ld.shared.b32 R, [%t1];",
    "ld.shared.b32 R, [%t2];",
    "ld.global.b32 R, [%d2];",
    "st.global.b32 [%d2], S;",
    "st.global.b32 [%d2+4], S;",
    "ld.global.b32 R, [%d3];",
    "st.local.b32 [own+4], S;",
    "ld.local.b32 R, [own+4];",
];

/// Lines whose results hang on the order: kernels with one of them may leave different memory.
const ORDERED: &[&str] = &[
    "GLOBAL atom.global.add.u32 R, [%d1], T;",
    "GLOBAL atom.acq_rel.gpu.global.cas.b32 R, [%d1], S, T;",
    "GLOBAL ld.acquire.gpu.global.b32 R, [%d1];",
    "GLOBAL st.release.gpu.global.b32 [%d1], T;",
    "GLOBAL ld.volatile.global.b32 R, [%d1];",
    "SHARED atom.shared.exch.b32 R, [%a], T;",
    "activemask.b32 R;",
    "mov.u32 R, %clock;",
];

const GLOBAL: &str = "and.b32 %a, S, 2040; cvt.u64.u32 %d1, %a; add.s64 %d1, %d1, %d0;";
const SHARED: &str = "and.b32 %a, S, 508; add.u32 %a, %a, %t;";

/// The text of a kernel, whose results may hang on the order only if it is `ordered`.
fn kernel(bytes: &[u8], ordered: bool) -> String {
    let steps = bytes.chunks_exact(4).take(MAX_STEPS);
    let count = steps.len();
    let lines: Vec<&str> = LINES.iter().chain(if ordered { ORDERED } else { &[] }).copied().collect();
    let mut text = String::from(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
         .reg .pred %p<3>;\n.reg .b32 %r<8>, %t<3>, %a, %t;\n.reg .b64 %d<4>;\n\
         .shared .align 4 .b8 tile[516];\n.local .align 4 .b8 own[8];\n\
         ld.param.u64 %d0, [p];\nmov.u32 %t, tile;\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n\
         mad.lo.u32 %r2, %r1, 96, %r0;\nshl.b32 %r2, %r2, 3;\nshl.b32 %r3, %r0, 2;\nmov.b32 %r4, 1;\n\
         mov.u32 %r5, %laneid;\nmov.b32 %r6, 0;\n\
         cvt.u64.u32 %d2, %r2;\nadd.s64 %d2, %d2, %d0;\nxor.b64 %d3, %d2, 8;\n\
         add.u32 %t0, %t, %r3;\nxor.b32 %t1, %t0, 4;\nxor.b32 %t2, %t0, 128;\nst.shared.b32 [%t0], %r0;\n\
         setp.lt.u32 %p0, %r0, 16;\nsetp.lt.u32 %p1, %r0, %r4;\nbar.sync 0;\n",
    );
    for (index, step) in steps.enumerate() {
        let [choice, first, second, third] = [step[0], step[1], step[2], step[3]].map(usize::from);
        let line = lines[choice % lines.len()];
        // One branch in four may go back.
        let label = if second < 192 { index + 1 + third % (count - index) } else { third % count };
        let _ = writeln!(text, "L{index}:");
        for word in
            line.replace("GLOBAL", GLOBAL).replace("SHARED", SHARED).split_inclusive(&[' ', ',', '|', ';', '}'][..])
        {
            let end = word.len() - 1;
            let name = word[..end].trim_start_matches(['@', '!', '{']);
            let filled = match name {
                "R" => format!("%r{}", first % 8),
                "S" => format!("%r{}", second % 8),
                "T" => format!("%r{}", third % 8),
                "P" => format!("%p{}", first / 8 % 3),
                "Q" => format!("%p{}", third / 8 % 3),
                "I" => third.to_string(),
                "L" => format!("L{label}"),
                _ => name.to_owned(),
            };
            text.push_str(&word.replacen(name, &filled, usize::from(!name.is_empty())));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "L{count}:\nret;\n}}");
    text
}

/// The buffer after a launch.
fn run(program: &Program, grid: Grid, options: &Options) -> Result<Vec<u8>, FaultKind> {
    let memory = Memory::new(&[1 << 20]);
    let data = memory.alloc(0, 4 * WORDS as u64).expect("there is room");
    let words: Vec<u8> = (0..WORDS as u32).flat_map(u32::to_le_bytes).collect();
    memory.write(data, &words).expect("the buffer is there");
    for kernel in program.kernels() {
        let mut params = Vec::new();
        for parameter in &kernel.parameters {
            params.resize(parameter.offset as usize, 0);
            params.extend(data.to_le_bytes());
            params.resize((parameter.offset + parameter.bytes) as usize, 0);
        }
        launch(program, &kernel.name, grid, &params, &memory, 0, options).map_err(|fault| fault.kind)?;
    }
    let mut left = vec![0; words.len()];
    memory.read(data, &mut left).expect("the buffer is there");
    Ok(left)
}

/// What became of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderVerdict {
    /// It was reported, ran for too long, or may leave different memory.
    Open,
    /// It left the same memory in every order, with checkers and without.
    Same,
}

/// Runs what `bytes` stand for: a text of PTX, or the shape of a launch and lines of a kernel.
///
/// # Panics
/// If a kernel that the checkers let pass in one order is reported or leaves other memory in another, or without them.
pub(crate) fn check(bytes: &[u8]) -> OrderVerdict {
    let Some((&shape, rest)) = bytes.split_first() else { return OrderVerdict::Open };
    let grid = Grid::linear(1 + u32::from(shape % 2), [1, 8, 32, 40, 64, 96][usize::from(shape) / 2 % 6]);
    let given = std::str::from_utf8(rest).ok().filter(|text| text.starts_with(".version"));
    let ordered = given.is_some() || shape >= 224;
    let text = given.map_or_else(|| kernel(rest, ordered), str::to_owned);
    let Ok(program) = Program::load(&text) else {
        assert!(given.is_some(), "{}\n{text}", Program::load(&text).expect_err("it was refused"));
        return OrderVerdict::Open;
    };
    let options = Options { watchdog: WATCHDOG, ..Options::sanitize() };
    let orders = [Schedule::Natural, Schedule::Reverse, Schedule::Seeded(shape.into())];
    let left = orders.map(|schedule| run(&program, grid, &Options { schedule, ..options.clone() }));
    let unchecked = run(&program, grid, &Options { checks: Checks::none(), ..options });
    let is_hang = |left: &Result<_, _>| matches!(left, Err(FaultKind::Timeout { .. }));
    if ordered || left.iter().chain([&unchecked]).any(is_hang) {
        return OrderVerdict::Open;
    }
    let Ok(expected) = &left[0] else { return OrderVerdict::Open };
    for other in left.iter().chain([&unchecked]) {
        assert_eq!(other.as_ref(), Ok(expected), "{grid:?}\n{text}");
    }
    OrderVerdict::Same
}
