//! Function secret sharing as in the papers' figures, one key at a time.
//!
//! It works on byte seeds and boolean control bits, with the `aes` crate as cipher.

use aes::{
    Aes128,
    cipher::{BlockCipherEncrypt as _, KeyInit as _},
};

use crate::list::ListIterator as _;

/// A seed or a block, in memory order.
pub(super) type AesBlock = [u8; 16];

/// The ciphers of a bundle.
pub(super) struct Prg {
    child: Aes128,
    value: Vec<Aes128>,
}

fn xor(a: AesBlock, b: AesBlock) -> AesBlock {
    core::array::from_fn(|i| a[i] ^ b[i])
}

fn xor_if(bit: bool, a: AesBlock, b: AesBlock) -> AesBlock {
    if bit { xor(a, b) } else { a }
}

/// AES under `key`.
pub(super) fn encrypt(key: AesBlock, block: AesBlock) -> AesBlock {
    cipher(&Aes128::new(&key.into()), block)
}

fn cipher(aes: &Aes128, block: AesBlock) -> AesBlock {
    let mut block = block.into();
    aes.encrypt_block(&mut block);
    block.into()
}

/// Splits the lowest bit from a seed whose two lowest bits are cleared.
fn split(block: AesBlock) -> (AesBlock, bool) {
    let mut seed = block;
    seed[0] &= !3;
    (seed, block[0] & 1 == 1)
}

/// Bit `i` of `x`, from the most significant of `bits`, for `i` from 0.
fn bit(x: u64, bits: u32, i: u32) -> bool {
    x >> (bits - 1 - i) & 1 == 1
}

impl Prg {
    /// The ciphers of the bundle with this nonce.
    ///
    /// Their keys are encryptions of counters under the nonce.
    pub(super) fn from_nonce(nonce: AesBlock) -> Self {
        let key = |i: u128| Aes128::new(&encrypt(nonce, i.to_le_bytes()).into());
        Self { child: key(0), value: (1..=4).map(key).list() }
    }

    fn hash(aes: &Aes128, mut block: AesBlock, low: u8) -> AesBlock {
        block[0] |= low;
        xor(cipher(aes, block), block)
    }

    fn child(&self, seed: AesBlock, right: bool) -> AesBlock {
        Self::hash(&self.child, seed, u8::from(right))
    }

    /// `len` words from a seed with low bits `low`.
    fn words(&self, seed: AesBlock, low: u8, len: usize) -> Vec<u64> {
        let blocks = self.value.iter().map(|aes| u128::from_le_bytes(Self::hash(aes, seed, low)));
        blocks.flat_map(|block| [block as u64, (block >> 64) as u64]).take(len).list()
    }
}

/// The correction of one level.
#[derive(Clone, Copy)]
struct Correction {
    seed: AesBlock,
    left: bool,
    right: bool,
}

impl Correction {
    fn word(self) -> u128 {
        u128::from_le_bytes(self.seed) | u128::from(self.left) | u128::from(self.right) << 1
    }

    fn from_word(word: u128) -> Self {
        let (seed, left) = split(word.to_le_bytes());
        Self { seed, left, right: word >> 1 & 1 == 1 }
    }

    fn control(self, right: bool) -> bool {
        if right { self.right } else { self.left }
    }
}

/// A party's state on its way down.
#[derive(Clone, Copy)]
struct PartyState {
    seed: AesBlock,
    control: bool,
}

impl PartyState {
    fn step(self, prg: &Prg, right: bool, correction: Correction) -> Self {
        let (seed, control) = split(prg.child(self.seed, right));
        Self {
            seed: xor_if(self.control, seed, correction.seed),
            control: control ^ (self.control && correction.control(right)),
        }
    }
}

/// The correction of a level where α goes to the side `a`.
fn correction(prg: &Prg, states: [PartyState; 2], a: bool) -> Correction {
    let [(left_0, control_left_0), (left_1, control_left_1)] = states.map(|s| split(prg.child(s.seed, false)));
    let [(right_0, control_right_0), (right_1, control_right_1)] = states.map(|s| split(prg.child(s.seed, true)));
    Correction {
        seed: if a { xor(left_0, left_1) } else { xor(right_0, right_1) },
        left: control_left_0 ^ control_left_1 ^ !a,
        right: control_right_0 ^ control_right_1 ^ a,
    }
}

fn roots(seeds: [AesBlock; 2]) -> [PartyState; 2] {
    [PartyState { seed: split(seeds[0]).0, control: false }, PartyState { seed: split(seeds[1]).0, control: true }]
}

/// The common part of a pair of CMP keys with a tree: correction words and leaf words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CmpKey {
    pub(super) corrections: Vec<u128>,
    pub(super) leaves: [u128; 2],
}

impl CmpKey {
    /// Generates a key for 1\[α <= y\] on `bits` > 7 bits.
    pub(super) fn generate(prg: &Prg, bits: u32, alpha: u64, seeds: [AesBlock; 2]) -> Self {
        let mut states = roots(seeds);
        let mut corrections = Vec::new();
        for i in 0..bits - 8 {
            let a = bit(alpha, bits, i);
            let word = correction(prg, states, a);
            states = states.map(|s| s.step(prg, a, word));
            corrections.push(word.word());
        }
        let difference =
            |right| u128::from_le_bytes(xor(prg.child(states[0].seed, right), prg.child(states[1].seed, right)));
        let mut leaves = [difference(false), difference(true)];
        leaves[usize::from(bit(alpha, bits, bits - 8))] ^= 1 << (alpha % 128);
        Self { corrections, leaves }
    }

