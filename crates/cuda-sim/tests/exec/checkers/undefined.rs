//! Registers, predicates and fragments that nothing has written.

use cuda_sim::exec::{FaultKind, Grid, Options};

use crate::exec::rig::{module, reported, results, silent};

const WORDS: &[u32] = &[1; 256];

fn undefined(kind: &FaultKind) -> bool {
    matches!(kind, FaultKind::Undefined { .. })
}

/// `body` is wrong as it stands, and right if it follows `line`.
fn needs(name: &str, line: &str, body: &str) {
    for threads in [32, 40] {
        let grid = Grid::linear(2, threads);
        reported(name, &format!("{body} ret;"), grid, WORDS, undefined);
        silent(name, &format!("{line} {body} ret;"), grid, WORDS);
    }
}

#[test]
fn what_nothing_wrote_decides_nothing() {
    needs("stored", "mov.b32 %r4, 1;", "st.global.b32 [%d1], %r4;");
    needs(
        "one of four",
        "mov.b32 %r7, 1;",
        "and.b32 %r8, %r0, -4; mul.wide.u32 %d2, %r8, 4;
        mad.lo.u32 %r8, %r1, 40, %r0; mul.wide.u32 %d2, %r8, 16; add.s64 %d2, %d2, %d0;
        setp.gt.u32 %p1, %r8, 40; @%p1 ret;
        st.global.v4.b32 [%d2], {%r0, %r0, %r7, %r0};",
    );
    needs("computed with", "mov.b32 %r4, 1;", "add.u32 %r5, %r4, %r0; shl.b32 %r5, %r5, 1; st.global.b32 [%d1], %r5;");
    needs("a wide one", "mov.b64 %d3, 1;", "add.s64 %d3, %d3, %d3; cvt.u32.u64 %r5, %d3; st.global.b32 [%d1], %r5;");
    needs("a half", "mov.b16 %h1, 1;", "cvt.u32.u16 %r5, %h1; st.global.b32 [%d1], %r5;");
    needs("a float", "mov.b32 %r4, 0f3F800000;", "fma.rn.f32 %r5, %r4, %r4, %r4; st.global.b32 [%d1], %r5;");
    needs("a predicate", "setp.eq.u32 %p0, %r0, 1;", "@%p0 st.global.b32 [%d1], 1;");
    needs("a selection", "setp.eq.u32 %p0, %r0, 1;", "selp.b32 %r4, 1, 2, %p0; st.global.b32 [%d1], %r4;");
    needs("a branch", "setp.eq.u32 %p0, %r0, 1;", "@%p0 bra $end; st.global.b32 [%d1], 1; $end:");
    needs("an address", "mov.b64 %d2, %d1;", "ld.global.b32 %r4, [%d2];");
    needs("an atomic", "mov.b32 %r4, 1;", "red.global.add.u32 [%d0], %r4;");
    needs("a vote", "setp.eq.u32 %p0, %r0, 1;", "vote.sync.ballot.b32 %r4, %p0, -1; st.global.b32 [%d1], %r4;");
    needs("a mask", "mov.b32 %r4, -1;", "bar.warp.sync %r4;");
    needs("a shuffle", "mov.b32 %r4, 1;", "shfl.sync.bfly.b32 %r5, %r4, 1, 31, -1; st.global.b32 [%d1], %r5;");
    needs("a barrier", "mov.b32 %r4, 1;", "bar.sync %r4;");
    needs("a carry", "add.cc.u32 %r4, %r0, 1;", "addc.u32 %r5, %r0, 1; st.global.b32 [%d1], %r5;");
    needs(
        "through local memory",
        "mov.b32 %r4, 1;",
        ".local .b32 l[2]; st.local.b32 [l], %r4; ld.local.b32 %r5, [l]; st.global.b32 [%d1], %r5;",
    );
}

#[test]
fn some_lanes_may_have_a_value_and_others_none() {
    let body = "setp.lt.u32 %p0, %r0, 20;
        @%p0 mov.b32 %r4, 7;
        GUARD st.global.b32 [%d1], %r4;
        ret;";
    let grid = Grid::linear(1, 32);
    reported("all", &body.replace("GUARD", ""), grid, WORDS, undefined);
    reported("the others", &body.replace("GUARD", "@!%p0"), grid, WORDS, undefined);
    silent("those with a value", &body.replace("GUARD", "@%p0"), grid, WORDS);
    let join = "setp.lt.u32 %p0, %r0, 20;
        @%p0 bra $low;
        OTHER
        bra.uni $join;
        $low: mov.b32 %r4, 7;
        $join: USE
        ret;";
    let with = |other: &str, using: &str| join.replace("OTHER", other).replace("USE", using);
    reported("one arm", &with("", "st.global.b32 [%d1], %r4;"), grid, WORDS, undefined);
    silent("both arms", &with("mov.b32 %r4, 8;", "st.global.b32 [%d1], %r4;"), grid, WORDS);
    silent("not chosen", &with("", "selp.b32 %r5, %r4, 3, %p0; st.global.b32 [%d1], %r5;"), grid, WORDS);
    reported("chosen", &with("", "selp.b32 %r5, 3, %r4, %p0; st.global.b32 [%d1], %r5;"), grid, WORDS, undefined);
    // A condition that another one decides.
    let both = "setp.lt.u32 %p0, %r0, 20; @%p0 setp.gt.u32 %p1, %r0, 3; COMBINE @%p2 st.global.b32 [%d1], 1; ret;";
    silent("and", &both.replace("COMBINE", "and.pred %p2, %p0, %p1;"), grid, WORDS);
    reported("or", &both.replace("COMBINE", "or.pred %p2, %p0, %p1;"), grid, WORDS, undefined);
    silent("or", &both.replace("COMBINE", "not.pred %p3, %p0; or.pred %p2, %p3, %p1;"), grid, WORDS);
}

