//! Evaluation of key trees: on a single queue, or in the pipeline of a batch.

use core::{fmt, ops::Range};

use backend_api::{
    BackendError, Buffer as _, PlainElement, Ref, as_words,
    ops::fss::{CmpKeys, DcfKeys, FssOps},
    words_of,
};
use core_types::Label;

use crate::{KeyBundle, PfssError, bundle::TreeKeys, secret::staging::StagedSecret, tree::KeyTree};

/// The host's current activity for a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Nothing that a batch counts.
    Outside,
    CopyIn,
    Walk,
    CopyOut,
    Exchange,
    /// A flush, outside the other stages.
    Idle,
}

/// Evaluates the key trees of gates.
///
/// It is a queue, to which keys are uploaded as a gate needs them, or the pipeline of a
/// [`SuperBatch`](crate::batch::SuperBatch), whose keys are in device memory already.
///
/// Every queue with [`FssOps`] is one; the methods are not part of the interface.
pub trait Evaluator {
    /// The queue of the walks.
    type Queue: FssOps;

    /// Where walks run and points go.
    #[doc(hidden)]
    fn queue(&self) -> &Self::Queue;

    /// Where results come back.
    #[doc(hidden)]
    fn results(&self) -> &Self::Queue {
        self.queue()
    }

    /// Tree `index` of `bundle`, where the queue reads it.
    #[doc(hidden)]
    fn tree<'a>(&'a self, bundle: &'a KeyBundle, index: usize) -> Result<TreeRef<'a, Self::Queue>, PfssError>;

    /// The first tree of `bundle`, copied with lists of ops, public words and secret words.
    ///
    /// `None` if there is no such tree, if it is read in place, or if it is on the device already.
    #[doc(hidden)]
    fn tree_with_points<'a>(
        &'a self,
        _bundle: &'a KeyBundle,
        _lists: &[&[u64]],
        _points: &[&[u64]],
        _words: &[u64],
    ) -> Result<Option<DeviceTree<'a, Self::Queue>>, PfssError> {
        Ok(None)
    }

    /// Runs `work`, counted as `stage`.
    #[doc(hidden)]
    fn during<T>(&self, _stage: Activity, work: impl FnOnce() -> T) -> T {
        work()
    }

    /// Work for the host while the device walks.
    #[doc(hidden)]
    fn meanwhile(&self) -> Result<(), PfssError> {
        Ok(())
    }
}

impl<Q: FssOps> Evaluator for Q {
    type Queue = Q;

    fn queue(&self) -> &Q {
        self
    }

    fn tree<'a>(&'a self, bundle: &'a KeyBundle, index: usize) -> Result<TreeRef<'a, Q>, PfssError> {
        match HostTree::of(self, bundle, index) {
            Some(tree) => Ok(TreeRef::InPlace(tree)),
            None => Ok(TreeRef::Own(DeviceTree::upload(self, bundle, index)?)),
        }
    }

    fn tree_with_points<'a>(
        &'a self,
        bundle: &'a KeyBundle,
        lists: &[&[u64]],
        points: &[&[u64]],
        words: &[u64],
    ) -> Result<Option<DeviceTree<'a, Q>>, PfssError> {
        if bundle.gate().trees().is_empty() || HostTree::of(self, bundle, 0).is_some() {
            return Ok(None);
        }
        DeviceTree::upload_with_points(self, bundle, 0, lists, points, words).map(Some)
    }
}

/// A tree that walks read.
///
/// It lies in the bundle itself, or in device memory, owned by one evaluation or shared by several.
#[derive(Debug)]
pub enum TreeRef<'a, Q: FssOps + 'a> {
    InPlace(HostTree<'a, Q>),
    Own(DeviceTree<'a, Q>),
    Shared(&'a DeviceTree<'a, Q>),
}

impl<Q: FssOps> TreeRef<'_, Q> {
    /// The kind and size of the tree.
    pub(super) fn shape(&self) -> KeyTree {
        match self {
            Self::InPlace(tree) => tree.shape,
            Self::Own(tree) => tree.shape,
            Self::Shared(tree) => tree.shape,
        }
    }

    /// The sections of a comparison tree.
    pub(super) fn cmp_keys(&self) -> Result<CmpKeys<'_, Q>, BackendError> {
        match self {
            Self::InPlace(tree) => Ok(tree.cmp_keys()),
            Self::Own(tree) => tree.cmp_keys(),
            Self::Shared(tree) => tree.cmp_keys(),
        }
    }

