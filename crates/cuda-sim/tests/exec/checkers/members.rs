//! Who takes part in a collective or a barrier: lanes that have ended, lanes outside the mask, lanes that may be apart, and
//! threads that went past.

use cuda_sim::exec::{FaultKind, Grid, Options, Space};

use crate::exec::programs::all_modes;
use crate::exec::rig::{in_place, indexed, module, races, reported, silent};

const ZEROS: &[u32] = &[0; 256];

/// The words that `body`, completed by [`indexed`], leaves of 64 zeros in every mode.
fn agree(body: &str, threads: u32) -> Vec<u32> {
    let text = indexed(&format!("{body} ret;"));
    let results = all_modes().into_iter().map(|options| {
        let left = in_place(&text, Grid::linear(1, threads), &[0; 64], &options);
        left.unwrap_or_else(|fault| panic!("{fault}\n{body}"))
    });
    let mut results: Vec<Vec<u32>> = results.collect();
    results.dedup();
    assert_eq!(results.len(), 1, "{body}");
    results.remove(0)
}

#[test]
fn a_full_mask_means_the_lanes_that_have_not_ended() {
    // The last warp has eight threads; or the others of a full warp have returned.
    for (leave, threads) in [("", 40), ("setp.ge.u32 %p0, %r0, 40; @%p0 ret;", 64), ("", 8), ("", 64)] {
        let alive = if leave.is_empty() { threads } else { 40 };
        let all =
            |warp: u32| (0..32).filter(|lane| 32 * warp + lane < alive).fold(0_u32, |mask, lane| mask | 1 << lane);
        for body in [
            "setp.ne.u32 %p1, %r0, 1000; vote.sync.ballot.b32 %r4, %p1, -1;",
            "mov.b32 %r5, 7; match.any.sync.b32 %r4, %r5, -1;",
            "mov.u32 %r5, %laneid; mov.b32 %r6, 1; shl.b32 %r6, %r6, %r5; redux.sync.or.b32 %r4, %r6, -1;",
            "bar.warp.sync -1; setp.eq.u32 %p1, %r0, %r0; vote.sync.ballot.b32 %r4, %p1, -1;",
        ] {
            let got = agree(&format!("{leave} {body} st.global.b32 [%d1], %r4;"), threads);
            for thread in 0..64 {
                let expected = if thread < alive { all(thread / 32) } else { 0 };
                assert_eq!(got[thread as usize], expected, "{body}, thread {thread} of {threads}, {alive} alive");
            }
        }
    }
    let any = "setp.eq.u32 %p1, %r0, 3; vote.sync.any.pred %p2, %p1, -1; vote.sync.all.pred %p3, %p1, -1;
        selp.b32 %r4, 1, 0, %p2; @%p3 add.u32 %r4, %r4, 2; st.global.b32 [%d1], %r4;";
    assert_eq!(agree(any, 4)[..5], [1, 1, 1, 1, 0]);
}

#[test]
fn lanes_that_end_while_others_wait_are_waited_for_no_more() {
    // Lane 5 comes to its end only after the others wait for it.
    let body = "setp.eq.u32 %p0, %r0, 5;
        @%p0 bra $away;
        setp.ne.u32 %p1, %r0, 1000;
        vote.sync.ballot.b32 %r4, %p1, -1;
        st.global.b32 [%d1], %r4;
        ret;
        $away:
        st.global.b32 [%d1], 1;
        ret;";
    let got = agree(body, 32);
    assert_eq!((got[0], got[5], got[31]), (!(1 << 5), 1, !(1 << 5)));
}

#[test]
fn lanes_of_one_mask_must_name_the_same_mask() {
    let body = "mov.u32 %r4, -1; setp.eq.u32 %p0, %r0, 3; @%p0 mov.u32 %r4, 0xff; bar.warp.sync %r4; ret;";
    let diverged = |kind: &FaultKind| matches!(kind, FaultKind::DivergentCollective { .. });
    reported("masks", body, Grid::linear(1, 32), ZEROS, diverged);
    reported("not in its own", "bar.warp.sync 0xff; ret;", Grid::linear(1, 32), ZEROS, diverged);
}

