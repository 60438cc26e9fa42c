//! Products of matrices of words against wide sums, at every level.

use backend_api::ops::share::{MatmulWords, ShareOps};
use core_types::params::share::MatmulWordsParams;

use super::words;
use crate::levels::queues;

/// Compares products of `[batch, rows, inner, cols]` with sums of 128 bits.
fn expect([batch, rows, inner, cols]: [usize; 4], [alpha, beta]: [u64; 2]) {
    let (x, y, before) =
        (words(batch * rows * inner, 1), words(batch * inner * cols, 2), words(batch * rows * cols, 3));
    let expected = |at: usize| {
        let (row, col) = (at / cols, at % cols);
        let y = &y[row / rows * inner * cols..];
        let term = |k: usize| u128::from(x[row * inner + k]) * u128::from(y[k * cols + col]);
        let sum = (0..inner).fold(0u128, |sum, k| sum.wrapping_add(term(k))) as u64;
        let addend = u128::from(beta) * u128::from(before[at]);
        (u128::from(alpha) * u128::from(sum)).wrapping_add(addend) as u64
    };
    let expected: Vec<u64> = (0..before.len()).map(expected).collect();
    let sizes = [batch, rows, inner, cols].map(|len| len as u64);
    let params = MatmulWordsParams { batch: sizes[0], rows: sizes[1], inner: sizes[2], cols: sizes[3], alpha, beta };
    for q in queues() {
        let mut out = before.clone();
        q.matmul_words(MatmulWords { params: &params, x: &x, y: &y, out: &mut out }).unwrap();
        assert!(out == expected, "{params:?}, {q:?}");
    }
}

/// Sizes around tiles, panels and jobs, and jobs with rows of several products.
#[test]
fn products_are_wide_sums_at_every_level() {
    for shape in [
        [1, 1, 1, 1],
        [1, 4, 3, 32],
        [1, 5, 7, 33],
        [2, 9, 128, 17],
        [1, 3, 129, 8],
        [1, 64, 4, 128],
        [1, 65, 257, 130],
        [3, 30, 5, 131],
        [130, 1, 2, 3],
        [1, 300, 2, 1],
        [1, 1, 300, 260],
    ] {
        expect(shape, [1, 1]);
        expect(shape, [0x9e37_79b9_7f4a_7c15, u64::MAX]);
    }
    for cols in 1..70 {
        expect([1, 6, 3, cols], [u64::MAX, 0]);
    }
}

#[test]
fn products_without_terms_or_factors_multiply_what_was_there() {
    for beta in [0, 1, u64::MAX, 77] {
        expect([2, 70, 0, 130], [5, beta]);
        expect([2, 7, 3, 13], [0, beta]);
    }
    for empty in [[0, 2, 3, 4], [2, 0, 3, 4], [2, 3, 4, 0]] {
        expect(empty, [1, 1]);
    }
}
