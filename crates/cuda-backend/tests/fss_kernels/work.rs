//! How much work kernels do, in AES blocks: the formulas of the construction against instructions executed.

use core_types::cmp::cmp_blocks;
use cuda_sim::exec::Options;

use crate::fss_kernels::{
    batch::{CmpBatch, DcfBatch},
    device::Done,
};

fn instructions(done: &Done) -> f64 {
    done.counters.lane_instructions as f64
}

/// Instructions of one more AES block of a thread, with the rest of a level of a comparison.
fn block() -> f64 {
    let evaluate = |bits| {
        let batch = CmpBatch::new(256, bits, 1);
        instructions(&batch.evaluate(0, batch.grid(), &Options::default())) / 256.0
    };
    (evaluate(64) - evaluate(32)) / 32.0
}

/// AES blocks that `instructions` stand for, to within `slack` of other work to a block.
#[track_caller]
fn assert_blocks(instructions: f64, expected: u32, slack: f64) {
    let blocks = instructions / block() / f64::from(expected);
    assert!((1.0..1.0 + slack).contains(&blocks), "{blocks} times the {expected} blocks expected");
}

#[test]
fn a_level_takes_160_look_ups_and_about_six_instructions_to_each() {
    assert!((160.0 * 5.0..160.0 * 6.25).contains(&block()), "{} instructions", block());
}

#[test]
fn a_comparison_takes_one_block_to_a_level() {
    for points in [1, 3] {
        let evaluate = |bits| {
            let batch = CmpBatch::new(256, bits, points);
            instructions(&batch.evaluate(0, batch.grid(), &Options::default())) / (256 * points) as f64
        };
        let table = evaluate(7);
        for bits in [8, 9, 16, 64] {
            assert_blocks(evaluate(bits) - table, bits - 7, 0.1);
        }
    }
}

#[test]
fn clustered_points_take_two_walks_to_their_window_and_one_each_from_there() {
    for points in [1, 5] {
        let batch = |bits| CmpBatch::new(256, bits, points);
        let evaluate = |bits, window| {
            instructions(&batch(bits).evaluate_window(0, window, [1, 1, 1], &Options::default())) / 256.0
        };
        let table = evaluate(7, 7);
        for (bits, window) in [(8, 7), (12, 9), (64, 15), (64, 7), (16, 16)] {
            let blocks = 2 * (bits - window) + points as u32 * (window - 7);
            assert_blocks(evaluate(bits, window) - table, blocks, 0.25);
        }
        let evaluate = |bits, window| {
            let batch = DcfBatch::new(256, bits, points, (3, 64));
            instructions(&batch.evaluate_window(0, window, [1, 1, 1], &Options::default())) / 256.0
        };
        // three blocks to a level, and the same number of conversions on both sides
        let blocks = 3 * (2 * 8 + points as u32 * 4);
        assert_blocks(evaluate(12, 4) - evaluate(1, 0) + 3.0 * 2.0 * block(), blocks, 0.3);
    }
}

#[test]
fn all_points_take_two_blocks_to_a_node() {
    let evaluate = |bits, parts| {
        let batch = CmpBatch::new(256, bits, 0);
        instructions(&batch.evaluate_all((0, 0), [1, parts], &Options::default())) / 256.0
    };
    let table = evaluate(7, 1);
    for bits in [8, 9, 10, 13] {
        assert_blocks(evaluate(bits, 1) - table, 2 * (cmp_blocks(bits) as u32 - 1), 0.15);
    }
    // eight parts of a tree of 126 blocks take 24 where the whole takes 14
    assert_blocks(evaluate(13, 8) - 8.0 * table, 126 + 10, 0.15);
}

#[test]
fn a_comparison_key_takes_four_blocks_to_a_level() {
    let generate = |bits| {
        let batch = CmpBatch::new(32, bits, 1);
        instructions(&batch.generate(batch.tiles(), &Options::default())) / 32.0
    };
    let table = generate(7);
    for bits in [8, 9, 16, 64] {
        assert_blocks(generate(bits) - table, 4 * (bits - 7), 0.2);
    }
}

#[test]
fn a_payload_takes_one_block_more_to_two_words_of_a_level() {
    for words in 1..=8 {
        let batch = |bits| DcfBatch::new(256, bits, 1, (words, 64));
        let evaluate = |bits| {
            let batch = batch(bits);
            instructions(&batch.evaluate(0, batch.grid(), &Options::default())) / 256.0
        };
        assert_blocks(evaluate(12) - evaluate(4), 8 * (1 + words.div_ceil(2)), 0.25);
        let generate = |bits| {
            let batch = batch(bits);
            instructions(&batch.generate(batch.tiles(), &Options::default())) / 256.0
        };
        assert_blocks(generate(12) - generate(4), 8 * 4 * (1 + words.div_ceil(2)), 0.25);
    }
}

#[test]
fn work_does_not_depend_on_secrets() {
    let options = Options::default();
    let comparisons = [0, 100, 200].map(|secret| {
        let batch = CmpBatch::with_secrets(33, 12, 2, secret);
        let all = batch.evaluate_all((0, 0), [1, 4], &options);
        let clustered = batch.evaluate_window(0, 9, [1, 1, 1], &options);
        [batch.generate(batch.tiles(), &options), batch.evaluate(0, batch.grid(), &options), all, clustered]
            .map(|done| done.counters)
    });
    assert_eq!(comparisons[1], comparisons[0]);
    assert_eq!(comparisons[2], comparisons[0]);
    let payloads = [0, 100, 200].map(|secret| {
        let batch = DcfBatch::with_secrets(33, 9, 2, (3, 64), secret);
        let clustered = batch.evaluate_window(1, 4, [1, 1, 1], &options);
        [batch.generate(batch.tiles(), &options), batch.evaluate(1, batch.grid(), &options), clustered]
            .map(|done| done.counters)
    });
    assert_eq!(payloads[1], payloads[0]);
    assert_eq!(payloads[2], payloads[0]);
}
