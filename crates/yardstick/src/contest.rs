//! Implementations of the same work, interleaved in one process, and their times.

use core::fmt;
use std::time::{Duration, Instant};

/// One implementation of a line's work.
pub struct Contender {
    name: String,
    elsewhere: bool,
    time: Box<dyn FnMut() -> Duration>,
}

impl Contender {
    /// An implementation whose `run` does the work once.
    pub fn new(name: &str, run: impl FnMut() + 'static) -> Self {
        Self::of_work(name, Box::new(run))
    }

    /// The implementation of boxed work, so that code for each type of work is small.
    fn of_work(name: &str, mut run: Box<dyn FnMut()>) -> Self {
        Self::timed(name, move || {
            let start = Instant::now();
            run();
            start.elapsed()
        })
    }

    /// An implementation that uses up what `feed` makes beforehand, outside the measured time.
    pub fn fed<T>(name: &str, mut feed: impl FnMut() -> T + 'static, mut run: impl FnMut(T) + 'static) -> Self {
        Self::timed(name, move || {
            let input = feed();
            let start = Instant::now();
            run(input);
            start.elapsed()
        })
    }

    /// An implementation that cannot run here, with a recorded time.
    ///
    /// The time was measured on another machine.
    pub fn recorded(name: &str, time: Duration) -> Self {
        Self { elsewhere: true, ..Self::timed(name, move || time) }
    }

    /// An implementation in another process.
    ///
    /// It does the work once and returns its duration.
    pub fn timed(name: &str, time: impl FnMut() -> Duration + 'static) -> Self {
        Self { name: name.to_owned(), elsewhere: false, time: Box::new(time) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Does the work once, and returns how long it took.
    pub fn time(&mut self) -> Duration {
        (self.time)()
    }
}

impl fmt::Debug for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Contender").field(&self.name).finish()
    }
}

/// How a measured time is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Work units per second.
    Rate,
    /// Nanoseconds per work unit.
    Nanoseconds,
}

/// The goal of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// At least this many work units per second.
    Rate(f64),
    /// At least `ratio` times the rate of contender number `peer` (1 is the first after ours).
    Ratio {
        /// Index of the peer among the contenders.
        peer: usize,
        /// Least rate of ours divided by the peer's.
        ratio: f64,
    },
    /// At most `seconds` longer than contender number `peer`, by the fastest rounds.
    Beyond {
        /// Index of the peer among the contenders.
        peer: usize,
        /// Most seconds of one run of ours beyond one run of the peer's.
        seconds: f64,
    },
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Interleaved rounds; the median over them is reported.
    pub rounds: usize,
    /// Least time one contender runs in one round.
    pub batch: Duration,
}

/// The measured times of one contender.
#[derive(Clone, Debug, PartialEq)]
pub struct Timing {
    /// The name of the contender, or the id of a line that is measured alone.
    pub name: String,
    /// Median seconds of one run.
    pub median_s: f64,
    /// Least seconds of one run.
    pub best_s: f64,
    /// Seconds of all rounds.
    pub rounds_s: f64,
    /// Whether the times were measured on another machine.
    pub elsewhere: bool,
}

impl Timing {
    /// The times of `samples`, the seconds of one run in each round.
    pub(crate) fn of(name: String, mut samples: Vec<f64>, rounds_s: f64) -> Self {
        samples.sort_by(f64::total_cmp);
        Self { name, median_s: samples[samples.len() / 2], best_s: samples[0], rounds_s, elsewhere: false }
    }
}

/// The times of a line and of its peers.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Name of the line.
    pub id: String,
    /// The unit of work.
    pub unit: &'static str,
    /// Units of work in one run.
    pub work: f64,
    /// How times are shown.
    pub show: Show,
    /// Ours first, then the peers.
    pub timings: Vec<Timing>,
    /// The goals, their conditions, and whether the times meet them.
    pub goals: Vec<(Goal, &'static str, bool)>,
}

impl Standing {
    /// Work units per second of contender `i`, by its median.
    #[must_use]
    pub fn rate(&self, i: usize) -> f64 {
        self.work / self.timings[i].median_s
    }

    /// Our rate divided by contender `i`'s; `None` if that was measured on another machine.
    #[must_use]
    pub fn ratio(&self, i: usize) -> Option<f64> {
        (!self.timings[i].elsewhere).then(|| self.timings[i].median_s / self.timings[0].median_s)
    }

    /// Seconds of our run beyond contender `i`'s, by the fastest round of each.
    ///
    /// Medians of a long run vary by more than a short addition to it. `None` if contender `i` was
    /// measured on another machine.
    #[must_use]
    pub fn beyond(&self, i: usize) -> Option<f64> {
        (!self.timings[i].elsewhere).then(|| self.timings[0].best_s - self.timings[i].best_s)
    }

    /// Whether the times meet a goal: the medians, but for [`Goal::Beyond`].
    pub(crate) fn meets(&self, goal: Goal) -> bool {
        match goal {
            Goal::Rate(rate) => self.rate(0) >= rate,
            Goal::Ratio { peer, ratio } => self.ratio(peer).is_some_and(|got| got >= ratio),
            Goal::Beyond { peer, seconds } => self.beyond(peer).is_some_and(|got| got <= seconds),
        }
    }
}

/// Measures all contenders, interleaved round by round.
pub(crate) fn interleaved(mut contenders: Vec<Contender>, effort: Effort) -> Vec<Timing> {
    let mut samples = vec![(Vec::with_capacity(effort.rounds), 0.0); contenders.len()];
    for contender in &mut contenders {
        contender.time();
    }
    for _ in 0..effort.rounds {
        for (contender, (samples, rounds_s)) in contenders.iter_mut().zip(&mut samples) {
            let (mut runs, mut spent) = (0u32, Duration::ZERO);
            while runs == 0 || spent < effort.batch {
                spent += contender.time();
                runs += 1;
            }
            samples.push(spent.as_secs_f64() / f64::from(runs));
            *rounds_s += spent.as_secs_f64();
        }
    }
    let timing = |(Contender { name, elsewhere, .. }, (samples, rounds_s))| {
        let timing = Timing::of(name, samples, rounds_s);
        Timing { elsewhere, ..timing }
    };
    contenders.into_iter().zip(samples).map(timing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_is_bounded_by_the_fastest_rounds_of_this_machine() {
        let timing =
            |median_s, best_s| Timing { name: String::new(), median_s, best_s, rounds_s: 0.0, elsewhere: false };
        let timings = vec![timing(9.0, 3.0), timing(1.0, 2.0), Timing { elsewhere: true, ..timing(1.0, 2.0) }];
        let (id, show) = (String::new(), Show::Nanoseconds);
        let standing = Standing { id, unit: "call", work: 1.0, show, timings, goals: Vec::new() };
        assert_eq!([standing.beyond(1), standing.beyond(2)], [Some(1.0), None]);
        let meets = |peer, seconds| standing.meets(Goal::Beyond { peer, seconds });
        assert_eq!([meets(1, 1.0), meets(1, 0.9), meets(2, 9.0)], [true, false, false]);
    }
}