    /// The share of 1\[α <= y\] of `party`.
    pub(super) fn evaluate(&self, prg: &Prg, bits: u32, party: usize, seed: AesBlock, y: u64) -> bool {
        let mut state = roots([seed; 2])[party];
        let mut share = false;
        let mut last = false;
        for (i, &word) in self.corrections.iter().enumerate() {
            let c = bit(y, bits, i as u32);
            share ^= state.control && c != last;
            last = c;
            state = state.step(prg, c, Correction::from_word(word));
        }
        let c = bit(y, bits, bits - 8);
        share ^= state.control && c != last;
        let correction = self.leaves[usize::from(c)].to_le_bytes();
        let block = u128::from_le_bytes(xor_if(state.control, prg.child(state.seed, c), correction));
        let here = (y % 128) as usize;
        let counted = if c { here + 1..128 } else { 0..here + 1 };
        counted.fold(share, |share, leaf| share ^ (block >> leaf & 1 == 1))
    }

    /// The shares of `party` of the unit vector of α at 128 points from 128 `index` on.
    ///
    /// They come from a separate walk of the tree.
    pub(super) fn units(&self, prg: &Prg, bits: u32, party: usize, seed: AesBlock, index: u64) -> u128 {
        let mut state = roots([seed; 2])[party];
        for (i, &word) in self.corrections.iter().enumerate() {
            state = state.step(prg, bit(index, bits - 7, i as u32), Correction::from_word(word));
        }
        let right = index % 2 == 1;
        let correction = self.leaves[usize::from(right)].to_le_bytes();
        u128::from_le_bytes(xor_if(state.control, prg.child(state.seed, right), correction))
    }
}

/// The common part of a pair of DCF keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DcfKey {
    pub(super) corrections: Vec<u128>,
    /// By level, then word.
    pub(super) values: Vec<Vec<u64>>,
    pub(super) last: Vec<u64>,
}

/// `x` or its negative, modulo 2^width.
fn signed(negative: bool, x: u64, width: u32) -> u64 {
    let x = if negative { x.wrapping_neg() } else { x };
    if width == 64 { x } else { x % (1 << width) }
}

impl DcfKey {
    /// Generates a key for β 1\[y < α\], words modulo 2^width.
    pub(super) fn generate(
        prg: &Prg,
        (bits, width): (u32, u32),
        alpha: u64,
        beta: &[u64],
        seeds: [AesBlock; 2],
    ) -> Self {
        let mut states = roots(seeds);
        let mut held = vec![0u64; beta.len()];
        let mut key = Self { corrections: Vec::new(), values: Vec::new(), last: Vec::new() };
        for i in 0..bits {
            let a = bit(alpha, bits, i);
            let words = |right: bool| states.map(|s| prg.words(s.seed, u8::from(right), beta.len()));
            let ([lost_0, lost_1], [kept_0, kept_1]) = (words(!a), words(a));
            let mut values = Vec::new();
            for word in 0..beta.len() {
                let payload = if a { beta[word] } else { 0 };
                let difference = lost_1[word].wrapping_sub(lost_0[word]).wrapping_sub(held[word]).wrapping_add(payload);
                let value = signed(states[1].control, difference, width);
                let common = signed(states[1].control, value, 64);
                held[word] = held[word].wrapping_add(kept_0[word]).wrapping_sub(kept_1[word]).wrapping_add(common);
                values.push(value);
            }
            let word = correction(prg, states, a);
            states = states.map(|s| s.step(prg, a, word));
            key.corrections.push(word.word());
            key.values.push(values);
        }
        let [end_0, end_1] = states.map(|s| prg.words(s.seed, 2, beta.len()));
        for word in 0..beta.len() {
            let difference = end_1[word].wrapping_sub(end_0[word]).wrapping_sub(held[word]);
            key.last.push(signed(states[1].control, difference, width));
        }
        key
    }

    /// The shares of β 1\[y < α\] of `party`.
    pub(super) fn evaluate(
        &self,
        prg: &Prg,
        (bits, width): (u32, u32),
        party: usize,
        seed: AesBlock,
        y: u64,
    ) -> Vec<u64> {
        let mut state = roots([seed; 2])[party];
        let mut sums = vec![0u64; self.last.len()];
        let add = |sums: &mut [u64], state: PartyState, low: u8, corrections: &[u64]| {
            let words = prg.words(state.seed, low, sums.len());
            for ((sum, word), correction) in sums.iter_mut().zip(words).zip(corrections) {
                *sum = sum.wrapping_add(word).wrapping_add(if state.control { *correction } else { 0 });
            }
        };
        for (i, (&word, values)) in self.corrections.iter().zip(&self.values).enumerate() {
            let c = bit(y, bits, i as u32);
            add(&mut sums, state, u8::from(c), values);
            state = state.step(prg, c, Correction::from_word(word));
        }
        add(&mut sums, state, 2, &self.last);
        sums.into_iter().map(|sum| signed(party == 1, sum, width)).list()
    }
}
