use core_types::cmp::{CMP_TABLE_BITS, cmp_leaves, cmp_levels};

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
