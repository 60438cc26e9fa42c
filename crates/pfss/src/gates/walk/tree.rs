//! Key trees, evaluated at the points of a plan, and the masked inputs.
//!
//! The points are relative to the masked inputs.

use core::ops::Range;

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Queue, Ref,
    ops::{
        fss::{CmpEvalAll, CmpEvalWindow, DcfEvalWindow, FssOps},
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

use super::evaluator::{Activity, DeviceTrees, Evaluator, TreeRef};
use crate::{
    KeyBundle, PfssError,
    secret::{kept, staging::StagedSecret},
    tree::{KeyTree, cluster::TreePoints},
};

/// The trees of a bundle during an evaluation, with the public masked inputs.
///
/// The inputs are uploaded once, for all trees and for the sums at the end, together with the
/// offsets of the points of every tree, the lists of the sums, and what these are over.
pub(in crate::gates) struct Trees<'w, W: Evaluator> {
    evaluator: &'w W,
    bundle: &'w KeyBundle,
    /// The masked inputs, and then the offsets.
    points: Points<'w, W::Queue>,
    /// The place of each tree's offsets.
    offsets: Vec<Range<usize>>,
    /// The lists of sums that were copied, each with its place before the points.
    lists: Vec<(&'w [u64], Range<usize>)>,
}

impl<'w, W: Evaluator> Trees<'w, W> {
    /// Takes in the masked inputs, one per element of the bundle, and the points of each tree.
    ///
    /// `lists` has the lists of the sums that follow, longer terms first. `over_words` is set if
    /// some sums are over the bundle's words. A queue that reads the host's memory copies neither.
    pub(in crate::gates) fn at<'p>(
        evaluator: &'w W,
        bundle: &'w KeyBundle,
        x_hat: &[u64],
        points: impl IntoIterator<Item = &'p TreePoints>,
        lists: impl IntoIterator<Item = &'w [u64]>,
        over_words: bool,
    ) -> Result<Self, PfssError> {
        debug_assert_eq!(x_hat.len(), bundle.count());
        let (mut parts, mut offsets, mut end) = (vec![x_hat], Vec::new(), x_hat.len());
        for points in points {
            parts.push(points.offsets());
            offsets.push(end..end + points.offsets().len());
            end += points.offsets().len();
        }
        let (q, words) = (evaluator.queue(), &bundle.keys.words[..]);
        let is_copied = q.host_view(x_hat).is_none();
        let copied: Vec<&[u64]> = lists.into_iter().filter(|_| is_copied).collect();
        // A device expands many words from their seed.
        let words_are_copied = is_copied && over_words && bundle.seeded_rows(q, size_of_val(words)).is_none();
        let words = if words_are_copied { words } else { &[] };
        let points = Points::upload(evaluator, bundle, [&copied[..], &parts[..]], words)?;
        let mut end = 0;
        let place = |list: &'w [u64]| {
            let start = end;
            end += list.len();
            (list, start..end)
        };
        let lists = copied.into_iter().map(place).collect();
        Ok(Self { evaluator, bundle, points, offsets, lists })
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
    pub(in crate::gates) fn x_hat(&self) -> Result<Ref<'_, W::Queue, u64>, BackendError> {
        self.points.slice(0..self.bundle.count())
    }

    /// Where `list` was copied, if it is one of the lists of these trees.
    pub(in crate::gates) fn placed(&self, list: &[u64]) -> Result<Option<Ref<'_, W::Queue, u32>>, BackendError> {
        let known = self.lists.iter().find(|(known, _)| core::ptr::eq(*known, list));
        known.map(|(_, place)| self.points.list(self.evaluator.queue(), place.clone())).transpose()
    }

    /// The bundle's words, if they were copied with the masked inputs.
    pub(in crate::gates) fn bundle_words(&self) -> Result<Option<Ref<'_, W::Queue, u64>>, BackendError> {
        match &self.points {
            Points::Alone(..) => Ok(None),
            Points::WithTrees(trees) => trees.words(),
        }
    }

    /// The offsets of the points of tree `index` in device memory.
    fn offsets(&self, index: usize) -> Result<Ref<'_, W::Queue, u64>, BackendError> {
        self.points.slice(self.offsets[index].clone())
    }

    /// Writes XOR shares of `1[α <= y]` at the points of comparison tree `index`.
    ///
    /// They are `[points][padded / 32]` in the order of evaluation, the first elements of `shares`.
    pub(super) fn bits(
        &self,
        index: usize,
        points: &TreePoints,
        shares: &mut StagedSecret<'_, W::Queue, u32>,
    ) -> Result<(), PfssError> {
        let (q, tree, bundle) =
            (self.evaluator.queue(), self.points.tree(self.evaluator, self.bundle, index)?, self.bundle);
        debug_assert_eq!(tree.shape(), points.tree());
        let (key, bits) = (PrgKeys::from_nonce(bundle.nonce()).child, points.tree().bits());
        let (party, count) = (bundle.party().number().into(), bundle.count() as u32); // a bundle holds less than 2^32
        let row = bundle.count().div_ceil(32);
        Ok(self.evaluator.during(Activity::Walk, || {
            for (window, at) in points.calls() {
                let (window, points) = (*window, at.len() as u32);
                let params = CmpWindowParams { key, bits, party, count, points, window, reserved: [0; 3] };
                q.cmp_eval_window(CmpEvalWindow {
                    params: &params,
                    keys: tree.cmp_keys()?,
                    x_hat: self.x_hat()?,
                    offsets: self.offsets(index)?.slice(at.clone())?,
                    shares: shares.slice_mut(at.start * row..at.end * row)?,
                })?;
            }
            Ok::<_, BackendError>(())
        })?)
    }

    /// [`bits`](Self::bits) in host memory, in the order in which the points were given.
    pub(in crate::gates) fn download_bits(
        &self,
        index: usize,
        points: &TreePoints,
    ) -> Result<Zeroizing<Vec<u32>>, PfssError> {
        let len = points.offsets().len() * self.bundle.count().div_ceil(32);
        let mut shares = StagedSecret::<_, u32>::alloc(self.evaluator.queue(), len)?;
        self.bits(index, points, &mut shares)?;
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
    /// They are `[points][payload words][count]` in the order of their evaluation, in the ring of
    /// the gate's output.
    pub(in crate::gates) fn words(
        &self,
        index: usize,
        points: &TreePoints,
    ) -> Result<StagedSecret<'w, W::Queue, u64>, PfssError> {
        let (q, tree, bundle) =
            (self.evaluator.queue(), self.points.tree(self.evaluator, self.bundle, index)?, self.bundle);
        debug_assert_eq!(tree.shape(), points.tree());
        let KeyTree::Dcf { bits, words } = points.tree() else { unreachable!("a payload tree") };
        let (keys, width) = (PrgKeys::from_nonce(bundle.nonce()), bundle.gate().out_ring().bits());
        let (party, count) = (bundle.party().number().into(), bundle.count() as u32); // a bundle holds less than 2^32
        let row = words as usize * bundle.count();
        Ok(self.evaluator.during(Activity::Walk, || {
            let mut shares = StagedSecret::<_, u64>::alloc(q, points.offsets().len() * row)?;
            for (window, at) in points.calls() {
                let (window, points) = (*window, at.len() as u32);
                let params = DcfWindowParams { keys, bits, party, count, points, words, width, window, reserved: 0 };
                q.dcf_eval_window(DcfEvalWindow {
                    params: &params,
                    keys: tree.dcf_keys()?,
                    x_hat: self.x_hat()?,
                    offsets: self.offsets(index)?.slice(at.clone())?,
                    shares: shares.view_mut().slice(at.start * row..at.end * row)?,
                })?;
            }
            Ok::<_, BackendError>(shares)
        })?)
    }
}

