//! Results as a table, a JSON file and a page.

use std::{
    io::{self, Write as _},
    path::Path,
};

use anyhow::Result;
use comfy_table::{Table, presets};

use super::results::{DeviceResults, ResultLine};
use crate::{bench::with_prefix, output::OutputFile, report};

fn head(results: &DeviceResults) -> Vec<String> {
    let peer = results.peer.as_ref().map_or("peer", |peer| &peer.name);
    ["line", "median", "rate", "of copy", &format!("ours / {peer}"), "from", "SM clock"].map(str::to_owned).into()
}

fn rows(results: &DeviceResults) -> Vec<Vec<String>> {
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| format!("{:.0} %", 100.0 * share));
    let row = |line: &ResultLine| {
        let measured = &line.measured;
        vec![
            measured.id.clone(),
            format!("{:.1} us", measured.median_s * 1e6),
            format!("{} {}/s", with_prefix(measured.work / measured.median_s), measured.unit),
            percent(line.of_copy),
            line.of_peer().map_or_else(String::new, |ratio| format!("{ratio:.2}")),
            if line.in_cache { "cache" } else { "" }.to_owned(),
            line.clocks.map_or_else(String::new, |clocks| format!("{}..{} MHz", clocks.sm_mhz[0], clocks.sm_mhz[1])),
        ]
    };
    let mut rows: Vec<_> = results.lines.iter().map(row).collect();
    let cells = head(results).len();
    rows.extend(results.failed.iter().map(|failed| {
        let mut row = vec![failed.id.clone(), "failed".to_owned(), failed.reason.clone()];
        row.resize(cells, String::new());
        row
    }));
    rows
}

fn lead(results: &DeviceResults) -> String {
    let note = results.note.as_deref().map_or_else(String::new, |note| format!("; {note}"));
    let Some(machine) = &results.machine else { return format!("the backend did not open{note}") };
    let driver = machine.driver.as_deref().map_or_else(String::new, |driver| format!("{driver}; "));
    let cut = if results.complete { "" } else { "; not every line was measured" };
    let cache = machine.cache_bytes.map_or_else(String::new, |bytes| {
        format!("; lines `from cache` have buffers of at most {bytes} bytes, which the device's cache holds")
    });
    format!("{}; {driver}{}; medians of {} rounds{cache}{note}{cut}", machine.status, machine.path, machine.rounds)
}

/// Prints the table.
pub(super) fn print(results: &DeviceResults) -> io::Result<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head(results)).add_rows(rows(results));
    let mut out = io::stdout().lock();
    writeln!(out, "{table}")?;
    for (id, seconds) in &results.peer_only {
        let peer = results.peer.as_ref().map_or("peer", |peer| &peer.name);
        writeln!(out, "{peer} alone: {id} {:.1} us", seconds * 1e6)?;
    }
    writeln!(out, "{}", lead(results))
}

/// Writes the results as JSON, whole or not at all.
pub(super) fn write_json(results: &DeviceResults, path: &Path) -> Result<()> {
    OutputFile::begin(path)?.finish(&serde_json::to_vec_pretty(results)?)
}

/// Writes the results as a page, whole or not at all.
pub(super) fn write_html(results: &DeviceResults, path: &Path) -> Result<()> {
    let shares = |of: fn(&ResultLine) -> Option<f64>| -> Vec<_> {
        results.lines.iter().filter_map(|line| Some((line.measured.id.clone(), 100.0 * of(line)?))).collect()
    };
    let mut pictures = Vec::new();
    let of_copy = shares(|line| line.of_copy);
    if !of_copy.is_empty() {
        pictures.push(report::bars("Memory traffic as a share of the copy's", "%", &of_copy));
    }
    let beside = shares(ResultLine::of_peer);
    if let Some(peer) = results.peer.as_ref().filter(|_| !beside.is_empty()) {
        pictures.push(report::bars(&format!("Our speed as a share of that of {}", peer.name), "%", &beside));
    }
    let mut facts: Vec<_> =
        results.peer_only.iter().map(|(id, seconds)| (id.clone(), format!("{:.1} us", seconds * 1e6))).collect();
    if let Some(rate) = results.copy_bytes_per_s {
        facts.insert(0, ("copy".into(), format!("{}B/s read and written", with_prefix(rate))));
    }
    let page = report::Page {
        title: format!("Trefoil ops on {}", results.machine.as_ref().map_or("no device", |machine| &machine.device)),
        lead: lead(results),
        sections: vec![report::ReportSection {
            heading: "Every line".into(),
            facts,
            pictures,
            table: Some(report::ReportTable { head: head(results), rows: rows(results) }),
        }],
    };
    OutputFile::begin(path)?.finish(page.to_html().as_bytes())
}
