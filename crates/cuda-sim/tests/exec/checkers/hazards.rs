//! The miscompilations that the design study met, as PTX in their bad and good forms.

use cuda_sim::exec::{FaultKind, Grid, Memory, Options, Space};

use crate::exec::programs::all_modes;
use crate::exec::rig::{download, in_place, indexed, memory, module, results, run, upload};

/// A load under a condition, then a shuffle among all lanes: duplicated into both arms of the branch, or after it.
fn guarded_shuffle(duplicated: bool) -> String {
    let shuffle = "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1;";
    let (inside, after) = if duplicated { (shuffle, "") } else { ("", shuffle) };
    indexed(&format!(
        "mov.b32 %r2, 7;
         and.b32 %r4, %r0, 3;
         setp.eq.u32 %p0, %r4, 0;
         @%p0 bra $other;
         add.u32 %r2, %r0, 100;
         {inside}
         bra.uni $join;
         $other:
         {inside}
         $join:
         {after}
         st.global.b32 [%d1], %r3;
         ret;"
    ))
}

#[test]
fn a_shuffle_duplicated_into_divergent_arms_is_reported() {
    for options in all_modes() {
        let fault = results(&guarded_shuffle(true), Grid::linear(1, 32), &[], 32, &options).unwrap_err();
        let FaultKind::DivergentCollective { members, present, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!(members, u32::MAX);
        assert!(present == 0x1111_1111 || present == 0xeeee_eeee, "{present:08x}");
        assert!(fault.party.place.text.starts_with("shfl.sync"), "{fault}");
    }
}

#[test]
fn one_shuffle_after_the_join_is_right() {
    for options in all_modes() {
        let got = results(&guarded_shuffle(false), Grid::linear(1, 32), &[], 32, &options).unwrap();
        let value = |lane: u32| if lane.is_multiple_of(4) { 7 } else { lane + 100 };
        let expected: Vec<u32> = (0..32).map(|lane| value(lane ^ 1)).collect();
        assert_eq!(got, expected);
    }
}

/// Load under a bound, barrier, store under the bound: the barrier duplicated into both arms, or shared.
fn guarded_barrier(duplicated: bool) -> String {
    let (inside, after) = if duplicated { ("bar.sync 0;", "") } else { ("", "bar.sync 0;") };
    indexed(&format!(
        "setp.ge.u32 %p0, %r0, 40;
         @%p0 bra $outside;
         ld.global.b32 %r1, [%d1];
         {inside}
         bra.uni $join;
         $outside:
         {inside}
         $join:
         {after}
         @!%p0 st.global.b32 [%d1], %r1;
         ret;"
    ))
}

#[test]
fn a_barrier_duplicated_into_divergent_arms_is_reported() {
    for options in all_modes() {
        let fault = in_place(&guarded_barrier(true), Grid::linear(1, 64), &[1; 64], &options).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::DivergentCollective { members: u32::MAX, .. }), "{fault}");
        assert!(fault.to_string().contains("bar.sync"), "{fault}");
        in_place(&guarded_barrier(false), Grid::linear(1, 64), &[1; 64], &options).unwrap();
    }
}

/// Each block writes a partial sum; the block that counts last adds them up.
fn last_block(release: &str, acquire: &str) -> String {
    module(
        3,
        &format!(
            "ld.param.u64 %d0, [p0];
             ld.param.u64 %d1, [p1];
             ld.param.u64 %d2, [p2];
             mov.u32 %r0, %ctaid.x;
             mov.u32 %r1, %nctaid.x;
             mul.wide.u32 %d3, %r0, 4;
             add.s64 %d3, %d3, %d0;
             add.u32 %r2, %r0, 1;
             mov.u32 %r3, %tid.x;
             setp.ne.u32 %p0, %r3, 0;
             @%p0 bra $done;
             st.global.b32 [%d3], %r2;
             {release}
             atom.global.add.u32 %r4, [%d1], 1;
             {acquire}
             add.u32 %r4, %r4, 1;
             setp.ne.u32 %p1, %r4, %r1;
             @%p1 bra $done;
             mov.b32 %r5, 0;
             mov.b32 %r6, 0;
             $sum:
             mul.wide.u32 %d4, %r5, 4;
             add.s64 %d4, %d4, %d0;
             ld.global.b32 %r7, [%d4];
             add.u32 %r6, %r6, %r7;
             add.u32 %r5, %r5, 1;
             setp.lt.u32 %p2, %r5, %r1;
             @%p2 bra $sum;
             st.global.b32 [%d2], %r6;
             st.global.b32 [%d1], 0;
             $done:
             ret;"
        ),
    )
}

fn run_last_block(memory: &Memory, text: &str, options: &Options) -> Result<u32, FaultKind> {
    let (partial, counter) = (memory.alloc(0, 4 * 12).unwrap(), upload(memory, &[0]));
    let out = memory.alloc(0, 4).unwrap();
    let outcome = run(text, Grid::linear(12, 32), &[partial, counter, out], memory, options);
    outcome.map(|_| download(memory, out, 1)[0]).map_err(|fault| fault.kind)
}

#[test]
fn the_relaxed_last_block_idiom_is_a_race_and_the_fenced_one_is_not() {
    let fence = "membar.gl;";
    for options in all_modes() {
        let fenced = run_last_block(&memory(), &last_block(fence, fence), &options);
        assert_eq!(fenced, Ok(78), "{options:?}");
        let strong = last_block("fence.acq_rel.gpu;", "fence.sc.gpu;");
        assert_eq!(run_last_block(&memory(), &strong, &options), Ok(78));
        if !options.checks.global_races {
            continue;
        }
        for (release, acquire) in [("", ""), (fence, ""), ("", fence), ("membar.cta;", "membar.cta;")] {
            let outcome = run_last_block(&memory(), &last_block(release, acquire), &options);
            assert!(
                matches!(outcome, Err(FaultKind::Race { space: Space::Global, .. })),
                "release {release:?}, acquire {acquire:?}: {outcome:?}"
            );
        }
    }
}

#[test]
fn an_atomic_with_both_orders_replaces_the_fences() {
    let text = last_block("", "").replace("atom.global.add", "atom.acq_rel.gpu.global.add");
    assert_eq!(run_last_block(&memory(), &text, &Options::sanitize()), Ok(78));
}
