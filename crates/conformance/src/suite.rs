//! The suite: specifications, conditions, and the report of a run.
//!
//! Every specification must hold under every condition.

use std::time::Instant;

use backend_api::{BackendError, Fork, Queue};
use runtime::AnyQueue;

use crate::{Case, Conditioned, Failure, OpSpec};

/// The circumstances in which a case must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// On the queue as it is.
    ///
    /// It must also refuse each op with each of its views one element short. This holds for the
    /// forked and starved queue too.
    Plain,
    /// On a fork of it.
    Forked,
    /// With guard words around every buffer.
    ///
    /// Guards also leave views aligned for their elements and for nothing wider.
    Guarded,
    /// Again after being refused memory.
    ///
    /// The first try has no memory left, the second [`SCARCE_BYTES`], the third all of it.
    Starved,
    /// With every op recorded and replayed.
    Recorded,
}

/// Bytes left for the second try of a [`Condition::Starved`] case.
///
/// They suffice for some of the buffers of most cases.
pub const SCARCE_BYTES: u64 = 4096;

impl Condition {
    /// All of them, the plain one first.
    pub const ALL: [Self; 5] = [Self::Plain, Self::Forked, Self::Guarded, Self::Starved, Self::Recorded];

    /// Its name, in one word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Forked => "forked",
            Self::Guarded => "guarded",
            Self::Starved => "starved",
            Self::Recorded => "recorded",
        }
    }

    /// Runs the cases of `selection` on `q` under this condition.
    ///
    /// Progress is reported to `watch` during the run.
    ///
    /// # Errors
    /// What `q` reports if it cannot be forked or joined.
    pub fn run(
        self,
        q: &AnyQueue,
        selection: Selection<'_>,
        watch: impl FnMut(Progress<'_>),
    ) -> Result<Report, BackendError> {
        let specs = selection.of(specs());
        Ok(match self {
            Self::Plain => run(&Conditioned::plain(q.clone()), &specs, watch),
            Self::Forked => {
                let branch = q.fork()?;
                let report = run(&Conditioned::plain(branch.clone()), &specs, watch);
                if !report.is_cut_short() {
                    q.join(&branch)?;
                    q.finish()?;
                }
                report
            }
            Self::Guarded => run(&Conditioned::guarded(q.clone()), &specs, watch),
            Self::Starved => {
                let q = Conditioned::plain(q.clone());
                run_each(&q, &specs, watch, |case| hold_after_refusals(&q, case))
            }
            Self::Recorded => run(&Conditioned::recorded(q.clone()), &specs, watch),
        })
    }
}

/// Which cases to run.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Only ops whose name contains this text.
    pub filter: &'a str,
    /// Only the op whose name is exactly this text.
    pub exact: bool,
    /// Part of the cases, `[k, n]`: only every n-th case, from the k-th on.
    ///
    /// k starts at 1. Parts are for several processes.
    pub part: [usize; 2],
    /// Only cases on at most this many elements.
    pub max_elements: u64,
    /// How many of those to leave out, from the first on.
    pub skip: usize,
}

impl Default for Selection<'_> {
    /// Every case.
    fn default() -> Self {
        Self { filter: "", exact: false, part: [1, 1], max_elements: u64::MAX, skip: 0 }
    }
}

impl Selection<'_> {
    /// The selected part of `specs`.
    #[must_use]
    pub fn of(self, mut specs: Vec<OpSpec>) -> Vec<OpSpec> {
        let ([part, parts], mut number) = (self.part, 0);
        let mut skip = self.skip;
        specs.retain_mut(|spec| {
            let chosen = if self.exact { spec.op == self.filter } else { spec.op.contains(self.filter) };
            if chosen {
                spec.cases.retain(|_| {
                    number += 1;
                    number % parts == part % parts
                });
                spec.limit_elements(self.max_elements);
                let gone = skip.min(spec.cases.len());
                spec.cases.drain(..gone);
                skip -= gone;
            }
            chosen
        });
        specs
    }
}

/// Progress events of the suite.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// A case is about to run.
    Begins {
        /// The op.
        op: &'static str,
        /// The case.
        case: &'a str,
    },
    /// A case ended.
    Ends(&'a Outcome),
}

/// The result of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The op.
    pub op: &'static str,
    /// The case.
    pub case: String,
    /// `None` if it held.
    pub failure: Option<Failure>,
    /// How long it took, oracle included.
    pub seconds: f64,
}

/// The result of the suite on one queue.
///
/// It ends with the case in which the device was lost, if it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One entry per case, in order.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Cases that did not hold.
    pub fn failures(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.failure.is_some())
    }

    /// Whether the device was lost, so that the cases after that did not run.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.outcomes.last().and_then(|outcome| outcome.failure.as_ref()).is_some_and(Failure::is_lost_device)
    }
}

/// The specifications of every op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    let sets: [fn() -> Vec<OpSpec>; 15] = [
        crate::queue::specs,
        crate::circle::specs,
        crate::air::specs,
        crate::channel::specs,
        crate::correction::specs,
        crate::deep::specs,
        crate::factor::specs,
        crate::fri::specs,
        crate::fss::specs,
        crate::linalg::specs,
        crate::merkle::specs,
        crate::optim::specs,
        crate::recurrent::specs,
        crate::stark::specs,
        crate::tensor::specs,
    ];
    sets.into_iter().flat_map(|specs| specs()).collect()
}

