//! Values that nothing has written: how they pass through arithmetic, and where they decide something.

use cuda_sim::exec::{FaultKind, Grid};

use crate::exec::rig::{reported, silent};

const WORDS: &[u32] = &[1; 64];

fn undefined(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Undefined { .. })
}

#[test]
fn one_operand_may_decide_a_result_by_itself() {
    // Nothing writes `%r4`, `%r6` and `%d4`; every lane is below 100.
    for (line, decides) in [
        ("and.b32 %r5, %r4, 0;", true),
        ("and.b32 %r5, 0, %r4;", true),
        ("and.b32 %r5, %r4, 1;", false),
        ("and.b32 %r5, %r4, %r6;", false),
        ("or.b32 %r5, %r4, -1;", true),
        ("or.b32 %r5, -1, %r4;", true),
        ("or.b32 %r5, %r4, 0;", false),
        ("or.b32 %r5, %r4, 1;", false),
        ("mul.lo.u32 %r5, %r4, 0;", true),
        ("mul.lo.u32 %r5, 0, %r4;", true),
        ("mul.lo.u32 %r5, %r4, 1;", false),
        ("xor.b32 %r5, %r4, 0;", false),
        ("min.u32 %r5, %r4, 0;", false),
        ("and.b64 %d5, %d4, 0; cvt.u32.u64 %r5, %d5;", true),
        ("and.b64 %d5, 0, %d4; cvt.u32.u64 %r5, %d5;", true),
        ("and.b64 %d5, %d4, 1; cvt.u32.u64 %r5, %d5;", false),
        ("or.b64 %d5, %d4, -1; cvt.u32.u64 %r5, %d5;", true),
        ("or.b64 %d5, %d4, 0xffffffff; cvt.u32.u64 %r5, %d5;", false),
        ("mul.lo.u64 %d5, %d4, 0; cvt.u32.u64 %r5, %d5;", true),
        ("mul.lo.u64 %d5, %d4, 1; cvt.u32.u64 %r5, %d5;", false),
        ("setp.lt.u32 %p0, %r0, 100; selp.b64 %d5, 7, %d4, %p0; cvt.u32.u64 %r5, %d5;", true),
        ("setp.lt.u32 %p0, %r0, 100; selp.b64 %d5, %d4, 7, %p0; cvt.u32.u64 %r5, %d5;", false),
    ] {
        let body = format!("{line} st.global.b32 [%d1], %r5; ret;");
        if decides {
            silent(line, &body, Grid::linear(1, 32), WORDS);
        } else {
            reported(line, &body, Grid::linear(1, 32), WORDS, undefined);
        }
    }
}

#[test]
fn operands_that_decide_something_must_have_been_written() {
    let copy = ".shared .align 16 .b8 s[128]; mov.u32 %r5, s; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6;";
    let rows = format!("{copy} st.shared.b32 [%r5], %r0; bar.sync 0;");
    let wait = "cp.async.wait_all;";
    let store = "st.global.b32 [%d1], %r5;";
    for (name, line, body) in [
        ("index of a branch", "mov.b32 %r4, 0;", "$list: .branchtargets $a; brx.idx %r4, $list; $a:".to_owned()),
        (
            "length of a copy",
            "mov.b32 %r4, 4;",
            format!("{copy} cp.async.ca.shared.global [%r5], [%d1], 4, %r4; {wait}"),
        ),
        ("source of a copy", "mov.b64 %d4, %d1;", format!("{copy} cp.async.ca.shared.global [%r5], [%d4], 4; {wait}")),
        (
            "address of a matrix",
            "and.b32 %r4, %r0, 7; shl.b32 %r4, %r4, 4;",
            format!("{rows} ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r7}}, [%r4];"),
        ),
        ("place of a store", "mov.b64 %d4, %d1;", "st.global.b32 [%d4], 1;".to_owned()),
        ("place of an atomic", "mov.b64 %d4, %d1;", "red.global.add.u32 [%d4], 1;".to_owned()),
        ("new value of an exchange", "mov.b32 %r4, 1;", "atom.global.cas.b32 %r5, [%d1], 1, %r4;".to_owned()),
        ("vote of a barrier", "setp.eq.u32 %p0, %r0, 1;", "bar.red.popc.u32 %r5, 0, %p0;".to_owned()),
        ("threads of a barrier", "mov.b32 %r4, 32;", "bar.sync 1, %r4;".to_owned()),
        ("value of a match", "mov.b32 %r4, 1;", format!("match.any.sync.b32 %r5, %r4, -1; {store}")),
        ("lane of a shuffle", "mov.b32 %r4, 0;", format!("shfl.sync.idx.b32 %r5|%p1, %r0, %r4, 31, -1; {store}")),
        (
            "bound of a shuffle",
            "mov.b32 %r4, 31;",
            "shfl.sync.idx.b32 %r5|%p1, %r0, 0, %r4, -1; @%p1 st.global.b32 [%d1], 1;".to_owned(),
        ),
    ] {
        reported(name, &format!("{body} ret;"), Grid::linear(1, 32), WORDS, undefined);
        silent(name, &format!("{line} {body} ret;"), Grid::linear(1, 32), WORDS);
    }
}
