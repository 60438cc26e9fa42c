//! Tests with every α and every point of small rings.
//!
//! Trees have leaf blocks of the released size, or are deep.

use super::{CMP_ALL_BITS, CMP_TABLE_BITS, cmp_blocks, cmp_eval_all, cmp_gen, eval_all, eval_window, generate, levels};
use crate::{
    cipher::{aes::AesKey, prg::tests::Mix},
    keys::label::Label,
};

/// Leaf blocks of 2^3 points: trees of up to 6 levels above them in rings of up to 10 bits.
const SMALL: u32 = 3;

fn labels(alpha: u64) -> [Label; 2] {
    [1, 2]
        .map(|party| Label::new(u128::from(2 * alpha + party).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)))
}

/// Both parties' keys: the shared sections and the leaves.
///
/// For few bits, the leaves are each party's table.
struct Keys {
    roots: [Label; 2],
    corrections: [u128; 16],
    leaves: [u128; 2],
}

impl Keys {
    fn new<const LEAF: u32>(cipher: &Mix, bits: u32, alpha: u64) -> Self {
        let (roots, mut corrections) = (labels(alpha), [0; 16]);
        let leaves = generate::<LEAF, _>(cipher, bits, alpha, roots, |level, word| corrections[level as usize] = word);
        Self { roots, corrections, leaves }
    }

    fn leaf<const LEAF: u32>(&self, bits: u32, party: u32, side: u32) -> u128 {
        self.leaves[if bits <= LEAF { party } else { side } as usize]
    }

    fn share<const LEAF: u32>(&self, cipher: &Mix, bits: u32, party: u32, y: u64) -> u32 {
        let leaf = |side| self.leaf::<LEAF>(bits, party, side);
        let correction = |level: u32| self.corrections[level as usize];
        let (root, mut only) = (self.roots[party as usize], 0);
        eval_window::<LEAF, _>(
            cipher,
            (bits, party, bits),
            root,
            correction,
            leaf,
            0..1,
            |_| y,
            |_, share| only = share,
        );
        only
    }

    /// The share at every point from `first` down to `first` - 2^`width`.
    fn window<const LEAF: u32>(&self, cipher: &Mix, of: (u32, u32, u32), first: u64, share: impl FnMut(u32, u32)) {
        let (bits, party, width) = of;
        let leaf = |side| self.leaf::<LEAF>(bits, party, side);
        let correction = |level: u32| self.corrections[level as usize];
        let (root, points) = (self.roots[party as usize], 0..(1 << width) + 1);
        let point = |j: u32| first.wrapping_sub(j.into());
        eval_window::<LEAF, _>(cipher, of, root, correction, leaf, points, point, share);
    }

    fn units<const LEAF: u32>(&self, cipher: &Mix, bits: u32, party: u32, block: impl FnMut(u32, u128)) {
        let leaf = |side| self.leaf::<LEAF>(bits, party, side);
        let correction = |level: u32| self.corrections[level as usize];
        eval_all::<LEAF, _>(cipher, (bits, party), self.roots[party as usize], correction, leaf, block);
    }
}

/// Reconstruction at every α and y, and the AES blocks that it took.
fn expect_every_point<const LEAF: u32>(bits: u32) {
    let cipher = Mix::default();
    for alpha in 0..1u64 << bits {
        let keys = Keys::new::<LEAF>(&cipher, bits, alpha);
        let made = if bits > LEAF { 4 * (u64::from(levels::<LEAF>(bits)) + 1) } else { 0 };
        assert_eq!(cipher.taken(), made, "blocks of a key of {bits} bits");
        for y in 0..1u64 << bits {
            let [first, second] = [0, 1].map(|party| keys.share::<LEAF>(&cipher, bits, party, y));
            assert_eq!((first ^ second) == 1, alpha <= y, "bits {bits} alpha {alpha} y {y}");
            assert_eq!(cipher.taken(), 2 * u64::from(bits.saturating_sub(LEAF)), "blocks at a point of {bits} bits");
        }
    }
}

