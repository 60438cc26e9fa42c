//! `trefoil bench`: every speed line, compared with its peers.

mod device;

use std::{
    io::{self, Write as _},
    time::Duration,
};

use anyhow::Result;
use backend_api::Queue as _;
use comfy_table::{Table, presets};
use cpu_backend::{AesPath, SimdLevel};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use yardstick::{Effort, Goal, Show, Standing, contests};

use crate::{args::BenchArgs, exit::UsageError, output::OutputFile, report};

const FULL: Effort = Effort { rounds: 15, batch: Duration::from_millis(40) };
const QUICK: Effort = Effort { rounds: 5, batch: Duration::from_millis(8) };

#[derive(Serialize)]
struct BenchResults {
    version: &'static str,
    machine: String,
    path: String,
    rounds: usize,
    lines: Vec<BenchLine>,
}

#[derive(Serialize)]
struct BenchLine {
    id: String,
    unit: &'static str,
    work: f64,
    contenders: Vec<ContenderTimes>,
    goals: Vec<GoalLine>,
}

#[derive(Serialize)]
struct ContenderTimes {
    name: String,
    median_s: f64,
    best_s: f64,
    shown: String,
    /// `None` for times that were recorded on another machine.
    ours_over_this: Option<f64>,
}

#[derive(Serialize)]
struct GoalLine {
    text: String,
    verdict: &'static str,
}

/// Runs the command.
pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    if let Some(choice) = args.backend {
        return device::run(args, choice);
    }
    let mut chosen = contests();
    chosen.retain(|contest| contest.id().contains(&args.filter));
    if chosen.is_empty() {
        return Err(UsageError(format!("no speed line contains `{}`", args.filter)).into());
    }
    let json = args.json.as_deref().map(OutputFile::begin_public).transpose()?;
    let html = args.html.as_deref().map(OutputFile::begin_public).transpose()?;
    let effort = if args.quick { QUICK } else { FULL };
    let bar = ProgressBar::new(chosen.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:32} {pos}/{len} {msg}")?);
    let mut lines = Vec::new();
    for contest in chosen {
        bar.set_message(contest.id().to_owned());
        lines.push(line(&contest.compare(effort)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let results = BenchResults {
        version: env!("CARGO_PKG_VERSION"),
        machine: report::machine(),
        path: runtime::cpu()?.caps().path.clone(),
        rounds: effort.rounds,
        lines,
    };
    print(&results)?;
    if let Some(json) = json {
        json.finish(&serde_json::to_vec_pretty(&results)?)?;
    }
    if let Some(html) = html {
        html.finish(page(&results).to_html().as_bytes())?;
    }
    Ok(())
}

fn line(standing: &Standing) -> BenchLine {
    let shown = |seconds: f64| match standing.show {
        Show::Rate => format!("{} {}/s", with_prefix(standing.work / seconds), standing.unit),
        Show::Nanoseconds => format!("{:.3} ns/{}", seconds / standing.work * 1e9, standing.unit),
    };
    let contenders = standing.timings.iter().enumerate().map(|(i, timing)| ContenderTimes {
        name: timing.name.clone(),
        median_s: timing.median_s,
        best_s: timing.best_s,
        shown: shown(timing.median_s),
        ours_over_this: standing.ratio(i),
    });
    let goals = standing.goals.iter().map(|&(goal, condition, met)| {
        let want = match goal {
            Goal::Rate(rate) => {
                format!("at least {}", shown(standing.work / rate)).replace("at least", bound(standing.show))
            }
            Goal::Ratio { peer, ratio } => format!(">= {ratio:.2} x {}", standing.timings[peer].name),
            Goal::Beyond { peer, seconds } => {
                let got = standing.beyond(peer).map_or_else(String::new, |got| format!(", got {:.2} us", got * 1e6));
                format!("<= {:.2} us beyond {}{got}", seconds * 1e6, standing.timings[peer].name)
            }
        };
        let applies = condition_holds(condition);
        let text = if condition.is_empty() { want } else { format!("{want} (given {condition})") };
        let verdict = match (applies, met) {
            (_, true) => "met",
            (true, false) => "missed",
            (false, false) => "not measurable here",
        };
        GoalLine { text, verdict }
    });
    BenchLine {
        id: standing.id.clone(),
        unit: standing.unit,
        work: standing.work,
        contenders: contenders.collect(),
        goals: goals.collect(),
    }
}

/// A rate is bounded from below, a time per unit from above.
fn bound(show: Show) -> &'static str {
    match show {
        Show::Rate => ">=",
        Show::Nanoseconds => "<=",
    }
}

fn condition_holds(condition: &str) -> bool {
    match condition {
        "avx-512" => SimdLevel::Avx512.is_available(),
        "vaes" => AesPath::Vaes256.is_available(SimdLevel::Avx2),
        _ => true,
    }
}

fn with_prefix(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{:.2} G", v / 1e9),
        v if v >= 1e6 => format!("{:.2} M", v / 1e6),
        v if v >= 1e3 => format!("{:.2} k", v / 1e3),
        v => format!("{v:.2} "),
    }
}

const HEAD: [&str; 5] = ["line", "contender", "median", "ours / this", "goal"];

fn rows(results: &BenchResults) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for line in &results.lines {
        for (i, contender) in line.contenders.iter().enumerate() {
            let goal = |goal: &GoalLine| format!("{}: {}", goal.text, goal.verdict);
            rows.push(vec![
                if i == 0 { line.id.clone() } else { String::new() },
                contender.name.clone(),
                contender.shown.clone(),
                contender.ours_over_this.filter(|_| i > 0).map_or_else(String::new, |ratio| format!("{ratio:.2}")),
                if i == 0 { line.goals.iter().map(goal).collect::<Vec<_>>().join("; ") } else { String::new() },
            ]);
        }
    }
    rows
}

fn print(results: &BenchResults) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(HEAD).add_rows(rows(results));
    let mut out = io::stdout().lock();
    writeln!(out, "{table}")?;
    writeln!(out, "{}; {}; medians of {} interleaved rounds, one thread", results.machine, results.path, results.rounds)
}

fn page(results: &BenchResults) -> report::Page {
    let sections = results.lines.iter().map(|line| {
        let values: Vec<_> = line.contenders.iter().map(|c| (c.name.clone(), line.work / c.median_s / 1e6)).collect();
        report::ReportSection {
            heading: line.id.clone(),
            facts: line.goals.iter().map(|goal| (goal.text.clone(), goal.verdict.to_owned())).collect(),
            pictures: vec![report::bars_beside_peers(&line.id, &format!("M {}/s", line.unit), &values)],
            table: None,
        }
    });
    let mut sections: Vec<_> = sections.collect();
    sections.push(report::ReportSection {
        heading: "All lines".into(),
        table: Some(report::ReportTable { head: HEAD.map(str::to_owned).into(), rows: rows(results) }),
        ..report::ReportSection::default()
    });
    report::Page {
        title: "Trefoil speed lines".into(),
        lead: format!(
            "{}; {}; medians of {} interleaved rounds, one thread.",
            results.machine, results.path, results.rounds
        ),
        sections,
    }
}
