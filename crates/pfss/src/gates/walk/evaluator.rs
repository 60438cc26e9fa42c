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

    /// The first trees of `bundle`, copied with lists of ops, public words and secret words.
    ///
    /// `None` if the bundle has no trees, or if they are read in place or already on the device.
    #[doc(hidden)]
    fn trees_with_points<'a>(
        &'a self,
        _bundle: &'a KeyBundle,
        _lists: &[&[u64]],
        _points: &[&[u64]],
        _words: &[u64],
    ) -> Result<Option<DeviceTrees<'a, Self::Queue>>, PfssError> {
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

/// The most trees that are copied together, with the points.
///
/// The first tree stays for its points while any other is walked, so two take no memory that one
/// would not. Of more than two (a hidden descriptor has dozens), only the first is copied early.
const MOST_TOGETHER: usize = 2;

impl<Q: FssOps> Evaluator for Q {
    type Queue = Q;

    fn queue(&self) -> &Q {
        self
    }

    fn tree<'a>(&'a self, bundle: &'a KeyBundle, index: usize) -> Result<TreeRef<'a, Q>, PfssError> {
        match HostTree::of(self, bundle, index) {
            Some(tree) => Ok(TreeRef::InPlace(tree)),
            None => Ok(TreeRef::Own(DeviceTrees::upload(self, bundle, index)?)),
        }
    }

    fn trees_with_points<'a>(
        &'a self,
        bundle: &'a KeyBundle,
        lists: &[&[u64]],
        points: &[&[u64]],
        words: &[u64],
    ) -> Result<Option<DeviceTrees<'a, Q>>, PfssError> {
        let trees = bundle.gate().trees().len();
        let first = 0..if trees <= MOST_TOGETHER { trees } else { 1 };
        match first.take_while(|&index| HostTree::of(self, bundle, index).is_none()).count() {
            0 => Ok(None),
            count => DeviceTrees::upload_with_points(self, bundle, 0..count, lists, points, words).map(Some),
        }
    }
}

/// A tree that walks read.
///
/// It lies in the bundle itself, or in device memory, owned by one evaluation or shared by several.
#[derive(Debug)]
pub enum TreeRef<'a, Q: FssOps + 'a> {
    InPlace(HostTree<'a, Q>),
    Own(DeviceTrees<'a, Q>),
    /// The tree at this place among several.
    Shared(&'a DeviceTrees<'a, Q>, usize),
}

impl<Q: FssOps> TreeRef<'_, Q> {
    /// The kind and size of the tree.
    pub(super) fn shape(&self) -> KeyTree {
        match self {
            Self::InPlace(tree) => tree.shape,
            Self::Own(trees) => trees.places[0].shape,
            Self::Shared(trees, at) => trees.places[*at].shape,
        }
    }

    /// The sections of a comparison tree.
    pub(super) fn cmp_keys(&self) -> Result<CmpKeys<'_, Q>, BackendError> {
        match self {
            Self::InPlace(tree) => Ok(tree.cmp_keys()),
            Self::Own(trees) => trees.cmp_keys(0),
            Self::Shared(trees, at) => trees.cmp_keys(*at),
        }
    }

    /// The sections of a payload tree.
    pub(super) fn dcf_keys(&self) -> Result<DcfKeys<'_, Q>, BackendError> {
        match self {
            Self::InPlace(tree) => Ok(tree.dcf_keys()),
            Self::Own(trees) => trees.dcf_keys(0),
            Self::Shared(trees, at) => trees.dcf_keys(*at),
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

/// The sections of trees in device memory.
///
/// They are in one buffer of words, which takes one copy and one clear. Many roots that have a seed
/// are expanded from it, in a buffer of their own.
///
/// Sections that a tree does not have are empty. The padding to whole words of bits makes every
/// section a multiple of 16 bytes long. Lists of ops may lie before the public ones, points between
/// those and the secret ones, and words of the bundle before these.
pub struct DeviceTrees<'q, Q: FssOps> {
    q: &'q Q,
    sections: StagedSecret<'q, Q, u32>,
    places: Vec<TreePlace<'q, Q>>,
    points: Range<usize>,
    words: Range<usize>,
}

/// The places of one tree's sections.
struct TreePlace<'q, Q: FssOps> {
    shape: KeyTree,
    cw: Range<usize>,
    vcw: Range<usize>,
    last: Range<usize>,
    leaf: Range<usize>,
    roots: Range<usize>,
    /// The roots, if they are not among the sections.
    expanded: Option<StagedSecret<'q, Q, u64>>,
}

impl<'q, Q: FssOps> DeviceTrees<'q, Q> {
    /// Copies tree `index` of `bundle` alone to the device, in order on `q`.
    pub(crate) fn upload(q: &'q Q, bundle: &KeyBundle, index: usize) -> Result<Self, PfssError> {
        Self::upload_with_points(q, bundle, index..index + 1, &[], &[], &[])
    }

