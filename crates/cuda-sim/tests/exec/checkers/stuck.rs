//! Programs that never end, and spin loops that must.

use cuda_sim::exec::{FaultKind, Grid, Options};

use crate::exec::programs::all_modes;
use crate::exec::rig::{download, in_place, indexed, memory, module, results, run, upload};

fn kind(body: &str, threads: u32, options: &Options) -> FaultKind {
    let text = module(0, body);
    run(&text, Grid::linear(1, threads), &[], &memory(), options).expect_err("a fault").kind
}

#[test]
fn an_endless_loop_meets_the_watchdog() {
    for options in all_modes() {
        let options = Options { watchdog: 100_000, ..options };
        let FaultKind::Timeout { fragments } = kind("$spin: bra.uni $spin;", 64, &options) else { panic!() };
        assert!(fragments.contains("warp 1 lanes ffffffff"), "{fragments}");
    }
}

/// Block 0 waits for a flag that the last block raises after `rounds` rounds of a loop; `wait` is its code on the way.
fn waiting(rounds: u32, wait: &str) -> String {
    module(
        1,
        &format!(
            "ld.param.u64 %d0, [p0];
             mov.u32 %r0, %ctaid.x;
             mov.b32 %r3, 0;
             mov.b32 %r5, 0;
             setp.ne.u32 %p0, %r0, 0;
             @%p0 bra $work;
             $wait:
             ld.relaxed.gpu.global.b32 %r1, [%d0];
             {wait}
             setp.eq.u32 %p1, %r1, 0;
             @%p1 bra $wait;
             ret;
             $work:
             add.u32 %r3, %r3, 1;
             setp.lt.u32 %p1, %r3, {rounds};
             @%p1 bra $work;
             st.relaxed.gpu.global.b32 [%d0], FLAG;
             ret;"
        ),
    )
}

#[test]
fn threads_that_wait_for_what_never_comes_are_found_out_at_once() {
    // By loads alone, by failing exchanges, by a round of three places, and with lanes that wait apart.
    let exchange = "atom.relaxed.gpu.global.cas.b32 %r2, [%d0], 5, 6;";
    let places = "add.u32 %r5, %r5, 4; setp.eq.u32 %p2, %r5, 12; @%p2 mov.b32 %r5, 0;";
    let lanes = "mov.u32 %r6, %laneid; and.b32 %r6, %r6, 1; setp.eq.u32 %p2, %r6, 0; @%p2 bra $wait;";
    for wait in ["", exchange, places, lanes] {
        for options in all_modes() {
            let text = waiting(1, wait).replace("FLAG", "0");
            let fault = in_place(&text, Grid::linear(2, 64), &[0], &options).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::Timeout { .. }), "{fault}");
            assert_eq!(fault.party.block, [0, 0, 0], "{fault}");
        }
    }
}

#[test]
fn threads_that_wait_for_long_work_are_left_alone() {
    for options in all_modes() {
        let text = waiting(1 << 18, "").replace("FLAG", "1");
        in_place(&text, Grid::linear(2, 32), &[0], &options).unwrap_or_else(|fault| panic!("{fault}, {options:?}"));
    }
}

#[test]
fn lanes_that_part_and_meet_in_a_loop_let_other_warps_go_on() {
    let parting = "mov.u32 %r6, %laneid; and.b32 %r6, %r6, 1; setp.eq.u32 %p2, %r6, 0;
        @%p2 bra $even; add.u32 %r7, %r7, 1; $even: mov.b32 %r8, 2;";
    let table = "mov.u32 %r6, %laneid; and.b32 %r6, %r6, 1;
        $targets: .branchtargets $even, $odd; brx.idx %r6, $targets; $odd: add.u32 %r7, %r7, 1; $even: mov.b32 %r8, 2;";
    let halves = "mov.u32 %r6, %laneid; mov.b32 %r7, 0xffff; setp.ge.u32 %p2, %r6, 16; @%p2 mov.b32 %r7, 0xffff0000;
        vote.sync.any.pred %p3, %p2, %r7;";
    for wait in [parting, table, halves] {
        for options in all_modes() {
            // Warp 0 of one block waits for warp 1, and then one block for another.
            let text =
                waiting(3, wait).replace("FLAG", "1").replace("mov.b32 %r5, 0;", "mov.b32 %r5, 0; mov.b32 %r7, 0;");
            for (text, grid) in
                [(text.replace("%ctaid.x", "%warpid"), Grid::linear(1, 64)), (text.clone(), Grid::linear(2, 32))]
            {
                let options = Options { watchdog: 1 << 21, ..options.clone() };
                in_place(&text, grid, &[0], &options).unwrap_or_else(|fault| panic!("{fault}, {options:?}"));
            }
        }
    }
}

