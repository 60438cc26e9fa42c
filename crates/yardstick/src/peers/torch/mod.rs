//! PyTorch on one thread in a separate process, as a peer of the network benchmarks.
//!
//! It runs if the `python3` of the search path has PyTorch. Otherwise recorded times are used,
//! which are valid for one processor only.

mod recorded;

use std::{
    cell::RefCell,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    rc::Rc,
    time::Duration,
};

use crate::Contender;

/// The program that times PyTorch, line by line.
const WORKER: &str = include_str!("worker.py");

/// The least rate of ours relative to PyTorch, of most lines.
const GOAL: f64 = 1.0;

/// The least rate of ours relative to PyTorch, of other lines.
const GOALS: [(&str, f64); 5] = [
    ("nn.attention/1x8x2048x64", 1.0 / 0.75),
    ("nn.attention/4x8x512x64", 1.0 / 0.48),
    ("nn.attention/8x12x128x64", 1.0 / 0.6),
    ("nn.attention_backward/4x8x512x64", 1.0 / 0.7),
    ("nn.text_step", 1.0 / 0.78),
];

thread_local! {
    /// Started by the first line of networks; `None` inside if there is no PyTorch.
    static PYTORCH: Option<Rc<RefCell<Worker>>> = Worker::start().map(|worker| Rc::new(RefCell::new(worker)));
}

/// A process that answers each line with one.
struct Worker {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Of PyTorch.
    version: String,
}

impl Worker {
    /// The process, once it has found PyTorch.
    fn start() -> Option<Self> {
        let mut process =
            Command::new("python3").args(["-c", WORKER]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (requests, answers) = (process.stdin.take()?, BufReader::new(process.stdout.take()?));
        let mut worker = Self { process, requests, answers, version: String::new() };
        worker.version = worker.answer()?;
        Some(worker)
    }

    /// The next line, or `None` from a process that has ended.
    fn answer(&mut self) -> Option<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).ok()?;
        let line = line.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    fn ask(&mut self, request: &str) -> Option<String> {
        writeln!(self.requests, "{request}").ok()?;
        self.requests.flush().ok()?;
        self.answer()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// PyTorch at the `work` of a line, if PyTorch has the line.
///
/// It comes with the least rate of ours relative to it, unless its time is a recorded one.
pub(crate) fn pytorch(id: &str, work: f64) -> Option<(Contender, Option<f64>)> {
    if !id.starts_with("nn.") {
        return None;
    }
    let Some(worker) = PYTORCH.with(Clone::clone) else {
        return Some((recorded::contender(id, work)?, None));
    };
    if !prepare(&mut worker.borrow_mut(), id) {
        return None;
    }
    let name = format!("PyTorch {}", worker.borrow().version);
    let goal = GOALS.iter().find(|&&(line, _)| line == id).map_or(GOAL, |&(_, goal)| goal);
    Some((Contender::timed(&name, move || time(&mut worker.borrow_mut())), Some(goal)))
}

/// Has the line's inputs made, if PyTorch has the line.
#[expect(clippy::expect_used, reason = "a bench whose peer broke off cannot go on")]
fn prepare(worker: &mut Worker, id: &str) -> bool {
    worker.ask(&format!("prepare {id}")).expect("PyTorch answers, or its error is above") == "ready"
}

/// How long one run of the prepared line took.
#[expect(clippy::expect_used, reason = "a bench whose peer broke off cannot go on")]
fn time(worker: &mut Worker) -> Duration {
    let seconds = worker
        .ask("run")
        .and_then(|answer| answer.parse().ok())
        .expect("PyTorch answers with a time, or its error is above");
    Duration::from_secs_f64(seconds)
}
