//! Loads, stores, read-modify-writes and asynchronous copies against host arithmetic on the bytes of a word.

use cuda_sim::exec::{Grid, Options};

use super::vectors::{check, check_each};
use crate::exec::rig::{module, results};

/// Leaves addresses of 8 bytes of each thread in `%r29` (shared), `%r28` (local), `%d19` (generic, shared) and `%d18`
/// (generic, local); `%d20` is the rig's, in global memory.
const PLACES: &str = ".shared .align 16 .b8 s[2048];
    .local .align 16 .b8 l[16];
    mov.u32 %r29, s; shl.b32 %r28, %r30, 4; add.u32 %r29, %r29, %r28;
    cvt.u64.u32 %d19, %r29; cvta.shared.u64 %d19, %d19;
    mov.u32 %r28, l; mov.u64 %d18, l; cvta.local.u64 %d18, %d18;";

/// The state spaces: suffix of the opcode, and the place.
const SPACES: [(&str, &str); 6] =
    [(".global", "%d20"), ("", "%d20"), (".shared", "%r29"), ("", "%d19"), (".local", "%r28"), ("", "%d18")];

/// The low 32 bits of a word.
fn low(word: u64) -> u64 {
    word & 0xffff_ffff
}

#[test]
fn every_width_is_loaded_from_every_space() {
    type ExpectedLoad = fn(u64) -> u64;
    // The first operand is in memory; the results of the loads are put together to one word.
    let loads: [(&str, ExpectedLoad); 14] = [
        ("ld@.b64 %d5, [%];", |a| a),
        ("ld@.s8 %d5, [%+7];", |a| (a as i64 >> 56) as u64),
        ("ld@.u8 %d5, [%+1];", |a| a >> 8 & 0xff),
        ("ld@.s16 %d5, [%+6];", |a| (a as i64 >> 48) as u64),
        ("ld@.u16 %d5, [%+2];", |a| a >> 16 & 0xffff),
        ("ld@.s32 %d5, [%+4];", |a| (a as i64 >> 32) as u64),
        ("ld@.u32 %d5, [%+4];", |a| a >> 32),
        ("ld@.v2.b32 {%r5, %r6}, [%]; mov.b64 %d5, {%r6, %r5};", |a| a.rotate_left(32)),
        ("ld@.v2.s16 {%r5, %r6}, [%+4]; mov.b64 %d5, {%r5, %r6};", |a| {
            low((a as i64 >> 32) as i16 as u64) | (a as i64 >> 48 << 32) as u64
        }),
        ("ld@.v2.u8 {%r5, %r6}, [%+2]; mov.b64 %d5, {%r5, %r6};", |a| a >> 16 & 0xff | (a >> 24 & 0xff) << 32),
        ("ld@.v4.b16 {%h4, %h5, %h6, %h7}, [%]; mov.b64 %d5, {%h5, %h4, %h7, %h6};", |a| {
            a >> 16 & 0x0000_ffff_0000_ffff | (a & 0x0000_ffff_0000_ffff) << 16
        }),
        ("ld@.v4.u8 {%r5, %r6, %r7, %r8}, [%]; mov.b64 %d5, {%r5, %r8};", |a| a & 0xff | (a >> 24 & 0xff) << 32),
        ("ld@.v4.s8 {%r5, %r6, %r7, %r8}, [%+4]; mov.b64 %d5, {%r6, %r7};", |a| {
            low((a >> 40) as i8 as u64) | low((a >> 48) as i8 as u64) << 32
        }),
        ("ld@.f32 %r5, [%+4]; cvt.u64.u32 %d5, %r5;", |a| a >> 32),
    ];
    for (space, place) in SPACES {
        let mut lines = loads.map(|(line, _)| line.replace('@', space).replace("[%", &format!("[{place}")));
        lines[0].insert_str(0, &format!("{PLACES} st{space}.b64 [{place}], %d1;\n"));
        check_each(&lines, |[a, _, _], index| loads[index].1(a));
    }
}