#[test]
fn lanes_of_a_warp_take_turns_of_64_rounds_of_their_loops() {
    // Thread 1 raises a flag after 193 rounds, and thread 0 waits for it; both store the number of their rounds.
    let body = "mov.b32 %r3, 0;
        setp.eq.u32 %p0, %r0, 0;
        @%p0 bra $wait;
        $work:
        add.u32 %r3, %r3, 1;
        setp.lt.u32 %p1, %r3, 193;
        @%p1 bra $work;
        st.global.b32 [%d1], %r3;
        st.relaxed.gpu.global.b32 [%d0+8], 1;
        ret;
        $wait:
        add.u32 %r3, %r3, 1;
        ld.relaxed.gpu.global.b32 %r4, [%d0+8];
        setp.eq.u32 %p1, %r4, 0;
        @%p1 bra $wait;
        st.global.b32 [%d1], %r3;
        ret;";
    let left = in_place(&indexed(body), Grid::linear(1, 2), &[0; 3], &Options::default()).unwrap();
    assert_eq!(left, [193, 193, 1]);
}

#[test]
fn a_loop_that_counts_forever_ends_without_progress() {
    let counting = "$spin: add.u64 %d0, %d0, 1; bra.uni $spin;";
    for options in [Options::default(), Options::sanitize()] {
        let options = Options { watchdog: 1 << 31, ..options };
        let FaultKind::Timeout { .. } = kind(&format!("mov.b64 %d0, 0; {counting}"), 32, &options) else { panic!() };
    }
}

#[test]
fn a_launch_may_take_as_many_steps_as_the_watchdog_allows() {
    let body = "mov.u32 %r0, %tid.x; bar.sync 0; setp.lt.u32 %p0, %r0, 5; @%p0 bra $end; bar.sync 0; $end: ret;";
    for options in all_modes() {
        let attempt = |watchdog: u64| {
            let options = Options { watchdog, ..options.clone() };
            run(&module(0, body), Grid::linear(3, 70), &[], &memory(), &options)
        };
        let counters = attempt(1 << 30).unwrap();
        // Each thread ends, and meets the others twice but for five of each block, who have ended by then.
        assert_eq!(counters.barriers, 3 * 2, "{options:?}");
        assert!(counters.warp_instructions <= counters.lane_instructions, "{options:?}");
        let steps = counters.warp_instructions;
        assert_eq!(attempt(steps).unwrap().lane_instructions, counters.lane_instructions, "{options:?}");
        let fault = attempt(steps - 1).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::Timeout { .. }), "{fault}");
    }
}

#[test]
fn warps_at_different_barriers_deadlock() {
    let body = "mov.u32 %r0, %tid.x;
        setp.lt.u32 %p0, %r0, 32;
        @%p0 bra $low;
        bar.sync 1, 64;
        ret;
        $low:
        bar.sync 2, 64;
        ret;";
    for options in all_modes() {
        let FaultKind::BarrierDeadlock { waiting } = kind(body, 64, &options) else { panic!() };
        assert!(waiting.contains("barrier 1 (32 of 64") && waiting.contains("barrier 2 (32 of 64"), "{waiting}");
    }
}

