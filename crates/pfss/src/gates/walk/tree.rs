//! Key trees, evaluated at the points of a plan, and the masked inputs.
//!
//! The points are relative to the masked inputs.

use core::ops::Range;

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, Queue, Ref,
    ops::{
        fss::{CmpEvalAll, CmpEvalWindow, DcfEvalWindow, FssOps as _},
        share::{ShareOps as _, TableSums},
    },
};
use core_types::{
    PrgKeys,
    cmp::cmp_blocks,
    params::{
        fss::{CmpAllParams, CmpWindowParams, DcfWindowParams},
        share::TableSumsParams,
    },
};
use zeroize::Zeroizing;

use super::evaluator::{Activity, Evaluator};
use crate::{
    KeyBundle, PfssError,
    secret::staging::StagedSecret,
    tree::{KeyTree, cluster::TreePoints},
};

/// The trees of a bundle during an evaluation, with the public masked inputs.
///
/// The inputs are uploaded once, for all trees and for the sums at the end.
pub(in crate::gates) struct Trees<'w, W: Evaluator> {
    evaluator: &'w W,
    bundle: &'w KeyBundle,
    x_hat: <W::Queue as Queue>::Buf<u64>,
}

impl<'w, W: Evaluator> Trees<'w, W> {
    /// Takes in the masked inputs, one per element of the bundle.
    pub(in crate::gates) fn at(evaluator: &'w W, bundle: &'w KeyBundle, x_hat: &[u64]) -> Result<Self, PfssError> {
        debug_assert_eq!(x_hat.len(), bundle.count());
        #[expect(clippy::disallowed_methods, reason = "both parties know what was opened")]
        let x_hat = evaluator.during(Activity::CopyIn, || evaluator.queue().upload(x_hat))?;
        Ok(Self { evaluator, bundle, x_hat })
    }

    /// The evaluator of the trees.
    pub(in crate::gates) fn evaluator(&self) -> &'w W {
        self.evaluator
    }

    /// Whose trees these are.
    pub(in crate::gates) fn bundle(&self) -> &'w KeyBundle {
        self.bundle
    }

    /// The masked inputs in device memory.
    pub(in crate::gates) fn x_hat(&self) -> Ref<'_, W::Queue, u64> {
        self.x_hat.view()
    }

    /// XOR shares of `1[α <= y]` at the points of comparison tree `index`.
    ///
    /// They are `[points][padded / 32]` in the order of evaluation.
    pub(in crate::gates) fn bits(
        &self,
        index: usize,
        points: &TreePoints,
    ) -> Result<StagedSecret<'w, W::Queue, u32>, PfssError> {
        let (q, tree, bundle) = (self.evaluator.queue(), self.evaluator.tree(self.bundle, index)?, self.bundle);
        debug_assert_eq!(tree.shape(), points.tree());
        let (key, bits) = (PrgKeys::from_nonce(bundle.nonce()).child, points.tree().bits());
        let (party, count) = (bundle.party().number().into(), bundle.count() as u32); // a bundle holds less than 2^32
        let (offsets, row) = (self.offsets(points)?, bundle.count().div_ceil(32));
        Ok(self.evaluator.during(Activity::Walk, || {
            let mut shares = StagedSecret::<_, u32>::alloc(q, points.offsets().len() * row)?;
            for (window, at) in points.calls() {
                let (window, points) = (*window, at.len() as u32);
                let params = CmpWindowParams { key, bits, party, count, points, window, reserved: [0; 3] };
                q.cmp_eval_window(CmpEvalWindow {
                    params: &params,
                    keys: tree.cmp_keys(),
                    x_hat: self.x_hat.view(),
                    offsets: offsets.slice(at.clone())?,
                    shares: shares.view_mut().slice(at.start * row..at.end * row)?,
                })?;
            }
            Ok::<_, BackendError>(shares)
        })?)
    }

    /// [`bits`](Self::bits) in host memory, in the order in which the points were given.
    pub(in crate::gates) fn download_bits(
        &self,
        index: usize,
        points: &TreePoints,
    ) -> Result<Zeroizing<Vec<u32>>, PfssError> {
        let shares = self.bits(index, points)?;
        self.evaluator.meanwhile()?;
        let shares = Zeroizing::new(
            self.evaluator.during(Activity::CopyOut, || self.evaluator.results().read_secret(shares.view()))?,
        );
        if points.rows().is_sorted() {
            return Ok(shares);
        }
        let row = shares.len() / points.rows().len(); // there is an unsorted row
        // the full capacity at once, since growing would leave copies behind
        let mut ordered = Zeroizing::new(Vec::with_capacity(shares.len()));
        points.rows().iter().for_each(|&at| ordered.extend_from_slice(&shares[at * row..][..row]));
        Ok(ordered)
    }

    /// Additive shares of `β 1[y < α]` at the points of payload tree `index`.
    ///
    /// They are `[points][payload words][count]` in the order of their evaluation.
    pub(in crate::gates) fn words(
        &self,
        index: usize,
        points: &TreePoints,
    ) -> Result<StagedSecret<'w, W::Queue, u64>, PfssError> {
        let (q, tree, bundle) = (self.evaluator.queue(), self.evaluator.tree(self.bundle, index)?, self.bundle);
        debug_assert_eq!(tree.shape(), points.tree());
        let KeyTree::Dcf { bits, words } = points.tree() else { unreachable!("a payload tree") };
        let (keys, width) = (PrgKeys::from_nonce(bundle.nonce()), bundle.gate().ring().bits());
        let (party, count) = (bundle.party().number().into(), bundle.count() as u32); // a bundle holds less than 2^32
        let (offsets, row) = (self.offsets(points)?, words as usize * bundle.count());
        Ok(self.evaluator.during(Activity::Walk, || {
            let mut shares = StagedSecret::<_, u64>::alloc(q, points.offsets().len() * row)?;
            for (window, at) in points.calls() {
                let (window, points) = (*window, at.len() as u32);
                let params = DcfWindowParams { keys, bits, party, count, points, words, width, window, reserved: 0 };
                q.dcf_eval_window(DcfEvalWindow {
                    params: &params,
                    keys: tree.dcf_keys(),
                    x_hat: self.x_hat.view(),
                    offsets: offsets.slice(at.clone())?,
                    shares: shares.view_mut().slice(at.start * row..at.end * row)?,
                })?;
            }
            Ok::<_, BackendError>(shares)
        })?)
    }

    #[expect(clippy::disallowed_methods, reason = "offsets are public")]
    fn offsets(&self, points: &TreePoints) -> Result<<W::Queue as Queue>::Buf<u64>, BackendError> {
        self.evaluator.during(Activity::CopyIn, || self.evaluator.queue().upload(points.offsets()))
    }
}

