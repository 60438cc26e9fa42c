//! Asynchronous copies, reads through the constant path, and matrices: who reads what, and when.

use cuda_sim::exec::{Access, FaultKind, Grid, Space};

use crate::exec::rig::{checked_orders, races, silent, verdict};

const WORDS: &[u32] = &[0; 512];

/// Each thread copies a word to shared memory; `between` stands before the wait and `after` after it.
fn copy(between: &str, after: &str) -> String {
    format!(
        ".shared .align 16 .b8 s[1024];
         mov.u32 %r4, s; shl.b32 %r5, %r0, 2; add.u32 %r4, %r4, %r5;
         cp.async.ca.shared.global [%r4], [%d1], 4;
         cp.async.commit_group;
         {between}
         cp.async.wait_group 0;
         {after}
         ret;"
    )
}

#[test]
fn the_source_of_a_copy_is_not_written_before_the_wait() {
    let store = "st.global.b32 [%d1], 5;";
    let elsewhere = "mul.wide.u32 %d2, %r0, 4; xor.b64 %d2, %d2, 128; add.s64 %d2, %d2, %d0; st.global.b32 [%d2], 5;";
    let atomic = "red.global.add.u32 [%d1], 1;";
    for (name, body) in [
        ("by its thread", copy(store, "")),
        ("by an atomic of its thread", copy(atomic, "")),
        ("by another thread", copy(elsewhere, "")),
        ("by another thread after a barrier", copy(&format!("bar.sync 0; {elsewhere}"), "bar.sync 0;")),
    ] {
        races(name, Space::Global, &body, Grid::linear(1, 64), WORDS);
        let said = verdict(&body, Grid::linear(1, 64), WORDS, &checked_orders()[0]);
        let Some(FaultKind::Race { access, earlier_access, .. }) = said else { panic!("{name}: {said:?}") };
        assert!([access, earlier_access].contains(&Access::AsyncRead), "{name}: {access} after {earlier_access}");
    }
    silent("after the wait", &copy("", store), Grid::linear(1, 64), WORDS);
    silent(
        "by others, after wait and barrier",
        &copy("", &format!("bar.sync 0; {elsewhere}")),
        Grid::linear(1, 64),
        WORDS,
    );
    silent("another place", &copy("st.global.b32 [%d1+1024], 5;", ""), Grid::linear(1, 64), WORDS);
    // The words before and after the sources of one warp and of one lane.
    for (threads, store) in [(32, "@!%p0 st.global.b32 [%d0+128], 5;"), (1, "st.global.b32 [%d0+4], 5;")] {
        let text = copy(&format!("setp.ne.u32 %p0, %r0, 0; {store}"), "");
        silent("the next word", &text, Grid::linear(1, threads), WORDS);
        let inside = text.replace("+128]", "+124]").replace("+4]", "+0]");
        races("the last word", Space::Global, &inside, Grid::linear(1, threads), WORDS);
    }
}

#[test]
fn a_copy_that_lands_is_a_write_of_its_lane() {
    // All threads have met since lane 1 began its copy; lane 2 reads the word.
    let landed = |after: &str| {
        format!(
            ".shared .align 4 .b8 s[4];
             mov.u32 %r4, s; setp.eq.u32 %p0, %r0, 1; setp.eq.u32 %p1, %r0, 2;
             @%p0 cp.async.ca.shared.global [%r4], [%d1], 4;
             bar.sync 0;
             cp.async.wait_all;
             {after}
             @%p1 ld.shared.b32 %r5, [%r4];
             ret;"
        )
    };
    races("no barrier", Space::Shared, &landed(""), Grid::linear(1, 32), WORDS);
    silent("a barrier", &landed("bar.warp.sync -1;"), Grid::linear(1, 32), WORDS);
}

#[test]
fn the_constant_path_reads_only_what_the_kernel_does_not_write() {
    let grid = Grid::linear(1, 32);
    let load = "ld.global.nc.b32 %r4, [%d1];";
    let other =
        |barrier: &str| format!("{barrier} mul.wide.u32 %d2, %r0, 4; xor.b64 %d2, %d2, 4; add.s64 %d2, %d2, %d0;");
    races("own store", Space::Global, &format!("st.global.b32 [%d1], 5; {load} ret;"), grid, WORDS);
    races("own atomic", Space::Global, &format!("red.global.add.u32 [%d1], 5; {load} ret;"), grid, WORDS);
    races("own store after", Space::Global, &format!("{load} st.global.b32 [%d1], 5; ret;"), grid, WORDS);
    races("own atomic after", Space::Global, &format!("{load} red.global.add.u32 [%d1], 5; ret;"), grid, WORDS);
    let after = other("bar.sync 0;");
    races(
        "a barrier",
        Space::Global,
        &format!("st.global.b32 [%d1], 5; {after} ld.global.nc.b32 %r4, [%d2]; ret;"),
        grid,
        WORDS,
    );
    races("a barrier", Space::Global, &format!("{load} {after} st.global.b32 [%d2], 5; ret;"), grid, WORDS);
    let plain = format!("{load} ld.global.b32 %r5, [%d1]; {after} st.global.b32 [%d2], 5; ret;");
    races("a plain read as well", Space::Global, &plain, grid, WORDS);
    let coherent = format!("st.global.b32 [%d1], 5; {after} ld.global.b32 %r4, [%d2]; ret;");
    silent("the coherent path", &coherent, grid, WORDS);
    silent("another place", &format!("st.global.b32 [%d1+1024], 5; {load} ret;"), grid, WORDS);
}

/// Every lane stores a row of 16 bytes, and the warp loads the rows as matrices.
fn matrices(between: &str, transposed: &str) -> String {
    format!(
        ".shared .align 16 .b8 s[512];
         mov.u32 %r4, s; shl.b32 %r5, %r0, 4; add.u32 %r4, %r4, %r5;
         st.shared.v4.b32 [%r4], {{%r0, %r0, %r0, %r0}};
         {between}
         ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r4];
         ret;"
    )
}

#[test]
fn rows_of_other_lanes_are_loaded_after_a_barrier() {
    for transposed in ["", ".trans"] {
        for fence in ["", "membar.cta;"] {
            races("matrix", Space::Shared, &matrices(fence, transposed), Grid::linear(1, 32), WORDS);
        }
        for barrier in ["bar.warp.sync -1;", "bar.sync 0;"] {
            silent("matrix", &matrices(barrier, transposed), Grid::linear(1, 32), WORDS);
        }
    }
    // Each lane gets its own rows if it stores its own part of its row.
    let own = ".shared .align 16 .b8 s[128];
        mov.u32 %r4, s; shl.b32 %r5, %r0, 2; add.u32 %r5, %r4, %r5;
        st.shared.b32 [%r5], %r0;
        and.b32 %r6, %r0, 7; shl.b32 %r6, %r6, 4; add.u32 %r4, %r4, %r6;
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r4];
        ret;";
    silent("own parts", own, Grid::linear(1, 32), WORDS);
    races("transposed", Space::Shared, &own.replace(".x1", ".x1.trans"), Grid::linear(1, 32), WORDS);
}