#[test]
fn every_width_is_stored_to_every_space() {
    type ExpectedStore = fn(u64, u64) -> u64;
    let stores: [(&str, ExpectedStore); 11] = [
        ("st@.b64 [%], %d2;", |_, b| b),
        ("st@.b8 [%+3], %r2;", |a, b| a & !0xff00_0000 | (b & 0xff) << 24),
        ("st@.b16 [%+6], %h2;", |a, b| a & (u64::MAX >> 16) | b << 48),
        ("st@.b16 [%+2], %d2;", |a, b| a & !0xffff_0000 | (b & 0xffff) << 16),
        ("st@.b32 [%+4], %d2;", |a, b| low(a) | b << 32),
        ("st@.v2.b32 [%], {%r2, %r1};", |a, b| low(b) | a << 32),
        ("st@.v2.b16 [%+4], {%h2, %h1};", |a, b| low(a) | (b & 0xffff) << 32 | a << 48),
        ("st@.v4.b16 [%], {%h2, %h1, %h1, %h2};", |a, b| {
            let (a, b) = (a & 0xffff, b & 0xffff);
            b | a << 16 | a << 32 | b << 48
        }),
        ("st@.v4.b8 [%], {%r2, %r1, 3, -1};", |a, b| a & !0xffff_ffff | b & 0xff | (a & 0xff) << 8 | 0xff03_0000),
        ("st@.b64 [%], -2;", |_, _| u64::MAX - 1),
        ("st@.b32 [%], -2;", |a, _| a & !0xffff_ffff | 0xffff_fffe),
    ];
    for (space, place) in SPACES {
        let mut lines = stores.map(|(line, _)| {
            let line = line.replace('@', space).replace("[%", &format!("[{place}"));
            format!("st{space}.b64 [{place}], %d1; {line} ld{space}.b64 %d5, [{place}];\n")
        });
        lines[0].insert_str(0, PLACES);
        check_each(&lines, |[a, b, _], index| stores[index].1(a, b));
    }
    // Lanes of one access may address different spaces.
    let mixed = format!(
        "{PLACES} st.shared.b64 [%r29], %d1; and.b32 %r5, %r2, 1; setp.eq.u32 %p2, %r5, 0;
         selp.b64 %d6, %d20, %d19, %p2; st.b64 [%d6], %d2; ld.b64 %d4, [%d6]; ld.global.b64 %d7, [%d20];
         ld.shared.b64 %d8, [%r29]; shl.b64 %d7, %d7, 1; mad.lo.s64 %d8, %d8, 3, %d7; add.s64 %d4, %d4, %d8;"
    );
    check(&mixed, |[a, b, _]| {
        let (global, shared) = if b & 1 == 0 { (b, a) } else { (a, b) };
        shared.wrapping_mul(3).wrapping_add(global << 1).wrapping_add(b)
    });
}

#[test]
fn parameters_and_windows() {
    let lines = [
        "ld.param.u64 %d5, [p0]; ld.param.v2.b32 {%r5, %r6}, [p0]; mov.b64 %d6, {%r5, %r6}; xor.b64 %d5, %d5, %d6;",
        "ld.param.u64 %d5, [p1]; bfe.u64 %d5, %d5, 16, 16; ld.param.u16 %d6, [p1+2]; xor.b64 %d5, %d5, %d6;",
        "cvta.to.shared.u64 %d5, %d19; cvt.u64.u32 %d6, %r29; xor.b64 %d5, %d5, %d6;",
        "isspacep.shared %p1, %d19; selp.b64 %d5, 0, 1, %p1;",
        "isspacep.local %p1, %d18; selp.b64 %d5, 0, 1, %p1;",
        "isspacep.global %p1, %d20; selp.b64 %d5, 0, 1, %p1;",
        "isspacep.global %p1, %d19; selp.b64 %d5, 1, 0, %p1;",
        "isspacep.local %p1, %d19; selp.b64 %d5, 1, 0, %p1;",
        "isspacep.shared %p1, %d20; selp.b64 %d5, 1, 0, %p1;",
    ];
    let mut lines = lines.map(str::to_owned);
    lines[0].insert_str(0, PLACES);
    check_each(&lines, |_, _| 0);
}