#[test]
fn a_value_that_is_only_moved_about_is_no_fault() {
    let body = "mov.b32 %r5, %r4; add.u32 %r5, %r5, 1; st.global.b32 [%d1], 1; ret;";
    silent("dropped", body, Grid::linear(1, 32), WORDS);
    let reduced = "add.u32 %r6, %r4, 1; setp.eq.u32 %p0, %r0, 1; bar.red.popc.u32 %r5, 0, %p0;
        st.global.b32 [%d1], %r5; ret;";
    silent("next to the result of a barrier", reduced, Grid::linear(1, 32), WORDS);
    // The argument of a call that does not look at it.
    let text = ".version 7.0\n.target sm_80\n.address_size 64
        .func (.param .b32 r) second(.param .b32 a, .param .b32 b) {
            .reg .b32 %r<3>;
            ld.param.b32 %r0, [a]; ld.param.b32 %r1, [b]; st.param.b32 [r], %r1; ret;
        }
        .visible .entry k(.param .u64 out) {
            .reg .b32 %r<4>; .reg .b64 %d<2>;
            .param .b32 a0; .param .b32 b0; .param .b32 r0;
            ld.param.u64 %d0, [out];
            st.param.b32 [a0], %rA;
            st.param.b32 [b0], %rB;
            call (r0), second, (a0, b0);
            ld.param.b32 %r2, [r0];
            st.global.b32 [%d0], %r2;
            ret;
        }";
    let attempt = |a: &str, b: &str| {
        let text = text.replace("%rA", a).replace("%rB", b);
        results(&text, Grid::linear(1, 1), &[], 1, &Options::sanitize()).err().map(|fault| fault.kind)
    };
    assert_eq!(attempt("%r3", "5"), None);
    assert!(attempt("5", "%r3").is_some_and(|kind| undefined(&kind)));
}

/// Multiplies fragments of ones; `left_out` is not written.
fn product(left_out: &str, using: &str) -> String {
    let fragments = (10..24).map(|r| format!("%r{r}")).filter(|name| name != left_out);
    let written: String = fragments.map(|name| format!("mov.b32 {name}, 0x3C003C00;")).collect();
    format!(
        "{written}
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%r24, %r25, %r26, %r27}},
             {{%r10, %r11, %r12, %r13}}, {{%r14, %r15}}, {{%r16, %r17, %r18, %r19}};
         {using}
         ret;"
    )
}

#[test]
fn fragments_of_a_product_are_written_in_every_word() {
    let grid = Grid::linear(1, 32);
    let store = |reg: u32| format!("st.global.b32 [%d1], %r{reg};");
    for reg in 24..28 {
        silent("whole", &product("", &store(reg)), grid, WORDS);
        for column in ["%r14", "%r15"] {
            reported("of the second factor", &product(column, &store(reg)), grid, WORDS, undefined);
        }
    }
    // The first words of each pair are of the upper eight rows of the first factor.
    for (row, upper) in [("%r10", true), ("%r11", false), ("%r12", true), ("%r13", false)] {
        for reg in 24..28 {
            let text = product(row, &store(reg));
            if (reg < 26) == upper {
                reported("of the first factor", &text, grid, WORDS, undefined);
            } else {
                silent("of other rows", &text, grid, WORDS);
            }
        }
    }
    reported("a summand", &product("%r17", &store(25)), grid, WORDS, undefined);
    silent("another summand", &product("%r17", &store(24)), grid, WORDS);
}

#[test]
fn four_results_of_a_collective_are_written_next_to_a_value_that_is_not() {
    let body = |stored: u32| {
        format!(
            ".shared .align 16 .b8 s[512];
             mov.b32 %r20, %r21;
             mov.u32 %r4, s; shl.b32 %r5, %r0, 4; add.u32 %r4, %r4, %r5;
             st.shared.v4.b32 [%r4], {{%r0, %r0, %r0, %r0}};
             bar.warp.sync -1;
             ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r4];
             st.global.b32 [%d1], %r{stored};
             ret;"
        )
    };
    for result in 10..14 {
        silent("a result", &body(result), Grid::linear(1, 32), WORDS);
    }
    reported("the value", &body(20), Grid::linear(1, 32), WORDS, undefined);
}

#[test]
fn without_checks_nothing_is_said_of_values() {
    let text = module(1, "ld.param.u64 %d0, [p0]; st.global.b32 [%d0], %r4; ret;");
    results(&text, Grid::linear(1, 1), &[], 1, &Options::default()).unwrap();
}
