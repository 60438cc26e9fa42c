//! Faults of steps, before the launch adds where they happened.

use crate::exec::fault::FaultKind;

/// A fault before it has its place: what happened to which lane of the running warp.
#[derive(Debug)]
pub(super) struct Trouble {
    pub(super) kind: FaultKind,
    pub(super) lane: usize,
    /// The step of the earlier party of a race.
    pub(super) earlier: Option<u32>,
}

/// The result of a step of a warp: a value, or trouble.
pub(super) type StepResult<T = ()> = Result<T, Box<Trouble>>;

pub(super) fn trouble<T>(lane: usize, kind: FaultKind) -> StepResult<T> {
    Err(Box::new(Trouble { kind, lane, earlier: None }))
}
