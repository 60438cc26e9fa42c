//! Evaluation of key trees: on a single queue, or in the pipeline of a batch.

use core::{fmt, ops::Deref};

use backend_api::{
    Buffer as _,
    ops::fss::{CmpKeys, DcfKeys, FssOps},
};
use core_types::Label;

use crate::{KeyBundle, PfssError, staging::StagedSecret, tree::KeyTree};

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

    /// Tree `index` of `bundle` in device memory.
    #[doc(hidden)]
    fn tree(&self, bundle: &KeyBundle, index: usize) -> Result<TreeRef<'_, Self::Queue>, PfssError>;

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

    fn tree(&self, bundle: &KeyBundle, index: usize) -> Result<TreeRef<'_, Q>, PfssError> {
        Ok(TreeRef::Own(DeviceTree::upload(self, bundle, index)?))
    }
}

/// A tree in device memory, owned by one evaluation or shared by several.
#[derive(Debug)]
pub enum TreeRef<'a, Q: FssOps> {
    Own(DeviceTree<'a, Q>),
    Shared(&'a DeviceTree<'a, Q>),
}

impl<'a, Q: FssOps> Deref for TreeRef<'a, Q> {
    type Target = DeviceTree<'a, Q>;

    fn deref(&self) -> &DeviceTree<'a, Q> {
        match self {
            Self::Own(tree) => tree,
            Self::Shared(tree) => tree,
        }
    }
}

/// One tree's sections in device memory; those that it does not have are empty.
pub struct DeviceTree<'q, Q: FssOps> {
    pub(super) shape: KeyTree,
    pub(super) roots: StagedSecret<'q, Q, Label>,
    pub(super) cw: Q::Buf<u128>,
    pub(super) leaf: StagedSecret<'q, Q, u128>,
    pub(super) vcw: Q::Buf<u64>,
    pub(super) last: Q::Buf<u64>,
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

    /// The sections of a comparison tree.
    pub(super) fn cmp_keys(&self) -> CmpKeys<'_, Q> {
        CmpKeys { roots: self.roots.view(), corrections: self.cw.view(), leaves: self.leaf.view() }
    }

    /// The sections of a payload tree.
    pub(super) fn dcf_keys(&self) -> DcfKeys<'_, Q> {
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