/// Public words in device memory, copied alone or together with the first trees.
enum Points<'w, Q: FssOps> {
    /// Behind this number of words of lists.
    Alone(Q::Buf<u64>, usize),
    WithTrees(DeviceTrees<'w, Q>),
}

impl<'w, Q: FssOps> Points<'w, Q> {
    /// Copies lists of ops and then `parts`, one after the other.
    ///
    /// The secret `words` are copied only with the first trees.
    fn upload<W: Evaluator<Queue = Q>>(
        evaluator: &'w W,
        bundle: &'w KeyBundle,
        [lists, parts]: [&[&[u64]]; 2],
        words: &[u64],
    ) -> Result<Self, PfssError> {
        evaluator.during(Activity::CopyIn, || {
            if let Some(trees) = evaluator.trees_with_points(bundle, lists, parts, words)? {
                return Ok(Self::WithTrees(trees));
            }
            let q = evaluator.queue();
            let [first, len] = [lists, parts].map(|parts| parts.iter().map(|part| part.len()).sum::<usize>());
            let mut buffer = kept::alloc::<_, u64>(q, first + len)?;
            q.write_with_lists(lists, parts, buffer.view_mut())?;
            Ok(Self::Alone(buffer, first))
        })
    }

    /// The words `range` of the lists, as words of 32 bits.
    fn list(&self, q: &Q, range: Range<usize>) -> Result<Ref<'_, Q, u32>, BackendError> {
        match self {
            Self::Alone(buffer, _) => Ok(q.words::<u64>(buffer.slice(range)?)),
            Self::WithTrees(trees) => trees.list(range),
        }
    }

    /// The words `range`.
    fn slice(&self, range: Range<usize>) -> Result<Ref<'_, Q, u64>, BackendError> {
        match self {
            Self::Alone(buffer, first) => buffer.slice(first + range.start..first + range.end),
            Self::WithTrees(trees) => trees.points(range),
        }
    }

    /// Tree `index` of `bundle`, shared if it was copied with the points.
    fn tree<'a, W: Evaluator<Queue = Q>>(
        &'a self,
        evaluator: &'a W,
        bundle: &'a KeyBundle,
        index: usize,
    ) -> Result<TreeRef<'a, Q>, PfssError> {
        match self {
            Self::WithTrees(trees) if index < trees.len() => Ok(TreeRef::Shared(trees, index)),
            _ => evaluator.tree(bundle, index),
        }
    }
}

