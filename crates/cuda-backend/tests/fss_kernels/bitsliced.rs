//! The kernels of bitsliced AES: grids that no op launches, and work that follows its formula.

use cuda_sim::exec::Options;

use crate::fss_kernels::{
    assert_at_all_points, assert_at_clustered_points,
    batch::{CmpBatch, DcfBatch},
    device::{Done, schedules},
};

const ALL: &str = "fss_cmp_eval_all_bitsliced";
const CMP: &str = "fss_cmp_eval_window_bitsliced";
const DCF: &str = "fss_dcf_eval_window_bitsliced";

#[test]
fn shares_at_all_points_are_those_of_the_processor_in_any_parts() {
    assert_at_all_points(ALL, &[(1, 13), (31, 8), (32, 9), (33, 11), (100, 10), (257, 8)]);
}

#[test]
fn shares_at_clustered_points_are_those_of_the_processor_in_any_parts() {
    let sizes = [(1, 64, 10, 5), (31, 9, 7, 4), (33, 12, 12, 3), (65, 8, 7, 2), (257, 10, 8, 3)];
    assert_at_clustered_points(CMP, &sizes);
}

#[test]
fn a_grid_of_any_size_computes_the_same() {
    let (cmp, dcf) = (CmpBatch::new(600, 9, 3), DcfBatch::new(600, 2, 3, (2, 64)));
    for grid in [[1, 1, 1], [2, 2, 1], [5, 4, 1]] {
        let options = Options::sanitize();
        assert_eq!(cmp.evaluate_window_by(CMP, (1, 9), grid, &options).output::<u32>(0), cmp.expected(1), "{grid:?}");
        assert_eq!(dcf.evaluate_window_by(DCF, (1, 2), grid, &options).output::<u64>(0), dcf.expected(1), "{grid:?}");
    }
}

#[test]
fn a_batch_without_keys_touches_nothing() {
    for options in schedules() {
        CmpBatch::new(0, 12, 3).evaluate_window_by(CMP, (0, 12), [1, 3, 1], &options);
        CmpBatch::new(0, 12, 3).evaluate_window_by(CMP, (0, 9), [1, 3, 1], &options);
        CmpBatch::new(0, 12, 3).evaluate_all_by(ALL, (0, 0), [1, 2], &options);
        DcfBatch::new(0, 12, 3, (1, 64)).evaluate_window_by(DCF, (0, 12), [1, 3, 1], &options);
    }
}

/// Instructions of all lanes for each key of 256.
fn for_each_key(done: &Done) -> f64 {
    done.counters.lane_instructions as f64 / 256.0
}

#[test]
fn a_level_takes_as_many_instructions_as_its_gates_say() {
    let options = Options::default();
    let compare =
        |bits| for_each_key(&CmpBatch::new(256, bits, 1).evaluate_window_by(CMP, (0, bits), [1, 1, 1], &options));
    // half a lane to a key: gates of AES, shuffles and loads of AES and of the correction word
    let level = (compare(64) - compare(32)) / 32.0;
    let (gates, exchanged) = (10.0 * 73.0 + 9.0 * 35.0 + 16.0, 152.0 + 17.0 + 22.0);
    let least = (gates + exchanged) / 2.0;
    assert!((least..1.25 * least).contains(&level), "{level} instructions, {least} at least");
    // a window wider by 7 bits: two walks less of 7 levels, and one more for each of five points
    let batch = CmpBatch::new(256, 64, 5);
    let clustered = |window| for_each_key(&batch.evaluate_window_by(CMP, (0, window), [1, 1, 1], &options));
    let between = (clustered(15) - clustered(8)) / level;
    assert!((7.0 * 3.0 * 0.95..7.0 * 3.0 * 1.15).contains(&between), "{between} levels");
    let pay = |words: u32| {
        let batch = |bits| DcfBatch::new(256, bits, 1, (words, 64));
        let evaluate = |bits| for_each_key(&batch(bits).evaluate_window_by(DCF, (0, bits), [1, 1, 1], &options));
        (evaluate(12) - evaluate(4)) / 8.0
    };
    for words in 1..=8u32 {
        let blocks = f64::from(1 + words.div_ceil(2));
        let taken = pay(words) / level;
        assert!((0.95 * blocks..1.15 * blocks).contains(&taken), "{taken} levels of a comparison for {words} words");
    }
}

#[test]
fn work_does_not_depend_on_secrets() {
    let options = Options::default();
    let counters = [0, 100, 200].map(|secret| {
        let (cmp, dcf) = (CmpBatch::with_secrets(33, 12, 2, secret), DcfBatch::with_secrets(33, 9, 2, (3, 64), secret));
        [
            cmp.evaluate_window_by(CMP, (0, 12), cmp.grid(), &options),
            cmp.evaluate_window_by(CMP, (0, 9), [1, 1, 1], &options),
            cmp.evaluate_all_by(ALL, (0, 0), [1, 4], &options),
            dcf.evaluate_window_by(DCF, (1, 9), dcf.grid(), &options),
        ]
        .map(|done| done.counters)
    });
    assert_eq!(counters[1], counters[0]);
    assert_eq!(counters[2], counters[0]);
}
