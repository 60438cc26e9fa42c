//! Which collectives are reached together, on the hazards that compilers make and on sound code.

use crate::text::samples::{COMPILED, WITHOUT_FLAGS, kernel, text};
use ptx::{
    ast::Module,
    parse,
    uniform::{Collective, Spread, divergent_collectives},
};

/// Kernel, collective and spread of every divergence.
fn divergences(module: &Module) -> Vec<(String, Collective, Spread)> {
    let mut found = Vec::new();
    for (function, body) in module.entries() {
        for divergence in divergent_collectives(function, body) {
            found.push((function.name.to_string(), divergence.collective, divergence.spread));
        }
    }
    found
}

fn spreads(code: &str) -> Vec<Spread> {
    divergences(&kernel(code)).into_iter().map(|(_, _, spread)| spread).collect()
}

#[test]
fn miscompiled_barriers_and_shuffles_are_found() {
    let found = divergences(&parse(WITHOUT_FLAGS).unwrap());
    let expected = [
        ("asm_shuffle", Collective::Warp),
        ("asm_shuffle", Collective::Warp),
        ("guarded_barrier", Collective::Block),
        ("guarded_barrier", Collective::Block),
        ("intrinsic_shuffle", Collective::Warp),
        ("intrinsic_shuffle", Collective::Warp),
    ];
    let expected = expected.map(|(kernel, collective)| (kernel.to_owned(), collective, Spread::Lanes));
    assert_eq!(found, expected);
}

#[test]
fn the_same_source_with_the_flags_is_sound() {
    assert_eq!(divergences(&parse(COMPILED).unwrap()), []);
}

#[test]
fn a_barrier_is_sound_unless_lanes_may_miss_it() {
    for (case, rest, expected) in [
        ("in one arm", "@%p1 bra L1;\nbar.sync 0;\nL1:", &[Spread::Lanes][..]),
        ("after the branch has closed", "@%p1 bra L1;\nmov.b32 %r2, 1;\nL1:\nbar.sync 0;", &[]),
        ("after an early return", "@%p1 ret;\nbar.sync 0;", &[Spread::Lanes]),
        ("where the other arm is a trap", "@%p1 bra L1;\nbar.sync 0;\nret;\nL1:\ntrap;", &[]),
    ] {
        let code = format!("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\n{rest}");
        assert_eq!(spreads(&code), expected, "{case}");
    }
}

#[test]
fn predicated_collectives_follow_their_guard() {
    let tid = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1;";
    assert_eq!(spreads(tid), [Spread::Lanes]);
    let param = "ld.param.b32 %r1, [n];\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bar.sync 0;";
    assert_eq!(spreads(param), []);
}

#[test]
fn loaded_values_taint_unless_they_are_parameters_or_read_only() {
    let branch = "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra L1;\nbar.sync 0;\nL1:";
    let address = "ld.param.b64 %rd1, [src];\n";
    assert_eq!(spreads(&format!("{address}ld.global.b32 %r1, [%rd1];\n{branch}")), [Spread::Lanes]);
    assert_eq!(spreads(&format!("ld.shared.b32 %r1, [tile];\n{branch}")), [Spread::Lanes]);
    assert_eq!(spreads(&format!("{address}ld.global.nc.b32 %r1, [%rd1];\n{branch}")), []);
    assert_eq!(spreads(&format!("ld.param.b32 %r1, [n];\n{branch}")), []);
    assert_eq!(spreads(&format!("mov.u32 %r1, %ctaid.x;\n{branch}")), []);
}

#[test]
fn votes_and_broadcasts_are_uniform_within_a_warp() {
    let vote = "mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 4;\nvote.sync.any.pred %p2, %p1, -1;\n@%p2 bra L1;\n";
    assert_eq!(spreads(&format!("{vote}shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nL1:")), []);
    assert_eq!(spreads(&format!("{vote}bar.sync 1, 64;\nL1:")), []);
    assert_eq!(spreads(&format!("{vote}bar.sync 0;\nL1:")), [Spread::Warps]);
    assert_eq!(spreads(&format!("{vote}bar.red.popc.u32 %r3, 1, 64, %p1;\nL1:")), []);
    assert_eq!(spreads(&format!("{vote}bar.red.popc.u32 %r3, 1, %p1;\nL1:")), [Spread::Warps]);
    let partial = vote.replace("-1", "65535");
    assert_eq!(spreads(&format!("{partial}shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nL1:")), [Spread::Lanes]);
    let broadcast = "mov.u32 %r1, %tid.x;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nsetp.lt.u32 %p1, %r2, 32;\n\
                     @%p1 bra L1;\nshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nL1:";
    assert_eq!(spreads(broadcast), []);
    assert_eq!(spreads(&broadcast.replace("shfl.sync.idx", "shfl.sync.up")), [Spread::Lanes]);
}

