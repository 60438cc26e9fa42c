//! Memory, pools, copies and fills up to the limits of the driver, and a step beyond.

use std::ffi::c_void;

use cuda_loader::{
    Status,
    ffi::{
        self, CUdeviceptr, CUmemoryPool, MemAccessDesc, MemLocation, MemPoolProps, Memcpy3D, mem_access, mem_location,
        mem_type,
    },
};

use crate::driver::bench::{Bench, alloc_async, ok, status, written};

#[test]
fn rows_of_a_pitched_allocation_start_at_multiples_of_512() {
    let bench = Bench::new("mem=1M");
    for element in 0..=17 {
        for (width, expected) in [(512, 512), (513, 1024)] {
            let (mut address, mut pitch) = (0, 0);
            let status = status!(cuMemAllocPitch_v2(&raw mut address, &raw mut pitch, width, 3, element));
            if ![4, 8, 16].contains(&element) {
                assert_eq!(status, Status::INVALID_VALUE, "{element}");
                continue;
            }
            assert_eq!((status, pitch, bench.session.usage(0).used), (Status::SUCCESS, expected, 3 * pitch as u64));
            ok!(cuMemFree_v2(address));
        }
    }
    for (width, height) in [(usize::MAX, 1), (1 << 40, 1 << 30), (0, 1), (1, 0)] {
        assert_eq!(status!(cuMemAllocPitch_v2(&mut 0, &mut 0, width, height, 4)), Status::INVALID_VALUE);
    }
    // Null is nothing to free.
    ok!(cuMemFree_v2(0));
    assert_eq!(bench.session.counters().frees, 6);
}

#[test]
fn pinned_memory_is_given_back_the_way_it_came() {
    let bench = Bench::new("");
    let data = bench.upload(&[0; 4]);
    for flags in 0..=8 {
        let mut block: *mut c_void = std::ptr::null_mut();
        let status = status!(cuMemHostAlloc(&raw mut block, 16, flags));
        assert_eq!(status, if flags < 8 { Status::SUCCESS } else { Status::INVALID_VALUE }, "{flags}");
        if flags < 8 {
            let found = written(0, |found| status!(cuMemHostGetFlags(found, block)));
            assert_eq!(found, flags | ffi::host::DEVICE_MAP);
            assert_eq!(status!(cuMemHostUnregister(block)), Status::HOST_MEMORY_NOT_REGISTERED);
            assert_eq!(status!(cuMemHostGetDevicePointer_v2(&mut 0, block, 1)), Status::INVALID_VALUE);
            ok!(cuMemFreeHost(block));
        }
    }
    let (mut words, mut block) = ([0u32; 4], std::ptr::null_mut());
    let pointer: *mut c_void = words.as_mut_ptr().cast();
    let device = std::ptr::without_provenance_mut(data as usize);
    let refused = [
        status!(cuMemHostAlloc(&raw mut block, 0, 0)),
        status!(cuMemAllocHost_v2(&raw mut block, 0)),
        status!(cuMemHostRegister_v2(std::ptr::null_mut(), 16, 0)),
        status!(cuMemHostRegister_v2(pointer, 0, 0)),
        status!(cuMemHostGetDevicePointer_v2(&mut 0, device, 0)),
        status!(cuMemHostGetFlags(&mut 0, pointer)),
    ];
    assert_eq!(refused, [Status::INVALID_VALUE; 6]);
    ok!(cuMemHostRegister_v2(pointer, 16, 0));
    assert_eq!(status!(cuMemFreeHost(pointer)), Status::INVALID_VALUE);
    ok!(cuMemHostUnregister(pointer));
    assert_eq!(bench.session.counters().pins, 9);
}

fn default_pool() -> CUmemoryPool {
    written(CUmemoryPool::NULL, |pool| status!(cuDeviceGetDefaultMemPool(pool, 0)))
}

/// Attributes 4 to 8 of a pool: its threshold, and reserved and used bytes, now and at most.
fn marks(pool: CUmemoryPool) -> [u64; 5] {
    [4, 5, 6, 7, 8]
        .map(|attribute| written(0u64, |value| status!(cuMemPoolGetAttribute(pool, attribute, value.cast()))))
}