/// Runs the cases of `specs` on `q`, all of them unless the device is lost.
///
/// Progress is reported to `watch` during the run. Besides the case's own oracle, no case may leave
/// bytes reserved in the queue's budget.
pub fn run(q: &Conditioned, specs: &[OpSpec], watch: impl FnMut(Progress<'_>)) -> Report {
    run_each(q, specs, watch, |case| q.hold(case))
}

impl Conditioned {
    /// Runs `case` on this queue and checks the guards and the refusals of short views.
    ///
    /// A recording queue may refuse a case marked as waiting.
    ///
    /// # Errors
    /// The failure of the case, or the first fault that the queue found.
    pub fn hold(&self, case: &Case) -> Result<(), Failure> {
        let held = match case.hold(self) {
            Err(Failure::Backend(BackendError::Unsupported { op: "record", .. })) if self.records() && case.waits() => {
                Ok(())
            }
            held => held,
        };
        match self.faults().into_iter().next() {
            Some(fault) => held.and(Err(Failure::Broken(fault))),
            None => held,
        }
    }
}

fn run_each(
    q: &Conditioned,
    specs: &[OpSpec],
    mut watch: impl FnMut(Progress<'_>),
    hold: impl Fn(&Case) -> Result<(), Failure>,
) -> Report {
    let mut report = Report::default();
    for spec in specs {
        for case in &spec.cases {
            watch(Progress::Begins { op: spec.op, case: case.name() });
            let (before, start) = (q.budget().live_bytes(), Instant::now());
            let failure = hold(case).and_then(|()| unless_reserved(q, before)).err();
            let seconds = start.elapsed().as_secs_f64();
            let outcome = Outcome { op: spec.op, case: case.name().to_owned(), failure, seconds };
            watch(Progress::Ends(&outcome));
            report.outcomes.push(outcome);
            if report.is_cut_short() {
                return report;
            }
        }
    }
    report
}

/// Fails if more than `before` bytes are reserved in the queue's budget.
fn unless_reserved(q: &Conditioned, before: u64) -> Result<(), Failure> {
    match q.budget().live_bytes().saturating_sub(before) {
        0 => Ok(()),
        leaked => Err(Failure::Broken(format!("{leaked} bytes are still reserved after the case"))),
    }
}

/// Runs `case` with scarce memory first; those runs must pass or fail for lack of memory.
fn hold_after_refusals(q: &Conditioned, case: &Case) -> Result<(), Failure> {
    let budget = q.budget();
    for left in [0, SCARCE_BYTES] {
        let free = budget.limit_bytes() - budget.live_bytes();
        let ballast = budget.reserve(free.saturating_sub(left))?;
        let before = budget.live_bytes();
        match q.hold(case) {
            Ok(()) | Err(Failure::Backend(BackendError::BudgetExceeded { .. })) => {}
            Err(lost) if lost.is_lost_device() => return Err(lost),
            Err(other) => return Err(Failure::Broken(format!("with {left} bytes left: {other}"))),
        }
        unless_reserved(q, before)?;
        drop(ballast);
    }
    q.hold(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Conditioned {
        Conditioned::plain(AnyQueue::Cpu(runtime::cpu().unwrap()))
    }

    #[test]
    fn a_failing_and_a_leaking_case_are_reported() {
        let mut specs = [OpSpec {
            op: "test.op",
            cases: vec![
                Case::new("holds", |_| Ok(())),
                Case::new("differs", |_| Failure::unless_equal(&[1, 2], &[1, 3])),
                Case::new("leaks", |q| {
                    std::mem::forget(q.zeros::<u8>(64)?);
                    Ok(())
                }),
                Case::new("is not reached", |_| Err(Failure::Broken("too large".to_owned()))).on_elements(1 << 20),
            ],
        }];
        assert_eq!(specs[0].limit_elements(1 << 19), 1);
        let report = run(&plain(), &specs, |_| ());
        let failed: Vec<_> = report.failures().map(|outcome| outcome.case.as_str()).collect();
        assert_eq!(failed, ["differs", "leaks"]);
    }

    #[test]
    fn a_case_in_which_a_short_view_is_not_refused_is_reported() {
        let q = plain();
        let case = Case::new("runs an op with a short view", |q| {
            q.note_short(&("softmax", vec!["x"]), "x", Ok(()));
            Ok(())
        });
        for held in [q.hold(&case), hold_after_refusals(&q, &case)] {
            let failure = held.unwrap_err().to_string();
            assert!(failure.contains("`x` of `softmax` was an element short"), "{failure}");
        }
    }

    #[test]
    fn nothing_runs_on_a_lost_device() {
        let lost = || BackendError::DeviceLost { cause: "a test".to_owned(), in_flight: vec!["kernel".to_owned()] };
        let specs = [OpSpec {
            op: "test.op",
            cases: vec![
                Case::new("holds", |_| Ok(())),
                Case::new("is lost", move |_| Err(lost().into())),
                Case::new("is not reached", |_| panic!("a case ran on a lost device")),
            ],
        }];
        let mut begun = Vec::new();
        let report = run(&plain(), &specs, |progress| match progress {
            Progress::Begins { case, .. } => begun.push(case.to_owned()),
            Progress::Ends(outcome) => assert_eq!(Some(&outcome.case), begun.last()),
        });
        assert_eq!(begun, ["holds", "is lost"]);
        assert!(report.is_cut_short() && report.outcomes.len() == 2);
        assert!(hold_after_refusals(&plain(), &specs[0].cases[1]).unwrap_err().is_lost_device());
    }

    #[test]
    fn a_case_that_blames_something_else_than_memory_is_reported() {
        let q = plain();
        let case = Case::new("hides the reason", |q| {
            q.zeros::<u8>(64).map(drop).map_err(|_| Failure::Broken("no luck".to_owned()))
        });
        let failure = hold_after_refusals(&q, &case).unwrap_err();
        assert_eq!(failure.to_string(), "with 0 bytes left: no luck");
    }
}
