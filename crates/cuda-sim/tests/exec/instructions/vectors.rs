//! A rig for single instructions: random and extreme operands in, results compared with a scalar reference.

use cuda_sim::exec::{Grid, Options};

use crate::exec::rig::{memory, module, run};

/// Lanes of one run.
pub(crate) const LANES: usize = 128;

/// Words that arithmetic tends to get wrong.
const EDGES: [u64; 22] = [
    0,
    1,
    2,
    31,
    32,
    33,
    63,
    64,
    65,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// Three operands per lane: every pair of edges comes up over the rounds, the rest is random.
fn operands(round: u64) -> Vec<[u64; 3]> {
    let mut rng = fastrand::Rng::with_seed(round);
    (0..LANES as u64)
        .map(|lane| {
            let index = round * LANES as u64 + lane;
            let edge = |by: u64| EDGES[(by % EDGES.len() as u64) as usize];
            match index % 4 {
                0 | 1 => [edge(index / 4), edge(index / 4 / EDGES.len() as u64), edge(index / 7)],
                2 => [rng.u64(..), edge(index / 4), rng.u64(..)],
                _ => [rng.u64(..), rng.u64(..), rng.u64(..)],
            }
        })
        .collect()
}

/// Rounds that take every pair of edges.
const ROUNDS: u64 = 2 * (EDGES.len() * EDGES.len()) as u64 / (LANES / 2) as u64 + 1;

/// Runs `body` on many operands. The operands are in `%d1`, `%d2`, `%d3`, with their low words in `%r1` to `%r3` and
/// their low halves in `%h1` to `%h3`; the result is what `body` leaves in `%d4`.
pub(crate) fn check(body: &str, expected: impl Fn([u64; 3]) -> u64) {
    check_by(body, |operands, got| {
        let expected = expected(operands);
        assert_eq!(got, expected, "{body}: operands {operands:x?}, expected {expected:x}, got {got:x}");
    });
}

/// As [`check`], with the comparison left to `judge(operands, result)`.
pub(crate) fn check_by(body: &str, judge: impl Fn([u64; 3], u64)) {
    let text = module(
        2,
        &format!(
            "ld.param.u64 %d20, [p0];
             ld.param.u64 %d21, [p1];
             mov.u32 %r30, %tid.x;
             mul.wide.u32 %d22, %r30, 24;
             add.s64 %d20, %d20, %d22;
             ld.global.b64 %d1, [%d20];
             ld.global.b64 %d2, [%d20+8];
             ld.global.b64 %d3, [%d20+16];
             cvt.u32.u64 %r1, %d1;
             cvt.u32.u64 %r2, %d2;
             cvt.u32.u64 %r3, %d3;
             cvt.u16.u64 %h1, %d1;
             cvt.u16.u64 %h2, %d2;
             cvt.u16.u64 %h3, %d3;
             {body}
             mul.wide.u32 %d22, %r30, 8;
             add.s64 %d21, %d21, %d22;
             st.global.b64 [%d21], %d4;
             ret;"
        ),
    );
    for round in 0..ROUNDS {
        let memory = memory();
        let operands = operands(round);
        let raw: Vec<u8> = operands.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let input = memory.alloc(0, raw.len() as u64).unwrap();
        memory.write(input, &raw).unwrap();
        let out = memory.alloc(0, 8 * LANES as u64).unwrap();
        run(&text, Grid::linear(1, LANES as u32), &[input, out], &memory, &Options::default()).unwrap();
        let mut raw = vec![0; 8 * LANES];
        memory.read(out, &mut raw).unwrap();
        for (operands, got) in operands.into_iter().zip(raw.chunks_exact(8)) {
            judge(operands, u64::from_le_bytes(got.try_into().unwrap()));
        }
    }
}

/// A 32-bit result, zero extended.
pub(crate) fn check32(instruction: &str, expected: impl Fn(u32, u32, u32) -> u32) {
    let body = format!("{instruction} cvt.u64.u32 %d4, %r4;");
    check(&body, |[a, b, c]| expected(a as u32, b as u32, c as u32).into());
}

/// A 64-bit result.
pub(crate) fn check64(instruction: &str, expected: impl Fn(u64, u64, u64) -> u64) {
    check(instruction, |[a, b, c]| expected(a, b, c));
}

/// A 16-bit result, zero extended.
pub(crate) fn check16(instruction: &str, expected: impl Fn(u16, u16, u16) -> u16) {
    let body = format!("{instruction} cvt.u64.u16 %d4, %h4;");
    check(&body, |[a, b, c]| expected(a as u16, b as u16, c as u16).into());
}

/// Several instructions at once. Each leaves `expected(operands, index)` in `%d5`.
pub(crate) fn check_each(instructions: &[String], expected: impl Fn([u64; 3], usize) -> u64) {
    const FOLD: u64 = 1_000_003;
    let lines = instructions.iter().map(|instruction| format!("{instruction} mad.lo.s64 %d4, %d4, {FOLD}, %d5;\n"));
    check(&format!("mov.b64 %d4, 0;\n{}", lines.collect::<String>()), |operands| {
        let results = (0..instructions.len()).map(|index| expected(operands, index));
        results.fold(0, |all: u64, result| all.wrapping_mul(FOLD).wrapping_add(result))
    });
}

/// As [`check_each`], for instructions that leave a predicate in `%p1`.
pub(crate) fn check_predicates(instructions: &[String], expected: impl Fn([u64; 3], usize) -> bool) {
    let chosen: Vec<_> = instructions.iter().map(|line| format!("{line} selp.b64 %d5, 1, 0, %p1;")).collect();
    check_each(&chosen, |operands, index| expected(operands, index).into());
}

/// A predicate.
pub(crate) fn check_predicate(instruction: &str, expected: impl Fn(u64, u64) -> bool) {
    let body = format!("{instruction} selp.b64 %d4, 1, 0, %p1;");
    check(&body, |[a, b, _]| u64::from(expected(a, b)));
}
