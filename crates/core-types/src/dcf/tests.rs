//! Every α and every point of small rings, with payloads of one to five words.

use super::{DcfCiphers, DcfDealer, DcfWalk, DcfWords};
use crate::{Label, MAX_PAYLOAD_WORDS, Ring, prg::tests::Mix};

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
            for y in 0..1u64 << bits {
                let shares = [0, 1].map(|party| {
                    let mut sums = [0; MAX_PAYLOAD_WORDS];
                    let sums_of = &mut sums[..words];
                    let mut walk = DcfWalk::start(roots[party as usize], party);
                    for level in 0..levels {
                        let c = (y >> (levels - 1 - level)) as u32 & 1;
                        walk.step(&ciphers, c, corrections[level], |word| level_values[level][word], sums_of);
                    }
                    walk.finish(&ciphers, width, |word| last[word], sums_of);
                    sums
                });
                for (word, &beta) in beta.iter().enumerate() {
                    let expected = if y < alpha { width.reduce(beta) } else { 0 };
                    let got = width.add(shares[0][word], shares[1][word]);
                    assert_eq!(got, expected, "bits {bits} words {words} alpha {alpha} y {y} word {word}");
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
