//! Ops with one view an element short, which a queue must refuse.

use std::{collections::BTreeSet, sync::PoisonError};

use backend_api::{
    BackendError, BufferMut, BufferRef, Element,
    ops::{LendViews, MapViews, View},
};
use runtime::{AnyMut, AnyQueue, AnyRef};

use super::{Conditioned, How};

/// What to do with an op on the queue inside.
pub(super) enum OpAction<'a> {
    /// Checks it.
    Check,
    /// Runs it on this queue.
    Run(&'a AnyQueue),
}

/// An op that can be checked and run repeatedly.
///
/// It takes the index, among the given views, of the one to leave an element short, if any.
pub(super) type Attempt<'a> = dyn FnMut(OpAction<'_>, Option<usize>) -> Result<(), BackendError> + 'a;

/// Names and lengths of the views that an op was given.
#[derive(Default)]
pub(super) struct GivenViews(Vec<(&'static str, usize)>);

impl GivenViews {
    /// Collects views.
    ///
    /// One closure serves all ops, so that nothing more is compiled for each.
    pub(super) fn see(&mut self) -> impl FnMut(View) {
        |view| self.0.extend(view.len.map(|len| (view.name, len)))
    }
}

impl Conditioned {
    /// The views that were refused one element short, each after its op.
    #[must_use]
    pub fn refused(&self) -> BTreeSet<(&'static str, &'static str)> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Submits `op` to the queue inside, after attempts with each of its views an element short.
    pub(super) fn submit_op(
        &self,
        name: &'static str,
        views: &GivenViews,
        op: &mut Attempt<'_>,
    ) -> Result<(), BackendError> {
        for (at, view) in self.to_shorten(name, views) {
            let is_valid = op(OpAction::Check, None).is_ok();
            if is_valid && op(OpAction::Check, Some(at)).is_err() {
                self.note_short(name, view, op(OpAction::Run(&self.queue), Some(at)));
            }
        }
        self.submit(|queue| op(OpAction::Run(queue), None))
    }

    /// The views of an op to shorten: the index among the given views, and the name.
    ///
    /// These are views with an element to lose that were not refused yet.
    fn to_shorten(&self, op: &'static str, views: &GivenViews) -> Vec<(usize, &'static str)> {
        if self.how != How::AsItIs {
            return Vec::new();
        }
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let views = views.0.iter().enumerate();
        views
            .filter(|&(_, &(name, len))| len > 0 && !refused.contains(&(op, name)))
            .map(|(at, &(name, _))| (at, name))
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

impl LendViews<Conditioned> for Borrowed {
    fn lend<'s, 'l: 's, T: Element + 'l>(view: &'s mut AnyMut<'l, T>) -> AnyMut<'s, T> {
        view.reborrow()
    }
}

/// Maps the views of an op to the queue inside: the same views, but for one element at most.
pub(super) struct OnInner {
    /// Index, among the given views, of the one to leave an element short.
    short: Option<usize>,
    /// Views seen so far.
    seen: usize,
}

impl OnInner {
    /// Shortens the given view of this index, if any.
    pub(super) fn new(short: Option<usize>) -> Self {
        Self { short, seen: 0 }
    }

    /// Counts the next view; true if it is the one to shorten.
    fn shortens_next(&mut self) -> bool {
        self.seen += 1;
        self.short == Some(self.seen - 1)
    }
}

impl MapViews<Conditioned, AnyQueue> for OnInner {
    fn read<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: AnyRef<'a, T>,
    ) -> Result<AnyRef<'a, T>, BackendError> {
        if self.shortens_next() { view.slice(0..view.len() - 1) } else { Ok(view) }
    }

    fn write<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: AnyMut<'a, T>,
    ) -> Result<AnyMut<'a, T>, BackendError> {
        if !self.shortens_next() {
            return Ok(view);
        }
        let left = view.len() - 1;
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
        q.activate(Activate { f, len: x.len(), x: Some(x.view()), y: y.view_mut() }).unwrap();
        assert_eq!(q.download(&y).unwrap(), [1.0, 0.0]);
        assert_eq!(q.refused(), BTreeSet::from([("activate", "x"), ("activate", "y")]));
        assert_eq!(q.faults(), Vec::<String>::new());
    }
}
