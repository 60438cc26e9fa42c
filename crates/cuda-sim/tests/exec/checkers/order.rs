//! The order between threads: what races on global memory and what does not, fences, scopes, flags.

use cuda_sim::exec::{Grid, Options, Space};

use crate::exec::rig::{in_place, module, races, silent};

const ZEROS: &[u32] = &[0; 256];

/// A kernel that is wrong without a line and right with it, on one block of two warps.
fn needs(name: &str, line: &str, body: &str) {
    let grid = Grid::linear(1, 64);
    races(name, Space::Global, &body.replace("HERE", ""), grid, ZEROS);
    silent(name, &body.replace("HERE", line), grid, ZEROS);
}

#[test]
fn threads_of_a_block_need_a_barrier_between_a_write_and_a_read() {
    // The word that a thread of the other warp, or of the neighbouring lane, has written.
    for apart in [128, 4] {
        needs(
            "write, then read elsewhere",
            "bar.sync 0;",
            &format!(
                "st.global.b32 [%d1], %r0;
                 HERE
                 mul.wide.u32 %d2, %r0, 4; xor.b64 %d2, %d2, {apart}; add.s64 %d2, %d2, %d0;
                 ld.global.b32 %r4, [%d2];
                 ret;"
            ),
        );
    }
    needs(
        "lanes, then read of the neighbour",
        "bar.warp.sync -1;",
        "st.global.b32 [%d1], %r0;
         HERE
         mul.wide.u32 %d2, %r0, 4; xor.b64 %d2, %d2, 4; add.s64 %d2, %d2, %d0;
         ld.global.b32 %r4, [%d2];
         ret;",
    );
}

#[test]
fn a_stencil_in_place_needs_a_barrier_between_its_reads_and_its_writes() {
    needs(
        "stencil",
        "bar.sync 0;",
        "ld.global.b32 %r4, [%d1]; ld.global.b32 %r5, [%d1+4];
         HERE
         add.u32 %r4, %r4, %r5;
         st.global.b32 [%d1], %r4;
         ret;",
    );
}

#[test]
fn different_values_in_one_word_race_and_equal_ones_do_not() {
    let store = "st.global.b32 [%d0], VALUE; ret;";
    for threads in [32, 64] {
        races("values", Space::Global, &store.replace("VALUE", "%r0"), Grid::linear(1, threads), ZEROS);
    }
    silent("one value", &store.replace("VALUE", "7"), Grid::linear(1, 32), ZEROS);
    races("one value, two warps", Space::Global, &store.replace("VALUE", "7"), Grid::linear(1, 64), ZEROS);
    // A lane that wrote the same as its neighbours still has no order with them.
    let again = "st.global.b32 [%d0], 7; setp.eq.u32 %p0, %r0, 0; @%p0 st.global.b32 [%d0], 8; ret;";
    races("one value, then another", Space::Global, again, Grid::linear(1, 32), ZEROS);
}

#[test]
fn counters_are_atomics() {
    for threads in [32, 64] {
        let grid = Grid::linear(1, threads);
        let plain = "ld.global.b32 %r4, [%d0]; add.u32 %r4, %r4, 1; st.global.b32 [%d0], %r4; ret;";
        races("plain counter", Space::Global, plain, grid, ZEROS);
        silent("atomic counter", "red.global.add.u32 [%d0], 1; ret;", grid, ZEROS);
    }
}

#[test]
fn bounded_counters_wrap_at_their_bound() {
    // Old value and bound, and the new values of `inc` and `dec`, as the PTX manual defines both.
    for (old, bound, [inc, dec]) in [
        (3u32, 5u32, [4, 2]),
        (5, 5, [0, 4]),
        (6, 5, [0, 5]),
        (0, 5, [1, 5]),
        (0, 0, [0, 0]),
        (u32::MAX, u32::MAX, [0, u32::MAX - 1]),
    ] {
        for (op, expected) in [("inc", inc), ("dec", dec)] {
            let body = format!(
                "ld.param.u64 %d0, [p0]; atom.global.{op}.u32 %r4, [%d0], {bound}; st.global.b32 [%d0+4], %r4; ret;"
            );
            let left = in_place(&module(1, &body), Grid::linear(1, 1), &[old, 0], &Options::sanitize()).unwrap();
            assert_eq!(left, [expected, old], "{op} {old} {bound}");
        }
    }
}