#[test]
fn the_index_of_a_warp_is_uniform_within_it() {
    let spreads = |bounds: &str, code: &str| {
        let module = parse(&text(bounds, code)).unwrap();
        divergences(&module).into_iter().map(|(_, _, spread)| spread).collect::<Vec<_>>()
    };
    let code = |index: &str, collective: &str| format!("{index}\nsetp.lt.u32 %p1, %r2, 3;\n@%p1 ret;\n{collective};");
    let shuffle = "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1";
    let warp = "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;";
    assert_eq!(spreads(".maxntid 128, 1, 1", &code(warp, shuffle)), []);
    assert_eq!(spreads(".maxntid 48, 1, 1", &code(warp, shuffle)), []);
    assert_eq!(spreads(".reqntid 64, 4, 1", &code(warp, shuffle)), []);
    assert_eq!(spreads(".maxntid 48, 2, 1", &code(warp, shuffle)), [Spread::Lanes]);
    assert_eq!(spreads("", &code(warp, shuffle)), [Spread::Lanes]);
    assert_eq!(spreads(".maxntid 128, 1, 1", &code(warp, "bar.sync 0")), [Spread::Warps]);
    for other in ["shr.u32 %r2, %r1, 4;", "and.b32 %r2, %r1, 48;", "shl.b32 %r2, %r1, 5;"] {
        let index = format!("mov.u32 %r1, %tid.x;\n{other}");
        assert_eq!(spreads(".maxntid 128, 1, 1", &code(&index, shuffle)), [Spread::Lanes], "{other}");
    }
    let masked = "mov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 96;";
    assert_eq!(spreads(".maxntid 128, 1, 1", &code(masked, shuffle)), []);
    let row = "mov.u32 %r2, %tid.y;";
    assert_eq!(spreads(".maxntid 32, 4, 1", &code(row, shuffle)), []);
    assert_eq!(spreads(".maxntid 32, 4, 1", &code(row, "bar.sync 0")), [Spread::Warps]);
    assert_eq!(spreads(".maxntid 128, 1, 1", &code(row, "bar.sync 0")), []);
    assert_eq!(spreads(".maxntid 16, 4, 1", &code(row, shuffle)), [Spread::Lanes]);
    let layer = "mov.u32 %r2, %tid.z;";
    assert_eq!(spreads(".maxntid 32, 1, 4", &code(layer, "bar.sync 0")), [Spread::Warps]);
    assert_eq!(spreads(".maxntid 32, 4, 1", &code(layer, "bar.sync 0")), []);
    let wide = "mov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd1, %r1;\nshr.u64 %rd2, %rd1, 5;\ncvt.u32.u64 %r2, %rd2;";
    assert_eq!(spreads(".maxntid 128, 1, 1", &code(wide, shuffle)), []);
    for (source, first, spread) in
        [("%tid.x", 4, &[Spread::Lanes][..]), ("%tid.x", 5, &[]), ("%clock", 5, &[Spread::Lanes])]
    {
        let field = format!("mov.u32 %r1, {source};\nbfe.u32 %r2, %r1, {first}, 8;");
        assert_eq!(spreads(".maxntid 128, 1, 1", &code(&field, shuffle)), spread, "{field}");
    }
}

#[test]
fn carries_are_followed() {
    let code = "mov.u32 %r1, %tid.x;\ncvt.u64.u32 %rd1, %r1;\nadd.cc.s64 %rd2, %rd1, -4;\naddc.s64 %rd3, 0, 0;\n\
                setp.eq.b64 %p1, %rd3, 0;\n@%p1 ret;\nbar.sync 0;";
    assert_eq!(spreads(code), [Spread::Lanes]);
    assert_eq!(spreads(&code.replace("%tid.x", "%ctaid.x")), []);
}

