//! A benchmark line: one op at one size.
//!
//! A processor runs it on one thread, interleaved with its peers. A device runs it alone, with its
//! inputs resident. Some lines run on a processor alone.

use core::{error::Error, fmt, num::NonZeroUsize};
use std::{rc::Rc, time::Instant};

use backend_api::Queue as _;
use cpu_backend::{CpuConfig, CpuQueue, SimdLevel};
use runtime::AnyQueue;

use crate::{
    contest::{Contender, Effort, Goal, Show, Standing, Timing, interleaved},
    peers::{pytorch, stwo_times},
};

/// Why a line is not measured: the backend refuses, or a plan does.
pub type LineError = Box<dyn Error + Send + Sync>;

/// Does a line's work once, or enqueues it.
pub(crate) type LineRun = Box<dyn FnMut(&AnyQueue) -> Result<(), LineError>>;

/// Puts a line's inputs in the memory of a queue.
type Prepare = dyn Fn(&AnyQueue) -> Result<LineRun, LineError>;

/// The limit of repeats: enough to make one wait negligible next to microsecond launches.
const MAX_REPEATS: u32 = 1 << 12;

/// How much one run does.
#[derive(Clone, Copy, Debug)]
pub struct RunSize {
    /// The unit of work: `element-layer`, `evaluation`, `flop`, `byte`, `element`.
    pub unit: &'static str,
    /// Units of work.
    pub work: f64,
    /// Least bytes that are read and written; 0 if memory is not the limit.
    pub bytes: f64,
    /// Bytes of all buffers.
    ///
    /// If they fit a cache of the device, runs of the line find them there.
    pub resident: f64,
}

impl RunSize {
    /// Work that memory does not limit, with buffers of `resident` bytes.
    pub(crate) const fn computing(unit: &'static str, work: f64, resident: f64) -> Self {
        Self { unit, work, bytes: 0.0, resident }
    }

    /// Work that reads or writes each of `bytes` bytes once.
    pub(crate) const fn streaming(unit: &'static str, work: f64, bytes: f64) -> Self {
        Self { unit, work, bytes, resident: bytes }
    }

    /// Work that reads or writes each of `bytes` bytes once, with the byte as the unit.
    pub(crate) const fn of_bytes(bytes: usize) -> Self {
        Self::streaming("byte", bytes as f64, bytes as f64)
    }
}

/// One implementation of a line's work.
enum Entrant {
    /// An op, at a vector level of the processor.
    Ours { name: String, simd: SimdLevel, prepare: Rc<Prepare> },
    /// Anything that the processor runs, built when its line is measured.
    Peer(Box<dyn FnOnce() -> Contender>),
}

