//! Ops with one view an element short, which a queue must refuse.

use std::{collections::BTreeSet, sync::PoisonError};

use backend_api::{
    BackendError, BufferMut, BufferRef, Element,
    ops::{LendViews, MapViews, Op},
};
use runtime::{AnyMut, AnyQueue, AnyRef};

use super::{Conditioned, How};

impl Conditioned {
    /// The views that were refused one element short, each after its op.
    #[must_use]
    pub fn refused(&self) -> BTreeSet<(&'static str, &'static str)> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The views of `op` to shorten: the index among the given views, and the name.
    ///
    /// These are views with an element to lose that were not refused yet.
    pub(super) fn to_shorten<O: Op>(&self, op: &O) -> Vec<(usize, &'static str)> {
        if self.how != How::AsItIs {
            return Vec::new();
        }
        let mut given = Vec::new();
        op.each_view(&mut |view| given.extend(view.len.map(|len| (view.name, len))));
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let views = given.into_iter().enumerate().map(|(at, (name, len))| (at, name, len));
        views
            .filter(|&(_, name, len)| len > 0 && !refused.contains(&(O::NAME, name)))
            .map(|(at, name, _)| (at, name))
            .collect()
    }

    /// Notes the outcome of `op` with `view` one element short, which must be a refusal by name.
    pub(crate) fn note_short(&self, op: &'static str, view: &'static str, outcome: Result<(), BackendError>) {
        match outcome {
            Err(BackendError::Length { op: named, .. } | BackendError::Unsupported { op: named, .. })
                if named == op =>
            {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert((op, view));
            }
            other => self.note_fault(format!(
                "`{view}` of `{op}` was an element short: expected a refusal that names the op, got {other:?}"
            )),
        }
    }
}

/// Borrows the views of an op, which is needed again.
pub(super) struct Borrowed;

impl LendViews<AnyQueue> for Borrowed {
    fn lend<'s, 'l: 's, T: Element + 'l>(view: &'s mut AnyMut<'l, T>) -> AnyMut<'s, T> {
        view.reborrow()
    }
}

/// Takes an element from the end of one view of an op.
pub(super) struct Short {
    /// Index of the view among the given views.
    at: usize,
    /// Views seen so far.
    seen: usize,
}

impl Short {
    /// Shortens the given view of this index.
    pub(super) fn new(at: usize) -> Self {
        Self { at, seen: 0 }
    }

    /// The elements to leave to the next view, which has `len`.
    fn left(&mut self, len: usize) -> usize {
        let is_it = self.seen == self.at;
        self.seen += 1;
        len - usize::from(is_it)
    }
}

impl MapViews<AnyQueue, AnyQueue> for Short {
    fn read<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: AnyRef<'a, T>,
    ) -> Result<AnyRef<'a, T>, BackendError> {
        let left = self.left(view.len());
        view.slice(0..left)
    }

    fn write<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: AnyMut<'a, T>,
    ) -> Result<AnyMut<'a, T>, BackendError> {
        let left = self.left(view.len());
        view.slice(0..left)
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{
        Buffer as _, Queue as _,
        ops::linalg::{Activate, ElementwiseOps as _},
    };
    use core_types::params::elementwise::Activation;

    use super::*;

    #[test]
    fn a_short_view_that_is_not_refused_by_name_is_reported() {
        let q = Conditioned::plain(AnyQueue::Cpu(runtime::cpu().unwrap()));
        let length = |op| Err(BackendError::Length { op, view: "x", expected: 2, got: 1 });
        q.note_short("softmax", "x", length("softmax"));
        assert_eq!(q.faults(), Vec::<String>::new());
        assert_eq!(q.refused(), BTreeSet::from([("softmax", "x")]));
        for outcome in [Ok(()), length("rms_norm"), Err(BackendError::MixedBackend { op: "softmax" })] {
            q.note_short("softmax", "y", outcome);
            assert!(q.faults()[0].starts_with("`y` of `softmax` was an element short: expected a refusal"));
        }
        assert!(!q.refused().contains(&("softmax", "y")));
    }

    #[test]
    fn ops_are_refused_with_each_view_one_element_short() {
        let q = Conditioned::plain(AnyQueue::Cpu(runtime::cpu().unwrap()));
        let (x, mut y) = (q.upload(&[1.0f32, -1.0]).unwrap(), q.zeros::<f32>(2).unwrap());
        let f = Activation::Relu;
        q.activate(Activate { f, x: x.view(), y: y.view_mut() }).unwrap();
        assert_eq!(q.download(&y).unwrap(), [1.0, 0.0]);
        assert_eq!(q.refused(), BTreeSet::from([("activate", "x"), ("activate", "y")]));
        assert_eq!(q.faults(), Vec::<String>::new());
    }
}
