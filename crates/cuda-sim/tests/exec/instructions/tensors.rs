//! Fragments of matrices by the tables of the instruction set.

use cuda_sim::exec::{Grid, Options};
use half::{bf16, f16};

use crate::exec::rig::{module, results};

/// Runs `instruction` on fragments of the accumulator and of two factors, with `a_words` and `b_words` words each.
fn multiply(instruction: &str, a_words: usize, b_words: usize, inputs: [&[u32]; 3]) -> Vec<u32> {
    let names =
        |first: usize, count: usize| -> Vec<String> { (first..first + count).map(|r| format!("%r{r}")).collect() };
    let (a, b, c) = (names(1, a_words), names(5, b_words), names(7, 4));
    let loads = |parameter: usize, names: &[String]| {
        let lines = names.iter().enumerate().map(|(r, name)| format!("ld.global.b32 {name}, [%d3+{}];\n", 128 * r));
        format!("ld.param.u64 %d3, [p{parameter}]; add.s64 %d3, %d3, %d2;\n{}", lines.collect::<String>())
    };
    let text = module(
        4,
        &format!(
            "mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 4; {}{}{}
             {instruction} {{%r20, %r21, %r22, %r23}}, {{{}}}, {{{}}}, {{{}}};
             ld.param.u64 %d3, [p3]; mul.wide.u32 %d2, %r0, 16; add.s64 %d3, %d3, %d2;
             st.global.v4.b32 [%d3], {{%r20, %r21, %r22, %r23}};
             ret;",
            loads(0, &a),
            loads(1, &b),
            loads(2, &c),
            a.join(", "),
            b.join(", "),
            c.join(", ")
        ),
    );
    results(&text, Grid::linear(1, 32), &inputs, 128, &Options::sanitize()).unwrap()
}

/// Calls `f` with lane, register, row and column of each element of an accumulator of 16 x 8.
fn elements(mut f: impl FnMut(usize, usize, usize, usize)) {
    for lane in 0..32 {
        for r in 0..4 {
            f(lane, r, lane / 4 + 8 * (r / 2), 2 * (lane % 4) + r % 2);
        }
    }
}