/// The comparison tree of a bundle at all points of its domain, `bits` bits wide.
pub(in crate::gates) struct WholeTree<'w, W: Evaluator> {
    evaluator: &'w W,
    bundle: &'w KeyBundle,
    bits: u32,
    tree: super::evaluator::TreeRef<'w, W::Queue>,
}

impl<'w, W: Evaluator> WholeTree<'w, W> {
    /// The first tree of `bundle`.
    pub(in crate::gates) fn of(evaluator: &'w W, bundle: &'w KeyBundle, bits: u32) -> Result<Self, PfssError> {
        let tree = evaluator.tree(bundle, 0)?;
        debug_assert_eq!(tree.shape(), KeyTree::Cmp { bits });
        Ok(Self { evaluator, bundle, bits, tree })
    }

    /// The table, where [`sums`](Self::sums) reads it.
    #[expect(clippy::disallowed_methods, reason = "tables are public")]
    pub(in crate::gates) fn upload(&self, table: &[u64]) -> Result<<W::Queue as Queue>::Buf<u64>, BackendError> {
        self.evaluator.during(Activity::CopyIn, || self.evaluator.queue().upload(table))
    }

    /// Sums over `table` of the shares of unit vectors, then their numbers of ones.
    ///
    /// They are of `elements`, which begin at a multiple of 32 and have the masked inputs `x_hat`.
    /// With the bit `d[i]` of the mask `i`, the first row has the sums of `d[i] table[x_hat - i]`,
    /// the second the sums of `d[i]`.
    #[expect(clippy::disallowed_methods, reason = "both parties know the masked inputs")]
    pub(in crate::gates) fn sums(
        &self,
        elements: Range<usize>,
        x_hat: &[u64],
        table: Ref<'_, W::Queue, u64>,
    ) -> Result<Zeroizing<Vec<u64>>, PfssError> {
        let (evaluator, q, bits) = (self.evaluator, self.evaluator.queue(), self.bits);
        let x_hat = evaluator.during(Activity::CopyIn, || q.upload(x_hat))?;
        let params = CmpAllParams {
            key: PrgKeys::from_nonce(self.bundle.nonce()).child,
            bits,
            party: self.bundle.party().number().into(),
            count: self.bundle.count() as u32, // a bundle holds less than 2^32 elements
            first: elements.start as u32,
            keys: elements.len() as u32,
            reserved: [0; 3],
        };
        let rows = evaluator.during(Activity::Walk, || {
            // The unit vectors, and the sums over them.
            let mut units = StagedSecret::<_, u128>::alloc(q, cmp_blocks(bits) as usize * elements.len())?;
            q.cmp_eval_all(CmpEvalAll { params: &params, keys: self.tree.cmp_keys(), units: units.view_mut() })?;
            let params = TableSumsParams { count: params.keys, bits, tables: 1 };
            let mut rows = StagedSecret::<_, u64>::alloc(q, 2 * elements.len())?;
            let (sums, ones) = rows.view_mut().split_at(elements.len())?;
            q.table_sums(TableSums {
                params: &params,
                units: units.view(),
                x: x_hat.view(),
                table: q.shorten(table),
                sums: q.shorten_mut(sums),
                ones: q.shorten_mut(ones),
            })?;
            Ok::<_, BackendError>(rows)
        })?;
        evaluator.meanwhile()?;
        Ok(Zeroizing::new(evaluator.during(Activity::CopyOut, || evaluator.results().read_secret(rows.view()))?))
    }
}
