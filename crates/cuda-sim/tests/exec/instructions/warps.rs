//! Warp collectives and tensor instructions against scalar loops.

use cuda_sim::exec::{Grid, Options};
use half::bf16;

use crate::exec::programs::all_modes;
use crate::exec::rig::{in_place, indexed, module, results};

/// Runs one warp: `%r1` holds the lane's input word, `%r0` the lane; `%r4` and `%r5` are stored.
fn warp(body: &str, input: &[u32], options: &Options) -> (Vec<u32>, Vec<u32>) {
    let text = module(
        2,
        &format!(
            "ld.param.u64 %d0, [p0];
             ld.param.u64 %d1, [p1];
             mov.u32 %r0, %laneid;
             mul.wide.u32 %d2, %r0, 4;
             add.s64 %d0, %d0, %d2;
             ld.global.b32 %r1, [%d0];
             mov.b32 %r5, 0;
             {body}
             add.s64 %d1, %d1, %d2;
             st.global.b32 [%d1], %r4;
             st.global.b32 [%d1+128], %r5;
             ret;"
        ),
    );
    let words = results(&text, Grid::linear(1, 32), &[input], 64, options).unwrap();
    (words[..32].to_vec(), words[32..].to_vec())
}

fn inputs() -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(1);
    (0..32).map(|_| rng.u32(..)).collect()
}

#[test]
fn shuffles_follow_the_table_of_modes_segments_and_clamps() {
    let input = inputs();
    for (mode, clamps) in [
        ("idx", [0x1f, 0x181f, 0x100f]),
        ("bfly", [0x1f, 0x181f, 0x1c1f]),
        ("down", [0x1f, 0x181f, 0x0017]),
        ("up", [0x00, 0x1800, 0x1c00]),
    ] {
        for clamp in clamps {
            for by in [0, 1, 3, 8, 16, 31] {
                let body = format!("shfl.sync.{mode}.b32 %r4|%p1, %r1, {by}, {clamp}, -1; selp.b32 %r5, 1, 0, %p1;");
                let (values, valid) = warp(&body, &input, &Options::sanitize());
                for lane in 0..32_i32 {
                    let (segment, bound, by) = (clamp >> 8 & 31, clamp & 31, by);
                    let max_lane = (lane & segment) | (bound & !segment & 31);
                    let (from, in_range) = match mode {
                        "up" => (lane - by, lane - by >= max_lane),
                        "down" => (lane + by, lane + by <= max_lane),
                        "bfly" => (lane ^ by, lane ^ by <= max_lane),
                        _ => {
                            let from = (lane & segment) | (by & !segment & 31);
                            (from, from <= max_lane)
                        }
                    };
                    let from = if in_range { from } else { lane };
                    let got = (values[lane as usize], valid[lane as usize] == 1);
                    assert_eq!(got, (input[from as usize], in_range), "{mode} {by} {clamp:x} lane {lane}");
                }
            }
        }
    }
}

#[test]
fn votes_matches_and_reductions() {
    let input: Vec<u32> = inputs().iter().map(|word| word % 5).collect();
    for options in all_modes() {
        let ballot =
            input.iter().enumerate().filter(|(_, word)| **word > 2).fold(0, |mask, (lane, _)| mask | 1 << lane);
        let body = "setp.gt.u32 %p1, %r1, 2; vote.sync.ballot.b32 %r4, %p1, -1;
            vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, !%p1, -1;
            selp.b32 %r5, 1, 0, %p2; @%p3 add.u32 %r5, %r5, 2;";
        let (ballots, flags) = warp(body, &input, &options);
        assert_eq!((ballots, flags), (vec![ballot; 32], vec![1; 32]));
        let (same, _) = warp("match.any.sync.b32 %r4, %r1, -1;", &input, &options);
        for (lane, mask) in same.iter().enumerate() {
            let expected =
                (0..32).filter(|&other| input[other] == input[lane]).fold(0, |mask, other| mask | 1 << other);
            assert_eq!(*mask, expected);
        }
    }
    let input = inputs();
    let fold = |f: fn(u32, u32) -> u32| input.iter().copied().reduce(f).unwrap();
    let expected: [(&str, u32); 8] = [
        ("add.u32", fold(u32::wrapping_add)),
        ("min.u32", fold(u32::min)),
        ("max.u32", fold(u32::max)),
        ("min.s32", fold(|a, b| (a as i32).min(b as i32) as u32)),
        ("max.s32", fold(|a, b| (a as i32).max(b as i32) as u32)),
        ("and.b32", fold(|a, b| a & b)),
        ("or.b32", fold(|a, b| a | b)),
        ("xor.b32", fold(|a, b| a ^ b)),
    ];
    for (op, expected) in expected {
        let (got, _) = warp(&format!("redux.sync.{op} %r4, %r1, -1;"), &input, &Options::default());
        assert_eq!(got, vec![expected; 32], "{op}");
    }
}

