//! Sums of bits, of words, and of words and a row, against the formulas of single terms, at every level.

use backend_api::ops::share::{CombineBits, CombineWords, LinearWords, ShareOps};
use core_types::params::share::{
    BitParams, BitTerm, LinearWordsParams, NO_ROW, ONE_ROW, Threshold, WordParams, WordTerm,
};

use super::words;
use crate::levels::queues;

/// Enough elements for two jobs, and a word that is not full.
const COUNT: usize = (1 << 13) + 77;

#[test]
fn bits_are_the_scalar_sums_at_every_level() {
    let (x, per_row) = (words(COUNT, 1), COUNT.div_ceil(32));
    let rows: Vec<u32> = words(2 * per_row, 2).into_iter().map(|word| word as u32).collect();
    let public = Threshold { shift: 5, bound: 1 << 40, bits: 41, wanted: 0 };
    let none = Threshold::default();
    let terms = [
        BitTerm { public, row: 1, last: 0 },
        BitTerm { public: none, row: 0, last: 1 },
        BitTerm { public, row: NO_ROW, last: 1 },
    ];
    for q in queues() {
        for party in [0, 1] {
            let mut sums = vec![0; 2 * per_row];
            let params = BitParams { count: COUNT as u32, party };
            q.combine_bits(CombineBits {
                params: &params,
                terms: &terms,
                placed: None,
                x: &x,
                rows: &rows,
                sums: &mut sums,
            })
            .unwrap();
            for e in 0..per_row * 32 {
                let bit = |words: &[u32]| words[e / 32] >> (e % 32) & 1;
                let known = x.get(e).map_or(0, |&x| terms[0].public_bit(party, x));
                let shared = if e < COUNT { bit(&rows) ^ bit(&rows[per_row..]) } else { 0 };
                assert_eq!([bit(&sums), bit(&sums[per_row..])], [shared ^ known, known], "element {e}");
            }
        }
    }
}

#[test]
fn words_are_the_scalar_sums_at_every_level() {
    let (x, padded, row) = (words(COUNT, 3), COUNT.next_multiple_of(32), COUNT.div_ceil(32));
    let (held, more) = (words(2 * padded, 4), words(COUNT, 5));
    let opened: Vec<u32> = words(2 * row, 6).into_iter().map(|word| word as u32).collect();
    let when = Threshold { shift: 9, bound: 1 << 62, bits: 63, wanted: 1 };
    let select = WordTerm { value: 0, product: 1, opened: 1, constant: 0x1234_5678_9abc_def1, ..WordTerm::NONE };
    let terms = [
        select,
        WordTerm { power: 7, ..select },
        // Each differs from the one before in one of the rows that its shares are made of.
        WordTerm { opened: 0, ..select },
        WordTerm { opened: 0, product: 2, ..select },
        WordTerm { opened: 0, product: 2, value: 2, ..select },
        WordTerm { power: 1, given: 0, is: 1, ..select },
        WordTerm { value: ONE_ROW, power: 2, when, last: 1, ..WordTerm::NONE },
        WordTerm { value: 2, constant: u64::MAX, when, given: 1, power: 1, ..WordTerm::NONE },
        WordTerm { value: ONE_ROW, product: 2, opened: 0, last: 1, ..WordTerm::NONE },
    ];
    for q in queues() {
        for (party, interleaved) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
            let params = WordParams {
                offset: 77,
                count: COUNT as u32,
                party,
                bits: 50,
                shift: 3,
                width: 61,
                padded_rows: 2,
                rows: 1,
                opened_rows: 2,
                interleaved,
                reserved: 0,
            };
            let mut sums = vec![0; 2 * COUNT];
            q.combine_words(CombineWords {
                params: &params,
                terms: &terms,
                placed: None,
                x: &x,
                padded: &held,
                rows: &more,
                opened: &opened,
                sums: &mut sums,
            })
            .unwrap();
            for (e, &x) in x.iter().enumerate() {
                let bit = |at: u32| u64::from(opened[at as usize * row + e / 32] >> (e % 32) & 1);
                let word = |at: u32| if at < 2 { held[at as usize * padded + e] } else { more[e] };
                let sum = |terms: &[WordTerm]| {
                    let one = |sum: u64, term: &WordTerm| {
                        let counts = term.counts(x, bit);
                        let share = term.share(party, bit, word).wrapping_mul(term.factor(params.variable(x)));
                        if counts { sum.wrapping_add(share) } else { sum }
                    };
                    params.reduce(terms.iter().fold(0, one))
                };
                let got = if interleaved == 1 { [sums[2 * e], sums[2 * e + 1]] } else { [sums[e], sums[COUNT + e]] };
                assert_eq!(got, [sum(&terms[..7]), sum(&terms[7..])], "element {e}");
            }
        }
    }
}

#[test]
fn words_and_a_row_are_the_scalar_sums_at_every_level() {
    let (x, row) = (words(COUNT, 3), words(COUNT, 4));
    let [alpha, beta, constant] = [0x1234_5678_9abc_def1, u64::MAX - 2, 1 << 50];
    // Rows that end within jobs, with jobs, and after the last word.
    for period in [1, 5, 1 << 12, 1 << 13, 6000, COUNT] {
        let (count, period_words) = (COUNT as u32, period as u32);
        let params = LinearWordsParams { alpha, beta, constant, count, period: period_words, bits: 51, reserved: 0 };
        for q in queues() {
            for row in [None, Some(&row[..period])] {
                let mut out = vec![0; COUNT];
                q.linear_words(LinearWords { params: &params, x: Some(&x), row, out: &mut out }).unwrap();
                let mut in_place = x.clone();
                q.linear_words(LinearWords { params: &params, x: None, row, out: &mut in_place }).unwrap();
                assert_eq!(in_place, out, "in place, with a row of {period} words");
                for (e, (got, x)) in out.iter().zip(&x).enumerate() {
                    let row = row.map_or(0, |row| beta.wrapping_mul(row[e % period]));
                    let sum = alpha.wrapping_mul(*x).wrapping_add(row).wrapping_add(constant);
                    assert_eq!(*got, sum % (1 << 51), "word {e} with a row of {period} words");
                }
            }
        }
    }
}
