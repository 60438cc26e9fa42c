//! Races within a block, asynchronous copies, and the traffic counters.

use cuda_sim::exec::{Checks, FaultKind, Grid, Options, Space};

use crate::exec::programs::{REDUCE, all_modes};
use crate::exec::rig::{indexed, memory, module, results, run, upload};

#[test]
fn every_barrier_of_the_reduction_is_needed() {
    let words = vec![1_u32; 256];
    let whole = module(2, REDUCE);
    for (at, _) in whole.match_indices("bar.sync 0;") {
        let mut text = whole.clone();
        text.replace_range(at..at + "bar.sync 0;".len(), "");
        let outcome = results(&text, Grid::linear(1, 256), &[&words], 1, &Options::sanitize());
        let fault = outcome.expect_err("a missing barrier");
        // A read before the write shows as a byte that nothing wrote.
        assert!(
            matches!(
                fault.kind,
                FaultKind::Race { space: Space::Shared, .. } | FaultKind::Uninitialised { space: Space::Shared, .. }
            ),
            "{fault}"
        );
    }
}

/// Lane `i` writes a word and reads the word of lane `i + 1`.
fn neighbours(between: &str) -> String {
    indexed(&format!(
        ".shared .align 4 .b8 s[128];
         shl.b32 %r1, %r0, 2;
         mov.u32 %r2, s;
         add.u32 %r3, %r2, %r1;
         st.shared.b32 [%r3], %r0;
         {between}
         add.u32 %r4, %r1, 4;
         and.b32 %r4, %r4, 127;
         add.u32 %r4, %r4, %r2;
         ld.shared.b32 %r5, [%r4];
         st.global.b32 [%d1], %r5;
         ret;"
    ))
}

#[test]
fn lanes_of_one_warp_need_a_barrier_too() {
    for options in all_modes().into_iter().filter(|options| options.checks.shared_races) {
        for barrier in ["bar.warp.sync -1;", "bar.sync 0;", "barrier.sync 0;", "bar.sync 3, 32;"] {
            let words = results(&neighbours(barrier), Grid::linear(1, 32), &[], 32, &options).unwrap();
            assert_eq!(words[..2], [1, 2]);
        }
        for barrier in ["", "membar.cta;", "activemask.b32 %r9;"] {
            let fault = results(&neighbours(barrier), Grid::linear(1, 32), &[], 32, &options).unwrap_err();
            let FaultKind::Race { space: Space::Shared, earlier, .. } = &fault.kind else { panic!("{fault}") };
            assert!(earlier.place.text.starts_with("st.shared"), "{fault}");
        }
    }
}

/// Copies 16 bytes per thread through shared memory with `cp.async`, read back by the neighbour.
fn staged(wait: &str, barrier: &str) -> String {
    module(
        2,
        &format!(
            ".shared .align 16 .b8 s[1024];
             ld.param.u64 %d0, [p0];
             ld.param.u64 %d1, [p1];
             mov.u32 %r0, %tid.x;
             mul.wide.u32 %d2, %r0, 16;
             add.s64 %d3, %d0, %d2;
             shl.b32 %r1, %r0, 4;
             mov.u32 %r2, s;
             add.u32 %r3, %r2, %r1;
             cp.async.cg.shared.global [%r3], [%d3], 16;
             cp.async.commit_group;
             {wait}
             {barrier}
             xor.b32 %r4, %r1, 16;
             add.u32 %r4, %r4, %r2;
             ld.shared.v4.b32 {{%r5, %r6, %r7, %r8}}, [%r4];
             add.s64 %d4, %d1, %d2;
             st.global.v4.b32 [%d4], {{%r5, %r6, %r7, %r8}};
             ret;"
        ),
    )
}

#[test]
fn asynchronous_copies_need_their_wait_and_a_barrier() {
    let words: Vec<u32> = (0..256).collect();
    let attempt = |wait: &str, barrier: &str, options: &Options| {
        results(&staged(wait, barrier), Grid::linear(1, 64), &[&words], 256, options).map_err(|fault| fault.kind)
    };
    let swapped: Vec<u32> = (0..256).map(|i| i ^ 4).collect();
    for options in all_modes() {
        for wait in ["cp.async.wait_group 0;", "cp.async.wait_all;"] {
            assert_eq!(attempt(wait, "bar.sync 0;", &options), Ok(swapped.clone()));
        }
        for (wait, barrier) in
            [("", "bar.sync 0;"), ("cp.async.wait_group 1;", "bar.sync 0;"), ("cp.async.wait_group -1;", "bar.sync 0;")]
        {
            let outcome = attempt(wait, barrier, &options);
            if options.checks.shared_races {
                assert!(matches!(outcome, Err(FaultKind::Unfinished { .. })), "{outcome:?}");
            } else {
                assert_eq!(outcome, Ok(vec![u32::MAX; 256]), "the destination is poisoned");
            }
        }
        if options.checks.shared_races {
            let outcome = attempt("cp.async.wait_all;", "", &options);
            assert!(matches!(outcome, Err(FaultKind::Race { .. } | FaultKind::Unfinished { .. })), "{outcome:?}");
        }
    }
}