/// The sum of the lanes below `count` by shuffles down, in lane 0: the others add what no lane gave. In `keep`, `BY` is
/// the distance.
fn shuffled_sum(count: u32, keep: &str) -> String {
    let distances = [16, 8, 4, 2, 1].iter().filter(|&&by| by < count);
    let steps: String = distances
        .map(|by| format!("shfl.sync.down.b32 %r6, %r5, {by}, 31, %r4; {}", keep.replace("BY", &by.to_string())))
        .collect();
    format!(
        "setp.lt.u32 %p0, %r0, {count};
         vote.sync.ballot.b32 %r4, %p0, -1;
         @!%p0 bra $done;
         mov.b32 %r5, %r0;
         popc.b32 %r7, %r4;
         {steps}
         setp.eq.u32 %p1, %r0, 0;
         @%p1 st.global.b32 [%d0], %r5;
         $done:"
    )
}

#[test]
fn a_value_of_a_lane_outside_the_mask_may_be_discarded() {
    // Powers of two: what lane 0 adds comes from lanes of the mask.
    for count in [1, 8, 16, 32] {
        assert_eq!(agree(&shuffled_sum(count, "add.u32 %r5, %r5, %r6;"), 32)[0], (0..count).sum::<u32>(), "{count}");
    }
    // Any count: a lane takes the value only if the lane it is from takes part.
    let guarded = "add.u32 %r8, %r0, BY; setp.lt.u32 %p2, %r8, %r7; @%p2 add.u32 %r5, %r5, %r6;";
    let chosen = guarded.replace("@%p2 add.u32", "selp.b32 %r6, %r6, 0, %p2; add.u32");
    for count in [1, 5, 20, 31] {
        for keep in [guarded, &chosen] {
            assert_eq!(agree(&shuffled_sum(count, keep), 32)[0], (0..count).sum::<u32>(), "{count}");
        }
    }
}

#[test]
fn a_value_of_a_lane_outside_the_mask_must_not_be_used() {
    let undefined = |kind: &FaultKind| matches!(kind, FaultKind::Undefined { .. });
    for count in [5, 20, 31] {
        let text = format!("{} ret;", shuffled_sum(count, "add.u32 %r5, %r5, %r6;"));
        reported("sum", &text, Grid::linear(1, 32), ZEROS, undefined);
    }
    let shuffle = "setp.ge.u32 %p0, %r0, 16; @%p0 ret; shfl.sync.bfly.b32 %r4, %r0, 16, 31, -1;";
    for (name, using) in [
        ("stored", "st.global.b32 [%d1], %r4;"),
        ("after arithmetic", "mad.lo.u32 %r5, %r4, 3, 1; cvt.u64.u32 %d2, %r5; st.global.b64 [%d0], %d2;"),
        ("an address", "cvt.u64.u32 %d2, %r4; add.s64 %d2, %d2, %d0; ld.global.b32 %r5, [%d2];"),
        ("a condition", "setp.eq.u32 %p1, %r4, 3; @%p1 bra $end; st.global.b32 [%d1], 1; $end:"),
        ("an atomic", "red.global.add.u32 [%d0], %r4;"),
        (
            "through shared memory",
            ".shared .b32 s[32]; mov.u32 %r5, s; shl.b32 %r6, %r0, 2; add.u32 %r5, %r5, %r6;
            st.shared.b32 [%r5], %r4; ld.shared.b32 %r7, [%r5]; st.global.b32 [%d1], %r7;",
        ),
        ("a mask", "bar.warp.sync %r4;"),
    ] {
        reported(name, &format!("{shuffle} {using} ret;"), Grid::linear(1, 32), ZEROS, undefined);
    }
    silent(
        "dropped",
        &format!("{shuffle} mov.b32 %r5, %r4; add.u32 %r5, %r5, 1; st.global.b32 [%d1], 3; ret;"),
        Grid::linear(1, 32),
        ZEROS,
    );
}

