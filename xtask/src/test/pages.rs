//! The program's pages in a browser, on a wide screen and on a narrow one.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use xshell::{Shell, cmd};

use super::PROGRAM;
use crate::{
    step::{check_quietly, missing_tool, succeeds},
    tally::Tally,
};

const TITLE: &str = "pages in a browser";

/// Widths of the screens, in pixels.
const WIDTHS: [u32; 2] = [360, 1280];

const SCRIPT: &str = include_str!("pages.js");

/// The commands that write pages, after `trefoil`, with the option that names the page.
const COMMANDS: [(&str, &str); 8] = [
    ("demo --small", "--report"),
    ("nn train --epochs 40 --out network --history history", "--html"),
    ("nn predict --model network", "--html"),
    ("nn rollout --history history --training 20", "--html"),
    ("stark prove --air state-machine --log-rows 6 --out proof", "--html"),
    ("stark scale --air wide-fibonacci --log-rows 8 --columns 20", "--html"),
    ("bench --quick channel", "--html"),
    ("bench --quick --backend sim circle.interpolate", "--html"),
];

/// Measurements of a page.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PageMeasurements {
    texts: usize,
    wider: bool,
    small: Vec<String>,
    outside: Vec<String>,
    overlapping: Vec<[String; 2]>,
}

impl PageMeasurements {
    /// Faults of the page.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.texts < 10 {
            faults.push(format!("{} pieces of text", self.texts));
        }
        if self.wider {
            faults.push("wider than the screen".to_owned());
        }
        faults.extend(self.small.iter().map(|text| format!("less than 12 pixels high: {text}")));
        faults.extend(self.outside.iter().map(|text| format!("beyond the edge: {text}")));
        faults.extend(self.overlapping.iter().map(|[text, other]| format!("one over the other: {text}, {other}")));
        faults
    }
}

/// Writes every page and measures it.
pub(crate) fn run(sh: &Shell) -> Result<Tally> {
    if !succeeds(cmd!(sh, "chromium --version")) {
        return Ok(missing_tool(TITLE, "chromium is not installed (ci/install/chromium)"));
    }
    let (program, scratch) = (sh.current_dir().join(PROGRAM.path()), sh.create_temp_dir()?);
    let _in = sh.push_dir(scratch.path());
    let (mut tally, mut found) = (Tally::default(), BTreeMap::new());
    for (command, option) in COMMANDS {
        let words = command.split(' ');
        let written = check_quietly(&format!("{TITLE}: {command}"), cmd!(sh, "{program} {words...} {option} page"));
        if !written.failed.is_empty() {
            tally += written;
            continue;
        }
        let page = fs::read_to_string(scratch.path().join("page"))?;
        for width in WIDTHS {
            let faults = measured(sh, scratch.path(), &page, width)?.faults();
            let name = format!("{TITLE}: {command} at {width} pixels");
            tally += Tally::of(&name, faults.is_empty());
            found.insert(name, faults);
        }
    }
    for (name, faults) in found.iter().filter(|(_, faults)| !faults.is_empty()) {
        println!("{name}:\n  {}", faults.join("\n  "));
    }
    Ok(tally)
}

/// Shows a page in a frame, since windows have a least width.
fn measured(sh: &Shell, folder: &Path, page: &str, width: u32) -> Result<PageMeasurements> {
    let page = escaped(page);
    let framed = format!(
        "<!DOCTYPE html><html><head><title></title></head><body><iframe style=\"border:0;width:{width}px;height:900px\" \
         srcdoc=\"{page}\"></iframe><script>{SCRIPT}</script></body></html>"
    );
    let file = folder.join("framed.html");
    fs::write(&file, framed)?;
    // With a separate profile, without the shared memory that containers have little of, and for at most a minute.
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let options =
        ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom", &profile];
    let url = format!("file://{}", file.display());
    let browser = cmd!(sh, "timeout 60 chromium {options...} --virtual-time-budget=5000 {url}");
    let shown = browser.quiet().ignore_stderr().read()?;
    let title = shown.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let title = title.map(|(title, _)| title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"));
    let title = title.context("the browser shows a page with a title")?;
    ensure!(!title.is_empty(), "the browser did not measure the page");
    Ok(serde_json::from_str(&title)?)
}

/// Text of an attribute.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_page_is_named() {
        let page = |texts, wider| {
            let small = if wider { vec!["tiny".to_owned()] } else { Vec::new() };
            PageMeasurements { texts, wider, small, outside: Vec::new(), overlapping: Vec::new() }
        };
        assert!(page(10, false).faults().is_empty());
        assert_eq!(
            page(9, true).faults(),
            ["9 pieces of text", "wider than the screen", "less than 12 pixels high: tiny"]
        );
    }
}