/// One op at one size, on any queue, with its peers on the processor.
pub struct Line {
    /// Short unique name: `circle.interpolate/20`, `nn.softmax/65536x1024`.
    pub id: String,
    /// How much one run does.
    pub size: RunSize,
    show: Show,
    /// Ours first, then the peers.
    entrants: Vec<Entrant>,
    /// Goals, each with the condition it assumes, such as `avx-512`; empty for none.
    goals: Vec<(Goal, &'static str)>,
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Line {
    /// The op whose inputs `prepare` makes.
    pub(crate) fn new(
        id: &str,
        size: RunSize,
        prepare: impl Fn(&AnyQueue) -> Result<LineRun, LineError> + 'static,
    ) -> Self {
        Self::of_op(id, size, Box::new(prepare))
    }

    /// The line of a boxed op, so that code for each op's type is small.
    fn of_op(id: &str, size: RunSize, prepare: Box<Prepare>) -> Self {
        let ours = Entrant::Ours { name: "trefoil".to_owned(), simd: SimdLevel::Avx512, prepare: prepare.into() };
        Self { entrants: vec![ours], ..Self::of_peers(id, size) }
    }

    /// A line without an op, for [`peer`](Self::peer)s alone.
    pub(crate) fn of_peers(id: &str, size: RunSize) -> Self {
        Self { id: id.to_owned(), size, show: Show::Rate, entrants: Vec::new(), goals: Vec::new() }
    }

    /// The line under another id.
    pub(crate) fn called(self, id: &str) -> Self {
        Self { id: id.to_owned(), ..self }
    }

    /// The line with its work in another unit.
    pub(crate) fn counting(self, unit: &'static str, work: f64) -> Self {
        Self { size: RunSize { unit, work, ..self.size }, ..self }
    }

    /// The line with its times shown in nanoseconds for each unit.
    pub(crate) fn in_nanoseconds(self) -> Self {
        Self { show: Show::Nanoseconds, ..self }
    }

    /// The line with its op under another name, at this vector level.
    pub(crate) fn ours(mut self, ours: &str, level: SimdLevel) -> Self {
        if let Some(Entrant::Ours { name, simd, .. }) = self.entrants.first_mut() {
            (*name, *simd) = (ours.to_owned(), level);
        }
        self
    }

    /// Adds the same op at another vector level.
    pub(crate) fn level(mut self, name: &str, simd: SimdLevel) -> Self {
        let prepare = self.prepare().cloned();
        self.entrants.extend(prepare.map(|prepare| Entrant::Ours { name: name.to_owned(), simd, prepare }));
        self
    }

    /// Adds the same op without vector instructions.
    pub(crate) fn portable(self) -> Self {
        self.level("trefoil, portable path", SimdLevel::Portable)
    }

    /// Adds another op of ours that does the same work.
    pub(crate) fn variant(mut self, name: &str, line: Self) -> Self {
        self.entrants.extend(line.ours(name, SimdLevel::Avx512).entrants);
        self
    }

    /// Adds a peer.
    pub(crate) fn peer(self, build: impl FnOnce() -> Contender + 'static) -> Self {
        self.entrant(Entrant::Peer(Box::new(build)))
    }

    fn entrant(mut self, entrant: Entrant) -> Self {
        self.entrants.push(entrant);
        self
    }

    /// Adds a goal, with the condition it assumes.
    pub(crate) fn goal(mut self, goal: Goal, condition: &'static str) -> Self {
        self.goals.push((goal, condition));
        self
    }

    fn prepare(&self) -> Option<&Rc<Prepare>> {
        match self.entrants.first() {
            Some(Entrant::Ours { prepare, .. }) => Some(prepare),
            _ => None,
        }
    }

    /// Uploads the inputs, runs once to warm up, and measures rounds, without the peers.
    ///
    /// In each round, it starts the number of runs that fits the batch time before it waits.
    ///
    /// # Errors
    /// Any error of the backend or of a plan, and a line that has peers alone.
    pub fn measure(self, q: &AnyQueue, effort: Effort) -> Result<Timing, LineError> {
        let mut run = self.prepare().ok_or("the line has no op for a queue")?(q)?;
        run(q)?;
        q.finish()?;
        let mut repeats = 1u32;
        let mut once = |repeats: u32| -> Result<f64, LineError> {
            let start = Instant::now();
            for _ in 0..repeats {
                run(q)?;
            }
            q.finish()?;
            Ok(start.elapsed().as_secs_f64())
        };
        while once(repeats)? < effort.batch.as_secs_f64() && repeats < MAX_REPEATS {
            repeats *= 2;
        }
        let mut samples = Vec::with_capacity(effort.rounds);
        let start = Instant::now();
        for _ in 0..effort.rounds {
            samples.push(once(repeats)? / f64::from(repeats));
        }
        let rounds_s = start.elapsed().as_secs_f64();
        Ok(Timing::of(self.id, samples, rounds_s))
    }
}

/// A line at the sizes of a processor.
///
/// Lines at the sizes of a device have no contenders: their inputs may not fit the host's memory.
#[derive(Debug)]
pub struct Contest(Line);

impl Contest {
    /// The contest of a line at the sizes of a processor.
    pub(crate) fn new(line: Line) -> Self {
        Self(line)
    }

    /// The id of its line.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Builds every contender with its inputs: ours first, then the peers.
    #[must_use]
    pub fn contenders(self) -> Vec<Contender> {
        self.build().0
    }

    /// Measures all contenders, interleaved round by round.
    #[must_use]
    pub fn compare(self, effort: Effort) -> Standing {
        let (id, RunSize { unit, work, .. }, show) = (self.0.id.clone(), self.0.size, self.0.show);
        let (contenders, goals) = self.build();
        let timings = interleaved(contenders, effort);
        let mut standing = Standing { id, unit, work, show, timings, goals: Vec::new() };
        standing.goals = goals.into_iter().map(|(goal, given)| (goal, given, standing.meets(goal))).collect();
        standing
    }

    fn build(self) -> (Vec<Contender>, Vec<(Goal, &'static str)>) {
        let Line { id, size: RunSize { work, .. }, entrants, mut goals, .. } = self.0;
        let mut contenders: Vec<_> = entrants.into_iter().map(Entrant::build).collect();
        contenders.extend(stwo_times(&id, work));
        if let Some((contender, goal)) = pytorch(&id, work) {
            goals.extend(goal.map(|ratio| (Goal::Ratio { peer: contenders.len(), ratio }, "")));
            contenders.push(contender);
        }
        (contenders, goals)
    }
}

impl Entrant {
    fn build(self) -> Contender {
        match self {
            Self::Ours { name, simd, prepare } => {
                let q = one_thread(simd);
                let mut run = prepare(&q).expect("inputs that fit the memory");
                Contender::new(&name, move || run(&q).expect("the sizes match"))
            }
            Self::Peer(build) => build(),
        }
    }
}

/// A queue of the processor with one thread.
pub(crate) fn one_thread(simd: SimdLevel) -> AnyQueue {
    let config = CpuConfig { threads: Some(NonZeroUsize::MIN), simd, ..CpuConfig::default() };
    AnyQueue::Cpu(CpuQueue::open(config).expect("one thread needs no pool"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::contests;

    #[test]
    fn lines_have_names_apart_and_goals_name_their_peers() {
        let lines = contests();
        let ids: BTreeSet<&str> = lines.iter().map(Contest::id).collect();
        assert_eq!(ids.len(), lines.len());
        for Contest(line) in &lines {
            for (goal, _) in &line.goals {
                if let Goal::Ratio { peer, .. } | Goal::Beyond { peer, .. } = goal {
                    assert!((1..line.entrants.len()).contains(peer), "{}", line.id);
                }
            }
        }
    }
}
