//! `trefoil bench --backend NAME`: the main ops of one backend, compared with its copy.

mod clocks;
mod event;
mod isolated;
mod measure;
mod results;
mod show;

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use anyhow::{Context as _, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use runtime::Choice;

use self::{
    clocks::Sampler,
    event::BenchEvent,
    results::{DeviceResults, Failed, PeerResults},
};
use crate::{args::BenchArgs, isolate::Events};

/// Runs the command.
pub(super) fn run(args: &BenchArgs, choice: Choice) -> Result<()> {
    let ids: Vec<_> = measure::chosen(args)?.into_iter().map(|line| line.id).collect();
    if args.list {
        let mut out = io::stdout().lock();
        return ids.iter().try_for_each(|id| writeln!(out, "{id}")).context("printing");
    }
    let mut watch = Watch::new(args, choice, ids.len())?;
    let outcome = if args.isolate {
        isolated::run(args, choice, ids.into_iter(), &mut |event| watch.tell(event))
    } else {
        measure::run(args, choice, &mut |event| watch.tell(event))
    };
    watch.finish(outcome)
}

/// Collects events, and keeps the result files complete at every moment.
struct Watch<'a> {
    args: &'a BenchArgs,
    events: Events,
    results: DeviceResults,
    sampler: Option<Sampler>,
    bar: ProgressBar,
}

impl<'a> Watch<'a> {
    fn new(args: &'a BenchArgs, choice: Choice, lines: usize) -> Result<Self> {
        let peer = args.peer.as_deref().map(read_peer).transpose()?;
        let bar = ProgressBar::new(lines as u64);
        bar.set_style(ProgressStyle::with_template("{bar:32} {pos}/{len} {msg}")?);
        let events = Events::begin(args.events.as_deref())?;
        let device = runtime::Settings::from_env().map(|settings| settings.cuda_device).unwrap_or_default();
        Ok(Self {
            args,
            results: DeviceResults::new(args.note.clone(), peer),
            sampler: if choice == Choice::Gpu && !events.are_on_stdout() { Sampler::start(device) } else { None },
            events,
            bar,
        })
    }

    fn tell(&mut self, event: &BenchEvent) -> Result<()> {
        self.events.tell(event)?;
        match event {
            BenchEvent::Opened(machine) => self.results.machine = Some(machine.clone()),
            BenchEvent::Begins { id } => {
                self.bar.set_message(id.clone());
                return Ok(());
            }
            BenchEvent::Measured(measured) => {
                let clocks = self.sampler.as_ref().and_then(|sampler| sampler.of_last(measured.rounds_s));
                self.results.add(measured.clone(), clocks);
                self.bar.inc(1);
            }
            BenchEvent::Failed { id, reason } => {
                self.results.failed.push(Failed { id: id.clone(), reason: reason.clone() });
                self.bar.inc(1);
            }
            BenchEvent::Closed => self.results.complete = true,
        }
        self.write()
    }

    fn write(&self) -> Result<()> {
        self.args.json.as_deref().map_or(Ok(()), |path| show::write_json(&self.results, path))?;
        self.args.html.as_deref().map_or(Ok(()), |path| show::write_html(&self.results, path))
    }

    fn finish(self, outcome: Result<()>) -> Result<()> {
        self.bar.finish_and_clear();
        outcome?;
        if !self.events.are_on_stdout() {
            show::print(&self.results)?;
        }
        match self.results.failed.len() {
            0 => Ok(()),
            failed => bail!("{failed} of {} lines were not measured", failed + self.results.lines.len()),
        }
    }
}

fn read_peer(path: &Path) -> Result<PeerResults> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let expected = "expected {\"name\": text, \"lines\": {id: seconds}}";
    serde_json::from_str(&text).with_context(|| format!("{}: {expected}", path.display()))
}
