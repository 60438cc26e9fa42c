use core_types::cmp::{CMP_TABLE_BITS, cmp_blocks, cmp_leaves, cmp_levels};

/// A key tree of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
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

impl Tree {
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

    /// AES blocks that one party computes for each public point.
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

/// AES blocks that one party computes for all points of a comparison key over `bits` bits at once: those of two children
/// of each node.
pub(crate) const fn aes_of_all_points(bits: u32) -> u64 {
    2 * (cmp_blocks(bits) - 1)
}

impl TreeRows {
    /// The rows of all `trees`.
    pub(crate) fn of(trees: &[Tree]) -> Self {
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
        cmp::{CMP_ALL_BITS, cmp_eval, cmp_eval_all},
        dcf::{DcfCiphers, DcfWalk},
    };

    use super::*;

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
            let aes = Counting(AesKey::new([7; 16]), Cell::new(0));
            for (walks, y) in [(1, 0), (2, u64::MAX), (3, 0x5555_5555_5555_5555)] {
                cmp_eval(&&aes, (bits, 1), root, |_| 1, |_| 1, y);
                assert_eq!(aes.1.get(), walks * Tree::Cmp { bits }.aes_per_point(), "{bits} bits");
            }
            if bits <= CMP_ALL_BITS {
                let aes = Counting(AesKey::new([7; 16]), Cell::new(0));
                cmp_eval_all(&&aes, (bits, 1), root, |_| 1, |_| 1, |_, _| ());
                assert_eq!(aes.1.get(), aes_of_all_points(bits), "all points of {bits} bits");
            }
            for words in 1..=8u32 {
                let aes = Counting(AesKey::new([7; 16]), Cell::new(0));
                let ciphers = DcfCiphers { child: &&aes, value: &[&aes; 4] };
                let (mut walk, mut sums) = (DcfWalk::start(root, 1), vec![0; words as usize]);
                (0..bits).for_each(|level| walk.step(&ciphers, level & 1, 1, |_| 1, &mut sums));
                walk.finish(&ciphers, ring, |_| 1, &mut sums);
                assert_eq!(aes.1.get(), Tree::Dcf { bits, words }.aes_per_point(), "{bits} bits, {words} words");
            }
        }
    }
}
