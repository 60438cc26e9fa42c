//! Kernels: their attributes, how many blocks a device holds, and host functions.
//!
//! # Safety
//! Host functions are called with the argument they were enqueued with.

use std::ffi::c_void;

use cuda_loader::{
    Status,
    ffi::{CUfunction, CUstream, function},
};

use crate::driver::bench::{Bench, kernel_of, ok, status, written};

/// A kernel of at most 96 threads with 100 bytes of shared and 40 bytes of local memory.
fn bounded() -> CUfunction {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() .maxntid 96, 1, 1\n{
        .shared .align 4 .b8 s[100]; .local .align 4 .b8 l[40]; ret; }";
    kernel_of(text, "k")
}

fn attribute(kernel: CUfunction, which: u32) -> i32 {
    written(-9, |value| status!(cuFuncGetAttribute(value, which, kernel)))
}

#[test]
fn attributes_of_a_kernel_are_those_of_its_text() {
    let _bench = Bench::new("cc=8.6");
    let kernel = bounded();
    // Threads, shared, constant and local bytes, registers, versions, caching, dynamic shared bytes, and the carve-out.
    let dynamic = (48 << 10) - 100;
    let expected = [96, 100, 0, 40, 16, 86, 86, 0, dynamic, -1];
    assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(|which| attribute(kernel, which)), expected);
    assert_eq!(status!(cuFuncGetAttribute(&mut 0, 10, kernel)), Status::INVALID_VALUE);
    let launch = |threads: u32, shared: i32| {
        let (stream, null) = (CUstream::NULL, std::ptr::null_mut());
        status!(cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, shared as u32, stream, null, null))
    };
    let (fits, refused) = (Status::SUCCESS, Status::INVALID_VALUE);
    assert_eq!([launch(96, dynamic), launch(97, 0), launch(96, dynamic + 1)], [fits, refused, refused]);
    // With an opt-in, a block has 99 KiB.
    let most = (99 << 10) - 100;
    let (shared, carveout) = (function::MAX_DYNAMIC_SHARED_SIZE_BYTES, function::PREFERRED_SHARED_MEMORY_CARVEOUT);
    for (which, value, expected) in [
        (shared, -1, refused),
        (shared, 0, fits),
        (shared, most + 1, refused),
        (shared, most, fits),
        (carveout, -2, refused),
        (carveout, 101, refused),
        (carveout, -1, fits),
        (carveout, 100, fits),
        (function::NUM_REGS, 16, refused),
    ] {
        assert_eq!(status!(cuFuncSetAttribute(kernel, which, value)), expected, "{which} {value}");
        assert!(expected == refused || attribute(kernel, which) == value, "{which} {value}");
    }
    assert_eq!([launch(96, most), launch(96, most + 1)], [fits, refused]);
}

fn resident(kernel: CUfunction, threads: i32, shared: usize) -> i32 {
    let blocks =
        written(-1, |blocks| status!(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared)));
    let same = written(-1, |same| {
        status!(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(same, kernel, threads, shared, 0))
    });
    assert_eq!(blocks, same);
    blocks
}

#[test]
fn a_multiprocessor_holds_the_blocks_that_its_resources_allow() {
    let bench = Bench::new("");
    let (scale, bounded) = (bench.kernel("scale"), bounded());
    // By threads: 64 warps, and by blocks: 32.
    let counts = [0, 1, 64, 65, 96, 97, 256, 1024, 1025].map(|threads| resident(scale, threads, 0));
    assert_eq!(counts, [0, 32, 32, 21, 21, 16, 8, 2, 0]);
    assert_eq!((attribute(scale, function::MAX_THREADS_PER_BLOCK), resident(scale, 256, 100 << 10)), (1024, 1));
    assert_eq!([96, 97].map(|threads| resident(bounded, threads, 0)), [21, 0]);
    assert_eq!([usize::MAX, 1 << 32, u32::MAX as usize, 164 << 10].map(|bytes| resident(scale, 32, bytes)), [0; 4]);
    assert_eq!(status!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut 0, scale, -1, 0)), Status::INVALID_VALUE);
    // Blocks with this share of shared memory all fit, and blocks with one byte more do not.
    let share = |kernel: CUfunction, blocks: i32| {
        written(0, |share| status!(cuOccupancyAvailableDynamicSMemPerBlock(share, kernel, blocks, 32)))
    };
    for blocks in 1..=32 {
        let share = share(scale, blocks);
        assert!(resident(scale, 32, share) >= blocks && resident(scale, 32, share + 1) < blocks, "{blocks}: {share}");
    }
    for blocks in [0, -1] {
        let status = status!(cuOccupancyAvailableDynamicSMemPerBlock(&mut 0, scale, blocks, 32));
        assert_eq!(status, Status::INVALID_VALUE, "{blocks}");
    }
    assert_eq!(share(bounded, 1), (163 << 10) - 100);
}

#[test]
fn the_best_block_fills_a_multiprocessor() {
    unsafe extern "C" fn shared_bytes(threads: i32) -> usize {
        164 * threads as usize
    }
    let bench = Bench::new("sms=5");
    let (scale, bounded) = (bench.kernel("scale"), bounded());
    let best = |kernel: CUfunction, needs, shared: usize, limit: i32| {
        let (mut grid, mut block) = (0, 0);
        ok!(cuOccupancyMaxPotentialBlockSize(&raw mut grid, &raw mut block, kernel, needs, shared, limit));
        (block, grid)
    };
    // 64 warps of at most 32 blocks; of two blocks that are as good, the larger one.
    for limit in [0, -1, 1024, 2000] {
        assert_eq!(best(scale, None, 0, limit), (1024, 2 * 5), "{limit}");
    }
    assert_eq!(best(scale, None, 0, 100), (64, 32 * 5));
    assert_eq!(best(scale, None, 0, 33), (33, 32 * 5));
    assert_eq!(best(bounded, None, 0, 0), (64, 32 * 5));
    assert_eq!(best(scale, None, 100 << 10, 0), (1024, 5));
    // 164 KiB hold a block of 1024 threads, but for the KiB that the system keeps.
    assert_eq!(best(scale, Some(shared_bytes), 0, 0), (992, 5));
}

#[test]
fn a_callback_is_given_and_stays_out_of_captures() {
    unsafe extern "C" fn note(_: CUstream, status: Status, data: *mut c_void) {
        // SAFETY: the test passes a pointer to a status that outlives the stream's work.
        unsafe { data.cast::<Status>().write(status) };
    }
    let bench = Bench::new("schedule=lazy");
    let (stream, mut seen) = (bench.stream(), Status::NOT_READY);
    let data: *mut c_void = (&raw mut seen).cast();
    ok!(cuStreamAddCallback(stream, Some(note), data, 0));
    let refused = [
        status!(cuLaunchHostFunc(stream, None, data)),
        status!(cuStreamAddCallback(stream, None, data, 0)),
        status!(cuStreamAddCallback(stream, Some(note), data, 1)),
    ];
    assert_eq!(refused, [Status::INVALID_VALUE; 3]);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(seen, Status::SUCCESS);
    ok!(cuStreamBeginCapture_v2(stream, 2));
    assert_eq!(status!(cuStreamAddCallback(stream, Some(note), data, 0)), Status::STREAM_CAPTURE_UNSUPPORTED);
}
