//! Whole programs: memory, shared memory, barriers, shuffles, calls, tables, schedules.

use cuda_sim::exec::{Checks, FaultKind, Grid, LaunchFault, Options, Schedule};

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

/// A function with arguments of several sizes, a recursion, and a call through a moved address.
const CALLS: &str = ".version 7.8\n.target sm_80\n.address_size 64
    .func (.param .b64 sum) mixed(.param .b8 a, .param .b64 b, .param .b16 c, .param .align 16 .b8 d[24]) {
        .reg .b16 %h<3>;
        .reg .b32 %r<2>;
        .reg .b64 %d<6>;
        .local .align 8 .b64 kept;
        ld.param.u8 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u16 %d2, [c];
        ld.param.u64 %d3, [d+16]; st.local.b64 [kept], %d3; ld.param.v2.u64 {%d4, %d5}, [d];
        add.s64 %d0, %d0, %d1; add.s64 %d0, %d0, %d2; ld.local.b64 %d3, [kept]; add.s64 %d0, %d0, %d3;
        add.s64 %d0, %d0, %d4; add.s64 %d0, %d0, %d5;
        st.param.b64 [sum], %d0;
        ret;
    }
    .func (.param .b32 result) fall(.param .b32 depth) {
        .reg .b32 %r<3>;
        .reg .pred %p<2>;
        .local .align 4 .b8 room[ROOM];
        ld.param.b32 %r0, [depth];
        st.local.b32 [room], %r0;
        mov.b32 %r1, 0;
        setp.eq.u32 %p0, %r0, 0;
        @%p0 bra $end;
        {
            .param .b32 a0; .param .b32 r0;
            sub.u32 %r1, %r0, 1;
            st.param.b32 [a0], %r1;
            call (r0), fall, (a0);
            ld.param.b32 %r1, [r0];
        }
        $end:
        ld.local.b32 %r2, [room];
        add.u32 %r1, %r1, %r2;
        st.param.b32 [result], %r1;
        ret;
    }
    .func touch(.param .b64 at) {
        .reg .b64 %d<2>;
        ld.param.u64 %d0, [at]; st.global.b64 [%d0], 77; ret;
    }
    .visible .entry k(.param .u64 depth, .param .u64 out) {
        .reg .b16 %h<3>;
        .reg .b32 %r<4>;
        .reg .b64 %d<8>;
        .param .b8 a0; .param .b64 b0; .param .b16 c0; .param .align 16 .b8 d0[24]; .param .b64 r1;
        .param .b32 n0; .param .b32 s0; .param .b64 t0;
        ld.param.u64 %d0, [out]; ld.param.u32 %r0, [depth];
        st.param.b8 [a0], 200; st.param.b64 [b0], 0x100000000; st.param.b16 [c0], 60000;
        st.param.b64 [d0], 1; st.param.b64 [d0+8], 0x20000; st.param.b64 [d0+16], 0x300000000000;
        call (r1), mixed, (a0, b0, c0, d0);
        ld.param.u64 %d2, [r1]; st.global.b64 [%d0], %d2;
        st.param.b32 [n0], %r0;
        call (s0), fall, (n0);
        ld.param.b32 %r1, [s0]; st.global.b32 [%d0+8], %r1;
        add.s64 %d3, %d0, 16; st.param.b64 [t0], %d3;
        mov.u64 %d4, touch;
        proto: .callprototype _ (.param .b64 _);
        call %d4, (t0), proto;
        add.s64 %d3, %d0, 24; st.param.b64 [t0], %d3;
        call touch, (t0);
        ret;
    }";

#[test]
fn calls_pass_values_of_every_size_and_recur_until_there_is_no_room() {
    let attempt = |room: u32, depth: u64, options: &Options| {
        let memory = memory();
        let out = memory.alloc(0, 32).unwrap();
        let text = CALLS.replace("ROOM", &room.to_string());
        run(&text, Grid::linear(1, 1), &[depth, out], &memory, options)?;
        Ok::<_, Box<LaunchFault>>(download(&memory, out, 8))
    };
    let sum = 200 + (1_u64 << 32) + 60000 + 1 + 0x20000 + 0x3000_0000_0000;
    for options in all_modes() {
        let got = attempt(4, 5, &options).unwrap();
        let wide = |index: usize| u64::from(got[2 * index + 1]) << 32 | u64::from(got[2 * index]);
        assert_eq!((wide(0), got[2]), (sum, 15));
        assert_eq!((wide(2), wide(3)), (77, 77));
    }
    // The kernel is at depth 0 of 24, so `fall` may be called 23 times. Of rooms of a third of local memory, two fit with
    // the other variables.
    let deepest = |room: u32| (0..40).take_while(|&depth| attempt(room, depth, &Options::default()).is_ok()).last();
    assert_eq!(deepest(4), Some(22));
    assert_eq!(deepest(512 * 1024 / 3), Some(1));
    assert_eq!(attempt(4, 23, &Options::default()).unwrap_err().kind, FaultKind::CallDepth(24));
}