#[test]
fn lanes_of_each_mask_agree_among_themselves() {
    // Lanes with an even and with an odd number, each with a mask of them.
    let masks = "and.b32 %r7, %r0, 1; setp.eq.u32 %p4, %r7, 0; selp.b32 %r6, 0x55555555, 0xaaaaaaaa, %p4;";
    let wide = "mov.b64 %d3, {%r0, %r1}; and.b64 %d3, %d3, 0xffffffff00000000;";
    let flag = "selp.b32 %r4, 1, 0, %p2;";
    let zero = "setp.eq.u32 %p1, %r1, 0;";
    let inputs: [Vec<u32>; 4] = [
        (0..32).map(|lane| lane % 3).collect(),
        (0..32).map(|lane| lane % 2).collect(),
        vec![0; 32],
        (0..32).map(|lane| u32::from(lane == 7)).collect(),
    ];
    for (input, options) in inputs.iter().zip(all_modes()) {
        let got = |body: &str| warp(&format!("{masks} {wide} {zero} {body}"), input, &options);
        let lanes = |lane: usize, holds: &dyn Fn(usize) -> bool| {
            let members = (0..32_usize).filter(|other| other % 2 == lane % 2);
            members.filter(|&other| holds(other)).fold(0_u32, |mask, other| mask | 1 << other)
        };
        let ballots = got("vote.sync.ballot.b32 %r4, %p1, %r6;").0;
        let all = got(&format!("vote.sync.all.pred %p2, %p1, %r6; {flag}")).0;
        let any = got(&format!("vote.sync.any.pred %p2, %p1, %r6; {flag}")).0;
        let uniform = got(&format!("vote.sync.uni.pred %p2, %p1, %r6; {flag}")).0;
        let sums = got("redux.sync.add.s32 %r4, %r1, %r6;").0;
        let same = got("match.any.sync.b32 %r4, %r1, %r6; match.any.sync.b64 %r5, %d3, %r6;");
        let equal = got("match.all.sync.b32 %r4|%p2, %r1, %r6; selp.b32 %r5, 1, 0, %p2;");
        let wide_equal = got("match.all.sync.b64 %r4|%p2, %d3, %r6; selp.b32 %r5, 1, 0, %p2;");
        for lane in 0..32 {
            let (members, yes) = (lanes(lane, &|_| true), lanes(lane, &|other| input[other] == 0));
            let alike = lanes(lane, &|other| input[other] == input[lane]);
            let of_group = (0..32_usize).filter(|other| other % 2 == lane % 2).map(|other| input[other]);
            assert_eq!(ballots[lane], yes, "{input:?}");
            assert_eq!(all[lane], u32::from(yes == members), "{input:?}");
            assert_eq!(any[lane], u32::from(yes != 0), "{input:?}");
            assert_eq!(uniform[lane], u32::from(yes == members || yes == 0), "{input:?}");
            assert_eq!(sums[lane], of_group.sum::<u32>(), "{input:?}");
            assert_eq!((same.0[lane], same.1[lane]), (alike, alike), "{input:?}");
            let expected = if alike == members { (members, 1) } else { (0, 0) };
            assert_eq!((equal.0[lane], equal.1[lane]), expected, "{input:?}");
            assert_eq!((wide_equal.0[lane], wide_equal.1[lane]), expected, "{input:?}");
        }
    }
}

#[test]
fn barriers_reduce_over_the_threads_that_come_to_them() {
    // Warps 0 and 1 meet at barrier 1, and warp 2 is on its own at barrier 2; then all meet.
    let body = "setp.lt.u32 %p0, %r0, BOUND;
        setp.ge.u32 %p1, %r0, 64;
        @%p1 bra $last;
        bar.red.popc.u32 %r4, 1, 64, %p0;
        bra.uni $join;
        $last:
        barrier.red.popc.aligned.u32 %r4, 2, 32, !%p0;
        $join:
        bar.red.and.pred %p2, 0, %p0;
        bar.red.or.pred %p3, 3, 96, %p0;
        bar.red.popc.u32 %r5, 0, %p0;
        shl.b32 %r5, %r5, 8;
        add.u32 %r4, %r4, %r5;
        @%p2 add.u32 %r4, %r4, 0x10000;
        @%p3 add.u32 %r4, %r4, 0x20000;
        st.global.b32 [%d1], %r4;
        ret;";
    for bound in [0_u32, 1, 40, 64, 70, 96] {
        for options in all_modes() {
            let text = indexed(&body.replace("BOUND", &bound.to_string()));
            let got = in_place(&text, Grid::linear(1, 96), &[0; 96], &options).unwrap();
            let flags = u32::from(bound == 96) << 16 | u32::from(bound > 0) << 17;
            let expected = |thread: u32| {
                let here = if thread < 64 { bound.min(64) } else { 96 - bound.max(64) };
                here + (bound << 8) + flags
            };
            assert_eq!(got, (0..96).map(expected).collect::<Vec<_>>(), "{bound}, {options:?}");
        }
    }
}

