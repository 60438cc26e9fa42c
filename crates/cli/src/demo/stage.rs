//! What every workload of the demo is given and returns.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use runtime::{AnyQueue, BackendStatus, Choice, Domain, OpenError, Settings};

use crate::{args::DemoArgs, report};

/// A workload.
pub(crate) struct DemoStage {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&DemoContext) -> Result<Findings>,
}

/// The queues, paths and options of the workloads.
pub(crate) struct DemoContext {
    /// Queue of the STARK workload.
    pub(crate) stark: AnyQueue,
    /// Queue of the neural-network workload.
    pub(crate) nn: AnyQueue,
    /// Queue of the function-secret-sharing workload.
    pub(crate) pfss: AnyQueue,
    /// What each of them got, in the order of the workloads.
    pub(crate) backends: [(&'static str, BackendStatus); 3],
    /// The backend given on the command line, for processes started by a workload.
    pub(crate) backend: Option<Choice>,
    /// Whether to use smaller inputs.
    pub(crate) small: bool,
    /// Output folder of the workloads.
    pub(crate) out: PathBuf,
    /// The file of this process's profile, if there is one.
    pub(crate) profile: Option<PathBuf>,
}

impl DemoContext {
    /// Opens the queues that the arguments and the environment ask for, and the output folder.
    pub(crate) fn open(args: &DemoArgs, out: &Path, profile: Option<&Path>) -> Result<Self> {
        let settings = Settings::from_env().map_err(OpenError::from)?;
        let open = |domain| runtime::open_with(&settings, Some(domain), args.backend);
        let ((stark, stark_status), (nn, nn_status), (pfss, pfss_status)) =
            (open(Domain::Stark)?, open(Domain::Nn)?, open(Domain::Pfss)?);
        Ok(Self {
            stark,
            nn,
            pfss,
            backends: [("stark", stark_status), ("nn-ops", nn_status), ("pfss", pfss_status)],
            backend: args.backend,
            small: args.small,
            out: out.to_owned(),
            profile: profile.map(Path::to_owned),
        })
    }

    /// A progress bar of `steps` steps on standard error.
    pub(crate) fn bar(&self, title: &str, steps: usize) -> Result<ProgressBar> {
        let style = ProgressStyle::with_template("{prefix:24} {bar:32} {pos}/{len} {msg}").context("progress style")?;
        Ok(ProgressBar::new(steps as u64).with_style(style).with_prefix(title.to_owned()))
    }
}

/// The findings of a workload.
///
/// Only verified results get here: a failed check ends the demo with an error.
pub(crate) struct Findings {
    title: &'static str,
    facts: Vec<(String, String)>,
    times: Vec<(String, Duration)>,
    pictures: Vec<String>,
}

impl Findings {
    /// Nothing found yet.
    pub(crate) fn new(title: &'static str) -> Self {
        Self { title, facts: Vec::new(), times: Vec::new(), pictures: Vec::new() }
    }

    /// Records a fact.
    pub(crate) fn fact(&mut self, name: &str, value: impl ToString) {
        self.facts.push((name.to_owned(), value.to_string()));
    }

    /// Records that a check held, or ends the workload.
    pub(crate) fn check(&mut self, what: &str, held: bool) -> Result<()> {
        ensure!(held, "check failed: {what}");
        self.facts.push(("verified".to_owned(), what.to_owned()));
        Ok(())
    }

    /// Runs and times a step.
    pub(crate) fn time<T>(&mut self, step: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let result = body().with_context(|| step.to_owned())?;
        self.times.push((step.to_owned(), start.elapsed()));
        Ok(result)
    }

    /// Records the time of a step.
    pub(crate) fn took(&mut self, step: &str, time: Duration) {
        self.times.push((step.to_owned(), time));
    }

    /// Adds a picture.
    pub(crate) fn picture(&mut self, html: String) {
        self.pictures.push(html);
    }

    /// The findings for a terminal.
    pub(crate) fn to_text(&self) -> String {
        let mut lines = vec![self.title.to_owned()];
        lines.extend(self.times.iter().map(|(step, time)| format!("  {:>9.1} ms  {step}", time.as_secs_f64() * 1e3)));
        lines.extend(self.facts.iter().map(|(name, value)| format!("  {name:<22} {value}")));
        lines.join("\n")
    }

    /// The findings for the report.
    pub(crate) fn into_section(self) -> Result<report::ReportSection> {
        let times: Vec<_> = self.times.iter().map(|(step, time)| (step.clone(), time.as_secs_f64() * 1e3)).collect();
        let mut pictures = vec![report::bars("time per step", "ms", &times)];
        pictures.extend(self.pictures);
        Ok(report::ReportSection { heading: self.title.to_owned(), facts: self.facts, pictures, table: None })
    }
}
