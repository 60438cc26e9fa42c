//! The LLVM intrinsics that the device library wraps.
//!
//! They are in one place since their names change between releases.

/// Declares intrinsics, each after its name in LLVM.
macro_rules! intrinsics {
    ($($link:literal: $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        // SAFETY: names and signatures match LLVM's NVPTX target.
        unsafe extern "C" {$(
            #[link_name = $link]
            pub(super) fn $name($($argument: $type),*) $(-> $result)?;
        )*}
    };
}

intrinsics! {
    "llvm.nvvm.read.ptx.sreg.tid.x": tid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.x": ctaid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.y": ctaid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.ctaid.z": ctaid_z() -> u32;
    "llvm.nvvm.read.ptx.sreg.ntid.x": ntid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.x": nctaid_x() -> u32;
    "llvm.nvvm.read.ptx.sreg.nctaid.y": nctaid_y() -> u32;
    "llvm.nvvm.read.ptx.sreg.laneid": laneid() -> u32;

    "llvm.nvvm.barrier.cta.sync.aligned.all": barrier_sync_all(id: u32);

    "llvm.nvvm.barrier.cta.red.or.aligned.all": barrier_or(id: u32, predicate: bool) -> bool;
    "llvm.nvvm.bar.warp.sync": warp_sync(mask: u32);
    "llvm.nvvm.membar.gl": membar_gl();

    "llvm.nvvm.shfl.sync.idx.i32": shfl_idx(mask: u32, value: u32, lane: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.up.i32": shfl_up(mask: u32, value: u32, delta: u32, clamp: u32) -> u32;
    "llvm.nvvm.shfl.sync.bfly.i32": shfl_bfly(mask: u32, value: u32, lanes: u32, clamp: u32) -> u32;
    "llvm.nvvm.vote.ballot.sync": vote_ballot(mask: u32, predicate: bool) -> u32;
    "llvm.nvvm.vote.any.sync": vote_any(mask: u32, predicate: bool) -> bool;
    "llvm.nvvm.redux.sync.umax": redux_max(value: u32, mask: u32) -> u32;

    "llvm.nvvm.isspacep.shared": isspacep_shared(pointer: *const u8) -> bool;
    "llvm.nvvm.isspacep.global": isspacep_global(pointer: *const u8) -> bool;

    "llvm.fma.f32": fma_f32(a: f32, b: f32, c: f32) -> f32;
    "llvm.sqrt.f32": sqrt_f32(x: f32) -> f32;
    "llvm.sqrt.f64": sqrt_f64(x: f64) -> f64;
    "llvm.fabs.f32": fabs_f32(x: f32) -> f32;
}
