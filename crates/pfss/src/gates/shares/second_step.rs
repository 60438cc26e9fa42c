//! The second step of a gate, which waits for an exchange and is usually just sums.

use std::sync::Arc;

use super::{opened::OpenedValues, sums::BundleSums};
use crate::KeyBundle;

/// The second step of a gate, with the shares that it needs.
pub(in crate::gates) trait SecondStep<T>: Send + Sync {
    /// The bundle whose words the sums are over.
    fn bundle(&self) -> &KeyBundle;
    /// The public words of the sums.
    fn x<'a>(&'a self, opened: &'a OpenedValues) -> &'a [u64];
    /// The sums to form of what was opened.
    fn sums(&self) -> Vec<&BundleSums>;
    /// Turns opened bits and the results of all [`sums`](Self::sums) into shares.
    fn finish(self: Box<Self>, opened: &OpenedValues, sums: Vec<Vec<u64>>) -> T;
}

/// A gate whose result is sums of its words.
pub(super) struct Summed {
    /// The keys, walked.
    pub(super) bundle: KeyBundle,
    /// The operands of the sums; if `None`, the opened words.
    pub(super) x: Option<Vec<u64>>,
    pub(super) sums: Arc<BundleSums>,
}

impl SecondStep<Vec<u64>> for Summed {
    fn bundle(&self) -> &KeyBundle {
        &self.bundle
    }

    fn x<'a>(&'a self, opened: &'a OpenedValues) -> &'a [u64] {
        self.x.as_deref().unwrap_or(opened.words())
    }

    fn sums(&self) -> Vec<&BundleSums> {
        vec![&self.sums]
    }

    fn finish(self: Box<Self>, _: &OpenedValues, sums: Vec<Vec<u64>>) -> Vec<u64> {
        sums.into_iter().next().unwrap_or_default() // exactly one sum was requested
    }
}