/// Reconstruction of the unit vector of every α.
fn expect_every_unit<const LEAF: u32>(bits: u32) {
    let cipher = Mix::default();
    let blocks = 1u64 << bits.saturating_sub(LEAF);
    let block_bits = 1u64 << LEAF.min(bits);
    for alpha in 0..1u64 << bits {
        let keys = Keys::new::<LEAF>(&cipher, bits, alpha);
        cipher.taken();
        let mut sums = [0u128; 128];
        for party in 0..2 {
            let mut next = 0;
            keys.units::<LEAF>(&cipher, bits, party, |index, leaves| {
                assert_eq!(index, next);
                next += 1;
                sums[index as usize] ^= leaves;
            });
            assert_eq!(u64::from(next), blocks);
            assert_eq!(cipher.taken(), 2 * (blocks - 1), "blocks of all points of {bits} bits");
        }
        for (index, sum) in (0..blocks).zip(sums) {
            let here = alpha / block_bits == index;
            assert_eq!(sum, u128::from(here) << (alpha % block_bits), "bits {bits} alpha {alpha} block {index}");
        }
    }
}

#[test]
fn every_alpha_and_point_of_rings_of_up_to_10_bits_in_trees_as_they_ship() {
    (1..=10).for_each(expect_every_point::<CMP_TABLE_BITS>);
    (1..=10).for_each(expect_every_unit::<CMP_TABLE_BITS>);
}

#[test]
fn every_alpha_and_point_of_rings_of_up_to_10_bits_in_deep_trees() {
    (1..=10).for_each(expect_every_point::<SMALL>);
    (1..=10).for_each(expect_every_unit::<SMALL>);
}

/// Compares shares at clusters of every width and place with shares at single points.
///
/// The number of AES blocks is checked too.
fn expect_every_window<const LEAF: u32>(bits: u32, alphas: &[u64]) {
    let cipher = Mix::default();
    let mask = (1u64 << bits) - 1;
    for (&alpha, party) in alphas.iter().zip([0, 1].into_iter().cycle()) {
        let keys = Keys::new::<LEAF>(&cipher, bits, alpha);
        for width in LEAF.min(bits)..=bits {
            for first in 0..=mask {
                let mut next = 0;
                cipher.taken();
                keys.window::<LEAF>(&cipher, (bits, party, width), first, |j, share| {
                    assert_eq!(j, next);
                    next += 1;
                    let y = first.wrapping_sub(j.into()) & mask;
                    let alone = keys.share::<LEAF>(&Mix::default(), bits, party, y);
                    assert_eq!(share, alone, "bits {bits} width {width} first {first} y {y}");
                });
                let (points, depth) = ((1 << width) + 1, u64::from(bits - width));
                let each = u64::from(bits.saturating_sub(LEAF)) - depth.min(bits.saturating_sub(LEAF).into());
                assert_eq!((u64::from(next), cipher.taken()), (points, 2 * depth + points * each));
            }
        }
    }
}

#[test]
fn clusters_of_every_width_and_place_share_as_single_points_do() {
    expect_every_window::<SMALL>(7, &[0, 1, 8, 63, 64, 127]);
    expect_every_window::<SMALL>(4, &[0, 7, 8, 15]);
    expect_every_window::<SMALL>(3, &[0, 5]);
    expect_every_window::<CMP_TABLE_BITS>(9, &[0x155]);
}

#[test]
fn the_known_key_of_10_bits_hides_its_unit_vector() {
    let cipher = AesKey::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let root = |first: u8| Label::new(u128::from_le_bytes(core::array::from_fn(|i| first + i as u8)));
    let (roots, mut corrections) = ([root(0x10), root(0x20)], [0; 2]);
    let leaves = cmp_gen(&cipher, 10, 0x155, roots, |level, word| corrections[level as usize] = word);
    assert_eq!(corrections[0], 0xe936_ddf0_9746_eea4_c13c_647f_0024_315b_u128.swap_bytes());
    let mut sums = [0u128; 8];
    for party in 0..2 {
        let (correction, leaf) = (|level: u32| corrections[level as usize], |side: u32| leaves[side as usize]);
        let root = roots[party as usize];
        cmp_eval_all(&cipher, (10, party), root, correction, leaf, |index, block| sums[index as usize] ^= block);
    }
    assert_eq!(sums, core::array::from_fn(|index| if index == 2 { 1 << 0x55 } else { 0 }));
}

#[test]
fn blocks_of_all_points_are_those_of_the_construction() {
    for (bits, blocks) in [(1, 1), (7, 1), (8, 2), (10, 8), (CMP_ALL_BITS, 64), (64, 1 << 57)] {
        assert_eq!(cmp_blocks(bits), blocks);
    }
}