    /// Copies `trees` of `bundle`, with lists of ops, public and secret words in the same copy.
    ///
    /// Each list and the secret words are a multiple of 16 bytes long.
    fn upload_with_points(
        q: &'q Q,
        bundle: &KeyBundle,
        trees: Range<usize>,
        lists: &[&[u64]],
        points: &[&[u64]],
        secret: &[u64],
    ) -> Result<Self, PfssError> {
        let keys: Vec<TreeKeys<'_>> = trees.clone().map(|index| bundle.tree(index)).collect();
        let expand = |(index, keys): (usize, &TreeKeys<'_>)| {
            let bytes = size_of_val(keys.roots);
            let Some(rows) = bundle.seeded_rows(q, bytes) else { return Ok(None) };
            let mut expanded = StagedSecret::<_, u64>::alloc(q, bytes / size_of::<u64>())?;
            rows.roots(q, index, expanded.view_mut())?;
            Ok::<_, PfssError>(Some(expanded))
        };
        let expanded = trees.zip(&keys).map(expand).collect::<Result<Vec<_>, _>>()?;
        // Correction words are common to both parties; leaves that are truth tables, and roots, are not.
        let common = keys.iter().map(|keys| [as_words(keys.cw), as_words(keys.vcw), as_words(keys.last)]);
        let own = keys.iter().zip(&expanded).map(|(keys, expanded)| {
            let roots = if expanded.is_some() { &[] } else { keys.roots };
            [as_words(keys.leaf), as_words(roots)]
        });
        let (common, own) = (common.collect::<Vec<[&[u32]; 3]>>(), own.collect::<Vec<[&[u32]; 2]>>());
        // Points are padded to 16 bytes.
        let (words, padding) = (points.iter().map(|points| points.len()).sum::<usize>(), [0u64]);
        let points = points.iter().copied().chain([&padding[..words % 2]]).map(as_words);
        let public: Vec<&[u32]> = common.as_flattened().iter().copied().chain(points).collect();
        let secret: Vec<&[u32]> = [as_words(secret)].iter().chain(own.as_flattened()).copied().collect();
        let lists: Vec<&[u32]> = lists.iter().copied().map(as_words).collect();
        // Truth tables have no roots. The op expects some, which it does not read.
        let is_rootless = keys.iter().any(|keys| keys.roots.is_empty());
        let unread = if is_rootless { words_of::<Label>() * bundle.padded() } else { 0 };
        let sections = StagedSecret::upload_with_lists(q, &lists, [&public[..], &secret[..]], unread)?;

        // The places of the sections, one after the other.
        let mut end = lists.iter().map(|list| list.len()).sum::<usize>();
        let mut next = |len: usize| {
            let start = end;
            end += len;
            start..end
        };
        let common: Vec<_> = common.iter().map(|parts| parts.map(|part| next(part.len()))).collect();
        let (points, words) = (next(words_of::<u64>() * words.next_multiple_of(2)), next(secret[0].len()));
        let own: Vec<_> = own.iter().map(|parts| parts.map(|part| next(part.len()))).collect();
        let mut places = Vec::with_capacity(keys.len());
        for (((keys, expanded), common), own) in keys.iter().zip(expanded).zip(common).zip(own) {
            let ([cw, vcw, last], [leaf, roots]) = (common, own);
            let roots = if keys.roots.is_empty() { end..end + unread } else { roots };
            places.push(TreePlace { shape: keys.shape, cw, vcw, last, leaf, roots, expanded });
        }
        Ok(Self { q, sections, places, points, words })
    }

    /// Number of trees.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The words `range` of the lists that were copied with the trees, as words of 32 bits.
    pub(super) fn list(&self, range: Range<usize>) -> Result<Ref<'_, Q, u32>, BackendError> {
        self.sections.slice(words_of::<u64>() * range.start..words_of::<u64>() * range.end)
    }

    /// The public words `range` that were copied with the trees.
    pub(super) fn points(&self, range: Range<usize>) -> Result<Ref<'_, Q, u64>, BackendError> {
        let [start, end] = [range.start, range.end].map(|at| self.points.start + words_of::<u64>() * at);
        self.section(&(start..end))
    }

    /// The secret words copied with the trees, if any.
    pub(super) fn words(&self) -> Result<Option<Ref<'_, Q, u64>>, BackendError> {
        if self.words.is_empty() { Ok(None) } else { self.section(&self.words).map(Some) }
    }

    /// The sections of the comparison tree at this place.
    fn cmp_keys(&self, at: usize) -> Result<CmpKeys<'_, Q>, BackendError> {
        let TreePlace { cw, leaf, .. } = &self.places[at];
        Ok(CmpKeys { roots: self.roots(at)?, corrections: self.section(cw)?, leaves: self.section(leaf)? })
    }

    /// The sections of the payload tree at this place.
    fn dcf_keys(&self, at: usize) -> Result<DcfKeys<'_, Q>, BackendError> {
        let TreePlace { cw, vcw, last, .. } = &self.places[at];
        Ok(DcfKeys {
            roots: self.roots(at)?,
            corrections: self.section(cw)?,
            values: self.section(vcw)?,
            last: self.section(last)?,
        })
    }

    fn roots(&self, at: usize) -> Result<Ref<'_, Q, Label>, BackendError> {
        let TreePlace { expanded, roots, .. } = &self.places[at];
        match expanded {
            Some(roots) => self.q.elements::<Label>(self.q.words::<u64>(roots.view())),
            None => self.section(roots),
        }
    }

    fn section<'s, T: PlainElement>(&'s self, words: &Range<usize>) -> Result<Ref<'s, Q, T>, BackendError>
    where
        Q::Buf<T>: 's,
    {
        self.q.elements(self.sections.slice(words.clone())?)
    }
}

impl<Q: FssOps> fmt::Debug for DeviceTrees<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shapes: Vec<KeyTree> = self.places.iter().map(|place| place.shape).collect();
        f.debug_struct("DeviceTrees").field("shapes", &shapes).finish_non_exhaustive()
    }
}
