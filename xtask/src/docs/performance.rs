//! The page `docs/performance.md`.
//!
//! It is made from the results in `docs/performance` and the words of its `page.toml`.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The text of the page between its tables.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    /// Text before the first table.
    head: String,
    /// Results of `trefoil bench --json`, a column each.
    machine: Vec<MachineResults>,
    /// Results of `trefoil bench --backend gpu --json`, a column each.
    device: Vec<MachineResults>,
    workload: Vec<Workload>,
    /// Text after the last table.
    tail: String,
}

/// Results of one machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineResults {
    /// Head of the column.
    name: String,
    /// The results, from the folder of the page.
    file: String,
    /// Times of another program on the same device.
    peer: Option<String>,
}

/// A section of the page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Workload {
    title: String,
    /// How the names of its lines begin.
    lines: Vec<String>,
    /// At most five lines of text below the tables.
    words: String,
}

/// Results on a processor, one contender next to others.
#[derive(Debug, Deserialize)]
struct Contests {
    lines: Vec<Contest>,
}

#[derive(Debug, Deserialize)]
struct Contest {
    id: String,
    contenders: Vec<Contender>,
    goals: Vec<GoalVerdict>,
}

#[derive(Debug, Deserialize)]
struct Contender {
    name: String,
    shown: String,
    /// Nothing for times that were recorded on another machine.
    ours_over_this: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct GoalVerdict {
    text: String,
    verdict: String,
}

/// Results on a device.
#[derive(Debug, Deserialize)]
struct Rates {
    lines: Vec<Rate>,
}

#[derive(Debug, Deserialize)]
struct Rate {
    id: String,
    unit: String,
    work: f64,
    median_s: f64,
    of_copy: Option<f64>,
}

/// Another program's seconds by line.
#[derive(Debug, Deserialize)]
struct Peer {
    name: String,
    lines: BTreeMap<String, f64>,
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("cannot parse {}", path.display()))
}

/// A line's rate next to its peers, and the verdicts on its goals.
fn contest(line: &Contest) -> String {
    let ours = line.contenders.first().map_or("", |ours| ours.shown.as_str());
    let peers = line.contenders.iter().skip(1).filter(|peer| !peer.name.starts_with("trefoil"));
    let ratios = peers.filter_map(|peer| Some(format!("{:.2} x {}", peer.ours_over_this?, peer.name)));
    let goals = line.goals.iter().map(|goal| match goal.verdict.as_str() {
        "missed" => format!("**{} missed**", goal.text),
        verdict => format!("{} {verdict}", goal.text),
    });
    [ours.to_owned()].into_iter().chain(ratios).chain(goals).collect::<Vec<_>>().join("; ")
}

/// A number with its unit: `4.26 T byte/s`.
fn rate(per_s: f64, unit: &str) -> String {
    let (scale, prefix) = [(1e12, "T "), (1e9, "G "), (1e6, "M "), (1e3, "k ")]
        .into_iter()
        .find(|(scale, _)| per_s >= *scale)
        .unwrap_or((1.0, ""));
    format!("{:.2} {prefix}{unit}/s", per_s / scale)
}

fn measured(line: &Rate, peer: Option<&Peer>) -> String {
    let ours = Some(rate(line.work / line.median_s, &line.unit));
    let copy = line.of_copy.filter(|_| line.id != "copy").map(|share| format!("{:.0} % of a copy", 100.0 * share));
    let theirs =
        peer.and_then(|peer| Some(format!("{:.2} x {}", peer.lines.get(&line.id)? / line.median_s, peer.name)));
    [ours, copy, theirs].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Names of lines with the cells of one machine.
type MachineColumn = Vec<(String, String)>;

/// A table with a column for each machine, and a row for each line that one of them has.
fn table(names: &[&str], columns: &[MachineColumn]) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for (id, _) in columns.iter().flatten() {
        if !ids.contains(&id.as_str()) {
            ids.push(id);
        }
    }
    if ids.is_empty() {
        return String::new();
    }
    let mut text = format!("\n| line | {} |\n| --- |{}\n", names.join(" | "), " --- |".repeat(names.len()));
    for id in ids {
        let cell = |column: &MachineColumn| {
            column.iter().find(|(other, _)| other == id).map_or("", |(_, cell)| cell).to_owned()
        };
        let cells: Vec<String> = columns.iter().map(cell).collect();
        text.push_str(&format!("| `{id}` | {} |\n", cells.join(" | ")));
    }
    text
}

/// The page.
pub(super) fn page(folder: &Path) -> Result<String> {
    let text = fs::read_to_string(folder.join("page.toml")).context("cannot read docs/performance/page.toml")?;
    let page: Page = toml::from_str(&text).context("cannot parse docs/performance/page.toml")?;
    let contests: Vec<Contests> =
        page.machine.iter().map(|source| read(&folder.join(&source.file))).collect::<Result<_>>()?;
    let device = |source: &MachineResults| {
        let peer = source.peer.as_ref().map(|peer| read(&folder.join(peer))).transpose()?;
        Ok((read(&folder.join(&source.file))?, peer))
    };
    let rates: Vec<(Rates, Option<Peer>)> = page.device.iter().map(device).collect::<Result<_>>()?;
    let machines: Vec<&str> = page.machine.iter().map(|source| source.name.as_str()).collect();
    let devices: Vec<&str> = page.device.iter().map(|source| source.name.as_str()).collect();
    let mut text = page.head.clone();
    for Workload { title, lines, words } in &page.workload {
        ensure!(words.trim().lines().count() <= 5, "{title}: expected at most 5 lines of words");
        let is_here = |id: &str| lines.iter().any(|prefix| id.starts_with(prefix.as_str()));
        let on_machine = |all: &Contests| {
            let here = all.lines.iter().filter(|line| is_here(&line.id));
            here.map(|line| (line.id.clone(), contest(line))).collect()
        };
        let on_machines: Vec<MachineColumn> = contests.iter().map(on_machine).collect();
        let on_device = |(all, peer): &(Rates, Option<Peer>)| {
            let here = all.lines.iter().filter(|line| is_here(&line.id));
            here.map(|line| (line.id.clone(), measured(line, peer.as_ref()))).collect()
        };
        let on_devices: Vec<MachineColumn> = rates.iter().map(on_device).collect();
        text.push_str(&format!("\n## {title}\n\n{}\n", words.trim()));
        text.push_str(&table(&machines, &on_machines));
        text.push_str(&table(&devices, &on_devices));
    }
    text.push('\n');
    text.push_str(&page.tail);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_and_ratios_are_shown() {
        let line = r#"{"id": "a", "contenders": [
            {"name": "trefoil", "shown": "2 ns", "ours_over_this": 1.0},
            {"name": "trefoil, portable", "shown": "4 ns", "ours_over_this": 2.0},
            {"name": "gemm", "shown": "1 ns", "ours_over_this": 0.5},
            {"name": "stwo, elsewhere", "shown": "1 ns", "ours_over_this": null}],
            "goals": [{"text": ">= 1 x gemm", "verdict": "missed"}, {"text": "<= 3 ns", "verdict": "met"}]}"#;
        let line: Contest = serde_json::from_str(line).unwrap();
        assert_eq!(contest(&line), "2 ns; 0.50 x gemm; **>= 1 x gemm missed**; <= 3 ns met");
        assert_eq!(rate(4.26e12, "byte"), "4.26 T byte/s");
    }
}