/// A read-modify-write: order and scope, operation, bits, and what replaces the old value by the two operands.
type Update = (&'static str, &'static str, u32, fn(u64, u64, u64) -> u64);

const UPDATES: [Update; 28] = [
    ("", "add.u32", 32, |old, b, _| low(old.wrapping_add(b))),
    ("", "add.s32", 32, |old, b, _| low(old.wrapping_add(b))),
    ("", "add.u64", 64, |old, b, _| old.wrapping_add(b)),
    ("", "min.u32", 32, |old, b, _| old.min(b)),
    ("", "max.u32", 32, |old, b, _| old.max(b)),
    ("", "min.s32", 32, |old, b, _| low((old as i32).min(b as i32) as u64)),
    ("", "max.s32", 32, |old, b, _| low((old as i32).max(b as i32) as u64)),
    ("", "min.u64", 64, |old, b, _| old.min(b)),
    ("", "max.u64", 64, |old, b, _| old.max(b)),
    ("", "min.s64", 64, |old, b, _| (old as i64).min(b as i64) as u64),
    ("", "max.s64", 64, |old, b, _| (old as i64).max(b as i64) as u64),
    ("", "and.b32", 32, |old, b, _| old & b),
    ("", "or.b32", 32, |old, b, _| old | b),
    ("", "xor.b32", 32, |old, b, _| old ^ b),
    ("", "and.b64", 64, |old, b, _| old & b),
    ("", "or.b64", 64, |old, b, _| old | b),
    ("", "xor.b64", 64, |old, b, _| old ^ b),
    ("", "inc.u32", 32, |old, b, _| if old >= b { 0 } else { old + 1 }),
    ("", "dec.u32", 32, |old, b, _| if old == 0 || old > b { b } else { old - 1 }),
    (".relaxed.cta", "inc.u32", 32, |old, b, _| if old >= b { 0 } else { old + 1 }),
    (".relaxed.gpu", "dec.u32", 32, |old, b, _| if old == 0 || old > b { b } else { old - 1 }),
    ("", "exch.b32", 32, |_, b, _| b),
    ("", "exch.b64", 64, |_, b, _| b),
    ("", "cas.b32", 32, |old, b, c| if old == b { c } else { old }),
    ("", "cas.b64", 64, |old, b, c| if old == b { c } else { old }),
    (".acquire.gpu", "cas.b32", 32, |old, b, c| if old == b { c } else { old }),
    (".acq_rel.sys", "exch.b64", 64, |_, b, _| b),
    (".release.cta", "add.u64", 64, |old, b, _| old.wrapping_add(b)),
];

#[test]
fn every_atomic_updates_every_space() {
    for (space, place) in SPACES.into_iter().filter(|(_, place)| !["%r28", "%d18"].contains(place)) {
        // The new value with its neighbours, and then the old value.
        let mut lines = vec![format!("{PLACES} mov.b64 %d5, 0;\n")];
        for (order, op, bits, _) in UPDATES {
            let (class, old) = if bits == 32 { ("%r", "cvt.u64.u32 %d5, %r9;") } else { ("%d", "mov.b64 %d5, %d9;") };
            let third = if op.starts_with("cas") { format!(", {class}3") } else { String::new() };
            lines.push(format!(
                "st{space}.b64 [{place}], %d1; atom{order}{space}.{op} {class}9, [{place}], {class}2{third};
                 ld{space}.b64 %d5, [{place}];\n"
            ));
            lines.push(old.to_owned());
        }
        check_each(&lines, |operands, index| {
            let Some(index) = index.checked_sub(1) else { return 0 };
            let (_, _, bits, update) = UPDATES[index / 2];
            let [old, b, c] = operands.map(|word| if bits == 32 { low(word) } else { word });
            let new = update(old, b, c);
            match (index % 2, bits) {
                (1, _) => old,
                (_, 32) => operands[0] & !0xffff_ffff | new,
                _ => new,
            }
        });
    }
}

