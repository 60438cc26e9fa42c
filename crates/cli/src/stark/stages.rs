//! The time of each stage.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressStyle};
use stark::Stage;

/// A clock that is told when stages begin.
pub(crate) struct Stages {
    bar: ProgressBar,
    running: Option<(String, Instant)>,
    times: Vec<(String, Duration)>,
}

impl Stages {
    /// A clock with a progress bar on standard error.
    pub(crate) fn new(title: &str) -> Result<Self> {
        let template = "{prefix:24} {bar:32} {pos}/{len} {elapsed} {msg}";
        let style = ProgressStyle::with_template(template).context("progress style")?;
        let bar = ProgressBar::new(Stage::ALL.len() as u64 + 2).with_style(style).with_prefix(title.to_owned());
        Ok(Self { bar, running: None, times: Vec::new() })
    }

    /// A clock without a bar.
    pub(crate) fn silent() -> Self {
        Self { bar: ProgressBar::hidden(), running: None, times: Vec::new() }
    }

    /// A stage begins, and the one before it ends.
    pub(crate) fn begin(&mut self, stage: impl ToString) {
        let now = Instant::now();
        self.end_at(now);
        let stage = stage.to_string();
        self.bar.set_message(stage.clone());
        self.running = Some((stage, now));
    }

    /// The last stage ends.
    pub(crate) fn end(mut self) -> Vec<(String, Duration)> {
        self.end_at(Instant::now());
        self.bar.finish_and_clear();
        self.times
    }

    fn end_at(&mut self, now: Instant) {
        if let Some((stage, start)) = self.running.take() {
            self.times.push((stage, now - start));
            self.bar.inc(1);
        }
    }
}
