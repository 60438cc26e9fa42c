//! Whole programs: memory, shared memory, barriers, shuffles, calls, tables, schedules.

use cuda_sim::exec::{Checks, Grid, Options, Schedule};

use crate::exec::rig::{download, memory, module, results, run, upload};

/// `out[i] = a[i] + b[i]` for `i < n`, one thread each.
pub(crate) const ADD: &str = "
    ld.param.u64 %d0, [p0];
    ld.param.u64 %d1, [p1];
    ld.param.u64 %d2, [p2];
    ld.param.b32 %d3, [p3];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.s32 %r3, %r0, %r1, %r2;
    cvt.u64.u32 %d4, %r3;
    setp.ge.u64 %p0, %d4, %d3;
    @%p0 bra $done;
    shl.b64 %d5, %d4, 2;
    add.s64 %d6, %d0, %d5;
    add.s64 %d7, %d1, %d5;
    add.s64 %d8, %d2, %d5;
    ld.global.b32 %r4, [%d6];
    ld.global.b32 %r5, [%d7];
    add.s32 %r6, %r4, %r5;
    st.global.b32 [%d8], %r6;
$done:
    ret;";

/// Sums 256 words per block: shared memory, then one warp by shuffles.
pub(crate) const REDUCE: &str = "
    .shared .align 4 .b8 tile[1024];
    ld.param.u64 %d0, [p0];
    ld.param.u64 %d1, [p1];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r0, 8;
    add.s32 %r2, %r2, %r1;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d2, %d2, %d0;
    ld.global.b32 %r3, [%d2];
    mov.u32 %r4, tile;
    shl.b32 %r5, %r1, 2;
    add.s32 %r4, %r4, %r5;
    st.shared.b32 [%r4], %r3;
    mov.b32 %r6, 128;
$fold:
    bar.sync 0;
    setp.ge.u32 %p0, %r1, %r6;
    @%p0 bra $next;
    shl.b32 %r7, %r6, 2;
    add.s32 %r8, %r4, %r7;
    ld.shared.b32 %r9, [%r8];
    ld.shared.b32 %r10, [%r4];
    add.s32 %r10, %r10, %r9;
    st.shared.b32 [%r4], %r10;
$next:
    shr.u32 %r6, %r6, 1;
    setp.ge.u32 %p1, %r6, 32;
    @%p1 bra $fold;
    bar.sync 0;
    setp.ge.u32 %p0, %r1, 32;
    @%p0 bra $done;
    mov.u32 %r4, tile;
    sub.u32 %r4, %r4, %r5;
    ld.shared.b32 %r10, [%r4+124];
    mov.b32 %r11, 16;
$shuffle:
    shfl.sync.bfly.b32 %r12|%p3, %r10, %r11, 31, -1;
    add.s32 %r10, %r10, %r12;
    shr.u32 %r11, %r11, 1;
    setp.ne.u32 %p2, %r11, 0;
    @%p2 bra $shuffle;
    setp.ne.u32 %p0, %r1, 0;
    @%p0 bra $done;
    mul.wide.u32 %d3, %r0, 4;
    add.s64 %d3, %d3, %d1;
    st.global.b32 [%d3], %r10;
$done:
    ret;";

/// The schedules and modes every correct program must agree on.
pub(crate) fn all_modes() -> Vec<Options> {
    let schedules = [Schedule::Natural, Schedule::Reverse, Schedule::Seeded(1), Schedule::Seeded(2)];
    let checks = [Checks::none(), Checks::sanitize()];
    let both = schedules.into_iter().flat_map(|schedule| checks.map(|checks| (schedule, checks)));
    let mut all: Vec<Options> =
        both.map(|(schedule, checks)| Options { schedule, checks, ..Options::default() }).collect();
    all.push(Options { threads: 2, ..Options::default() });
    all
}

#[test]
fn vector_addition_covers_partial_warps_and_blocks() {
    for n in [1_usize, 31, 32, 33, 255, 256, 257, 1000] {
        let memory = memory();
        let a: Vec<u32> = (0..n as u32).map(|i| i * 7).collect();
        let b: Vec<u32> = (0..n as u32).map(|i| u32::MAX - i).collect();
        let (pa, pb, out) = (upload(&memory, &a), upload(&memory, &b), memory.alloc(0, 4 * n as u64).unwrap());
        let grid = Grid::linear(n.div_ceil(256) as u32, 256);
        run(&module(4, ADD), grid, &[pa, pb, out, n as u64], &memory, &Options::sanitize()).unwrap();
        let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
        assert_eq!(download(&memory, out, n), expected);
    }
}

#[test]
fn block_reduction_agrees_in_every_mode() {
    let mut rng = fastrand::Rng::with_seed(1);
    let words: Vec<u32> = std::iter::repeat_with(|| rng.u32(..)).take(256 * 20).collect();
    let expected: Vec<u32> =
        words.chunks(256).map(|block| block.iter().fold(0, |s: u32, w| s.wrapping_add(*w))).collect();
    for options in all_modes() {
        let sums = results(&module(2, REDUCE), Grid::linear(20, 256), &[&words], 20, &options).unwrap();
        assert_eq!(sums, expected, "{options:?}");
    }
}
