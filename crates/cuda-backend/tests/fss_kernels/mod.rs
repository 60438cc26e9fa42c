//! The function-secret-sharing kernels on the executor: grids, work, and where secrets go.
//!
//! Grids are those that no op launches, under every order of turns and with every checker on. The
//! conformance suite checks the ops.

mod batch;
mod bitsliced;
mod device;
mod secrets;
mod work;

use core_types::cmp::cmp_blocks;
use cuda_sim::exec::Options;

pub(crate) use batch::{CPU, CmpBatch, DcfBatch, words};

use device::schedules;

/// Asserts the processor's shares at all points, by numbers of keys and of bits.
fn assert_at_all_points(kernel: &'static str, sizes: &[(usize, u32)]) {
    for &(count, bits) in sizes {
        let batch = CmpBatch::new(count, bits, 0);
        let most = cmp_blocks(bits).div_ceil(2) as u32;
        for ((parts, blocks), options) in [(1, 2), (2, 1), (3, 1), (8, 3)].into_iter().zip(schedules()) {
            let of = (parts as usize % 2, if count > 32 && parts == 3 { 32 } else { 0 });
            let done = batch.evaluate_all_by(kernel, of, [blocks, parts.min(most)], &options);
            assert_eq!(
                done.output::<u128>(0),
                batch.all_on(&*CPU, of).unwrap(),
                "{count} keys of {bits} bits, {parts} parts"
            );
        }
    }
}

/// The same at clustered points, by numbers of keys, bits, bits of a window, and points.
fn assert_at_clustered_points(kernel: &'static str, sizes: &[(usize, u32, u32, usize)]) {
    for &(count, bits, window, points) in sizes {
        let batch = CmpBatch::new(count, bits, points);
        for ((party, parts), options) in [(0, 1), (1, 2), (0, 3), (1, points as u32)].into_iter().zip(schedules()) {
            let done = batch.evaluate_window_by(kernel, (party, window), [parts % 2 + 1, parts, 1], &options);
            let expected = batch.expected_window(party, window);
            assert_eq!(done.output::<u32>(0), expected, "{count} keys of {bits} bits, window {window}, {parts} parts");
        }
    }
}

#[test]
fn shares_at_all_points_are_those_of_the_processor_in_any_parts() {
    let sizes = [(1, 13), (31, 8), (33, 5), (32, 9), (33, 12), (255, 7), (256, 10), (257, 8), (257, 1)];
    assert_at_all_points("fss_cmp_eval_all", &sizes);
}

#[test]
fn shares_at_clustered_points_are_those_of_the_processor_in_any_parts() {
    let sizes = [(1, 64, 10, 5), (31, 9, 7, 4), (33, 12, 12, 3), (40, 5, 5, 2), (257, 10, 8, 3), (33, 8, 7, 1)];
    assert_at_clustered_points("fss_cmp_eval_window", &sizes);
    for (count, bits, window, points) in sizes {
        let dcf = DcfBatch::new(count.min(40), bits.min(10), points, (3, 50));
        let dcf_window = window.min(bits.min(10)).min(4);
        for ((party, parts), options) in [(0, 1), (1, 2), (0, 3), (1, points as u32)].into_iter().zip(schedules()) {
            let done = dcf.evaluate_window(party, dcf_window, [1, parts, 1], &options);
            let expected = dcf.expected_window(party, dcf_window);
            assert_eq!(done.output::<u64>(0), expected, "{:?}, window {dcf_window}, {parts} parts", dcf.shape);
        }
    }
}

#[test]
fn a_grid_of_any_size_computes_the_same() {
    let cmp = CmpBatch::new(257, 9, 3);
    let dcf = DcfBatch::new(257, 4, 3, (2, 64));
    for blocks in [1, 2, 5, 12] {
        let options = Options::sanitize();
        let done = cmp.generate(blocks, &options);
        assert_eq!(done.output::<u128>(0), cmp.corrections);
        assert_eq!(done.output::<u128>(1), cmp.leaves);
        assert_eq!(dcf.generate(blocks, &options).output::<u64>(1), dcf.values);
        for points in [1, 2, 4] {
            let grid = [blocks, points, 1];
            assert_eq!(cmp.evaluate(1, grid, &options).output::<u32>(0), cmp.expected(1), "{grid:?}");
            assert_eq!(dcf.evaluate(1, grid, &options).output::<u64>(0), dcf.expected(1), "{grid:?}");
        }
    }
}

#[test]
fn a_batch_without_keys_touches_nothing() {
    for options in schedules() {
        let (cmp, dcf) = (CmpBatch::new(0, 12, 3), DcfBatch::new(0, 12, 3, (1, 64)));
        cmp.generate(1, &options);
        cmp.evaluate(0, [1, 3, 1], &options);
        cmp.evaluate_all((0, 0), [1, 2], &options);
        cmp.evaluate_window(0, 9, [1, 3, 1], &options);
        dcf.evaluate_window(0, 9, [1, 3, 1], &options);
        dcf.generate(1, &options);
        dcf.evaluate(0, [1, 3, 1], &options);
    }
}
