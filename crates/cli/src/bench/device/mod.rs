//! `trefoil bench --backend NAME`: the main ops of one backend, beside a copy on the same device.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    path::Path,
};

use anyhow::{Context as _, Result, anyhow, bail};
use backend_api::Queue as _;
use comfy_table::{Table, presets};
use conformance::bench::{
    Timing,
    device::{COPY, Extent, lines},
};
use indicatif::{ProgressBar, ProgressStyle};
use runtime::{AnyQueue, Choice};
use serde::{Deserialize, Serialize};

use super::{FULL, QUICK, with_prefix};
use crate::{args::BenchArgs, report};

/// What another program measured.
#[derive(Deserialize)]
struct Peer {
    name: String,
    /// Seconds of one run, by the id of the line.
    lines: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct Results {
    version: &'static str,
    backend: String,
    device: String,
    path: String,
    /// The CUDA driver, if the backend has one.
    driver: Option<String>,
    note: Option<String>,
    peer: Option<String>,
    rounds: usize,
    copy_bytes_per_s: f64,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    id: String,
    unit: &'static str,
    work: f64,
    median_s: f64,
    best_s: f64,
    /// Rate of memory traffic divided by the copy's, where memory is the limit.
    of_copy: Option<f64>,
    peer_s: Option<f64>,
}

impl Line {
    fn rate(&self) -> String {
        format!("{} {}/s", with_prefix(self.work / self.median_s), self.unit)
    }

    /// Our rate divided by the peer's.
    fn of_peer(&self) -> Option<f64> {
        self.peer_s.map(|peer_s| peer_s / self.median_s)
    }
}

/// Runs the command.
pub(super) fn run(args: &BenchArgs, choice: Choice) -> Result<()> {
    let settings = runtime::Settings::from_env().map_err(runtime::OpenError::from)?;
    let (queue, status) = runtime::open_with(&settings, None, Some(choice))?;
    let peer = args.peer.as_deref().map(read_peer).transpose()?;
    let (extent, effort) = if args.quick { (Extent::Small, QUICK) } else { (Extent::Full, FULL) };
    let mut chosen = lines::<AnyQueue>(extent);
    // The copy stays: other lines are related to it.
    chosen.retain(|line| line.id == COPY || line.id.contains(&args.filter));
    if chosen.len() == 1 && !COPY.contains(&args.filter) {
        bail!("no speed line contains `{}`", args.filter);
    }
    let bar = ProgressBar::new(chosen.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:32} {pos}/{len} {msg}")?);
    let mut copy_bytes_per_s = 0.0;
    let mut measured = Vec::new();
    for line in chosen {
        bar.set_message(line.id.clone());
        let (id, unit, work, bytes) = (line.id.clone(), line.unit, line.work, line.bytes);
        let Timing { median_s, best_s, .. } =
            line.measure(&queue, effort).map_err(|error| anyhow!("measuring {id}: {error}"))?;
        if id == COPY {
            copy_bytes_per_s = bytes / median_s;
        }
        let of_copy = (bytes > 0.0).then(|| bytes / median_s / copy_bytes_per_s);
        let peer_s = peer.as_ref().and_then(|peer| peer.lines.get(&id).copied());
        measured.push(Line { id, unit, work, median_s, best_s, of_copy, peer_s });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let caps = queue.caps();
    let results = Results {
        version: env!("CARGO_PKG_VERSION"),
        backend: status.to_string(),
        device: caps.device.clone(),
        path: caps.path.clone(),
        driver: driver(&settings, &queue),
        note: args.note.clone(),
        peer: peer.map(|peer| peer.name),
        rounds: effort.rounds,
        copy_bytes_per_s,
        lines: measured,
    };
    print(&results)?;
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&results)?;
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    if let Some(path) = &args.html {
        write_html(&results, path).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn driver(settings: &runtime::Settings, queue: &AnyQueue) -> Option<String> {
    let AnyQueue::Cuda(_) = queue else { return None };
    let facts = runtime::cuda_facts(settings).ok()?;
    Some(format!("CUDA {}, {}", facts.driver.version, facts.driver.origin))
}

fn read_peer(path: &Path) -> Result<Peer> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let expected = "expected {\"name\": text, \"lines\": {id: seconds}}";
    serde_json::from_str(&text).with_context(|| format!("{}: {expected}", path.display()))
}

fn head(results: &Results) -> Vec<String> {
    let peer = results.peer.as_deref().unwrap_or("peer");
    ["line", "median", "rate", "of copy", &format!("ours / {peer}")].map(str::to_owned).into()
}

fn rows(results: &Results) -> Vec<Vec<String>> {
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
    let row = |line: &Line| {
        vec![
            line.id.clone(),
            format!("{:.1} us", line.median_s * 1e6),
            line.rate(),
            percent(line.of_copy),
            line.of_peer().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        ]
    };
    results.lines.iter().map(row).collect()
}

fn lead(results: &Results) -> String {
    let note = results.note.as_deref().map_or_else(String::new, |note| format!("; {note}"));
    let driver = results.driver.as_deref().map_or_else(String::new, |driver| format!("{driver}; "));
    format!("{}; {driver}{}; medians of {} rounds{note}", results.backend, results.path, results.rounds)
}

fn print(results: &Results) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head(results));
    for row in rows(results) {
        table.add_row(row);
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{table}")?;
    writeln!(out, "{}", lead(results))
}

fn write_html(results: &Results, path: &Path) -> Result<()> {
    let shares = |of: fn(&Line) -> Option<f64>| -> Vec<_> {
        results.lines.iter().filter_map(|line| Some((line.id.clone(), 100.0 * of(line)?))).collect()
    };
    let mut pictures =
        vec![report::bars("Memory traffic as a share of the copy's", "%", &shares(|line| line.of_copy))?];
    let beside = shares(Line::of_peer);
    if let Some(peer) = results.peer.as_deref().filter(|_| !beside.is_empty()) {
        pictures.push(report::bars(&format!("Our speed as a share of that of {peer}"), "%", &beside)?);
    }
    let page = report::Page {
        title: format!("Trefoil ops on {}", results.device),
        lead: lead(results),
        sections: vec![report::Section {
            heading: "Every line".into(),
            facts: vec![("copy".into(), format!("{}B/s read and written", with_prefix(results.copy_bytes_per_s)))],
            pictures,
            table: Some(report::Table { head: head(results), rows: rows(results) }),
        }],
    };
    Ok(page.write(path)?)
}
