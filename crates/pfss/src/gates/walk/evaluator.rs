//! Evaluation of key trees: on a single queue, or in the pipeline of a batch.

use core::fmt;

use backend_api::{
    Buffer as _, Ref,
    ops::fss::{CmpKeys, DcfKeys, FssOps},
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
    pub(super) fn cmp_keys(&self) -> CmpKeys<'_, Q> {
        match self {
            Self::InPlace(tree) => tree.cmp_keys(),
            Self::Own(tree) => tree.cmp_keys(),
            Self::Shared(tree) => tree.cmp_keys(),
        }
    }

    /// The sections of a payload tree.
    pub(super) fn dcf_keys(&self) -> DcfKeys<'_, Q> {
        match self {
            Self::InPlace(tree) => tree.dcf_keys(),
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

/// One tree's sections in device memory; those that it does not have are empty.
pub struct DeviceTree<'q, Q: FssOps> {
    shape: KeyTree,
    roots: StagedSecret<'q, Q, Label>,
    cw: Q::Buf<u128>,
    leaf: StagedSecret<'q, Q, u128>,
    vcw: Q::Buf<u64>,
    last: Q::Buf<u64>,
}

impl<'q, Q: FssOps> DeviceTree<'q, Q> {
    /// Copies tree `index` of `bundle` to the device, in order on `q`.
    pub(crate) fn upload(q: &'q Q, bundle: &KeyBundle, index: usize) -> Result<Self, PfssError> {
        let tree = bundle.tree(index);
        // Correction words are common to both parties; roots, and leaves that are truth tables, are not.
        let roots = match tree.roots {
            [] => StagedSecret::alloc(q, bundle.padded())?, // not read for truth tables
            roots => StagedSecret::upload(q, roots)?,
        };
        Ok(Self {
            shape: tree.shape,
            roots,
            cw: q.upload_secret(tree.cw)?,
            leaf: StagedSecret::upload(q, tree.leaf)?,
            vcw: q.upload_secret(tree.vcw)?,
            last: q.upload_secret(tree.last)?,
        })
    }

    fn cmp_keys(&self) -> CmpKeys<'_, Q> {
        CmpKeys { roots: self.roots.view(), corrections: self.cw.view(), leaves: self.leaf.view() }
    }

    fn dcf_keys(&self) -> DcfKeys<'_, Q> {
        DcfKeys {
            roots: self.roots.view(),
            corrections: self.cw.view(),
            values: self.vcw.view(),
            last: self.last.view(),
        }
    }
}

impl<Q: FssOps> fmt::Debug for DeviceTree<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceTree").field("shape", &self.shape).finish_non_exhaustive()
    }
}