#[test]
fn threads_that_only_arrive_release_those_that_wait() {
    // Warp 1 stores a value, arrives and ends; warp 0 waits for it.
    let body = ".shared .b32 s;
        setp.ge.u32 %p0, %r0, 32;
        @%p0 bra $give;
        bar.sync 1, 64;
        ld.shared.b32 %r4, [s];
        st.global.b32 [%d1], %r4;
        ret;
        $give:
        st.shared.b32 [s], 7;
        bar.arrive 1, 64;
        st.global.b32 [%d1], 8;
        ret;";
    for options in all_modes() {
        let got = in_place(&indexed(body), Grid::linear(1, 64), &[0; 64], &options).unwrap();
        assert_eq!(got, [[7; 32], [8; 32]].concat(), "{options:?}");
    }
}

#[test]
fn special_registers_name_threads_and_blocks_by_their_coordinates() {
    type Expected = fn([u32; 3], [u32; 3]) -> u32;
    let (grid, block) = ([3, 2, 2], [5, 3, 4]);
    let mut registers: Vec<(String, Expected)> = Vec::new();
    let axes: [(&str, [Expected; 4]); 3] = [
        ("x", [|thread, _| thread[0], |_, _| 5, |_, block| block[0], |_, _| 3]),
        ("y", [|thread, _| thread[1], |_, _| 3, |_, block| block[1], |_, _| 2]),
        ("z", [|thread, _| thread[2], |_, _| 4, |_, block| block[2], |_, _| 2]),
    ];
    for (axis, [tid, ntid, ctaid, nctaid]) in axes {
        for (name, expected) in [("tid", tid), ("ntid", ntid), ("ctaid", ctaid), ("nctaid", nctaid)] {
            registers.push((format!("{name}.{axis}"), expected));
        }
        // Without clusters every block is one.
        for (name, expected) in [("clusterid", ctaid), ("nclusterid", nctaid)] {
            registers.push((format!("{name}.{axis}"), expected));
        }
        registers.push((format!("cluster_ctaid.{axis}"), |_, _| 0));
        registers.push((format!("cluster_nctaid.{axis}"), |_, _| 1));
    }
    let others: [(&str, Expected); 10] = [
        ("laneid", |thread, _| (thread[0] + 5 * (thread[1] + 3 * thread[2])) % 32),
        ("warpid", |thread, _| (thread[0] + 5 * (thread[1] + 3 * thread[2])) / 32),
        ("nwarpid", |_, _| 2),
        ("smid", |_, _| 0),
        ("nsmid", |_, _| 1),
        ("cluster_ctarank", |_, _| 0),
        ("cluster_nctarank", |_, _| 1),
        ("dynamic_smem_size", |_, _| 48),
        ("total_smem_size", |_, _| 72),
        ("aggr_smem_size", |_, _| 72),
    ];
    registers.extend(others.map(|(name, expected)| (name.to_owned(), expected)));
    let count = registers.len() as u32;
    let stores = registers
        .iter()
        .enumerate()
        .map(|(index, (name, _))| format!("mov.u32 %r4, %{name}; st.global.b32 [%d0+{}], %r4;\n", 4 * index));
    let text = module(
        1,
        &format!(
            ".shared .align 4 .b8 s[24];
             ld.param.u64 %d0, [p0];
             mov.u32 %r0, %tid.z; mov.u32 %r1, %tid.y; mad.lo.u32 %r0, %r0, 3, %r1;
             mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %r0, 5, %r1;
             mov.u32 %r2, %ctaid.z; mov.u32 %r1, %ctaid.y; mad.lo.u32 %r2, %r2, 2, %r1;
             mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r2, 3, %r1;
             mad.lo.u32 %r0, %r2, 60, %r0;
             mul.wide.u32 %d1, %r0, {}; add.s64 %d0, %d0, %d1;
             {} ret;",
            4 * count,
            stores.collect::<String>()
        ),
    );
    let text = text.replace(".version 7.8", ".version 8.1").replace("sm_80", "sm_90");
    let shape = Grid { grid, block, dynamic_shared: 48 };
    let got = results(&text, shape, &[], (720 * count) as usize, &Options::sanitize()).unwrap();
    let place = |index: u32, [x, y, _]: [u32; 3]| [index % x, index / x % y, index / (x * y)];
    for number in 0..720 {
        let (thread, block) = (place(number % 60, block), place(number / 60, grid));
        for (index, (name, expected)) in registers.iter().enumerate() {
            let value = got[(number * count) as usize + index];
            assert_eq!(value, expected(thread, block), "{name} of thread {thread:?} of block {block:?}");
        }
    }
}

