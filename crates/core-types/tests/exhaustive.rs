//! Laws of M31 over every element and every word, against 64-bit remainders.
//!
//! With debug assertions every 61st is checked, to stay within seconds; `cargo test --release` checks all. Both check the ends of the
//! range and of its halves, which are the greatest element and the first words that are none.

use core_types::field::{M31, P, Twiddle};

const STEP: usize = if cfg!(debug_assertions) { 61 } else { 1 };

/// Numbers that are checked before one looks for a failure: checks without a branch between them run side by side in vectors.
const BLOCK: u64 = 1 << 12;

/// Runs `check` over two halves of `0..end` on two threads, and on the last two numbers of each half.
fn sweep(end: u64, check: impl Fn(u32) -> bool + Sync) {
    let half = end / 2;
    let first_failure = |range: std::ops::Range<u64>| {
        let mut blocks = range.clone().step_by(BLOCK as usize).map(|first| first..(first + BLOCK).min(range.end));
        blocks.find_map(|block| {
            let numbers = (block.start as u32..=(block.end - 1) as u32).step_by(STEP);
            let failures: u32 = numbers.clone().map(|word| u32::from(!check(word))).sum();
            if failures == 0 { None } else { numbers.map(u64::from).find(|&word| !check(word as u32)) }
        })
    };
    std::thread::scope(|scope| {
        let upper = scope.spawn(|| first_failure(half..end));
        assert_eq!(first_failure(0..half), None);
        assert_eq!(upper.join().expect("the check does not panic"), None);
        for number in [half - 2, half - 1, end - 2, end - 1] {
            assert!(check(number as u32), "{number}");
        }
    });
}

#[test]
fn only_canonical_words_decode_and_every_word_reduces() {
    sweep(1 << 32, |word| {
        let decoded = M31::from_canonical(word).map(M31::word);
        let valid = bytemuck::checked::try_cast::<u32, M31>(word).map(M31::word).ok();
        decoded == (word < P).then_some(word) && decoded == valid && M31::from_u32(word).word() == word % P
    });
}

#[test]
fn unary_laws_hold_on_every_element() {
    sweep(u64::from(P), |word| {
        let Some(x) = M31::from_canonical(word) else { return false };
        let (wide, p) = (u64::from(word), u64::from(P));
        let negated = if word == 0 { 0 } else { P - word };
        (-x).word() == negated
            && u64::from((x + x).word()) == 2 * wide % p
            && u64::from((x * x).word()) == wide * wide % p
            && x - x == M31::ZERO
            && x * M31::ONE == x
            && x.times_twiddle(Twiddle::new(x)) == x * x
            && Twiddle::new(x).factor() == x
            && Twiddle::new(x).negated().factor().word() == negated
            && x.times_power_of_two(1) == x + x
            && x.div_power_of_two(1).times_power_of_two(1) == x
    });
}

#[test]
fn every_element_but_zero_has_its_inverse() {
    assert_eq!(M31::ZERO.inverse(), None);
    sweep(u64::from(P), |word| {
        word == 0 || M31::from_canonical(word).is_some_and(|x| x.inverse().is_some_and(|y| x * y == M31::ONE))
    });
}
