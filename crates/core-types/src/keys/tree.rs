//! One level of a distributed-point-function tree.
//!
//! Source: Boyle, Gilboa, Ishai, "Function Secret Sharing: Improvements and Extensions", 2016.
//!
//! The path of the secret point α runs from the root to a leaf. On it the two parties' control bits
//! differ and their seeds are independent; off it, seeds and control bits agree. A correction word
//! restores this at each level: the seed correction in bits 2..128, the control correction of the
//! left child in bit 0 and of the right child in bit 1.

use core::fmt;

use crate::{
    cipher::{aes::Encrypt, prg::hash},
    keys::label::{Label, SEED_BITS},
};

/// All 128 bits equal to the lowest bit of `bit`.
#[inline]
pub(crate) const fn spread(bit: u32) -> u128 {
    ((bit & 1) as u128).wrapping_neg()
}

/// One party's node: its seed, and its control bit 0 or 1.
#[derive(Clone, Copy)]
pub struct Node {
    pub(crate) seed: u128,
    pub(crate) control: u32,
}

impl Node {
    /// The root of `party` (0 or 1); the label's two lowest bits are ignored.
    #[inline]
    #[must_use]
    pub const fn root(label: Label, party: u32) -> Self {
        Self { seed: label.seed().bits(), control: party & 1 }
    }

    /// The hash input with low bits `low`.
    ///
    /// `low` is a direction (0 left, 1 right), or 2 to convert a last node to values.
    #[inline]
    #[must_use]
    pub const fn input(self, low: u32) -> u128 {
        self.seed | (low & 3) as u128
    }

    /// The control bit, 0 or 1.
    #[inline]
    #[must_use]
    pub const fn control(self) -> u32 {
        self.control
    }

    /// The child in direction `c` (0 left, 1 right), corrected by the level's word.
    #[inline]
    #[must_use]
    pub fn child<E: Encrypt>(self, cipher: &E, c: u32, correction: u128) -> Self {
        self.corrected(hash(cipher, self.input(c & 1)), c, correction)
    }

    /// The child in direction `c`, given the hash of its [`input`](Self::input).
    #[inline]
    #[must_use]
    pub const fn corrected(self, hashed: u128, c: u32, correction: u128) -> Self {
        let child = hashed ^ (correction & SEED_BITS & spread(self.control));
        let control = (correction >> (c & 1)) as u32 & self.control;
        Self { seed: child & SEED_BITS, control: (child as u32 ^ control) & 1 }
    }

    /// The shares of a block of leaves under the node.
    ///
    /// `hashed` is the hash of the block's input, and `leaf` its leaf correction.
    #[inline]
    #[must_use]
    pub const fn leaf_block(self, hashed: u128, leaf: u128) -> u128 {
        hashed ^ (leaf & spread(self.control))
    }

    /// This node if `which` is 0, `other` if it is 1.
    ///
    /// The selection is field by field, so that a kernel keeps both in registers.
    #[inline]
    #[must_use]
    pub(crate) const fn or(self, other: Self, which: u32) -> Self {
        let mask = spread(which);
        Self {
            seed: self.seed ^ (mask & (self.seed ^ other.seed)),
            control: self.control ^ (mask as u32 & (self.control ^ other.control)),
        }
    }

    /// The node in one word: its seed, with the control bit in bit 0.
    #[inline]
    #[must_use]
    pub const fn packed(self) -> u128 {
        self.seed | self.control as u128
    }

    /// The node that was [`packed`](Self::packed).
    #[inline]
    #[must_use]
    pub const fn unpacked(word: u128) -> Self {
        Self { seed: word & SEED_BITS, control: word as u32 & 1 }
    }
}

impl fmt::Debug for Node {
    /// Nothing: nodes are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Node(..)")
    }
}

/// The correction word of a level where α goes in direction `a`.
///
/// Computed from the XOR of the two parties' left children and the XOR of their right children.
///
/// The parties then have equal seeds and control bits on the branch that α leaves, and unequal
/// control bits on the other.
#[inline]
#[must_use]
pub const fn correction_word(left_xor: u128, right_xor: u128, a: u32) -> u128 {
    let a = a & 1;
    let lost = right_xor ^ (spread(a) & (left_xor ^ right_xor));
    let control_left = (left_xor as u32 ^ a ^ 1) & 1;
    let control_right = (right_xor as u32 ^ a) & 1;
    (lost & SEED_BITS) | (control_left | control_right << 1) as u128
}

/// Both parties' nodes on the path of α, as the dealer walks it.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub(crate) nodes: [Node; 2],
}

/// The uncorrected left and right children of both parties.
pub(crate) struct Children {
    pub(crate) left: [u128; 2],
    pub(crate) right: [u128; 2],
}

impl Pair {
    /// The roots of the parties 0 and 1.
    #[inline]
    #[must_use]
    pub const fn roots(labels: [Label; 2]) -> Self {
        let [first, second] = labels;
        Self { nodes: [Node::root(first, 0), Node::root(second, 1)] }
    }

    #[inline]
    pub(crate) fn children<E: Encrypt>(&self, cipher: &E) -> Children {
        let [first, second] = self.nodes;
        Children {
            left: [hash(cipher, first.input(0)), hash(cipher, second.input(0))],
            right: [hash(cipher, first.input(1)), hash(cipher, second.input(1))],
        }
    }

    /// Moves to the children in direction `a` of α and returns the level's correction word.
    ///
    /// No branch depends on `a`.
    #[inline]
    pub fn descend<E: Encrypt>(&mut self, cipher: &E, a: u32) -> u128 {
        let a = a & 1;
        let right = spread(a);
        let Children { left: [left_0, left_1], right: [right_0, right_1] } = self.children(cipher);
        let word = correction_word(left_0 ^ left_1, right_0 ^ right_1, a);
        let kept = [left_0 ^ (right & (left_0 ^ right_0)), left_1 ^ (right & (left_1 ^ right_1))];
        for (node, kept) in self.nodes.iter_mut().zip(kept) {
            *node = node.corrected(kept, a, word);
        }
        word
    }
}