#[test]
fn a_loop_of_equal_trips_is_sound_and_one_by_thread_is_not() {
    let rounds = |bound: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nld.param.b32 %r2, [n];\nmov.b32 %r3, 0;\nL1:\nbar.sync 0;\nadd.s32 %r3, %r3, 1;\n\
             setp.lt.u32 %p1, %r3, {bound};\n@%p1 bra L1;"
        )
    };
    assert_eq!(spreads(&rounds("%r2")), []);
    assert_eq!(spreads(&rounds("%r1")), [Spread::Lanes]);
}

#[test]
fn the_way_a_thread_came_taints_what_it_chose() {
    let chosen = |first: &str, second: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\nmov.b32 %r2, {first};\n@%p1 bra L1;\nmov.b32 %r2, {second};\n\
             L1:\nsetp.eq.u32 %p2, %r2, 1;\n@%p2 bra L2;\nbar.sync 0;\nL2:"
        )
    };
    assert_eq!(spreads(&chosen("0", "1")), [Spread::Lanes]);
    assert_eq!(spreads(&chosen("1", "1")), []);
}

#[test]
fn copies_of_a_register_that_changes_in_between_do_not_agree() {
    let arms = |first: &str, second: &str| {
        format!(
            "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra L1;\n{first}\nbra.uni L2;\n\
             L1:\n{second}\nL2:\nsetp.eq.u32 %p2, %r3, 5;\n@%p2 bra L3;\nbar.sync 0;\nL3:"
        )
    };
    let (copy, change) = ("mov.u32 %r3, %r2;", "mov.u32 %r2, 5;");
    assert_eq!(spreads(&arms(copy, copy)), []);
    assert_eq!(spreads(&arms(&format!("{copy}\n{change}"), &format!("{change}\n{copy}"))), [Spread::Lanes]);
}

#[test]
fn a_count_that_lanes_left_at_different_trips_is_tainted() {
    let code = "mov.u32 %r1, %tid.x;\nmov.b32 %r2, 0;\nL1:\nadd.s32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n\
                @%p1 bra L1;\nsetp.eq.u32 %p2, %r2, 7;\n@%p2 bra L2;\nbar.sync 0;\nL2:";
    assert_eq!(spreads(code), [Spread::Lanes]);
}

#[test]
fn a_skipped_rest_of_the_trip_leaves_the_count_uniform() {
    let code = "mov.u32 %r1, %tid.x;\nld.param.b32 %r5, [n];\nmov.b32 %r2, 0;\nsetp.lt.u32 %p1, %r1, 4;\nL1:\n\
                bar.sync 0;\nadd.s32 %r3, %r2, 1;\nsetp.ge.u32 %p2, %r3, %r5;\n@%p2 bra L3;\nmov.b32 %r2, %r3;\n\
                @%p1 bra L1;\nst.shared.b32 [tile], %r1;\nmov.b32 %r2, %r3;\nbra.uni L1;\nL3:";
    assert_eq!(spreads(code), []);
    // Adding twice on one of the two ways makes the count differ.
    let uneven = code.replace("[tile], %r1;\nmov.b32 %r2, %r3;", "[tile], %r1;\nadd.s32 %r2, %r3, 1;");
    assert_ne!(uneven, code);
    assert_eq!(spreads(&uneven), [Spread::Lanes]);
}

#[test]
fn indexed_branches_follow_their_index() {
    let code = |index: &str| {
        format!("mov.u32 %r1, {index};\nlist: .branchtargets L1, L2;\nbrx.idx %r1, list;\nL1:\nbar.sync 0;\nret;\nL2:")
    };
    assert_eq!(spreads(&code("%tid.x")), [Spread::Lanes]);
    assert_eq!(spreads(&code("%ctaid.x")), []);
}

#[test]
fn matrix_operations_are_collectives() {
    let code = "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra L1;\n\
                mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%r2,%r3,%r4,%r5}, {%r6,%r7,%r8,%r9}, {%r10,%r11}, \
                {%r2,%r3,%r4,%r5};\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [tile];\nL1:";
    assert_eq!(spreads(code), [Spread::Lanes; 2]);
}