/// The comparison tree of a bundle at all points of its domain, `bits` bits wide.
pub(in crate::gates) struct WholeTree<'w, W: Evaluator> {
    evaluator: &'w W,
    bundle: &'w KeyBundle,
    bits: u32,
    /// The masked inputs, and then the table.
    points: Points<'w, W::Queue>,
    /// Number of masked inputs and entries of the table.
    words: usize,
}

impl<'w, W: Evaluator> WholeTree<'w, W> {
    /// The first tree of `bundle`, with the masked input of each element and the table.
    pub(in crate::gates) fn of(
        evaluator: &'w W,
        bundle: &'w KeyBundle,
        bits: u32,
        [x_hat, table]: [&[u64]; 2],
    ) -> Result<Self, PfssError> {
        debug_assert_eq!(x_hat.len(), bundle.count());
        let points = Points::upload(evaluator, bundle, [&[], &[x_hat, table][..]], &[])?;
        Ok(Self { evaluator, bundle, bits, points, words: x_hat.len() + table.len() })
    }

    /// Sums over the table of the shares of unit vectors, then their numbers of ones.
    ///
    /// They are of `elements`, which begin at a multiple of 32. With the bit `d[i]` of the mask
    /// `i`, the first row has the sums of `d[i] table[x_hat - i]`, the second the sums of `d[i]`.
    pub(in crate::gates) fn sums(&self, elements: Range<usize>) -> Result<Zeroizing<Vec<u64>>, PfssError> {
        let (evaluator, q, bits) = (self.evaluator, self.evaluator.queue(), self.bits);
        let tree = self.points.tree(evaluator, self.bundle, 0)?;
        debug_assert_eq!(tree.shape(), KeyTree::Cmp { bits });
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
            q.cmp_eval_all(CmpEvalAll { params: &params, keys: tree.cmp_keys()?, units: units.view_mut() })?;
            let params = TableSumsParams { count: params.keys, bits, tables: 1 };
            let mut rows = StagedSecret::<_, u64>::alloc(q, 2 * elements.len())?;
            let (sums, ones) = rows.view_mut().split_at(elements.len())?;
            q.table_sums(TableSums {
                params: &params,
                units: units.view(),
                x: self.points.slice(elements.clone())?,
                table: self.points.slice(self.bundle.count()..self.words)?,
                sums: q.shorten_mut(sums),
                ones: q.shorten_mut(ones),
            })?;
            Ok::<_, BackendError>(rows)
        })?;
        evaluator.meanwhile()?;
        Ok(Zeroizing::new(evaluator.during(Activity::CopyOut, || evaluator.results().read_secret(rows.view()))?))
    }
}
