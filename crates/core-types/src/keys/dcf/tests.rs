//! Every α and every point of small rings, with payloads of one to five words.

use core::ops::Range;

use super::{DcfCiphers, DcfDealer, DcfWords, dcf_eval_window};
use crate::{
    cipher::prg::{MAX_PAYLOAD_WORDS, tests::Mix},
    keys::label::Label,
    ring::Ring,
};

const WORDS: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;

/// Payloads: the ends of the ring, and others.
fn betas(alpha: u64) -> [DcfWords; 3] {
    let mixed = |word: usize| u128::from(alpha + 1).wrapping_mul(WORDS).rotate_left(17 * word as u32) as u64;
    [[u64::MAX; MAX_PAYLOAD_WORDS], core::array::from_fn(|word| word as u64), core::array::from_fn(mixed)]
}

/// Reconstruction at every α and y.
fn expect_every_point(bits: u32, words: usize, width: Ring) {
    let cipher = Mix::default();
    let values: [Mix; 3] = core::array::from_fn(|i| Mix::salted(i as u128 + 1));
    let ciphers = DcfCiphers { child: &cipher, value: &values };
    let levels = bits as usize;
    for alpha in 0..1u64 << bits {
        let roots = [1, 2].map(|party| Label::new(u128::from(2 * alpha + party).wrapping_mul(WORDS)));
        for beta in betas(alpha) {
            let beta = &beta[..words];
            let (mut corrections, mut level_values) = ([0; 6], [[0; MAX_PAYLOAD_WORDS]; 6]);
            let mut dealer = DcfDealer::start(roots, beta, width);
            for level in 0..levels {
                let a = (alpha >> (levels - 1 - level)) as u32 & 1;
                (corrections[level], level_values[level]) = dealer.level(&ciphers, a);
            }
            let last = dealer.last(&ciphers);
            let shares =
                |of: (u32, u32), at: Range<u32>, point: &dyn Fn(u32) -> u64, share: &mut dyn FnMut(u32, u32, u64)| {
                    let ((party, window), hashed) = (of, |cipher, input| ciphers.hash(cipher, input));
                    let (payload, root) = ((words as u32, width), roots[party as usize]);
                    let value = |level: u32, word: u32| match level_values[..levels].get(level as usize) {
                        Some(values) => values[word as usize],
                        None => last[word as usize],
                    };
                    let pair = |level: u32, block: u32| [0, 1].map(|word| value(level, 2 * block + word));
                    let correction = |level: u32| corrections[level as usize];
                    dcf_eval_window(hashed, (bits, party, window), payload, root, correction, pair, at, point, share);
                };
            let single = |party: u32, y: u64| {
                let mut all = [0; MAX_PAYLOAD_WORDS];
                shares((party, bits), 0..1, &|_| y, &mut |_, word, share| all[word as usize] = share);
                all
            };
            for y in 0..1u64 << bits {
                let shares = [0, 1].map(|party| single(party, y));
                for (word, &beta) in beta.iter().enumerate() {
                    let expected = if y < alpha { width.reduce(beta) } else { 0 };
                    let got = width.add(shares[0][word], shares[1][word]);
                    assert_eq!(got, expected, "bits {bits} words {words} alpha {alpha} y {y} word {word}");
                }
            }
            for (window, first) in (0..=bits).flat_map(|window| [0, alpha, 1 << window].map(|first| (window, first))) {
                // the cluster straddles the start of the ring for the first of these
                let (count, party) = ((1 << window) + 1, window % 2);
                let point = |j: u32| first.wrapping_sub(u64::from(j) * 5 % u64::from(count));
                let _: u64 = [&cipher].into_iter().chain(&values).map(Mix::taken).sum();
                let mut clustered = [[0; MAX_PAYLOAD_WORDS]; 65];
                shares((party, window), 0..count, &point, &mut |j, word, share| {
                    clustered[j as usize][word as usize] = share;
                });
                let (depth, blocks) = (u64::from(bits - window), words.div_ceil(2) as u64);
                let walked = 2 * depth + u64::from(count * window);
                assert_eq!(cipher.taken(), walked, "children");
                let values_taken: u64 = values.iter().map(Mix::taken).sum();
                assert_eq!(values_taken, blocks * (walked + u64::from(count)), "values");
                for (j, clustered) in (0..count).zip(clustered) {
                    let alone = single(party, point(j) & ((1 << bits) - 1));
                    assert_eq!(clustered, alone, "bits {bits} window {window} first {first} point {j}");
                }
            }
        }
    }
}

#[test]
fn every_alpha_and_point_of_rings_of_up_to_6_bits_with_one_to_five_payload_words() {
    for width in [1, 13, 64].into_iter().filter_map(Ring::new) {
        for bits in 1..=6 {
            (1..=5).for_each(|words| expect_every_point(bits, words, width));
        }
    }
}
