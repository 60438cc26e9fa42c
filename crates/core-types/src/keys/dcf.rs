//! Secret shares of β·1\[y < α\] for secret α and β and public points y.
//!
//! They are additive shares of words (Boyle et al., "Function Secret Sharing for Mixed-Mode and
//! Fixed-Point Secure Computation", 2021).
//!
//! Besides the tree of a point function, each level carries one value correction per payload word;
//! the shares of the values at the nodes on the path of y sum to the result.
//!
//! A node with control bit `t` and expanded value `v` counts `v + t VCW`. Party `p` has the share
//! `(-1)^p` times the sum over the path of y. With `lost = v_1 - v_0` on the side that α leaves,
//! `kept` the same on the other, and `held` the parties' sum so far, a level has
//! `d = lost - held + β 1[α goes right]`, `VCW = (-1)^(t_1) d`, and then `held += d - kept`.

#[cfg(test)]
mod tests;

use core::{fmt, ops::Range};

use crate::{
    cipher::{
        aes::Encrypt,
        block::block_words,
        prg::{MAX_PAYLOAD_WORDS, MAX_VALUE_BLOCKS, hash},
    },
    keys::{
        label::Label,
        tree::{Node, Pair},
        window::Window,
    },
    ring::Ring,
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

/// The contribution of a node to one sum.
///
/// It is the expanded word plus, if `control` is set, the correction.
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

/// The correction of one payload word at a level, and the sum of values after it.
///
/// The sum is of the parties' values on the path.
///
/// `lost` is the word of the second party's node less the word of the first party's, on the side
/// that α leaves; `kept` is the same on the other side. Points that leave the path here should
/// receive `gained`: β if they lie below α. `held` is the sum of the values on the path before the
/// level, and `control` is the second party's control bit.
#[inline]
#[must_use]
pub const fn value_correction(lost: u64, kept: u64, gained: u64, held: u64, control: u32) -> (u64, u64) {
    let difference = lost.wrapping_sub(held).wrapping_add(gained);
    (negate_if(control, difference), held.wrapping_sub(kept).wrapping_add(difference))
}

impl<E: Encrypt> DcfCiphers<'_, E> {
    /// The hash of `input` under cipher 0 of children, or `cipher` of value block `cipher` - 1.
    #[inline]
    #[must_use]
    pub fn hash(&self, cipher: u32, input: u128) -> u128 {
        match self.value.get(cipher.wrapping_sub(1) as usize) {
            Some(value) => hash(value, input),
            None => hash(self.child, input),
        }
    }

    /// The payload words of an expanded node, with the low bits of its input set to `low`.
    ///
    /// `low` is a direction, or [`LAST`].
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

/// One party's path to a node: where it is, and the sums of the values on the way.
#[derive(Clone, Copy)]
struct Path {
    node: Node,
    sums: [[u64; 2]; MAX_VALUE_BLOCKS],
}

impl Path {
    /// This path if `which` is 0, `other` if it is 1.
    #[inline]
    fn or(mut self, other: Self, which: u32) -> Self {
        let mask = u64::from(which & 1).wrapping_neg();
        self.node = self.node.or(other.node, which);
        for (sum, other) in self.sums.as_flattened_mut().iter_mut().zip(other.sums.as_flattened()) {
            *sum ^= mask & (*sum ^ other);
        }
        self
    }

    /// Adds `pair` to pair `index` of the sums, without an address that depends on the index.
    #[inline]
    fn add(&mut self, index: u32, pair: [u64; 2]) {
        for (sum, at) in self.sums.iter_mut().zip(0..) {
            let mask = u64::from(index == at).wrapping_neg();
            sum[0] = sum[0].wrapping_add(pair[0] & mask);
            sum[1] = sum[1].wrapping_add(pair[1] & mask);
        }
    }

    /// Adds the values of the node with the low input bits `low`, and descends to its child.
    ///
    /// There is no descent if `low` is [`LAST`].
    #[inline]
    fn step(
        &mut self,
        hashed: &impl Fn(u32, u128) -> u128,
        (low, words): (u32, u32),
        correction: impl Fn() -> u128,
        values: impl Fn(u32) -> [u64; 2],
    ) {
        let (node, input) = (self.node, self.node.input(low));
        let blocks = words.div_ceil(2);
        let mut cipher = if low == LAST { 1 } else { 0 };
        while cipher <= blocks {
            let hashed = hashed(cipher, input);
            if cipher == 0 {
                self.node = node.corrected(hashed, low, correction());
            } else {
                let ([first, second], block, control) = (block_words(hashed), cipher - 1, node.control());
                let [low, high] = values(block);
                self.add(block, [corrected_value(control, first, low), corrected_value(control, second, high)]);
            }
            cipher += 1;
        }
    }
}

/// One party's shares of β·1\[y_j < α\] at points of a window.
///
/// Calls `share(j, word, share)` for each j of `points`, in this order, with y_j = `point(j)`. `of`
/// is (bits, party, width).
///
/// `hashed` computes the hash, under cipher 0 for children and cipher j for value block j - 1
/// ([`DcfCiphers::hash`]). `payload` is the number of words and their ring. The key's sections are
/// `correction(level)` and `values(level, block)`, the two words of a value block, where a second
/// word past the last may be anything; level `bits` holds the values of the last node.
///
/// Each y_j, modulo 2^bits, lies at most 2^width below y_0; width = bits asks nothing of the
/// points. Shares at other points mean nothing. With [`Window::depth`] d and b value blocks, m
/// points take (1 + b) (2 d + m (bits - d)) + b m AES blocks, and the same number of levels is
/// walked whatever the keys and points.
#[inline]
#[expect(clippy::too_many_arguments, reason = "the sections of a key, and the points")]
pub fn dcf_eval_window(
    hashed: impl Fn(u32, u128) -> u128,
    (bits, party, width): (u32, u32, u32),
    payload: (u32, Ring),
    root: Label,
    correction: impl Fn(u32) -> u128,
    values: impl Fn(u32, u32) -> [u64; 2],
    points: Range<u32>,
    point: impl Fn(u32) -> u64,
    mut share: impl FnMut(u32, u32, u64),
) {
    if points.is_empty() {
        return;
    }
    let (words, ring) = payload;
    let (window, first) = (Window::new(bits, width), point(0));
    let depth = window.depth();
    let start = Path { node: Node::root(root, party), sums: [[0; 2]; MAX_VALUE_BLOCKS] };
    let (mut here, mut before) = (start, start);
    // walks to the two blocks come first, then those to the points, so that the text holds the rounds of AES once
    let mut blocks = if depth == 0 { 2 } else { 0 };
    let mut at = points.start;
    while at < points.end {
        let to_block = blocks < 2;
        let y = if to_block { window.member(first, blocks) } else { point(at) };
        // after the levels comes the conversion of the last node, which has no child
        let (mut level, end) = if to_block { (0, depth) } else { (depth, bits + 1) };
        // A walk to a block starts at the root, a walk to a point in its block.
        let mut path = here.or(before, window.block(first, y)).or(start, u32::from(to_block));
        while level < end {
            let ends = level == bits;
            let low = if ends { LAST } else { (y >> (bits - 1 - level)) as u32 & 1 };
            path.step(&hashed, (low, words), || correction(level), |block| values(level, block));
            level += 1;
        }
        // The first walk is the block of y_0, the second the block before.
        if to_block {
            here = here.or(path, blocks ^ 1);
            before = before.or(path, blocks);
            blocks += 1;
        } else {
            for (&sum, word) in path.sums.as_flattened().iter().zip(0..) {
                if word < words {
                    share(at, word, share_of(party, sum, ring));
                }
            }
            at += 1;
        }
    }
}

/// The dealer's walk along α, which makes the sections that both parties' keys share.
///
/// Call [`level`](Self::level) with the bits of α from the most significant down, then
/// [`last`](Self::last).
#[derive(Clone, Copy)]
pub struct DcfDealer<'a> {
    pair: Pair,
    beta: &'a [u64],
    width: Ring,
    /// Sum of the parties' values on the path so far.
    held: DcfWords,
}

impl<'a> DcfDealer<'a> {
    /// Starts a key with payload `beta`.
    ///
    /// Roots must be uniform and independent, for each key anew.
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