#[test]
fn atomics_of_floats_round_once_and_reductions_return_nothing() {
    // Numbers of 24 bits: their sums are never subnormal. The halves are subnormal, whose sums are exact.
    let body = format!(
        "{PLACES} cvt.rn.f32.s32 %r5, %r1; cvt.rn.f32.s32 %r6, %r2;
         st.shared.b32 [%r29], %r5; atom.shared.add.f32 %r7, [%r29], %r6; red.shared.add.f32 [%r29], 0f3F800000;
         xor.b32 %r7, %r7, %r5; ld.shared.b32 %r8, [%r29]; or.b32 %r8, %r8, %r7; cvt.u64.u32 %d4, %r8;"
    );
    check(&body, |[a, b, _]| (a as i32 as f32 + b as i32 as f32 + 1.0).to_bits().into());
    let body = format!(
        "{PLACES} and.b32 %r5, %r1, 0x03ff03ff; and.b32 %r6, %r2, 0x03ff03ff;
         st.global.b32 [%d20], %r5; red.global.add.noftz.f16x2 [%d20], %r6; ld.global.u32 %d4, [%d20];"
    );
    check(&body, |[a, b, _]| (a & 0x03ff_03ff) + (b & 0x03ff_03ff));
}

#[test]
fn asynchronous_copies_land_by_groups_and_are_filled_with_zeros() {
    for bytes in [4_usize, 8, 16] {
        // Two copies in two groups; the first reads up to `bytes` bytes, by the thread.
        let body = format!(
            ".shared .align 16 .b8 s[2048];
             ld.param.u64 %d0, [p0]; ld.param.u64 %d1, [p1];
             mov.u32 %r0, %tid.x; mul.wide.u32 %d2, %r0, 16; add.s64 %d0, %d0, %d2;
             mov.u32 %r1, s; shl.b32 %r2, %r0, 4; add.u32 %r1, %r1, %r2;
             st.shared.v4.b32 [%r1], {{0, 0, 0, 0}}; st.shared.v4.b32 [%r1+1024], {{0, 0, 0, 0}};
             rem.u32 %r3, %r0, {step};
             setp.eq.u32 %p1, %r3, 0; selp.b64 %d3, 1, %d0, %p1;
             cp.async.ca.shared.global [%r1], [%d3], {bytes}, %r3;
             cp.async.commit_group;
             cp.async.ca.shared.global [%r1+1024], [%d0], {bytes};
             cp.async.commit_group;
             cp.async.wait_group 1;
             mul.wide.u32 %d2, %r0, 48; add.s64 %d1, %d1, %d2;
             ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r1]; st.global.v4.b32 [%d1], {{%r4, %r5, %r6, %r7}};
             ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r1+1024]; st.global.v4.b32 [%d1+16], {{%r4, %r5, %r6, %r7}};
             cp.async.wait_group 0;
             ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r1+1024]; st.global.v4.b32 [%d1+32], {{%r4, %r5, %r6, %r7}};
             ret;",
            step = bytes + 1
        );
        let mut rng = fastrand::Rng::with_seed(1);
        let words: Vec<u32> = (0..256).map(|_| rng.u32(..) | 0x0101_0101).collect();
        let options = Options::default();
        let got = results(&module(2, &body), Grid::linear(1, 64), &[&words], 64 * 12, &options).unwrap();
        for thread in 0..64 {
            let source: Vec<u8> = words[4 * thread..][..4].iter().flat_map(|word| word.to_le_bytes()).collect();
            let row = |index: usize| -> Vec<u8> {
                got[12 * thread + 4 * index..][..4].iter().flat_map(|word| word.to_le_bytes()).collect()
            };
            let padded = |data: &[u8]| -> Vec<u8> { data.iter().copied().chain([0; 16]).take(16).collect() };
            assert_eq!(row(0), padded(&source[..thread % (bytes + 1)]), "{bytes} bytes, thread {thread}");
            // The destination of an incomplete copy must not be read; it holds its old bytes.
            assert_eq!(row(1), padded(&vec![0xff; bytes]), "{bytes} bytes, thread {thread}");
            assert_eq!(row(2), padded(&source[..bytes]), "{bytes} bytes, thread {thread}");
        }
    }
}
