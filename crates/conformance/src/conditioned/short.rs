//! Ops with one view an element short, which a queue must refuse.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::PoisonError,
};

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

/// An op and the views that it was given.
///
/// An op with an optional view is two ops: its checks may depend on whether the view is there.
pub(super) type OpForm = (&'static str, Vec<&'static str>);

/// For each form of an op, its views, and whether they were refused one element short.
pub(super) type ShortViews = BTreeMap<OpForm, BTreeMap<&'static str, bool>>;

impl Conditioned {
    /// The views that were refused one element short, each after its op.
    #[must_use]
    pub fn refused(&self) -> BTreeSet<(&'static str, &'static str)> {
        self.views_of_forms(true).into_iter().map(|(op, _, view)| (op, view)).collect()
    }

    /// The views with elements that were never refused one element short.
    ///
    /// Each follows its op, and the views that the op was given with it.
    #[must_use]
    pub fn accepted(&self) -> BTreeSet<(&'static str, Vec<&'static str>, &'static str)> {
        self.views_of_forms(false)
    }

    /// The views of all forms that were refused one element short, or were not.
    fn views_of_forms(&self, refused: bool) -> BTreeSet<(&'static str, Vec<&'static str>, &'static str)> {
        let short = self.short.lock().unwrap_or_else(PoisonError::into_inner);
        let views = short.iter().flat_map(|((op, given), views)| {
            let views = views.iter().filter(move |&(_, &was_refused)| was_refused == refused);
            views.map(move |(view, _)| (*op, given.clone(), *view))
        });
        views.collect()
    }

    /// Submits `op` to the queue inside, after attempts with each of its views an element short.
    pub(super) fn submit_op(
        &self,
        name: &'static str,
        views: &GivenViews,
        op: &mut Attempt<'_>,
    ) -> Result<(), BackendError> {
        let form = (name, views.0.iter().map(|&(name, _)| name).collect());
        for (at, view) in self.to_shorten(&form, views) {
            if op(OpAction::Check, None).is_err() {
                break; // a case of a refused op
            }
            match op(OpAction::Check, Some(at)) {
                Err(_) => self.note_short(&form, view, op(OpAction::Run(&self.queue), Some(at))),
                Ok(()) => self.note_accepted(&form, view),
            }
        }
        self.submit(|queue| op(OpAction::Run(queue), None))
    }

    /// The views of an op to shorten: the index among the given views, and the name.
    ///
    /// These are views with an element to lose that were not refused yet in this form.
    fn to_shorten(&self, form: &OpForm, views: &GivenViews) -> Vec<(usize, &'static str)> {
        if self.how != How::AsItIs {
            return Vec::new();
        }
        let short = self.short.lock().unwrap_or_else(PoisonError::into_inner);
        let was_refused = |name: &str| short.get(form).is_some_and(|views| views.get(name) == Some(&true));
        let views = views.0.iter().enumerate();
        views.filter(|(_, (name, len))| *len > 0 && !was_refused(name)).map(|(at, &(name, _))| (at, name)).collect()
    }

    /// Notes that the check of an op took it with `view` one element short.
    fn note_accepted(&self, form: &OpForm, view: &'static str) {
        let mut short = self.short.lock().unwrap_or_else(PoisonError::into_inner);
        short.entry(form.clone()).or_default().entry(view).or_insert(false);
    }

    /// Notes the outcome of an op with `view` one element short, which must be a refusal by name.
    pub(crate) fn note_short(&self, form: &OpForm, view: &'static str, outcome: Result<(), BackendError>) {
        let op = form.0;
        match outcome {
            Err(BackendError::Length { op: named, .. } | BackendError::Unsupported { op: named, .. })
                if named == op =>
            {
                let mut short = self.short.lock().unwrap_or_else(PoisonError::into_inner);
                short.entry(form.clone()).or_default().insert(view, true);
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
        let form = ("softmax", vec!["x", "y"]);
        q.note_short(&form, "x", length("softmax"));
        assert_eq!(q.faults(), Vec::<String>::new());
        assert_eq!(q.refused(), BTreeSet::from([("softmax", "x")]));
        for outcome in [Ok(()), length("rms_norm"), Err(BackendError::MixedBackend { op: "softmax" })] {
            q.note_short(&form, "y", outcome);
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
        // In place it has other views. Its only one has an element to lose, so it is not accepted.
        q.activate(Activate { f, len: 2, x: None, y: y.view_mut() }).unwrap();
        assert_eq!(q.short.lock().unwrap().len(), 2);
        assert_eq!(q.accepted(), BTreeSet::new());
        assert_eq!(q.faults(), Vec::<String>::new());
    }
}