#[test]
fn a_pool_keeps_bytes_up_to_its_threshold() {
    let bench = Bench::new("");
    let (stream, pool) = (bench.stream(), default_pool());
    let set = |attribute: u32, mut value: u64| status!(cuMemPoolSetAttribute(pool, attribute, (&raw mut value).cast()));
    let take = |bytes: usize| alloc_async(bytes, stream);
    for reuse in 1..4 {
        let get = || written(9i32, |value| status!(cuMemPoolGetAttribute(pool, reuse, value.cast())));
        assert_eq!((get(), set(reuse, 0), get()), (1, Status::SUCCESS, 0), "{reuse}");
    }
    assert_eq!(set(ffi::pool::RELEASE_THRESHOLD, 1000), Status::SUCCESS);
    let (first, second) = (take(600), take(500));
    assert_eq!(marks(pool), [1000, 1100, 1100, 1100, 1100]);
    ok!(cuMemFreeAsync(first, stream));
    assert_eq!(marks(pool), [1000, 1000, 1100, 500, 1100], "100 bytes are given back");
    // High marks are reset, and nothing else.
    for attribute in 0..10 {
        let is_kept = [1, 2, 3, 4].contains(&attribute);
        assert_eq!(set(attribute, 5) == Status::SUCCESS, is_kept, "{attribute}");
    }
    assert_eq!(set(ffi::pool::RELEASE_THRESHOLD, 1000), Status::SUCCESS);
    for high in [ffi::pool::RESERVED_MEM_HIGH, ffi::pool::USED_MEM_HIGH] {
        assert_eq!(set(high, 0), Status::SUCCESS);
    }
    assert_eq!(marks(pool), [1000, 1000, 1000, 500, 500]);
    ok!(cuMemPoolTrimTo(pool, 700));
    assert_eq!(marks(pool), [1000, 700, 1000, 500, 500]);
    for (bytes, after, hits) in [(201, [1000, 901, 1000, 701, 701], 0), (200, [1000, 901, 1000, 901, 901], 1)] {
        take(bytes);
        assert_eq!((marks(pool), bench.session.counters().pool_hits), (after, hits), "{bytes}");
    }
    ok!(cuMemFree_v2(second));
    assert_eq!(marks(pool), [1000, 901, 1000, 401, 901]);
}

#[test]
fn pools_belong_to_a_device() {
    let bench = Bench::new("devices=2;peer=off");
    let (stream, standard, mut now) = (bench.stream(), default_pool(), CUmemoryPool::NULL);
    let made = [0, 1].map(|device| {
        written(CUmemoryPool::NULL, |pool| status!(cuMemPoolCreate(pool, &MemPoolProps::on_device(device))))
    });
    let whole = MemPoolProps::on_device(0);
    let nowhere = MemLocation { kind: mem_location::INVALID, id: 0 };
    for props in [MemPoolProps { alloc_type: 0, ..whole }, MemPoolProps { location: nowhere, ..whole }] {
        assert_eq!(status!(cuMemPoolCreate(&raw mut now, &raw const props)), Status::INVALID_VALUE);
    }
    // The pool of stream-ordered memory.
    let current = |expected: CUmemoryPool| {
        let (address, which) = (alloc_async(16, stream), ffi::pointer::MEMPOOL_HANDLE);
        let found = written(CUmemoryPool::NULL, |found| status!(cuPointerGetAttribute(found.cast(), which, address)));
        let pool = written(CUmemoryPool::NULL, |pool| status!(cuDeviceGetMemPool(pool, 0)));
        assert_eq!([found, pool], [expected; 2]);
    };
    current(standard);
    assert_eq!(status!(cuDeviceSetMemPool(0, made[1])), Status::INVALID_VALUE);
    assert_eq!(status!(cuMemAllocFromPoolAsync(&mut 0, 16, made[1], stream)), Status::INVALID_VALUE);
    ok!(cuDeviceSetMemPool(0, made[0]));
    current(made[0]);
    // Without a link, a device gives access to itself alone.
    for (id, expected, rights) in [(0, Status::SUCCESS, [3, 1]), (1, Status::INVALID_DEVICE, [0, 0])] {
        let mut location = MemLocation { kind: mem_location::DEVICE, id };
        let (right, mut found) = (MemAccessDesc { location, flags: mem_access::READ }, [9; 2]);
        ok!(cuMemPoolGetAccess(&raw mut found[0], made[0], &raw mut location));
        assert_eq!(status!(cuMemPoolSetAccess(made[0], &raw const right, 1)), expected, "{id}");
        ok!(cuMemPoolGetAccess(&raw mut found[1], made[0], &raw mut location));
        assert_eq!(found, rights, "{id}");
    }
    ok!(cuMemPoolDestroy(made[0]));
    current(standard);
    ok!(cuMemPoolDestroy(made[1]));
    assert_eq!(status!(cuMemPoolDestroy(standard)), Status::INVALID_VALUE);
    current(standard);
}

