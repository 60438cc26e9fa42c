//! Secret shares of β·1\[y < α\] for secret α and β and public points y, as additive shares of words (Boyle et al.,
//! "Function Secret Sharing for Mixed-Mode and Fixed-Point Secure Computation", 2021).
//!
//! Beside the tree of a point function, each level carries one value correction per payload word; the shares of the
//! values at the nodes of the path of y sum to the result.

use core::fmt;

use crate::{
    Encrypt, Label, Ring,
    prg::{MAX_PAYLOAD_WORDS, block_words, hash},
    tree::{Node, Pair},
};

/// Ciphers of one bundle: `child` for the tree, `value[j]` for value block `j`.
#[derive(Clone, Copy, Debug)]
pub struct DcfCiphers<'a, E> {
    /// Expands children.
    pub child: &'a E,
    /// Expands values; at least one for every two payload words.
    pub value: &'a [E],
}

/// Payload words of one node.
pub type DcfWords = [u64; MAX_PAYLOAD_WORDS];

/// The low bits of the hash input that convert the last node.
const LAST: u32 = 2;

impl<E: Encrypt> DcfCiphers<'_, E> {
    /// The payload words that a seed expands to with its low bits set to `low`: a direction, or [`LAST`].
    #[inline]
    fn expand(&self, words: usize, seed: u128, low: u32) -> DcfWords {
        let mut all = [0; MAX_PAYLOAD_WORDS];
        for (pair, cipher) in all[..words.min(MAX_PAYLOAD_WORDS)].chunks_mut(2).zip(self.value) {
            let block = block_words(hash(cipher, seed | u128::from(low)));
            for (word, value) in pair.iter_mut().zip(block) {
                *word = value;
            }
        }
        all
    }
}

/// `value` for `sign` 0 and its negative for `sign` 1, without a branch.
#[inline]
const fn negate_if(sign: u32, value: u64) -> u64 {
    let mask = (sign as u64 & 1).wrapping_neg();
    (value ^ mask).wrapping_sub(mask)
}

/// The walk of one party along one point, adding up the values of its nodes in the caller's `sums`.
///
/// Start with zero sums, call [`step`](Self::step) with the bits of y from the most significant down, then
/// [`finish`](Self::finish). The number of sums is the number of payload words.
#[derive(Clone, Copy, Debug)]
pub struct DcfWalk {
    node: Node,
    party: u32,
}

impl DcfWalk {
    /// Starts at the root of `party`.
    #[inline]
    #[must_use]
    pub const fn start(root: Label, party: u32) -> Self {
        Self { node: Node::root(root, party), party }
    }

    #[inline]
    fn add<E: Encrypt>(&self, ciphers: &DcfCiphers<'_, E>, low: u32, value: impl Fn(usize) -> u64, sums: &mut [u64]) {
        let control = u64::from(self.node.control).wrapping_neg();
        let expanded = ciphers.expand(sums.len(), self.node.seed, low);
        for (word, (sum, share)) in sums.iter_mut().zip(expanded).enumerate() {
            *sum = sum.wrapping_add(share).wrapping_add(value(word) & control);
        }
    }

    /// Goes down in direction `c` under the level's correction word and its value corrections `value(word)`.
    #[inline]
    pub fn step<E: Encrypt>(
        &mut self,
        ciphers: &DcfCiphers<'_, E>,
        c: u32,
        correction: u128,
        value: impl Fn(usize) -> u64,
        sums: &mut [u64],
    ) {
        self.add(ciphers, c & 1, value, sums);
        self.node = self.node.child(ciphers.child, c, correction);
    }

    /// Turns the sums into the party's shares of β·1\[y < α\] modulo 2^`width`, given the last value corrections.
    #[inline]
    pub fn finish<E: Encrypt>(
        self,
        ciphers: &DcfCiphers<'_, E>,
        width: Ring,
        last: impl Fn(usize) -> u64,
        sums: &mut [u64],
    ) {
        self.add(ciphers, LAST, last, sums);
        for sum in sums {
            *sum = width.reduce(negate_if(self.party, *sum));
        }
    }
}

/// The dealer's walk along α, which makes the sections that both parties' keys share.
///
/// Call [`level`](Self::level) with the bits of α from the most significant down, then [`last`](Self::last).
#[derive(Clone, Copy)]
pub struct DcfDealer<'a> {
    pair: Pair,
    beta: &'a [u64],
    width: Ring,
    /// What the parties' values on the path add up to so far.
    held: DcfWords,
}

impl<'a> DcfDealer<'a> {
    /// Starts a key with payload `beta`. Roots must be uniform and independent, for each key anew.
    #[inline]
    #[must_use]
    pub const fn start(roots: [Label; 2], beta: &'a [u64], width: Ring) -> Self {
        Self { pair: Pair::roots(roots), beta, width, held: [0; MAX_PAYLOAD_WORDS] }
    }

    /// The level's correction word and value corrections, for direction `a` of α.
    #[inline]
    pub fn level<E: Encrypt>(&mut self, ciphers: &DcfCiphers<'_, E>, a: u32) -> (u128, DcfWords) {
        let a = a & 1;
        let [first, second] = self.pair.nodes;
        let taken = u64::from(a).wrapping_neg();
        let [lost_0, lost_1] = [first, second].map(|node| ciphers.expand(self.beta.len(), node.seed, a ^ 1));
        let [kept_0, kept_1] = [first, second].map(|node| ciphers.expand(self.beta.len(), node.seed, a));
        let mut values = [0; MAX_PAYLOAD_WORDS];
        for (word, (beta, held)) in self.beta.iter().zip(&mut self.held).enumerate() {
            // points that leave the path here lie below α exactly if α goes right
            let difference = lost_1[word].wrapping_sub(lost_0[word]).wrapping_sub(*held).wrapping_add(beta & taken);
            let value = negate_if(second.control, difference);
            let kept = kept_0[word].wrapping_sub(kept_1[word]);
            *held = held.wrapping_add(kept).wrapping_add(difference);
            values[word] = self.width.reduce(value);
        }
        (self.pair.descend(ciphers.child, a), values)
    }

    /// The last value corrections.
    #[inline]
    #[must_use]
    pub fn last<E: Encrypt>(self, ciphers: &DcfCiphers<'_, E>) -> DcfWords {
        let [first, second] = self.pair.nodes;
        let [end_0, end_1] = [first, second].map(|node| ciphers.expand(self.beta.len(), node.seed, LAST));
        let mut last = [0; MAX_PAYLOAD_WORDS];
        for (word, (last, held)) in last.iter_mut().zip(self.held).enumerate().take(self.beta.len()) {
            let difference = end_1[word].wrapping_sub(end_0[word]).wrapping_sub(held);
            *last = self.width.reduce(negate_if(second.control, difference));
        }
        last
    }
}

impl fmt::Debug for DcfDealer<'_> {
    /// Nothing: α, β and the nodes are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DcfDealer(..)")
    }
}
