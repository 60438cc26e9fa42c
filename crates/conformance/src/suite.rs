use std::time::Instant;

use backend_api::{
    BackendError, Fork, Queue,
    ops::{circle::CircleOps, fss::FssOps, linalg::LinalgOps},
};

use crate::{Case, Failure, OpSpec, guarded::Guarded};

/// The circumstances in which a case must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// On the queue as it is.
    Plain,
    /// On a fork of it.
    Forked,
    /// With guard words around every buffer, which also takes from views every alignment but that of their elements.
    Guarded,
    /// Again after it was refused memory: with none left first, then with [`SCARCE_BYTES`], then with all.
    Starved,
}

/// Bytes left to the second try of a [`Condition::Starved`] case: enough for some buffers of most cases.
pub const SCARCE_BYTES: u64 = 4096;

impl Condition {
    /// All of them, the plain one first.
    pub const ALL: [Self; 4] = [Self::Plain, Self::Forked, Self::Guarded, Self::Starved];

    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Forked => "forked",
            Self::Guarded => "guarded",
            Self::Starved => "starved",
        }
    }

    /// Runs the cases of `selection` on `q` under this condition and tells `progress` each outcome as it comes.
    ///
    /// # Errors
    /// What `q` reports if it cannot be forked or joined.
    pub fn run<Q>(self, q: &Q, selection: Selection<'_>, progress: impl FnMut(&Outcome)) -> Result<Report, BackendError>
    where
        Q: Fork + CircleOps + FssOps + LinalgOps + Clone + 'static,
    {
        let specs = || selection.of(specs());
        Ok(match self {
            Self::Plain => run(q, &specs(), progress),
            Self::Forked => {
                let branch = q.fork()?;
                let report = run(&branch, &specs(), progress);
                q.join(&branch)?;
                q.finish()?;
                report
            }
            Self::Guarded => {
                let guarded = Guarded::new(q.clone());
                run_each(&guarded, &selection.of(self::specs()), progress, |case| guarded.hold(case))
            }
            Self::Starved => run_each(q, &specs(), progress, |case| hold_after_refusals(q, case)),
        })
    }
}

/// Which cases to run.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// Only ops whose name contains this text.
    pub filter: &'a str,
    /// Only cases on at most so many elements.
    pub max_elements: u64,
}

impl Selection<'_> {
    /// The selected ones of `specs`.
    #[must_use]
    pub fn of<Q>(self, mut specs: Vec<OpSpec<Q>>) -> Vec<OpSpec<Q>> {
        specs.retain_mut(|spec| {
            spec.limit_elements(self.max_elements);
            spec.op.contains(self.filter)
        });
        specs
    }
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
}

/// The specifications of every op set.
#[must_use]
pub fn specs<Q: CircleOps + FssOps + LinalgOps + 'static>() -> Vec<OpSpec<Q>> {
    let mut all = crate::circle::specs();
    all.extend(crate::fss::specs());
    all.extend(crate::linalg::specs());
    all
}

/// Runs every case of `specs` on `q` and tells `progress` each outcome as it comes.
///
/// Besides the case's own oracle, no case may leave bytes reserved in the queue's budget.
pub fn run<Q: Queue>(q: &Q, specs: &[OpSpec<Q>], progress: impl FnMut(&Outcome)) -> Report {
    run_each(q, specs, progress, |case| case.hold(q))
}

fn run_each<Q: Queue>(
    q: &Q,
    specs: &[OpSpec<Q>],
    mut progress: impl FnMut(&Outcome),
    hold: impl Fn(&Case<Q>) -> Result<(), Failure>,
) -> Report {
    let mut report = Report::default();
    for spec in specs {
        for case in &spec.cases {
            let (before, start) = (q.budget().live_bytes(), Instant::now());
            let failure = hold(case).and_then(|()| unless_reserved(q, before)).err();
            let seconds = start.elapsed().as_secs_f64();
            let outcome = Outcome { op: spec.op, case: case.name().to_owned(), failure, seconds };
            progress(&outcome);
            report.outcomes.push(outcome);
        }
    }
    report
}

/// Fails if more than `before` bytes are reserved in the queue's budget.
fn unless_reserved<Q: Queue>(q: &Q, before: u64) -> Result<(), Failure> {
    match q.budget().live_bytes().saturating_sub(before) {
        0 => Ok(()),
        leaked => Err(Failure::Broken(format!("{leaked} bytes are still reserved after the case"))),
    }
}

/// Holds `case` after tries with less memory, each of which is refused in full or holds.
fn hold_after_refusals<Q: Queue>(q: &Q, case: &Case<Q>) -> Result<(), Failure> {
    let budget = q.budget();
    for left in [0, SCARCE_BYTES] {
        let free = budget.limit_bytes() - budget.live_bytes();
        let ballast = budget.reserve(free.saturating_sub(left))?;
        let before = budget.live_bytes();
        match case.hold(q) {
            Ok(()) | Err(Failure::Backend(BackendError::BudgetExceeded { .. })) => {}
            Err(other) => return Err(Failure::Broken(format!("with {left} bytes left: {other}"))),
        }
        unless_reserved(q, before)?;
        drop(ballast);
    }
    case.hold(q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_and_a_leaking_case_are_reported() {
        let mut specs = [OpSpec {
            op: "test.op",
            cases: vec![
                Case::new("holds", |_: &cpu_backend::CpuQueue| Ok(())),
                Case::new("differs", |_| Failure::unless_equal(&[1, 2], &[1, 3])),
                Case::new("leaks", |q: &cpu_backend::CpuQueue| {
                    std::mem::forget(q.zeros::<u8>(64)?);
                    Ok(())
                }),
                Case::new("is not reached", |_| Err(Failure::Broken("too large".to_owned()))).on_elements(1 << 20),
            ],
        }];
        assert_eq!(specs[0].limit_elements(1 << 19), 1);
        let report = run(&runtime::cpu().unwrap(), &specs, |_| ());
        let failed: Vec<_> = report.failures().map(|outcome| outcome.case.as_str()).collect();
        assert_eq!(failed, ["differs", "leaks"]);
    }

    #[test]
    fn every_condition_runs_every_selected_case_on_the_cpu() {
        let q = runtime::cpu().unwrap();
        let selection = Selection { filter: "linalg.softmax", max_elements: 1 << 12 };
        for condition in Condition::ALL {
            let report = condition.run(&q, selection, |_| ()).unwrap();
            assert!(report.outcomes.len() > 3, "{}", condition.name());
            assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new(), "{}", condition.name());
        }
    }

    #[test]
    fn a_case_that_blames_something_else_than_memory_is_reported() {
        let q = runtime::cpu().unwrap();
        let case = Case::new("hides the reason", |q: &cpu_backend::CpuQueue| {
            q.zeros::<u8>(64).map(drop).map_err(|_| Failure::Broken("no luck".to_owned()))
        });
        let failure = hold_after_refusals(&q, &case).unwrap_err();
        assert_eq!(failure.to_string(), "with 0 bytes left: no luck");
    }
}
