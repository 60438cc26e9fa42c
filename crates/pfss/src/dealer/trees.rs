//! The tree sections of both parties, made on the queue.

use backend_api::{
    Buffer,
    ops::fss::{CmpGen, DcfGen, FssOps},
};
use core_types::{
    Label, PrgKeys,
    params::fss::{CmpGenParams, DcfGenParams},
};
use zeroize::Zeroizing;

use super::secrets::TreeSecret;
use crate::{
    Gate, PfssError,
    bundle::BundleKeys,
    lanes::LANES,
    staging::StagedSecret,
    tree::{KeyTree, TreeRows},
};

/// Makes the tree sections of both parties, tree after tree.
pub(super) struct TreeDealer<'a, Q> {
    pub(super) q: &'a Q,
    pub(super) gate: &'a Gate,
    pub(super) prg: PrgKeys,
    pub(super) count: usize,
}

impl<Q: FssOps> TreeDealer<'_, Q> {
    /// Empty sections with their full capacity.
    ///
    /// Growing would leave copies in memory.
    pub(super) fn empty(&self) -> [BundleKeys; 2] {
        let (rows, padded) = (TreeRows::of(&self.gate.trees()), self.padded());
        let of = |rows: u64| rows as usize * padded; // checked with the layout
        [(); 2].map(|()| BundleKeys {
            roots: Zeroizing::new(Vec::with_capacity(of(rows.root))),
            cw: Zeroizing::new(Vec::with_capacity(of(rows.cw))),
            leaf: Zeroizing::new(Vec::with_capacity(of(rows.leaf))),
            vcw: Zeroizing::new(Vec::with_capacity(of(rows.vcw))),
            last: Zeroizing::new(Vec::with_capacity(of(rows.last))),
            words: Zeroizing::new(Vec::with_capacity(of(self.gate.word_rows()))),
            bits: Zeroizing::new(Vec::with_capacity(of(self.gate.bit_rows()) / LANES as usize)),
        })
    }

    fn padded(&self) -> usize {
        self.count.next_multiple_of(LANES as usize)
    }

    /// Adds one tree to `keys`.
    ///
    /// `roots` holds the padded roots of party 0, then the padded roots of party 1.
    pub(super) fn add(
        &self,
        tree: KeyTree,
        secret: &TreeSecret,
        roots: &[Label],
        keys: &mut [BundleKeys; 2],
    ) -> Result<(), PfssError> {
        let (q, padded, rows) = (self.q, self.padded(), tree.rows());
        let count = self.count as u32; // a bundle holds less than 2^32 elements
        // Roots and thresholds go to the device.
        let device_roots = StagedSecret::upload(q, roots)?;
        let alphas = StagedSecret::upload(q, &secret.alphas)?;
        let mut cw = q.alloc::<u128>(rows.cw as usize * padded)?;
        // The sections of the tree.
        match tree {
            KeyTree::Cmp { bits } => {
                let params = CmpGenParams { key: self.prg.child, bits, count, reserved: [0; 2] };
                let mut leaf = StagedSecret::<_, u128>::alloc(q, 2 * padded)?;
                q.cmp_gen(CmpGen {
                    params: &params,
                    alphas: alphas.view(),
                    roots: device_roots.view(),
                    corrections: cw.view_mut(),
                    leaves: leaf.view_mut(),
                })?;
                let leaf = Zeroizing::new(leaf.download()?);
                for (party, keys) in keys.iter_mut().enumerate() {
                    // the leaves of a tree are common; a truth table is one party's
                    let own = if rows.root == 0 { party * padded..(party + 1) * padded } else { 0..2 * padded };
                    keys.leaf.extend_from_slice(&leaf[own]);
                }
            }
            KeyTree::Dcf { bits, words } => {
                let width = self.gate.n();
                let params = DcfGenParams { keys: self.prg, bits, count, words, width };
                let betas = StagedSecret::upload(q, &secret.betas)?;
                let mut vcw = q.alloc::<u64>(rows.vcw as usize * padded)?;
                let mut last = q.alloc::<u64>(rows.last as usize * padded)?;
                q.dcf_gen(DcfGen {
                    params: &params,
                    alphas: alphas.view(),
                    betas: betas.view(),
                    roots: device_roots.view(),
                    corrections: cw.view_mut(),
                    values: vcw.view_mut(),
                    last: last.view_mut(),
                })?;
                let (vcw, last) = (Zeroizing::new(q.download_secret(&vcw)?), Zeroizing::new(q.download_secret(&last)?));
                for keys in keys.iter_mut() {
                    keys.vcw.extend_from_slice(&vcw);
                    keys.last.extend_from_slice(&last);
                }
            }
        }
        // Correction words are common; each party has separate roots.
        let cw = Zeroizing::new(q.download_secret(&cw)?);
        for (party, keys) in keys.iter_mut().enumerate() {
            keys.cw.extend_from_slice(&cw);
            if rows.root > 0 {
                keys.roots.extend_from_slice(&roots[party * padded..][..padded]);
            }
        }
        Ok(())
    }
}