#[test]
fn a_fill_lies_in_its_allocation_and_starts_at_its_elements() {
    let bench = Bench::new("");
    let (stream, data) = (bench.stream(), bench.upload(&[0; 8]));
    // Element, offset, pitch, width and height of a fill in 32 bytes.
    let fills = [
        (1, 0, 0, 32, 1, true),
        (1, 0, 0, 33, 1, false),
        (1, 1, 8, 7, 4, true),
        (1, 2, 8, 7, 4, false),
        (2, 1, 0, 1, 1, false),
        (2, 2, 0, 15, 1, true),
        (2, 0, 6, 2, 5, true),
        (2, 0, 5, 2, 2, false),
        (2, 0, 1, 2, 1, true),
        (4, 2, 0, 1, 1, false),
        (4, 0, 8, 2, 4, true),
        (4, 0, 8, 2, 5, false),
        (4, 0, 4, 2, 2, false),
        (4, 1000, 8, 0, 4, true),
        (4, 1000, 8, 4, 0, true),
    ];
    for (byte, (element, at, pitch, width, height, is_accepted)) in (1u8..).zip(fills) {
        let (before, target) = (bench.download(data, 8), data + at as u64);
        let (half, word) = (u16::from_le_bytes([byte; 2]), u32::from_le_bytes([byte; 4]));
        let statuses = match element {
            1 => [
                status!(cuMemsetD2D8_v2(target, pitch, byte, width, height)),
                status!(cuMemsetD2D8Async(target, pitch, byte, width, height, stream)),
            ],
            2 => [
                status!(cuMemsetD2D16_v2(target, pitch, half, width, height)),
                status!(cuMemsetD2D16Async(target, pitch, half, width, height, stream)),
            ],
            _ => [
                status!(cuMemsetD2D32_v2(target, pitch, word, width, height)),
                status!(cuMemsetD2D32Async(target, pitch, word, width, height, stream)),
            ],
        };
        let expected = if is_accepted { Status::SUCCESS } else { Status::INVALID_VALUE };
        let case = format!("{height} rows of {width} elements of {element} bytes at {at}, pitch {pitch}");
        assert_eq!(statuses, [expected; 2], "{case}");
        let mut bytes: Vec<u8> = before.into_iter().flat_map(u32::to_le_bytes).collect();
        let rows = if is_accepted && width > 0 { height } else { 0 };
        for row in 0..rows {
            bytes[at + row * pitch..][..width * element].fill(byte);
        }
        let after: Vec<u8> = bench.download(data, 8).into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(after, bytes, "{case}");
    }
}

/// A copy from device memory to `to`, whose kind the driver finds out.
fn planes(from: CUdeviceptr, to: CUdeviceptr) -> Memcpy3D {
    // SAFETY: all fields are numbers and pointers, for which zero is a value.
    let zero: Memcpy3D = unsafe { std::mem::zeroed() };
    let (src_memory_type, dst_memory_type) = (mem_type::DEVICE, mem_type::UNIFIED);
    Memcpy3D { src_memory_type, src_device: from, dst_memory_type, dst_device: to, ..zero }
}