#[test]
fn clocks_count_up() {
    let body = "mov.u32 %r4, %clock; mov.u64 %d3, %clock64; mov.u32 %r6, %clock; cvt.u32.u64 %r7, %d3;
        sub.u32 %r4, %r7, %r4; sub.u32 %r7, %r6, %r7; min.u32 %r4, %r4, %r7; mov.u32 %r5, %clock_hi;";
    let (steps, high) = warp(body, &[0; 32], &Options::default());
    assert!(steps.iter().all(|&steps| (1..16).contains(&steps)), "{steps:?}");
    assert_eq!(high, [0; 32]);
}

#[test]
fn masks_of_lanes_below_and_above() {
    type Holds = fn(u32, u32) -> bool;
    let masks: [(&str, Holds); 5] = [
        ("eq", |lane, other| other == lane),
        ("lt", |lane, other| other < lane),
        ("le", |lane, other| other <= lane),
        ("gt", |lane, other| other > lane),
        ("ge", |lane, other| other >= lane),
    ];
    for (name, holds) in masks {
        let (got, _) = warp(&format!("mov.u32 %r4, %lanemask_{name};"), &inputs(), &Options::sanitize());
        let mask = |lane: u32| (0..32).filter(|&other| holds(lane, other)).fold(0u32, |bits, other| bits | 1 << other);
        assert_eq!(got, (0..32).map(mask).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn half_warps_shuffle_apart() {
    let body = "mov.b32 %r6, 0xffff;
        setp.ge.u32 %p1, %r0, 16;
        @%p1 mov.b32 %r6, 0xffff0000;
        shfl.sync.bfly.b32 %r4, %r1, 1, 31, %r6;";
    let input = inputs();
    let expected: Vec<u32> = (0..32).map(|lane| input[lane ^ 1]).collect();
    for options in all_modes() {
        assert_eq!(warp(body, &input, &options).0, expected);
    }
}

#[test]
fn calls_and_tables_take_lanes_apart_and_together() {
    // Lane i calls function i % 2 through a table of handles, then branches by i % 3. Declarations go before, as
    // compilers write them for the table.
    let text = ".version 7.0\n.target sm_80\n.address_size 64
        .func (.param .b32 r) twice(.param .b32 a);
        .func (.param .b32 r) plus(.param .b32 a);
        .func (.param .b32 r) twice(.param .b32 a) {
            .reg .b32 %r<3>;
            ld.param.b32 %r0, [a];
            add.u32 %r1, %r0, %r0;
            st.param.b32 [r], %r1;
            ret;
        }
        .func (.param .b32 r) plus(.param .b32 a) {
            .reg .b32 %r<3>;
            .reg .pred %p<2>;
            ld.param.b32 %r0, [a];
            setp.gt.u32 %p0, %r0, 20;
            @%p0 bra $big;
            add.u32 %r0, %r0, 1000;
            $big:
            st.param.b32 [r], %r0;
            ret;
        }
        .global .align 8 .u64 table[2] = {twice, plus};
        .visible .entry k(.param .u64 out) {
            .reg .pred %p<4>;
            .reg .b32 %r<10>;
            .reg .b64 %d<6>;
            ld.param.u64 %d0, [out];
            mov.u32 %r0, %tid.x;
            and.b32 %r1, %r0, 1;
            mul.wide.u32 %d1, %r1, 8;
            mov.u64 %d2, table;
            add.s64 %d2, %d2, %d1;
            ld.global.u64 %d3, [%d2];
            {
                .param .b32 a0;
                .param .b32 r0;
                st.param.b32 [a0], %r0;
                proto: .callprototype (.param .b32 _) _ (.param .b32 _);
                call (r0), %d3, (a0), proto;
                ld.param.b32 %r2, [r0];
            }
            {
                .param .b32 a0;
                .param .b32 r0;
                st.param.b32 [a0], %r2;
                call.uni (r0), twice, (a0);
                ld.param.b32 %r2, [r0];
            }
            rem.u32 %r3, %r0, 3;
            $targets: .branchtargets $a, $b, $c;
            brx.idx %r3, $targets;
            $a: add.u32 %r2, %r2, 1; bra.uni $end;
            $b: add.u32 %r2, %r2, 2; bra.uni $end;
            $c: add.u32 %r2, %r2, 3;
            $end:
            bar.warp.sync -1;
            mul.wide.u32 %d4, %r0, 4;
            add.s64 %d4, %d4, %d0;
            st.global.b32 [%d4], %r2;
            ret;
        }";
    for options in all_modes() {
        let got = results(text, Grid::linear(1, 32), &[], 32, &options).unwrap();
        let expected = (0..32).map(|i: u32| {
            let first = if i.is_multiple_of(2) {
                2 * i
            } else if i > 20 {
                i
            } else {
                i + 1000
            };
            2 * first + i % 3 + 1
        });
        assert_eq!(got, expected.collect::<Vec<_>>());
    }
}

/// Fills shared memory with 8 x 8 matrices of halves, loads them as fragments, multiplies.
#[test]
fn a_tile_product_through_ldmatrix_equals_a_scalar_loop() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut value = |_: i32| bf16::from_f64(f64::from(rng.i8(-32..32)) / 8.0);
    let a: Vec<bf16> = (0..256).map(&mut value).collect();
    let b: Vec<bf16> = (0..128).map(value).collect();
    let pack = |halves: &[bf16]| -> Vec<u32> {
        halves.chunks(2).map(|pair| u32::from(pair[1].to_bits()) << 16 | u32::from(pair[0].to_bits())).collect()
    };
    // A is 16 x 16 by rows, B is 16 (k) x 8 (n) by rows; B is read transposed.
    let text = module(
        3,
        ".shared .align 16 .b8 sa[512];
         .shared .align 16 .b8 sb[256];
         ld.param.u64 %d0, [p0];
         ld.param.u64 %d1, [p1];
         ld.param.u64 %d2, [p2];
         mov.u32 %r0, %tid.x;
         mov.u32 %r1, sa;
         mov.u32 %r2, sb;
         mul.wide.u32 %d3, %r0, 16;
         add.s64 %d4, %d0, %d3;
         ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%d4];
         shl.b32 %r7, %r0, 4;
         add.u32 %r8, %r1, %r7;
         st.shared.v4.b32 [%r8], {%r3, %r4, %r5, %r6};
         mul.wide.u32 %d3, %r0, 8;
         add.s64 %d4, %d1, %d3;
         ld.global.v2.b32 {%r3, %r4}, [%d4];
         shl.b32 %r7, %r0, 3;
         add.u32 %r8, %r2, %r7;
         st.shared.v2.b32 [%r8], {%r3, %r4};
         bar.sync 0;
         and.b32 %r9, %r0, 15;
         shl.b32 %r9, %r9, 5;
         shr.u32 %r10, %r0, 4;
         shl.b32 %r10, %r10, 4;
         add.u32 %r9, %r9, %r10;
         add.u32 %r9, %r9, %r1;
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r9];
         and.b32 %r15, %r0, 15;
         shl.b32 %r15, %r15, 4;
         add.u32 %r15, %r15, %r2;
         ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r16, %r17}, [%r15];
         mov.b32 %r18, 0f3F800000;
         mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r20, %r21, %r22, %r23},
             {%r11, %r12, %r13, %r14}, {%r16, %r17}, {%r18, %r18, %r18, %r18};
         mul.wide.u32 %d3, %r0, 16;
         add.s64 %d4, %d2, %d3;
         st.global.v4.b32 [%d4], {%r20, %r21, %r22, %r23};
         ret;",
    );
    for options in all_modes() {
        let got = results(&text, Grid::linear(1, 32), &[&pack(&a), &pack(&b)], 128, &options).unwrap();
        for lane in 0..32 {
            for r in 0..4 {
                let (row, column) = (lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2);
                // Small multiples of 1/64: every order of summation is exact.
                let sum: f64 = (0..16).map(|k| a[16 * row + k].to_f64() * b[8 * k + column].to_f64()).sum();
                assert_eq!(f64::from(f32::from_bits(got[4 * lane + r])), sum + 1.0, "row {row} column {column}");
            }
        }
    }
}