#[test]
fn products_of_halves_equal_scalar_loops() {
    type HalfFormat = (&'static str, fn(f32) -> u16, fn(u16) -> f32);
    let formats: [HalfFormat; 2] = [
        ("f16", |value| f16::from_f32(value).to_bits(), |bits| f16::from_bits(bits).to_f32()),
        ("bf16", |value| bf16::from_f32(value).to_bits(), |bits| bf16::from_bits(bits).to_f32()),
    ];
    for (ty, narrow, widen) in formats {
        for depth in [8, 16] {
            // Small integers, whose sums are exact.
            let mut rng = fastrand::Rng::with_seed(depth as u64);
            let mut pairs = |count: usize| -> Vec<u32> {
                let mut half = || u32::from(narrow(f32::from(rng.i8(-8..8))));
                (0..32 * count).map(|_| half() << 16 | half()).collect()
            };
            let (a, b) = (pairs(depth / 4), pairs(depth / 8));
            let c: Vec<u32> = (0..128).map(|index| (index as f32).to_bits()).collect();
            let instruction = format!("mma.sync.aligned.m16n8k{depth}.row.col.f32.{ty}.{ty}.f32");
            let got = multiply(&instruction, depth / 4, depth / 8, [&a, &b, &c]);
            let item =
                |words: &[u32], r: usize, lane: usize, item: usize| widen((words[32 * r + lane] >> (16 * item)) as u16);
            elements(|lane, r, row, column| {
                let dot: f32 = (0..depth)
                    .map(|k| {
                        let (part, pair) = (k / 8, k % 8 / 2);
                        let from_a = item(&a, 2 * part + row / 8, 4 * (row % 8) + pair, k % 2);
                        from_a * item(&b, part, 4 * column + pair, k % 2)
                    })
                    .sum();
                let expected = f32::from_bits(c[32 * r + lane]) + dot;
                assert_eq!(f32::from_bits(got[4 * lane + r]), expected, "{instruction} row {row} column {column}");
            });
        }
    }
}

#[test]
fn products_of_bytes_and_tf32_equal_scalar_loops() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut random = |count: usize| -> Vec<u32> { (0..32 * count).map(|_| rng.u32(..)).collect() };
    let (a, b, c) = (random(4), random(2), random(4));
    let got = multiply("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4, 2, [&a, &b, &c]);
    let byte =
        |words: &[u32], r: usize, lane: usize, item: usize| i64::from((words[32 * r + lane] >> (8 * item)) as i8);
    elements(|lane, r, row, column| {
        let dot: i64 = (0..32)
            .map(|k| {
                let (part, in_part) = (k / 16, k % 16);
                let from_a = byte(&a, 2 * part + row / 8, 4 * (row % 8) + in_part / 4, in_part % 4);
                from_a * byte(&b, part, 4 * column + in_part / 4, in_part % 4)
            })
            .sum();
        let expected = i64::from(c[32 * r + lane] as i32).wrapping_add(dot) as u32;
        assert_eq!(got[4 * lane + r], expected, "row {row} column {column}");
    });
    // Small integers as tf32, whose sums are exact. The low 13 bits of a factor do not count.
    let small = |words: &[u32], noise: u32| -> Vec<u32> {
        words.iter().map(|word| ((word % 16) as f32 - 8.0).to_bits() | word >> 8 & noise).collect()
    };
    let [noisy_a, noisy_b] = [small(&a, 0x1fff), small(&b, 0x1fff)];
    let [a, b, c] = [small(&a, 0), small(&b, 0), small(&c, 0)];
    let got = multiply("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, [&noisy_a, &noisy_b, &c]);
    let float = |words: &[u32], r: usize, lane: usize| f32::from_bits(words[32 * r + lane]);
    elements(|lane, r, row, column| {
        let dot: f32 = (0..8)
            .map(|k| float(&a, row / 8 + 2 * (k / 4), 4 * (row % 8) + k % 4) * float(&b, k / 4, 4 * column + k % 4))
            .sum();
        assert_eq!(f32::from_bits(got[4 * lane + r]), float(&c, r, lane) + dot, "row {row} column {column}");
    });
}

#[test]
fn products_of_bytes_saturate_only_where_asked() {
    // Every product is 127 * 127, or its negative in the lower rows of the first factor.
    let a: Vec<u32> = (0..128).map(|index| if index / 32 % 2 == 0 { 0x7f7f_7f7f } else { 0x8181_8181 }).collect();
    let (b, dot) = (vec![0x7f7f_7f7f; 64], 32 * 127 * 127);
    let adds = [("", i32::wrapping_add as fn(i32, i32) -> i32), (".satfinite", i32::saturating_add)];
    for start in [i32::MAX - dot, i32::MAX - dot + 1, i32::MIN + dot, i32::MIN + dot - 1, 0] {
        let c = vec![start.cast_unsigned(); 128];
        for (saturate, add) in adds {
            let instruction = format!("mma.sync.aligned.m16n8k32.row.col{saturate}.s32.s8.s8.s32");
            let got = multiply(&instruction, 4, 2, [&a, &b, &c]);
            elements(|lane, r, row, _| {
                let expected = add(start, if row < 8 { dot } else { -dot });
                assert_eq!(got[4 * lane + r], expected.cast_unsigned(), "{instruction} {start}");
            });
        }
    }
}

#[test]
fn matrices_are_loaded_by_rows_from_the_lanes_that_name_them() {
    let mut rng = fastrand::Rng::with_seed(1);
    let words: Vec<u32> = (0..128).map(|_| rng.u32(..)).collect();
    let half = |row: usize, column: usize| words[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
    // Lane i names row 7 i + 3 of the 32 rows; the other lanes name none.
    for count in [1, 2, 4] {
        for transposed in ["", ".trans"] {
            for generic in ["", "cvt.u64.u32 %d4, %r2; cvta.shared.u64 %d4, %d4;"] {
                let place = if generic.is_empty() { "%r2" } else { "%d4" };
                let registers: Vec<String> = (4..4 + count).map(|r| format!("%r{r}")).collect();
                let text = module(
                    2,
                    &format!(
                        ".shared .align 16 .b8 s[512];
                         ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1];
                         mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 16; add.s64 %d0, %d0, %d2; add.s64 %d1, %d1, %d2;
                         mov.u32 %r1, s; shl.b32 %r2, %r0, 4; add.u32 %r2, %r2, %r1;
                         ld.global.v4.b32 {{%r4, %r5, %r6, %r7}}, [%d0];
                         st.shared.v4.b32 [%r2], {{%r4, %r5, %r6, %r7}};
                         bar.sync 0;
                         mad.lo.u32 %r2, %r0, 7, 3; and.b32 %r2, %r2, 31; shl.b32 %r2, %r2, 4; add.u32 %r2, %r2, %r1;
                         setp.ge.u32 %p0, %r0, {}; @%p0 mov.b32 %r2, 0xfff1;
                         {generic}
                         mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;
                         ldmatrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16 {{{}}}, [{place}];
                         st.global.v4.b32 [%d1], {{%r4, %r5, %r6, %r7}};
                         ret;",
                        8 * count,
                        registers.join(", ")
                    ),
                );
                let got = results(&text, Grid::linear(1, 32), &[&words], 128, &Options::sanitize()).unwrap();
                for lane in 0..32 {
                    for matrix in 0..4 {
                        let element = |row: usize, column: usize| {
                            let (row, column) = if transposed.is_empty() { (row, column) } else { (column, row) };
                            half((7 * (8 * matrix + row) + 3) % 32, column)
                        };
                        let (row, column) = (lane / 4, 2 * (lane % 4));
                        let pair = element(row, column + 1) << 16 | element(row, column);
                        let expected = if matrix < count { pair } else { 0 };
                        assert_eq!(
                            got[4 * lane + matrix],
                            expected,
                            "x{count}{transposed} matrix {matrix} lane {lane}"
                        );
                    }
                }
            }
        }
    }
}
