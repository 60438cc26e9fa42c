//! Secret shares of β·1\[y < α\] for secret α and β and public points y, as additive shares of words (Boyle et al.,
//! "Function Secret Sharing for Mixed-Mode and Fixed-Point Secure Computation", 2021).
//!
//! Beside the tree of a point function, each level carries one value correction per payload word; the shares of the
//! values at the nodes of the path of y sum to the result.

#[cfg(test)]
mod tests;

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
pub const LAST: u32 = 2;

/// What a node with control bit `control` adds to one sum: its expanded word, and if the bit is set the correction.
#[inline]
#[must_use]
pub const fn corrected_value(control: u32, expanded: u64, correction: u64) -> u64 {
    expanded.wrapping_add(correction & (control as u64 & 1).wrapping_neg())
}

/// The share of `party` modulo 2^`width`, from the sum of its nodes' values.
#[inline]
#[must_use]
pub const fn share_of(party: u32, sum: u64, width: Ring) -> u64 {
    width.reduce(negate_if(party, sum))
}

/// The correction of one payload word at a level, and what the parties' values on the path add up to behind it.
///
/// `lost` is the word of the second party's node less that of the first party's on the side that α leaves, `kept` the
/// same on the other side. Points that leave the path here are to receive `gained`: β if they lie below α. `held` is
/// what the values on the path add up to before the level, `control` the second party's control bit.
#[inline]
#[must_use]
pub const fn value_correction(lost: u64, kept: u64, gained: u64, held: u64, control: u32) -> (u64, u64) {
    let difference = lost.wrapping_sub(held).wrapping_add(gained);
    (negate_if(control, difference), held.wrapping_sub(kept).wrapping_add(difference))
}

impl<E: Encrypt> DcfCiphers<'_, E> {
    /// The payload words that a node expands to with its input's low bits set to `low`: a direction, or [`LAST`].
    #[inline]
    fn expand(&self, words: usize, node: Node, low: u32) -> DcfWords {
        let mut all = [0; MAX_PAYLOAD_WORDS];
        for (pair, cipher) in all[..words.min(MAX_PAYLOAD_WORDS)].chunks_mut(2).zip(self.value) {
            let block = block_words(hash(cipher, node.input(low)));
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
        let expanded = ciphers.expand(sums.len(), self.node, low);
        for (word, (sum, share)) in sums.iter_mut().zip(expanded).enumerate() {
            *sum = sum.wrapping_add(corrected_value(self.node.control(), share, value(word)));
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
            *sum = share_of(self.party, *sum, width);
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
        let [lost_0, lost_1] = [first, second].map(|node| ciphers.expand(self.beta.len(), node, a ^ 1));
        let [kept_0, kept_1] = [first, second].map(|node| ciphers.expand(self.beta.len(), node, a));
        let mut values = [0; MAX_PAYLOAD_WORDS];
        for (word, (beta, held)) in self.beta.iter().zip(&mut self.held).enumerate() {
            let lost = lost_1[word].wrapping_sub(lost_0[word]);
            let kept = kept_1[word].wrapping_sub(kept_0[word]);
            // points that leave the path here lie below α exactly if α goes right
            let (value, holds) = value_correction(lost, kept, beta & taken, *held, second.control());
            *held = holds;
            values[word] = self.width.reduce(value);
        }
        (self.pair.descend(ciphers.child, a), values)
    }

    /// The last value corrections.
    #[inline]
    #[must_use]
    pub fn last<E: Encrypt>(self, ciphers: &DcfCiphers<'_, E>) -> DcfWords {
        let [first, second] = self.pair.nodes;
        let [end_0, end_1] = [first, second].map(|node| ciphers.expand(self.beta.len(), node, LAST));
        let mut last = [0; MAX_PAYLOAD_WORDS];
        for (word, (last, held)) in last.iter_mut().zip(self.held).enumerate().take(self.beta.len()) {
            let (value, _) = value_correction(end_1[word].wrapping_sub(end_0[word]), 0, 0, held, second.control());
            *last = self.width.reduce(value);
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