#[test]
fn a_plain_access_beside_atomics_races() {
    let body = "setp.ne.u32 %p0, %r0, 40;
        @!%p0 ACCESS
        HERE
        red.global.add.u32 [%d0], 1;
        ret;";
    for access in ["st.global.b32 [%d0], 5;", "ld.global.b32 %r4, [%d0];"] {
        needs("before", "bar.sync 0;", &body.replace("ACCESS", access));
    }
    let body = "red.global.add.u32 [%d0], 1;
        HERE
        setp.eq.u32 %p0, %r0, 40;
        @%p0 ACCESS
        ret;";
    for access in ["st.global.b32 [%d0], 5;", "ld.global.b32 %r4, [%d0];"] {
        needs("after", "bar.sync 0;", &body.replace("ACCESS", access));
    }
}

#[test]
fn an_atomic_does_not_hide_the_store_of_its_own_thread() {
    let body = "setp.ne.u32 %p0, %r1, 0;
        @!%p0 st.global.b32 [%d0], 5;
        red.global.add.u32 [%d0], 1;
        ret;";
    races("two blocks", Space::Global, body, Grid::linear(2, 1), ZEROS);
    races("two lanes", Space::Global, &body.replace("%r1", "%r0"), Grid::linear(1, 2), ZEROS);
    silent("one thread", body, Grid::linear(1, 1), ZEROS);
}

/// Readers of a word say so at a counter; the last thread waits for `waited` of them and writes the word.
fn readers(thread: &str, readers: u32, waited: u32) -> String {
    format!(
        "setp.eq.u32 %p0, {thread}, {readers};
         @%p0 bra $writer;
         ld.global.b32 %r4, [%d0];
         membar.gl;
         setp.lt.u32 %p1, {thread}, {waited};
         @%p1 red.global.add.u32 [%d0+4], 1;
         ret;
         $writer:
         ld.relaxed.gpu.global.b32 %r5, [%d0+4];
         setp.lt.u32 %p1, %r5, {waited};
         @%p1 bra $writer;
         membar.gl;
         st.global.b32 [%d0], 1;
         ret;"
    )
}

#[test]
fn every_one_of_several_readers_counts() {
    // Of several warps one lane each, and in each warp another one.
    let diagonal = "rem.u32 %r6, %r0, 33; setp.ne.u32 %p2, %r6, 0; @%p2 ret; div.u32 %r6, %r0, 33;";
    for count in [3, 9] {
        for (start, thread, grid) in [
            ("", "%r1", Grid::linear(count + 1, 1)),
            ("", "%r0", Grid::linear(1, count + 1)),
            (diagonal, "%r6", Grid::linear(1, 33 * count + 1)),
        ] {
            let body = |waited: u32| format!("{start} {}", readers(thread, count, waited));
            races("a reader in flight", Space::Global, &body(count - 1), grid, ZEROS);
            silent("all waited for", &body(count), grid, ZEROS);
        }
    }
}

/// All threads of a block write, thread 0 counts the block; the last block reads everything.
const LAST_BLOCK: &str = "
    add.s64 %d1, %d1, 8;
    st.global.b32 [%d1], %r0;
    BEFORE
    bar.sync 0;
    AFTER
    setp.ne.u32 %p0, %r0, 0;
    @%p0 ret;
    atom.global.add.u32 %r4, [%d0], 1;
    membar.gl;
    setp.ne.u32 %p0, %r4, 2;
    @%p0 ret;
    ld.global.b32 %r5, [%d0+264];
    ld.global.b32 %r6, [%d0+136];
    ld.global.b32 %r6, [%d0+300];
    st.global.b32 [%d0], 0;
    ret;";

#[test]
fn thread_0_fences_for_its_block_only_after_the_barrier() {
    let attempt = |before: &str, after: &str| LAST_BLOCK.replace("BEFORE", before).replace("AFTER", after);
    let grid = Grid::linear(3, 64);
    silent("after", &attempt("", "membar.gl;"), grid, ZEROS);
    silent("by every thread", &attempt("membar.gl;", ""), grid, ZEROS);
    let first = "setp.eq.u32 %p1, %r0, 0; @%p1 membar.gl;";
    silent("by thread 0, after", &attempt("", first), grid, ZEROS);
    races("before", Space::Global, &attempt(first, ""), grid, ZEROS);
    races("acquire and release by every thread", Space::Global, &attempt("fence.acq_rel.gpu;", ""), grid, ZEROS);
    races("none", Space::Global, &attempt("", ""), grid, ZEROS);
    races("of block scope", Space::Global, &attempt("", "membar.cta;"), grid, ZEROS);
}

/// Thread 0 of block 0 hands a word over to the last thread of the last block.
fn flag(store: &str, load: &str) -> String {
    format!(
        "mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1; setp.eq.u32 %p0, %r1, %r4;
         mov.u32 %r4, %ntid.x; sub.u32 %r4, %r4, 1; setp.eq.u32 %p1, %r0, %r4;
         and.pred %p0, %p0, %p1;
         @%p0 bra $reader;
         setp.ne.u32 %p0, %r2, 0;
         @%p0 ret;
         st.global.b32 [%d0+4], 5;
         {store}
         ret;
         $reader:
         {load}
         setp.eq.u32 %p0, %r5, 0;
         @%p0 bra $reader;
         ld.global.b32 %r6, [%d0+4];
         ret;"
    )
}

