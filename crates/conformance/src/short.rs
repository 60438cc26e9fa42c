//! Length checks of every op: each view that is one element short is rejected by name.

use backend_api::{BackendError, BufferMut, BufferRef, Element, Mut, Queue, Ref, ops::MapViews};

use crate::{Buf, Case, Conditioned, Failure, OpSpec};

impl OpSpec {
    /// Adds, first, the case that the op `method` is refused with a view one element short.
    ///
    /// Each view is shortened in turn; with all views whole the op must succeed. `run` runs a small
    /// op after passing its views through the [`Short`] that it receives.
    pub(crate) fn refusing_short(
        mut self,
        method: &'static str,
        run: impl Fn(&Conditioned, &mut Short) -> Result<(), BackendError> + Send + Sync + 'static,
    ) -> Self {
        let name = format!("{method} with a view an element short");
        self.cases.insert(0, Case::new(name, move |q| refused(q, method, &run)));
        self
    }
}

/// Allocates `len` zeros.
pub(crate) fn floats(q: &Conditioned, len: usize) -> Result<Buf<f32>, BackendError> {
    q.zeros(len)
}

/// Takes an element from the end of one view of an op.
pub(crate) struct Short {
    /// Index of the view among the op's views.
    at: usize,
    /// Views seen so far.
    seen: usize,
    /// Whether the view was there and had an element to lose.
    cut: bool,
}

impl Short {
    /// The elements to leave to the next view, which has `len`.
    fn left(&mut self, len: usize) -> usize {
        let is_it = self.seen == self.at;
        self.seen += 1;
        self.cut |= is_it && len > 0;
        if is_it { len.saturating_sub(1) } else { len }
    }
}

impl MapViews<Conditioned, Conditioned> for Short {
    fn read<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: Ref<'a, Conditioned, T>,
    ) -> Result<Ref<'a, Conditioned, T>, BackendError> {
        let left = self.left(view.len());
        view.slice(0..left)
    }

    fn write<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: Mut<'a, Conditioned, T>,
    ) -> Result<Mut<'a, Conditioned, T>, BackendError> {
        let left = self.left(view.len());
        view.slice(0..left)
    }
}

fn refused(
    q: &Conditioned,
    op: &'static str,
    run: &dyn Fn(&Conditioned, &mut Short) -> Result<(), BackendError>,
) -> Result<(), Failure> {
    for at in 0.. {
        let mut short = Short { at, seen: 0, cut: false };
        let outcome = run(q, &mut short);
        if !short.cut {
            outcome?;
            if at >= short.seen {
                break;
            }
            continue;
        }
        match outcome {
            Err(BackendError::Length { op: named, .. } | BackendError::Unsupported { op: named, .. })
                if named == op => {}
            Err(other) => return Err(other.into()),
            Ok(()) => {
                return Err(Failure::Broken(format!("view {at} of `{op}` was an element short and not refused")));
            }
        }
    }
    Ok(())
}
