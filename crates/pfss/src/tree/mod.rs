//! The shapes of key trees, and the rows and AES blocks that follow from them.

pub(crate) mod cluster;

use core_types::cmp::{CMP_TABLE_BITS, cmp_blocks, cmp_leaves, cmp_levels};

/// A key tree of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyTree {
    /// A comparison key over a domain of `bits` bits.
    Cmp { bits: u32 },
    /// A comparison key with a payload of `words` 64-bit words.
    Dcf { bits: u32, words: u32 },
}

/// Rows of each section that one or more trees fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeRows {
    pub(crate) root: u64,
    pub(crate) cw: u64,
    pub(crate) leaf: u64,
    pub(crate) vcw: u64,
    pub(crate) last: u64,
}

impl KeyTree {
    pub(crate) const fn rows(self) -> TreeRows {
        match self {
            Self::Cmp { bits } => TreeRows {
                // a truth table of at most 128 bits has no root
                root: (bits > CMP_TABLE_BITS) as u64,
                cw: cmp_levels(bits) as u64,
                leaf: cmp_leaves(bits) as u64,
                vcw: 0,
                last: 0,
            },
            Self::Dcf { bits, words } => {
                TreeRows { root: 1, cw: bits as u64, leaf: 0, vcw: bits as u64 * words as u64, last: words as u64 }
            }
        }
    }

    /// Bits of the points.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::Cmp { bits } | Self::Dcf { bits, .. } => bits,
        }
    }

    /// The number of levels that the tree lacks: it ends in blocks of leaves.
    pub(crate) const fn leaf(self) -> u32 {
        match self {
            Self::Cmp { .. } => CMP_TABLE_BITS,
            Self::Dcf { .. } => 0,
        }
    }

    /// AES blocks that one party computes for a public point by itself.
    pub(crate) const fn aes_per_point(self) -> u64 {
        match self {
            Self::Cmp { bits } => bits.saturating_sub(CMP_TABLE_BITS) as u64,
            Self::Dcf { bits, words } => {
                let value_blocks = words.div_ceil(2) as u64;
                bits as u64 * (1 + value_blocks) + value_blocks
            }
        }
    }
}

/// AES blocks of one party for all points of a comparison key over `bits` bits.
///
/// They are for two children of each node, with all points evaluated at once.
pub(crate) const fn aes_of_all_points(bits: u32) -> u64 {
    2 * (cmp_blocks(bits) - 1)
}

impl TreeRows {
    /// The rows of all `trees`.
    pub(crate) fn of(trees: &[KeyTree]) -> Self {
        trees.iter().fold(Self::default(), |sum, tree| {
            let rows = tree.rows();
            Self {
                root: sum.root + rows.root,
                cw: sum.cw + rows.cw,
                leaf: sum.leaf + rows.leaf,
                vcw: sum.vcw + rows.vcw,
                last: sum.last + rows.last,
            }
        })
    }

    /// Bytes for one element.
    pub(crate) const fn bytes(&self) -> u64 {
        16 * (self.root + self.cw + self.leaf) + 8 * (self.vcw + self.last)
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use core_types::{
        AesKey, Encrypt, Label, Ring,
        cmp::{CMP_ALL_BITS, cmp_eval_all, cmp_eval_window},
        dcf::{DcfCiphers, dcf_eval_window},
    };

    use super::{
        cluster::{Cluster, Clusters},
        *,
    };

    /// AES that counts its blocks.
    struct Counting(AesKey, Cell<u64>);

    impl Encrypt for &Counting {
        fn encrypt(&self, block: u128) -> u128 {
            self.1.set(self.1.get() + 1);
            self.0.encrypt(block)
        }
    }

    #[test]
    fn a_walk_takes_as_many_blocks_as_its_formula_says() {
        let (root, ring) = (Label::new(3 << 64).seed(), Ring::new(64).unwrap());
        for bits in 1..=64 {
            // a point by itself, and clusters of many forms
            let mask = u64::MAX >> (64 - bits);
            let spread = |step: u64| (0..9).map(|i: u64| (i * step).wrapping_sub(4 * step) & mask).collect::<Vec<_>>();
            for offsets in [vec![0], vec![5, 0, 1 << (bits - 1)], spread(1), spread(100), spread(1 << 20)] {
                let tree = KeyTree::Cmp { bits };
                let plan = Clusters::new(tree, &offsets);
                assert!(offsets.len() > 1 || plan.aes() == tree.aes_per_point(), "{bits} bits");
                let aes = Counting(AesKey::new([7; 16]), Cell::new(0));
                for Cluster { window, points } in &plan.clusters {
                    let point = |j: u32| 0x5555_5555_5555_5555_u64.wrapping_sub(offsets[points[j as usize]]);
                    let points = 0..points.len() as u32;
                    cmp_eval_window(&&aes, (bits, 1, *window), root, |_| 1, |_| 1, points, point, |_, _| ());
                }
                assert_eq!(aes.1.get(), plan.aes(), "{bits} bits, {offsets:?}");
                for words in 1..=8u32 {
                    let plan = Clusters::new(KeyTree::Dcf { bits, words }, &offsets);
                    let aes = Counting(AesKey::new([7; 16]), Cell::new(0));
                    let ciphers = DcfCiphers { child: &&aes, value: &[&aes; 4] };
                    for Cluster { window, points } in &plan.clusters {
                        let point = |j: u32| 0x5555_5555_5555_5555_u64.wrapping_sub(offsets[points[j as usize]]);
                        let (points, of) = (0..points.len() as u32, (bits, 1, *window));
                        let hashed = |cipher, input| ciphers.hash(cipher, input);
                        let share = |_, _, _| ();
                        dcf_eval_window(hashed, of, (words, ring), root, |_| 1, |_, _| [1; 2], points, point, share);
                    }
                    assert_eq!(aes.1.get(), plan.aes(), "{bits} bits, {words} words, {offsets:?}");
                }
            }
            if bits <= CMP_ALL_BITS {
                let aes = Counting(AesKey::new([7; 16]), Cell::new(0));
                cmp_eval_all(&&aes, (bits, 1), root, |_| 1, |_| 1, |_, _| ());
                assert_eq!(aes.1.get(), aes_of_all_points(bits), "all points of {bits} bits");
            }
        }
    }
}
