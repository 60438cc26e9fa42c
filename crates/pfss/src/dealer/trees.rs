//! The tree sections of both parties, made on the queue.

use backend_api::ops::fss::{CmpGen, DcfGen, FssOps};
use core_types::{
    Label, PrgKeys,
    params::fss::{CmpGenParams, DcfGenParams},
};

use super::secrets::TreeSecret;
use crate::{
    Gate, PfssError,
    bundle::CommonKeys,
    lanes::LANES,
    secret::section::Section,
    secret::staging::{SecretInput, write_secret_into},
    tree::{KeyTree, TreeRows},
};

/// Makes the tree sections of both parties, tree after tree.
pub(super) struct TreeDealer<'a, Q> {
    pub(super) q: &'a Q,
    pub(super) gate: &'a Gate,
    pub(super) prg: PrgKeys,
    pub(super) count: usize,
}

/// The sections that trees fill, apart from roots.
pub(super) struct TreeSections {
    pub(super) common: CommonKeys,
    /// The leaves of each party.
    pub(super) leaves: [Section<u128>; 2],
}

impl<Q: FssOps> TreeDealer<'_, Q> {
    /// Sections of the right lengths, for [`fill`](Self::fill).
    pub(super) fn sections(&self) -> TreeSections {
        let (rows, padded) = (TreeRows::of(&self.gate.trees()), self.padded());
        let of = |rows: u64| rows as usize * padded; // checked with the layout
        TreeSections {
            common: CommonKeys {
                cw: Section::zeroed(of(rows.cw)),
                vcw: Section::zeroed(of(rows.vcw)),
                last: Section::zeroed(of(rows.last)),
            },
            leaves: [(); 2].map(|()| Section::zeroed(of(rows.leaf))),
        }
    }

    fn padded(&self) -> usize {
        self.count.next_multiple_of(LANES as usize)
    }

    /// Fills the sections of tree `index`.
    ///
    /// `roots` holds the padded roots of party 0, then the padded roots of party 1.
    pub(super) fn fill(
        &self,
        index: usize,
        secret: &TreeSecret,
        roots: &[Label],
        sections: &mut TreeSections,
    ) -> Result<(), PfssError> {
        let (q, padded, trees) = (self.q, self.padded(), self.gate.trees());
        let (tree, before, rows) = (trees[index], TreeRows::of(&trees[..index]), trees[index].rows());
        let range = |before: u64, rows: u64| before as usize * padded..(before + rows) as usize * padded;
        let count = self.count as u32; // a bundle holds less than 2^32 elements
        // The op reads roots and thresholds, and writes correction words.
        let (roots, alphas) = (SecretInput::of(q, roots)?, SecretInput::of(q, &secret.alphas)?);
        let CommonKeys { cw, vcw, last } = &mut sections.common;
        let cw = &mut cw[range(before.cw, rows.cw)];
        match tree {
            KeyTree::Cmp { bits } => {
                let params = CmpGenParams { key: self.prg.child, bits, count, reserved: [0; 2] };
                let mut leaves = Section::zeroed(2 * padded);
                write_secret_into(q, cw, |corrections| {
                    write_secret_into(q, &mut leaves, |leaves| {
                        q.cmp_gen(CmpGen {
                            params: &params,
                            alphas: alphas.view(),
                            roots: roots.view(),
                            corrections: q.shorten_mut(corrections),
                            leaves: q.shorten_mut(leaves),
                        })
                    })
                })?;
                for (party, all) in sections.leaves.iter_mut().enumerate() {
                    // the leaves of a tree are common; a truth table is one party's
                    let own = if rows.root == 0 { party * padded..(party + 1) * padded } else { 0..2 * padded };
                    all[range(before.leaf, rows.leaf)].copy_from_slice(&leaves[own]);
                }
            }
            KeyTree::Dcf { bits, words } => {
                let width = self.gate.out_ring().bits();
                let params = DcfGenParams { keys: self.prg, bits, count, words, width };
                let betas = SecretInput::of(q, &secret.betas)?;
                let (vcw, last) = (&mut vcw[range(before.vcw, rows.vcw)], &mut last[range(before.last, rows.last)]);
                write_secret_into(q, cw, |corrections| {
                    write_secret_into(q, vcw, |values| {
                        write_secret_into(q, last, |last| {
                            q.dcf_gen(DcfGen {
                                params: &params,
                                alphas: alphas.view(),
                                betas: betas.view(),
                                roots: roots.view(),
                                corrections: q.shorten_mut(corrections),
                                values: q.shorten_mut(values),
                                last: q.shorten_mut(last),
                            })
                        })
                    })
                })?;
            }
        }
        Ok(())
    }
}