#[test]
fn a_flag_holds_within_the_scopes_of_both_sides() {
    let (wide, narrow) = (("release.gpu", "acquire.gpu"), ("release.cta", "acquire.cta"));
    let (blocks, threads) = (Grid::linear(2, 1), Grid::linear(1, 40));
    let text = |(store, load): (&str, &str)| {
        flag(&format!("st.{store}.global.b32 [%d0], 1;"), &format!("ld.{load}.global.b32 %r5, [%d0];"))
    };
    for sides in [wide, narrow, (wide.0, narrow.1), (narrow.0, wide.1)] {
        silent("within a block", &text(sides), threads, ZEROS);
        if sides == wide {
            silent("across blocks", &text(sides), blocks, ZEROS);
        } else {
            races("across blocks", Space::Global, &text(sides), blocks, ZEROS);
        }
    }
    let fenced = |store: &str, load: &str| {
        flag(
            &format!("{store} st.volatile.global.b32 [%d0], 1;"),
            &format!("ld.volatile.global.b32 %r5, [%d0]; {load}"),
        )
    };
    for grid in [blocks, threads] {
        silent("membar.gl", &fenced("membar.gl;", "membar.gl;"), grid, ZEROS);
        races("no fence", Space::Global, &fenced("", ""), grid, ZEROS);
        races("no release", Space::Global, &fenced("", "membar.gl;"), grid, ZEROS);
        races("no acquire", Space::Global, &fenced("membar.gl;", ""), grid, ZEROS);
    }
    silent("membar.cta, then membar.gl", &fenced("membar.gl;", "membar.cta; membar.gl;"), blocks, ZEROS);
    silent("membar.cta", &fenced("membar.cta;", "membar.cta;"), threads, ZEROS);
    races("membar.cta", Space::Global, &fenced("membar.cta;", "membar.gl;"), blocks, ZEROS);
    races("membar.cta", Space::Global, &fenced("membar.gl;", "membar.cta;"), blocks, ZEROS);
    // What another thread stores over the flag does not pass the release on.
    let replaced = "st.release.gpu.global.b32 [%d0], 1;";
    let other = text(wide).replace(replaced, &format!("{replaced} st.relaxed.gpu.global.b32 [%d0], 2;"));
    silent("stored over by its own thread", &other, blocks, ZEROS);
}

#[test]
fn a_flag_that_another_thread_stores_over_passes_no_release_on() {
    // Thread 1 raises the flag to 1, thread 32 raises it to 2, and thread 40 waits for 2.
    let body = |load: &str, store: &str| {
        format!(
            "setp.eq.u32 %p0, %r0, 1; @%p0 bra $first;
             setp.eq.u32 %p0, %r0, 32; @%p0 bra $second;
             setp.ne.u32 %p0, %r0, 40; @%p0 ret;
             $wait:
             ld.relaxed.gpu.global.b32 %r4, [%d0]; setp.ne.u32 %p0, %r4, 2; @%p0 bra $wait;
             ld.acquire.gpu.global.b32 %r4, [%d0];
             ld.global.b32 %r5, [%d0+4];
             ret;
             $first:
             st.global.b32 [%d0+4], 5;
             st.release.gpu.global.b32 [%d0], 1;
             ret;
             $second:
             ld.{load}.gpu.global.b32 %r4, [%d0]; setp.ne.u32 %p0, %r4, 1; @%p0 bra $second;
             st.{store}.gpu.global.b32 [%d0], 2;
             ret;"
        )
    };
    let grid = Grid::linear(1, 64);
    races("relaxed", Space::Global, &body("relaxed", "relaxed"), grid, ZEROS);
    silent("acquire and release", &body("acquire", "release"), grid, ZEROS);
}

#[test]
fn atomics_of_a_block_are_atomic_within_it_only() {
    for op in ["red.relaxed.cta.global.add.u32 [%d0], 1;", "st.relaxed.cta.global.b32 [%d0], 1;"] {
        silent("within", op, Grid::linear(1, 64), ZEROS);
        races("across", Space::Global, op, Grid::linear(2, 32), ZEROS);
    }
    let mixed = "setp.eq.u32 %p0, %r1, 0;
        @%p0 red.relaxed.cta.global.add.u32 [%d0], 1;
        @!%p0 red.relaxed.gpu.global.add.u32 [%d0], 1;";
    races("one of two", Space::Global, mixed, Grid::linear(2, 32), ZEROS);
}