#[test]
fn threads_that_exited_count_as_arrived() {
    let body = "mov.u32 %r0, %tid.x;
        setp.ge.u32 %p0, %r0, 40;
        @%p0 bra $done;
        bar.sync 0;
        $done:
        ret;";
    for options in all_modes() {
        let counters = run(&module(0, body), Grid::linear(1, 96), &[], &memory(), &options).unwrap();
        assert_eq!(counters.barriers, 1);
    }
}

#[test]
fn an_exit_block_laid_out_before_the_loop_is_no_error() {
    // Lanes leave the loop at different times to a block that comes first; the others still vote among themselves.
    let body = "mov.b32 %r1, 0;
        bra.uni $loop;
        $out:
        st.global.b32 [%d1], %r1;
        bar.warp.sync -1;
        ret;
        $loop:
        add.u32 %r1, %r1, 1;
        setp.gt.u32 %p0, %r1, %r0;
        @%p0 bra $out;
        bra.uni $loop;";
    for options in all_modes() {
        let rounds = results(&indexed(body), Grid::linear(1, 32), &[], 32, &options).unwrap();
        assert_eq!(rounds, (1..=32).collect::<Vec<u32>>());
    }
}

#[test]
fn a_lock_between_lanes_and_blocks_makes_progress() {
    // Every thread takes a spin lock and adds one to a counter that it guards.
    let body = "ld.param.u64 %d0, [p0];
        $try:
        atom.acquire.gpu.global.cas.b32 %r0, [%d0], 0, 1;
        setp.ne.u32 %p0, %r0, 0;
        @%p0 bra $try;
        ld.volatile.global.b32 %r1, [%d0+4];
        add.u32 %r1, %r1, 1;
        st.volatile.global.b32 [%d0+4], %r1;
        membar.gl;
        atom.release.gpu.global.exch.b32 %r2, [%d0], 0;
        ret;";
    for options in all_modes() {
        let memory = memory();
        let lock = upload(&memory, &[0, 0]);
        let counters = run(&module(1, body), Grid::linear(3, 40), &[lock], &memory, &options).unwrap();
        assert_eq!(download(&memory, lock, 2), [0, 120], "{options:?}");
        // With several host threads, one that the system suspends while its block has the lock leaves the others spinning.
        if options.threads == 1 {
            assert!(counters.warp_instructions < 20_000, "{} steps, {options:?}", counters.warp_instructions);
        }
    }
}

#[test]
fn resident_blocks_take_turns() {
    // Block 0 waits for the last block to raise a flag.
    let body = "ld.param.u64 %d0, [p0];
        mov.u32 %r0, %ctaid.x;
        mov.u32 %r1, %nctaid.x;
        sub.u32 %r1, %r1, 1;
        setp.eq.u32 %p0, %r0, %r1;
        @%p0 st.release.gpu.global.b32 [%d0], 1;
        setp.ne.u32 %p1, %r0, 0;
        @%p1 bra $done;
        $wait:
        ld.acquire.gpu.global.b32 %r2, [%d0];
        setp.eq.u32 %p2, %r2, 0;
        @%p2 bra $wait;
        $done:
        ret;";
    for options in all_modes() {
        let options = Options { cooperative: true, ..options };
        in_place(&module(1, body), Grid::linear(9, 32), &[0], &options).unwrap();
    }
}

#[test]
fn trap_and_bad_barriers_are_reported() {
    let options = Options::default();
    assert_eq!(kind("trap;", 32, &options), FaultKind::Trap);
    assert!(matches!(kind("mov.u32 %r0, 16;\nbar.sync %r0;", 32, &options), FaultKind::Barrier { got: 16, .. }));
    for threads in [0, 33] {
        let FaultKind::Barrier { quantity, got, .. } =
            kind(&format!("mov.u32 %r0, {threads};\nbar.sync 1, %r0;"), 32, &options)
        else {
            panic!("{threads}")
        };
        assert_eq!((quantity, got), ("thread count", threads));
    }
    assert!(matches!(kind("vote.sync.any.pred %p0, 1, 0;", 32, &options), FaultKind::DivergentCollective { .. }));
}
