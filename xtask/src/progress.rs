//! Progress display of the step that the task waits for.
//!
//! It is shown while nothing else is printed: as one line that changes on a terminal, or a line
//! every ten seconds elsewhere.

use std::{
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a log is told.
const SILENCE: Duration = Duration::from_secs(10);

/// How often a terminal is told.
const TICK: Duration = Duration::from_millis(250);

/// The running steps, each with its beginning, and the time of the last line.
struct RunningSteps {
    under_way: Vec<(String, Instant)>,
    told: Instant,
}

/// `None` while no step runs and no thread displays progress.
static STEPS: Mutex<Option<RunningSteps>> = Mutex::new(None);

/// Hidden unless standard error is a terminal.
static BAR: LazyLock<ProgressBar> = LazyLock::new(|| {
    let style = ProgressStyle::with_template("{spinner} {wide_msg}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
});

fn steps() -> MutexGuard<'static, Option<RunningSteps>> {
    STEPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Shows `title` for as long as `work` takes.
pub(crate) fn during<R>(title: &str, work: impl FnOnce() -> R) -> R {
    let _step = RunningStep::begin(title);
    work()
}

/// A running step, until it is dropped.
struct RunningStep(String, Instant);

impl RunningStep {
    fn begin(title: &str) -> Self {
        let step = Self(title.to_owned(), Instant::now());
        let mut steps = steps();
        if steps.is_none() {
            thread::spawn(tell);
        }
        let steps = steps.get_or_insert_with(|| RunningSteps { under_way: Vec::new(), told: Instant::now() });
        steps.under_way.push((step.0.clone(), step.1));
        step
    }
}

impl Drop for RunningStep {
    fn drop(&mut self) {
        let mut steps = steps();
        let Some(steps) = &mut *steps else { return };
        steps.under_way.retain(|(title, began)| (title, began) != (&self.0, &self.1));
        if steps.under_way.is_empty() {
            BAR.set_message("");
            BAR.finish_and_clear(); // later output begins at the start of a line
        }
    }
}

/// Prints while the changing line is away.
pub(crate) fn paused<R>(print: impl FnOnce() -> R) -> R {
    if let Some(steps) = &mut *steps() {
        steps.told = Instant::now();
    }
    BAR.suspend(print)
}

/// Displays the steps until none is running.
fn tell() {
    loop {
        thread::sleep(TICK);
        let mut steps = steps();
        let Some(RunningSteps { under_way, told }) = &mut *steps else { return };
        if under_way.is_empty() {
            *steps = None;
            return;
        }
        let step = |(title, began): &(String, Instant)| format!("{title} ({} s)", began.elapsed().as_secs());
        let line = under_way.iter().map(step).collect::<Vec<_>>().join(", ");
        if !BAR.is_hidden() {
            BAR.reset();
            BAR.set_message(line);
        } else if told.elapsed() >= SILENCE {
            *told = Instant::now();
            eprintln!(".. {line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_under_way_for_as_long_as_its_work() {
        let is_under_way = |title: &str| {
            let steps = steps();
            steps.as_ref().is_some_and(|steps| steps.under_way.iter().any(|(other, _)| other == title))
        };
        during("outer step", || {
            assert!(during("inner step", || is_under_way("outer step") && is_under_way("inner step")));
            assert!(is_under_way("outer step") && !is_under_way("inner step"));
        });
        assert!(!is_under_way("outer step"));
    }
}
