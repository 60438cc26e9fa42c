//! Copies and fills of every form.

use cuda_loader::{
    Status,
    ffi::{CUarray, Memcpy2D, Memcpy3D, mem_type},
};
use cuda_sim::driver::Report;

use crate::driver::bench::{Bench, ok, status};

#[test]
fn fills_write_their_pattern_and_no_more() {
    let bench = Bench::new("");
    let data = bench.upload(&[0xffff_ffff; 8]);
    ok!(cuMemsetD8_v2(data, 0x11, 3));
    ok!(cuMemsetD16_v2(data + 4, 0x2222, 2));
    ok!(cuMemsetD32_v2(data + 8, 0x3333_3333, 1));
    ok!(cuMemsetD2D32_v2(data + 16, 8, 0x4444_4444, 1, 2));
    let expected = [0xff11_1111, 0x2222_2222, 0x3333_3333, !0, 0x4444_4444, !0, 0x4444_4444, !0];
    assert_eq!(bench.download(data, 8), expected);
    assert_eq!(status!(cuMemsetD32_v2(data + 28, 0, 2)), Status::INVALID_VALUE);
    assert_eq!(status!(cuMemsetD32_v2(data + 2, 0, 1)), Status::INVALID_VALUE);
}

#[test]
fn a_copy_past_its_allocation_is_refused_before_it_runs() {
    let bench = Bench::new("");
    let (data, words) = (bench.upload(&[1; 8]), [9u32; 9]);
    assert_eq!(status!(cuMemcpyHtoD_v2(data, words.as_ptr().cast(), 36)), Status::INVALID_VALUE);
    assert_eq!(status!(cuMemcpyHtoD_v2(data, std::ptr::null(), 4)), Status::INVALID_VALUE);
    assert!(matches!(bench.session.reports()[..], [Report::Address { call: "cuMemcpyHtoD_v2", .. }]));
    assert_eq!(bench.download(data, 8), [1; 8]);
}

#[test]
fn unified_copies_know_where_each_address_lies() {
    let bench = Bench::new("");
    let (from, to, stream) = (bench.upload(&[1, 2, 3, 4]), bench.upload(&[0; 4]), bench.stream());
    let mut back = [0u32; 4];
    ok!(cuMemcpyAsync(to, from, 16, stream));
    ok!(cuStreamSynchronize(stream));
    ok!(cuMemcpy((&raw mut back).expose_provenance() as u64, to, 16));
    assert_eq!(back, [1, 2, 3, 4]);
    let counters = bench.session.counters();
    assert_eq!((counters.bytes_on_device, counters.bytes_to_host, counters.bytes_to_device), (16, 16, 32));
}

#[test]
fn rows_are_copied_between_pitches() {
    let bench = Bench::new("");
    // Two rows of two words out of a 4-word pitch on the device, into a 3-word pitch on the host.
    let data = bench.upload(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let mut back = [99u32; 6];
    let copy = Memcpy2D {
        src_x_in_bytes: 4,
        src_y: 0,
        src_memory_type: mem_type::DEVICE,
        src_host: std::ptr::null(),
        src_device: data,
        src_array: CUarray::NULL,
        src_pitch: 16,
        dst_x_in_bytes: 0,
        dst_y: 0,
        dst_memory_type: mem_type::HOST,
        dst_host: back.as_mut_ptr().cast(),
        dst_device: 0,
        dst_array: CUarray::NULL,
        dst_pitch: 12,
        width_in_bytes: 8,
        height: 2,
    };
    ok!(cuMemcpy2D_v2(&raw const copy));
    assert_eq!(back, [1, 2, 99, 5, 6, 99]);
    let narrow = Memcpy2D { dst_pitch: 4, ..copy };
    assert_eq!(status!(cuMemcpy2D_v2(&raw const narrow)), Status::INVALID_VALUE);
}

#[test]
fn planes_are_copied_with_their_heights() {
    let bench = Bench::new("schedule=lazy");
    let (from, to, stream) = (bench.upload(&(0..16).collect::<Vec<_>>()), bench.upload(&[0; 4]), bench.stream());
    // One word of each of two rows of two planes of 2 words by 4 rows.
    let copy = Memcpy3D {
        src_x_in_bytes: 4,
        src_y: 1,
        src_z: 0,
        src_lod: 0,
        src_memory_type: mem_type::DEVICE,
        src_host: std::ptr::null(),
        src_device: from,
        src_array: CUarray::NULL,
        reserved0: std::ptr::null_mut(),
        src_pitch: 8,
        src_height: 4,
        dst_x_in_bytes: 0,
        dst_y: 0,
        dst_z: 0,
        dst_lod: 0,
        dst_memory_type: mem_type::DEVICE,
        dst_host: std::ptr::null_mut(),
        dst_device: to,
        dst_array: CUarray::NULL,
        reserved1: std::ptr::null_mut(),
        dst_pitch: 4,
        dst_height: 2,
        width_in_bytes: 4,
        height: 2,
        depth: 2,
    };
    ok!(cuMemcpy3DAsync_v2(&raw const copy, stream));
    assert_eq!(bench.download(to, 4), [3, 5, 11, 13]);
}