#[test]
fn the_active_lanes_after_a_branch_are_not_all_lanes() {
    let parted = "setp.lt.u32 %p0, %r0, 16;
        @%p0 bra $low;
        mov.b32 %r5, 2;
        bra.uni $join;
        $low:
        mov.b32 %r5, 3;
        $join:
        MEET
        activemask.b32 %r4;";
    let grid = Grid::linear(1, 32);
    let with = |meet: &str, using: &str| format!("{} {using} ret;", parted.replace("MEET", meet));
    let shared = ".shared .b32 s[32];
        mov.u32 %r6, s; shl.b32 %r7, %r0, 2; add.u32 %r8, %r6, %r7; st.shared.b32 [%r8], %r5;
        bar.warp.sync %r4;
        xor.b32 %r7, %r7, 64; add.u32 %r8, %r6, %r7; ld.shared.b32 %r9, [%r8];";
    races("barrier", Space::Shared, &with("", shared), grid, ZEROS);
    silent("barrier", &with("bar.warp.sync -1;", shared), grid, ZEROS);
    let shuffle = "shfl.sync.bfly.b32 %r6, %r5, 16, 31, %r4; st.global.b32 [%d1], %r6;";
    reported("shuffle", &with("", shuffle), grid, ZEROS, |kind| matches!(kind, FaultKind::Undefined { .. }));
    silent("shuffle", &with("bar.warp.sync -1;", shuffle), grid, ZEROS);
    silent("shuffle", &with("bar.sync 0;", shuffle), grid, ZEROS);
    // Lanes that count together whoever is there: right however they are split.
    let aggregated = with(
        "",
        "popc.b32 %r6, %r4; mov.u32 %r7, %lanemask_lt; and.b32 %r7, %r7, %r4; popc.b32 %r7, %r7;
         setp.eq.u32 %p1, %r7, 0;
         @%p1 atom.global.add.u32 %r8, [%d0], %r6;
         brev.b32 %r9, %r4; clz.b32 %r9, %r9;
         shfl.sync.idx.b32 %r8, %r8, %r9, 31, %r4;
         add.u32 %r8, %r8, %r7; shl.b32 %r8, %r8, 2; cvt.u64.u32 %d2, %r8; add.s64 %d2, %d2, %d0;
         st.global.b32 [%d2+4], 1;",
    );
    silent("aggregated", &aggregated, grid, ZEROS);
    assert_eq!(agree(&aggregated.replace("ret;", ""), 32)[..34], [&[32][..], &[1; 32], &[0]].concat());
    // Without a branch they are, whichever of them have met.
    let halves = "mov.b32 %r5, 0xffff; setp.ge.u32 %p1, %r0, 16; @%p1 mov.b32 %r5, 0xffff0000; bar.warp.sync %r5;
        activemask.b32 %r4; st.global.b32 [%d1], %r4;";
    assert_eq!(agree(halves, 32)[..32], [u32::MAX; 32]);
}

/// Threads for which `condition` (`%p0`) holds come to a barrier; all do something after it.
fn barrier_in_a_branch(condition: &str, barrier: &str, skippers_first: bool, after: &str) -> String {
    let (guard, first, second) = if skippers_first {
        ("@%p0", "bra.uni $join;", format!("$other: {barrier} bra.uni $join;"))
    } else {
        ("@!%p0", barrier, "$other: bra.uni $join;".to_owned())
    };
    format!(
        "{condition}
         {guard} bra $other;
         {first}
         bra.uni $join;
         {second}
         $join:
         {after}
         ret;"
    )
}