    /// The sections of a payload tree.
    pub(super) fn dcf_keys(&self) -> Result<DcfKeys<'_, Q>, BackendError> {
        match self {
            Self::InPlace(tree) => Ok(tree.dcf_keys()),
            Self::Own(tree) => tree.dcf_keys(),
            Self::Shared(tree) => tree.dcf_keys(),
        }
    }
}

/// One tree's sections in the bundle, for a queue that reads the host's memory.
///
/// Large keys are then neither copied nor wiped a second time.
pub struct HostTree<'a, Q: FssOps + 'a> {
    shape: KeyTree,
    roots: Ref<'a, Q, Label>,
    cw: Ref<'a, Q, u128>,
    leaf: Ref<'a, Q, u128>,
    vcw: Ref<'a, Q, u64>,
    last: Ref<'a, Q, u64>,
}

impl<'a, Q: FssOps + 'a> HostTree<'a, Q> {
    /// Tree `index` of `bundle`.
    ///
    /// `None` if the queue has separate memory, and for truth tables: they have no roots, which the
    /// op expects of every tree.
    pub(crate) fn of(q: &Q, bundle: &'a KeyBundle, index: usize) -> Option<Self> {
        let TreeKeys { shape, roots, cw, leaf, vcw, last } = bundle.tree(index);
        if shape.rows().root == 0 {
            return None;
        }
        Some(Self {
            shape,
            roots: q.host_view(roots)?,
            cw: q.host_view(cw)?,
            leaf: q.host_view(leaf)?,
            vcw: q.host_view(vcw)?,
            last: q.host_view(last)?,
        })
    }

    fn cmp_keys(&self) -> CmpKeys<'_, Q> {
        CmpKeys {
            roots: <Q::Buf<Label>>::shorten(self.roots),
            corrections: <Q::Buf<u128>>::shorten(self.cw),
            leaves: <Q::Buf<u128>>::shorten(self.leaf),
        }
    }

    fn dcf_keys(&self) -> DcfKeys<'_, Q> {
        DcfKeys {
            roots: <Q::Buf<Label>>::shorten(self.roots),
            corrections: <Q::Buf<u128>>::shorten(self.cw),
            values: <Q::Buf<u64>>::shorten(self.vcw),
            last: <Q::Buf<u64>>::shorten(self.last),
        }
    }
}

impl<'a, Q: FssOps + 'a> fmt::Debug for HostTree<'a, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostTree").field("shape", &self.shape).finish_non_exhaustive()
    }
}

/// One tree's sections in device memory.
///
/// They are in one buffer of words, which takes one copy and one clear. Many roots that have a seed
/// are expanded from it, in a buffer of their own.
///
/// Sections that the tree does not have are empty. The padding to whole words of bits makes every
/// section a multiple of 16 bytes long. Lists of ops may lie before the public ones, points between
/// those and the secret ones, and words of the bundle among these.
pub struct DeviceTree<'q, Q: FssOps> {
    q: &'q Q,
    shape: KeyTree,
    sections: StagedSecret<'q, Q, u32>,
    cw: Range<usize>,
    vcw: Range<usize>,
    last: Range<usize>,
    points: Range<usize>,
    leaf: Range<usize>,
    words: Range<usize>,
    roots: Range<usize>,
    /// The roots, if they are not among the sections.
    expanded: Option<StagedSecret<'q, Q, u64>>,
}

impl<'q, Q: FssOps> DeviceTree<'q, Q> {
    /// Copies tree `index` of `bundle` to the device, in order on `q`.
    pub(crate) fn upload(q: &'q Q, bundle: &KeyBundle, index: usize) -> Result<Self, PfssError> {
        Self::upload_with_points(q, bundle, index, &[], &[], &[])
    }