#[test]
fn a_box_is_copied_from_any_corner_of_a_larger_one() {
    let bench = Bench::new("");
    let words: Vec<u32> = (0..24).map(|word| 0x0302_0100 + word * 0x0404_0404).collect();
    let bytes: Vec<u8> = words.iter().copied().flat_map(u32::to_le_bytes).collect();
    let from = bench.upload(&words);
    // Rows of 8 bytes and planes of 4 rows hold 3 planes.
    for (x, y, z) in (0..3).flat_map(|x| (0..2).flat_map(move |y| (0..2).map(move |z| (x, y, z)))) {
        let to = bench.upload(&[!0; 24]);
        let rows = Memcpy3D { src_pitch: 8, src_height: 4, dst_pitch: 8, ..planes(from, to) };
        let corner = Memcpy3D { src_x_in_bytes: x, src_y: y, src_z: z, dst_x_in_bytes: 2 - x, ..rows };
        let copy = Memcpy3D { dst_y: 2 * y, dst_z: 1 - z, width_in_bytes: 5, height: 3, depth: 2, ..corner };
        ok!(cuMemcpy3D_v2(&raw const copy));
        // A height that is left out is the copy's.
        let mut expected = [0xff; 96];
        for (plane, row, byte) in (0..2).flat_map(|p| (0..3).flat_map(move |r| (0..5).map(move |b| (p, r, b)))) {
            let source = ((z + plane) * 4 + y + row) * 8 + x + byte;
            let target = ((1 - z + plane) * 3 + 2 * y + row) * 8 + 2 - x + byte;
            expected[target] = bytes[source];
        }
        let got: Vec<u8> = bench.download(to, 24).into_iter().flat_map(u32::to_le_bytes).collect();
        assert_eq!(got, expected, "from {x} {y} {z}");
    }
    // A pitch and a height that are given hold the corner and the copy; both end within the memory.
    let to = bench.upload(&[0; 24]);
    for (src_pitch, src_height, x, y, width, is_accepted) in [
        (0, 0, 0, 0, 48, true),
        (0, 0, 1, 0, 48, false),
        (48, 0, 8, 0, 40, true),
        (48, 0, 9, 0, 40, false),
        (8, 3, 0, 1, 8, true),
        (8, 2, 0, 1, 8, false),
    ] {
        let shape = Memcpy3D { src_pitch, src_height, src_x_in_bytes: x, src_y: y, ..planes(from, to) };
        let copy = Memcpy3D { width_in_bytes: width, height: 2, depth: 1, ..shape };
        let expected = if is_accepted { Status::SUCCESS } else { Status::INVALID_VALUE };
        assert_eq!(
            status!(cuMemcpy3D_v2(&raw const copy)),
            expected,
            "pitch {src_pitch}, height {src_height}, {x} {y}"
        );
    }
}

#[test]
fn copies_of_every_length_stay_in_their_allocations() {
    let bench = Bench::new("schedule=lazy");
    let (stream, data, other) = (bench.stream(), bench.upload(&[1; 4]), bench.upload(&[2; 4]));
    let mut words = [3u32; 5];
    let host: *mut c_void = words.as_mut_ptr().cast();
    let start = host.expose_provenance() as u64;
    for (bytes, expected) in
        [(0, Status::SUCCESS), (1, Status::SUCCESS), (16, Status::SUCCESS), (17, Status::INVALID_VALUE)]
    {
        let statuses = [
            status!(cuMemcpyHtoD_v2(data, host, bytes)),
            status!(cuMemcpyHtoDAsync_v2(data, host, bytes, stream)),
            status!(cuMemcpyDtoH_v2(host, data, bytes)),
            status!(cuMemcpyDtoHAsync_v2(host, data, bytes, stream)),
            status!(cuMemcpyDtoD_v2(data, other, bytes)),
            status!(cuMemcpyDtoDAsync_v2(data, other, bytes, stream)),
            status!(cuMemcpy(start, data, bytes)),
            status!(cuMemcpyAsync(data, start, bytes, stream)),
        ];
        assert_eq!(statuses, [expected; 8], "{bytes}");
    }
    // A copy of nothing is valid anywhere, and a byte is something.
    ok!(cuMemcpyDtoDAsync_v2(1, 2, 0, stream));
    ok!(cuMemcpyDtoD_v2(1, 2, 0));
    words.fill(9);
    ok!(cuMemcpyHtoD_v2(other, host, 1));
    ok!(cuMemcpyHtoDAsync_v2(other + 4, host, 1, stream));
    assert_eq!(bench.download(other, 3), [9, 9, 2]);
}

#[test]
fn memory_is_pinned_as_far_as_it_was_registered() {
    for (registered, arrived) in [(31, 1), (32, 2)] {
        let bench = Bench::new("schedule=lazy");
        let (stream, target, mut words) = (bench.stream(), bench.upload(&[0; 8]), [1u32; 8]);
        let pointer: *mut c_void = words.as_mut_ptr().cast();
        ok!(cuMemHostRegister_v2(pointer, registered, 0));
        ok!(cuMemcpyHtoDAsync_v2(target, pointer, 32, stream));
        // Pageable memory was read when the call returned.
        words.fill(2);
        ok!(cuStreamSynchronize(stream));
        assert_eq!(bench.download(target, 8), [arrived; 8], "{registered}");
        assert_eq!(bench.session.counters().pageable_copies, u64::from(arrived == 1));
        ok!(cuMemHostUnregister(pointer));
    }
}
