//! `trefoil nn predict`.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use inference::digits;
use nn_ops::io::{NpyArray, write_npy};
use runtime::{Choice, Domain};

use super::{array, data::DatasetRows, model};
use crate::{
    exit::note,
    files::NamedFile,
    output::{OutputFile, print},
    queue::open,
    report,
};

/// Classify rows with a trained network.
///
/// Without files, the rows are the digits to test with. With labels, the accuracy and the confusion
/// matrix are printed too.
#[derive(Args, Debug)]
pub(crate) struct PredictArgs {
    /// The network: safetensors with `NAME.weight` and `NAME.bias` for each layer.
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The names of its layers, from the first [default: layers.0,layers.1,...].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    layers: Vec<String>,
    /// Whether weights are [inputs, outputs] or [outputs, inputs].
    ///
    /// [default: implied by the shapes of the biases, or in-out in files that Trefoil wrote].
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<model::WeightLayout>,
    /// Features, [rows, features] of any numbers [default: the handwritten digits to test with].
    ///
    /// A NumPy file, or an archive of NumPy or safetensors with `inputs`.
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// The class of each row, from 0.
    ///
    /// A NumPy file of integers or booleans, or an archive of NumPy with `labels`.
    #[arg(long, value_name = "FILE", requires = "inputs")]
    labels: Option<PathBuf>,
    /// Write the classes to FILE, a NumPy file of 32-bit integers.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write a report to FILE.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Backend: cpu, gpu (= cuda), auto or sim [default: TREFOIL_BACKEND, or else cpu].
    #[arg(long, value_name = "NAME")]
    backend: Option<Choice>,
}

impl PredictArgs {
    /// The files that it reads and writes.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        let read = [("--inputs", &self.inputs), ("--labels", &self.labels)];
        let written = [("--out", &self.out), ("--html", &self.html)];
        let read = read.into_iter().filter_map(|(by, path)| Some(NamedFile::read(by, path.as_deref()?)));
        let written = written.into_iter().filter_map(|(by, path)| Some(NamedFile::written(by, path.as_deref()?)));
        [NamedFile::read("--model", &self.model)].into_iter().chain(read).chain(written).collect()
    }

    /// The rows, and whether they have labels.
    fn rows(&self) -> Result<(DatasetRows, bool)> {
        let Some(inputs) = &self.inputs else {
            return Ok((DatasetRows::of_digits(&digits::load()?.1), true));
        };
        match &self.labels {
            Some(labels) => Ok((DatasetRows::read(inputs, labels)?, true)),
            None => Ok((DatasetRows::unlabelled(array::numbers(inputs, "inputs")?)?, false)),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &PredictArgs) -> Result<()> {
    let begin = |path: &Option<PathBuf>| path.as_deref().map(OutputFile::begin_public).transpose();
    let (out, html) = (begin(&args.out)?, begin(&args.html)?);
    let tell = if [&out, &html].into_iter().flatten().any(OutputFile::is_stdout) { note } else { print };
    let q = open(Domain::Nn, args.backend)?;
    let (rows, labelled) = args.rows()?;
    let network = model::read(&q, &args.model, &args.layers, args.layout)?;
    let predicted = model::classify(&q, &network, &rows).context("classifying the rows")?;
    let mut facts = vec![("rows".to_owned(), rows.count().to_string())];
    let mut table = None;
    if labelled {
        let right = model::accuracy(&predicted, &rows.labels);
        facts.push(("accuracy".to_owned(), format!("{:.2} %", right * 1e2)));
        table = confusion(&predicted, &rows.labels);
    }
    let mut text = report::listed(&facts, 12);
    if let Some(table) = &table {
        text.push_str(&aligned(table)?);
    }
    if !labelled && out.is_none() {
        predicted.iter().try_for_each(|class| writeln!(text, "{class}"))?;
    }
    if let Some(out) = out {
        let data = predicted.iter().map(|&class| class.cast_signed()).collect();
        out.finish(&write_npy(&NpyArray { shape: vec![predicted.len()], data })?)?;
    }
    tell(&text)?;
    let Some(html) = html else { return Ok(()) };
    let page = report::Page {
        title: "Trefoil: predictions of a network".to_owned(),
        lead: format!("The network in {}.", args.model.display()),
        sections: vec![report::ReportSection { heading: "Classes".to_owned(), facts, pictures: Vec::new(), table }],
    };
    html.finish(page.to_html().as_bytes())
}

/// Counts rows by label and predicted class.
///
/// Each row of the table is a label. None for more than 20 classes.
fn confusion(predicted: &[u32], labels: &[u32]) -> Option<report::ReportTable> {
    const MOST: u32 = 20;
    let classes = predicted.iter().chain(labels).max()?.checked_add(1).filter(|&classes| classes <= MOST)?;
    let count = |label: u32, class: u32| {
        predicted.iter().zip(labels).filter(|&(&said, &is)| said == class && is == label).count().to_string()
    };
    let count = &count;
    let row = |label: u32| [label.to_string()].into_iter().chain((0..classes).map(move |class| count(label, class)));
    let head = ["label".to_owned()].into_iter().chain((0..classes).map(|class| class.to_string()));
    Some(report::ReportTable { head: head.collect(), rows: (0..classes).map(|label| row(label).collect()).collect() })
}

/// The table with its cells under one another.
fn aligned(table: &report::ReportTable) -> Result<String> {
    let mut text = String::new();
    for row in [&table.head].into_iter().chain(&table.rows) {
        let cells: Vec<String> = row.iter().map(|cell| format!("{cell:>5}")).collect();
        writeln!(text, "{}", cells.join(" "))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_for_what_is_counted() {
        let table = confusion(&[0, 1, 1, 2], &[0, 1, 2, 2]).unwrap();
        assert_eq!(table.head, ["label", "0", "1", "2"]);
        assert_eq!(table.rows, [["0", "1", "0", "0"], ["1", "0", "1", "0"], ["2", "0", "1", "1"]]);
        assert!(
            confusion(&[], &[]).is_none() && confusion(&[20], &[0]).is_none() && confusion(&[u32::MAX], &[0]).is_none()
        );
    }
}
