//! Warp collectives and tensor instructions against scalar loops.

use cuda_sim::exec::{Grid, Options};
use half::bf16;

use crate::exec::programs::all_modes;
use crate::exec::rig::{module, results};

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

#[test]
fn products_of_bytes_and_tf32_equal_scalar_loops() {
    // Every lane passes other words; the fragments are read back by the layout of the tables.
    let mut rng = fastrand::Rng::with_seed(1);
    let mut constants = |count: u32, first: u32| -> (Vec<u32>, String) {
        let words = (0..32 * count).map(|_| rng.u32(..)).collect();
        let loads: Vec<String> =
            (0..count).map(|r| format!("ld.global.b32 %r{}, [%d3+{}];", first + r, 128 * r)).collect();
        (words, loads.concat())
    };
    let program = |instruction: &str, loads: [String; 3]| {
        let [a, b, c] = loads;
        module(
            4,
            &format!(
                "mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4;
                 ld.param.u64 %d3, [p0]; add.s64 %d3, %d3, %d2; {a}
                 ld.param.u64 %d3, [p1]; add.s64 %d3, %d3, %d2; {b}
                 ld.param.u64 %d3, [p2]; add.s64 %d3, %d3, %d2; {c}
                 {instruction} {{%r20, %r21, %r22, %r23}}, {{%r1, %r2, %r3, %r4}}, {{%r5, %r6}}, {{%r7, %r8, %r9, %r10}};
                 ld.param.u64 %d3, [p3]; mul.wide.u32 %d2, %r0, 16; add.s64 %d3, %d3, %d2;
                 st.global.v4.b32 [%d3], {{%r20, %r21, %r22, %r23}};
                 ret;"
            ),
        )
    };
    let execute = |text: &str, inputs: [&[u32]; 3]| {
        results(text, Grid::linear(1, 32), &inputs, 128, &Options::sanitize()).unwrap()
    };
    let (a, load_a) = constants(4, 1);
    let (b, load_b) = constants(2, 5);
    let (c, load_c) = constants(4, 7);
    let loads = [load_a, load_b, load_c];
    let text = program("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", loads.clone());
    let got = execute(&text, [&a, &b, &c]);
    let byte =
        |words: &[u32], r: usize, lane: usize, item: usize| i64::from((words[32 * r + lane] >> (8 * item)) as i8);
    for lane in 0..32 {
        for r in 0..4 {
            let (row, column) = (lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2);
            let dot: i64 = (0..32)
                .map(|k| {
                    let (part, in_part) = (k / 16, k % 16);
                    let from_a = byte(&a, 2 * part + row / 8, 4 * (row % 8) + in_part / 4, in_part % 4);
                    from_a * byte(&b, part, 4 * column + in_part / 4, in_part % 4)
                })
                .sum();
            let expected = i64::from(c[32 * r + lane] as i32).wrapping_add(dot) as u32;
            assert_eq!(got[4 * lane + r], expected, "row {row} column {column}");
        }
    }
    // Small integers as tf32, whose sums are exact.
    let small = |words: &[u32]| -> Vec<u32> { words.iter().map(|word| ((word % 16) as f32 - 8.0).to_bits()).collect() };
    let [a, b, c] = [small(&a), small(&b), small(&c)];
    let text = program("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", loads);
    let got = execute(&text, [&a, &b, &c]);
    let float = |words: &[u32], r: usize, lane: usize| f32::from_bits(words[32 * r + lane]);
    for lane in 0..32 {
        for r in 0..4 {
            let (row, column) = (lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2);
            let dot: f32 = (0..8)
                .map(|k| float(&a, row / 8 + 2 * (k / 4), 4 * (row % 8) + k % 4) * float(&b, k / 4, 4 * column + k % 4))
                .sum();
            assert_eq!(f32::from_bits(got[4 * lane + r]), float(&c, r, lane) + dot, "row {row} column {column}");
        }
    }
}