#[test]
fn a_copy_reads_no_more_than_it_is_told_and_fills_with_zeros() {
    // Lane i reads 4 i bytes: the source of the last ones ends inside the 16 bytes they write.
    let text = staged("cp.async.wait_all;", "bar.sync 0;").replace(
        "cp.async.cg.shared.global [%r3], [%d3], 16;",
        "and.b32 %r9, %r0, 3; shl.b32 %r9, %r9, 2;
            cp.async.cg.shared.global [%r3], [%d3], 16, %r9;",
    );
    let words: Vec<u32> = (1..=255).collect();
    for options in all_modes() {
        let got = results(&text, Grid::linear(1, 64), &[&words], 256, &options).unwrap();
        let expected: Vec<u32> =
            (0..256_u32).map(|at| at ^ 4).map(|at| if at % 4 < at / 4 % 4 { at + 1 } else { 0 }).collect();
        assert_eq!(got, expected);
    }
}

#[test]
fn narrow_stores_to_one_word_are_no_race() {
    let text = module(
        0,
        ".shared .align 4 .b8 s[64];
         mov.u32 %r0, %tid.x;
         mov.u32 %r1, s;
         add.u32 %r1, %r1, %r0;
         st.shared.b8 [%r1], %r0;
         ld.shared.b8 %r2, [%r1];
         ret;",
    );
    run(&text, Grid::linear(1, 64), &[], &memory(), &Options::sanitize()).unwrap();
}

#[test]
fn blocks_that_write_one_place_race() {
    let text = module(1, "ld.param.u64 %d0, [p0]; mov.u32 %r0, %ctaid.x; st.global.b32 [%d0], %r0; ret;");
    let memory = memory();
    let out = memory.alloc(0, 4).unwrap();
    let fault = run(&text, Grid::linear(2, 1), &[out], &memory, &Options::sanitize()).unwrap_err();
    let FaultKind::Race { space: Space::Global, earlier, .. } = &fault.kind else { panic!("{fault}") };
    assert_eq!((earlier.block, fault.party.block), ([0, 0, 0], [1, 0, 0]));
    let text = text.replace("st.global.b32 [%d0], %r0;", "red.global.add.u32 [%d0], %r0;");
    memory.write(out, &[0; 4]).unwrap();
    run(&text, Grid::linear(2, 1), &[out], &memory, &Options::sanitize()).unwrap();
}

/// Stores a word per lane at `stride` words in shared memory and loads it at that stride from global memory.
fn strided(stride: u32) -> String {
    indexed(&format!(
        ".shared .align 4 .b8 s[4096];
         mul.lo.u32 %r1, %r0, {};
         mov.u32 %r2, s;
         add.u32 %r2, %r2, %r1;
         cvt.u64.u32 %d1, %r1;
         add.s64 %d1, %d1, %d0;
         ld.global.b32 %r3, [%d1];
         st.shared.b32 [%r2], %r3;
         ret;",
        4 * stride
    ))
}

#[test]
fn traffic_counts_sectors_and_bank_cycles() {
    for (stride, sectors, degree) in [(1, 4, 1), (2, 8, 2), (8, 32, 8), (32, 32, 32), (0, 1, 1)] {
        let memory = memory();
        let input = upload(&memory, &[0; 1024]);
        let options = Options { checks: Checks { traffic: true, ..Checks::none() }, ..Options::default() };
        let counters = run(&strided(stride), Grid::linear(1, 32), &[input], &memory, &options).unwrap();
        let total = counters.total_traffic();
        assert_eq!((total.global_requests, total.global_sectors), (1, sectors), "stride {stride}");
        assert_eq!((total.shared_requests, total.shared_ideal), (1, 1), "stride {stride}");
        assert_eq!((total.shared_wavefronts, total.conflict_degree), (u64::from(degree), degree), "stride {stride}");
        assert!(counters.touched.reads().is_empty(), "streams are not checked");
    }
}