#[test]
fn flags_in_shared_memory_order_the_threads_of_a_block() {
    let body = |store: &str, load: &str| {
        format!(
            ".shared .align 4 .b8 s[8];
             setp.eq.u32 %p0, %r0, 0;
             @%p0 st.shared.b32 [s], 0;
             bar.sync 0;
             setp.eq.u32 %p0, %r0, 40;
             @%p0 bra $reader;
             setp.ne.u32 %p0, %r0, 0;
             @%p0 ret;
             st.shared.b32 [s+4], 5;
             {store}
             ret;
             $reader:
             {load}
             setp.eq.u32 %p0, %r5, 0;
             @%p0 bra $reader;
             ld.shared.b32 %r6, [s+4];
             ret;"
        )
    };
    let grid = Grid::linear(1, 64);
    let (release, acquire) = ("st.release.cta.shared.b32 [s], 1;", "ld.acquire.cta.shared.b32 %r5, [s];");
    silent("release and acquire", &body(release, acquire), grid, ZEROS);
    let (store, load) = ("st.volatile.shared.b32 [s], 1;", "ld.volatile.shared.b32 %r5, [s];");
    let fence = "membar.cta;";
    silent("volatile", &body(&format!("{fence}{store}"), &format!("{load}{fence}")), grid, ZEROS);
    silent("mixed", &body(&format!("{fence}{store}"), acquire), grid, ZEROS);
    let lock = "atom.release.cta.shared.exch.b32 %r7, [s], 1;";
    silent("exchange", &body(lock, "atom.acquire.cta.shared.or.b32 %r5, [s], 0;"), grid, ZEROS);
    races("relaxed", Space::Shared, &body(store, load), grid, ZEROS);
    races("relaxed store", Space::Shared, &body(store, acquire), grid, ZEROS);
    races("relaxed load", Space::Shared, &body(release, load), grid, ZEROS);
    races("plain", Space::Shared, &body("st.shared.b32 [s], 1;", acquire), grid, ZEROS);
    // The same between lanes of one warp.
    let near = |store: &str, load: &str| body(store, load).replace("%r0, 40", "%r0, 20");
    silent("one warp", &near(&format!("{fence}{store}"), &format!("{load}{fence}")), grid, ZEROS);
    silent("one warp", &near(release, acquire), grid, ZEROS);
    races("one warp, relaxed", Space::Shared, &near(store, load), grid, ZEROS);
}

#[test]
fn volatile_accesses_do_not_keep_the_lanes_of_a_warp_together() {
    // The tail of a reduction in one warp, by volatile accesses.
    let step = |by: u32| {
        format!(
            "ld.volatile.shared.b32 %r6, [%r4+{}]; ld.volatile.shared.b32 %r7, [%r4]; add.u32 %r7, %r7, %r6;
             HERE st.volatile.shared.b32 [%r4], %r7; HERE",
            4 * by
        )
    };
    let tail = |steps: &[u32]| {
        let steps: String = steps.iter().map(|&by| step(by)).collect();
        format!(
            ".shared .align 4 .b8 s[256];
             mov.u32 %r3, s; shl.b32 %r4, %r0, 2; add.u32 %r4, %r4, %r3;
             st.shared.b32 [%r4], %r0; st.shared.b32 [%r4+128], 1;
             bar.sync 0;
             {steps}
             ret;"
        )
    };
    for steps in [&[16, 8, 4, 2, 1][..], &[1], &[4, 1]] {
        let text = tail(steps);
        races("tail", Space::Shared, &text.replace("HERE", ""), Grid::linear(1, 32), ZEROS);
        silent("tail", &text.replace("HERE", "bar.warp.sync -1;"), Grid::linear(1, 32), ZEROS);
    }
}

#[test]
fn what_a_volatile_load_saw_is_relied_upon_by_the_next_load_of_the_place() {
    let body = "
        .shared .align 4 .b8 s[128];
        mov.u32 %r3, s; shl.b32 %r4, %r0, 2; xor.b32 %r5, %r4, 4;
        add.u32 %r4, %r4, %r3; add.u32 %r5, %r5, %r3;
        st.volatile.shared.b32 [%r4], %r0;
        ld.volatile.shared.b32 %r6, [%r5];
        HERE
        ld.relaxed.cta.shared.b32 %r7, [%r5];
        ret;";
    races("relied upon", Space::Shared, &body.replace("HERE", ""), Grid::linear(1, 32), ZEROS);
    silent("after a fence", &body.replace("HERE", "membar.cta;"), Grid::linear(1, 32), ZEROS);
}