#[test]
fn a_barrier_in_a_branch_is_for_all_threads_or_for_none() {
    let lanes = "setp.lt.u32 %p0, %r0, 20;";
    let warps = "setp.lt.u32 %p0, %r0, 32;";
    let all_but_one = "setp.ne.u32 %p0, %r0, 0;";
    let skipped = |kind: &FaultKind| matches!(kind, FaultKind::SkippedBarrier { .. });
    let inner = "setp.eq.u32 %p1, %r0, 25; @%p1 bra $one; bra.uni $end; $one: st.global.b32 [%d0], 9; $end:";
    for (condition, threads) in [(lanes, 32), (lanes, 64), (warps, 64), (all_but_one, 64)] {
        let grid = Grid::linear(1, threads);
        for skippers_first in [false, true] {
            for after in ["st.global.b32 [%d1], 5;", "ld.global.b32 %r4, [%d1];", inner] {
                let text = barrier_in_a_branch(condition, "bar.sync 0;", skippers_first, after);
                reported("branch", &text, grid, ZEROS, skipped);
            }
            // The same at a later barrier of the code.
            let text = barrier_in_a_branch(condition, "bar.sync 0;", skippers_first, "st.global.b32 [%d1], 5;");
            reported("second barrier", &format!("bar.sync 0; {text}"), grid, ZEROS, skipped);
            // Who only ends leaves the barrier to the others.
            let text = barrier_in_a_branch(condition, "bar.sync 0; st.global.b32 [%d1], 5;", skippers_first, "");
            silent("early return", &text, grid, ZEROS);
        }
        let guarded = format!("{condition} @%p0 bar.sync 0; st.global.b32 [%d1], 5; ret;");
        reported("guarded", &guarded, grid, ZEROS, skipped);
        let text = barrier_in_a_branch("setp.lt.u32 %p0, %r0, 2000;", "bar.sync 0;", false, "st.global.b32 [%d1], 5;");
        silent("taken by all", &text, grid, ZEROS);
        let text = barrier_in_a_branch("setp.gt.u32 %p0, %r0, 2000;", "bar.sync 0;", false, "st.global.b32 [%d1], 5;");
        silent("taken by none", &text, grid, ZEROS);
        let leave =
            "@!%p0 bra $away; bar.sync 0; st.global.b32 [%d1], 5; bar.sync 0; ret; $away: st.global.b32 [%d1], 6;";
        silent("return of a result", &format!("{condition} {leave} ret;"), grid, ZEROS);
    }
    // A loop of equally many rounds for every thread, and one of fewer rounds for some, which return.
    let rounds = |leave: &str| {
        format!(
            "mov.b32 %r4, 0;
             $loop:
             {leave}
             setp.eq.u32 %p1, %r4, 2;
             @%p1 bra $odd;
             bar.sync 0;
             $odd:
             add.u32 %r4, %r4, 1;
             setp.lt.u32 %p2, %r4, 4;
             @%p2 bra $loop;
             st.global.b32 [%d1], %r4;
             ret;"
        )
    };
    silent("rounds", &rounds(""), Grid::linear(1, 64), ZEROS);
    silent("rounds", &rounds("setp.gt.u32 %p3, %r0, 40; @%p3 ret;"), Grid::linear(1, 64), ZEROS);
}

#[test]
fn without_checks_a_barrier_in_a_branch_is_reported_too() {
    let text = module(
        1,
        "ld.param.u64 %d0, [p0]; mov.u32 %r0, %tid.x; setp.gt.u32 %p0, %r0, 5; @%p0 bra $join; bar.sync 0;
         $join: st.global.b32 [%d0], 1; ret;",
    );
    let fault = in_place(&text, Grid::linear(1, 32), ZEROS, &Options::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::SkippedBarrier { thread: [6, 0, 0] });
    assert_eq!((fault.party.thread, fault.kind.cu_result()), ([0, 0, 0], 715));
    assert!(fault.party.place.text.contains("bar.sync"), "{fault}");
}
