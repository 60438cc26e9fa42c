//! What every op owes whoever calls it: each of its views is refused, in the op's name, where it is an element short.

mod circle;
mod fss;
mod linalg;

use backend_api::{
    BackendError, BufferMut, BufferRef, Element, Mut, Queue, Ref,
    ops::{MapViews, circle::CircleOps, fss::FssOps, linalg::LinalgOps},
};

use crate::{Case, Failure, OpSpec};

/// The specifications, with a case for each op.
#[must_use]
pub(crate) fn specs<Q: CircleOps + FssOps + LinalgOps + 'static>() -> Vec<OpSpec<Q>> {
    vec![
        OpSpec { op: "circle.short views", cases: circle::cases() },
        OpSpec { op: "fss.short views", cases: fss::cases() },
        OpSpec { op: "linalg.short views", cases: linalg::cases() },
    ]
}

/// Takes an element from the end of one view of an op.
struct Short {
    /// The view's number among those of the op.
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

impl<Q: Queue> MapViews<Q, Q> for Short {
    fn read<'a, T: Element + 'a>(&mut self, _: &'static str, view: Ref<'a, Q, T>) -> Result<Ref<'a, Q, T>, BackendError>
    where
        Q: 'a,
    {
        let left = self.left(view.len());
        view.slice(0..left)
    }

    fn write<'a, T: Element + 'a>(
        &mut self,
        _: &'static str,
        view: Mut<'a, Q, T>,
    ) -> Result<Mut<'a, Q, T>, BackendError>
    where
        Q: 'a,
    {
        let left = self.left(view.len());
        view.slice(0..left)
    }
}

/// The case that an op is refused with each of its views an element short, and then holds with all of them whole. `run` runs
/// the op after passing its views through the [`Short`] that it is given.
fn case<Q: Queue + 'static>(
    op: &'static str,
    run: impl Fn(&Q, &mut Short) -> Result<(), BackendError> + Send + Sync + 'static,
) -> Case<Q> {
    Case::new(op, move |q: &Q| {
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
    })
}
