//! The dealer's walks along the secret points, both parties at once.
//!
//! With `l` and `r` the XORs of the parties' left and right children, and `a` the direction of α, a
//! correction word has the seed bits of `r` if `a = 0` and of `l` if `a = 1`, and the control
//! corrections `t_L = l ^ a ^ 1` and `t_R = r ^ a` of lowest bits (Boyle, Gilboa, Ishai, CCS 2016).

use core_types::Label;

use super::{
    cipher::{RoundKeys, hash},
    walk::{PartyNodes, select},
};
use crate::simd::blocks::{AesBlocks, Step, TOGETHER};

/// Both parties' nodes on the path of α, where their control bits differ.
#[derive(Clone, Copy)]
pub(super) struct NodePair<L: AesBlocks> {
    pub(super) nodes: [PartyNodes<L>; 2],
}

/// The uncorrected left and right children of both parties.
pub(super) struct Children<L: AesBlocks> {
    pub(super) left: [Step<L>; 2],
    pub(super) right: [Step<L>; 2],
}

impl<L: AesBlocks> NodePair<L> {
    /// Room for nodes.
    #[inline(always)]
    pub(super) fn idle(l: L) -> Self {
        Self { nodes: [PartyNodes::idle(l); 2] }
    }

    #[inline(always)]
    pub(super) fn roots(l: L, first: &[Label], second: &[Label]) -> Self {
        Self { nodes: [PartyNodes::roots(l, first, 0), PartyNodes::roots(l, second, 1)] }
    }

    #[inline(always)]
    pub(super) fn children(&self, l: L, keys: &RoundKeys<L>) -> Children<L> {
        let (zero, ones) = ([l.splat(0); TOGETHER], [l.splat(u128::MAX); TOGETHER]);
        let [first, second] = &self.nodes;
        // One party after the other: with one side after the other, dealing takes 2.1 times as long on a Zen 5.
        let first = [hash(l, keys, &first.inputs(l, &zero)), hash(l, keys, &first.inputs(l, &ones))];
        let second = [hash(l, keys, &second.inputs(l, &zero)), hash(l, keys, &second.inputs(l, &ones))];
        Children { left: [first[0], second[0]], right: [first[1], second[1]] }
    }

    /// Moves to the children in `direction` of α and returns the correction words.
    #[inline(always)]
    pub(super) fn descend(&mut self, l: L, keys: &RoundKeys<L>, direction: &Step<L>) -> Step<L> {
        let (one, seed_bits) = (l.splat(1), l.splat(!3));
        let Children { left, right } = self.children(l, keys);
        let mut words = [one; TOGETHER];
        for i in 0..TOGETHER {
            let a = direction[i];
            let left_xor = l.xor(left[0][i], left[1][i]);
            let right_xor = l.xor(right[0][i], right[1][i]);
            // the branch that α leaves must end with equal seeds and control bits, the other with unequal control bits
            let seed = l.and(seed_bits, select(l, a, right_xor, left_xor));
            let control_left = l.and(one, l.xor(one, l.xor(left_xor, a)));
            let control_right = l.and(one, l.xor(right_xor, a));
            let word = l.xor(seed, select(l, a, control_left, control_right));
            for (p, nodes) in self.nodes.iter_mut().enumerate() {
                let child = select(l, a, left[p][i], right[p][i]);
                nodes.labels[i] = l.xor(child, l.and(nodes.control(l, i), word));
            }
            words[i] = l.xor(seed, l.xor(control_left, l.add(control_right, control_right)));
        }
        words
    }
}