    /// [`upload`](Self::upload) with lists of ops, public and secret words in the same copy.
    ///
    /// Each list and the secret words are a multiple of 16 bytes long.
    fn upload_with_points(
        q: &'q Q,
        bundle: &KeyBundle,
        index: usize,
        lists: &[&[u64]],
        points: &[&[u64]],
        secret: &[u64],
    ) -> Result<Self, PfssError> {
        let TreeKeys { shape, roots, cw, leaf, vcw, last } = bundle.tree(index);
        // Truth tables have no roots. The op expects some, which it does not read.
        let unread = if roots.is_empty() { words_of::<Label>() * bundle.padded() } else { 0 };
        let expanded = match bundle.seeded_rows(q, size_of_val(roots)) {
            Some(rows) => {
                let mut expanded = StagedSecret::<_, u64>::alloc(q, size_of_val(roots) / size_of::<u64>())?;
                rows.roots(q, index, expanded.view_mut())?;
                Some(expanded)
            }
            None => None,
        };
        let roots: &[Label] = if expanded.is_some() { &[] } else { roots };
        // Correction words are common to both parties; leaves that are truth tables, and roots, are not.
        let common = [as_words(cw), as_words(vcw), as_words(last)];
        let own = [as_words(leaf), as_words(secret), as_words(roots)];
        // Points are padded to 16 bytes.
        let (words, padding) = (points.iter().map(|points| points.len()).sum::<usize>(), [0u64]);
        let points = points.iter().copied().chain([&padding[..words % 2]]).map(as_words);
        let public: Vec<&[u32]> = common.into_iter().chain(points).collect();
        let lists: Vec<&[u32]> = lists.iter().copied().map(as_words).collect();
        let sections = StagedSecret::upload_with_lists(q, &lists, [&public[..], &own[..]], unread)?;
        // The places of the sections, one after the other.
        let mut end = lists.iter().map(|list| list.len()).sum::<usize>();
        let mut next = |len: usize| {
            let start = end;
            end += len;
            start..end
        };
        let [cw, vcw, last] = common.map(|section| next(section.len()));
        let points = next(words_of::<u64>() * words.next_multiple_of(2));
        let [leaf, words, roots] = own.map(|section| next(section.len()));
        let roots = roots.start..roots.end + unread;
        Ok(Self { q, shape, sections, cw, vcw, last, points, leaf, words, roots, expanded })
    }

    /// The words `range` of the lists that were copied with the tree, as words of 32 bits.
    pub(super) fn list(&self, range: Range<usize>) -> Result<Ref<'_, Q, u32>, BackendError> {
        self.sections.slice(words_of::<u64>() * range.start..words_of::<u64>() * range.end)
    }

    /// The public words `range` that were copied with the tree.
    pub(super) fn points(&self, range: Range<usize>) -> Result<Ref<'_, Q, u64>, BackendError> {
        let [start, end] = [range.start, range.end].map(|at| self.points.start + words_of::<u64>() * at);
        self.section(&(start..end))
    }

    /// The secret words copied with the tree, if any.
    pub(super) fn words(&self) -> Result<Option<Ref<'_, Q, u64>>, BackendError> {
        if self.words.is_empty() { Ok(None) } else { self.section(&self.words).map(Some) }
    }

    fn cmp_keys(&self) -> Result<CmpKeys<'_, Q>, BackendError> {
        Ok(CmpKeys { roots: self.roots()?, corrections: self.section(&self.cw)?, leaves: self.section(&self.leaf)? })
    }

    fn dcf_keys(&self) -> Result<DcfKeys<'_, Q>, BackendError> {
        Ok(DcfKeys {
            roots: self.roots()?,
            corrections: self.section(&self.cw)?,
            values: self.section(&self.vcw)?,
            last: self.section(&self.last)?,
        })
    }

    fn roots(&self) -> Result<Ref<'_, Q, Label>, BackendError> {
        match &self.expanded {
            Some(roots) => self.q.elements::<Label>(self.q.words::<u64>(roots.view())),
            None => self.section(&self.roots),
        }
    }

    fn section<'s, T: PlainElement>(&'s self, words: &Range<usize>) -> Result<Ref<'s, Q, T>, BackendError>
    where
        Q::Buf<T>: 's,
    {
        self.q.elements(self.sections.slice(words.clone())?)
    }
}

impl<Q: FssOps> fmt::Debug for DeviceTree<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceTree").field("shape", &self.shape).finish_non_exhaustive()
    }
}
