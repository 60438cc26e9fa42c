//! `trefoil demo`: three workloads on real input, each verified before it is reported.

mod private;
mod prove;
mod stage;
mod train;

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use anyhow::{Context as _, Result};
use backend_api::Queue as _;

use self::stage::{DemoContext, DemoStage};
use crate::{args::DemoArgs, output::OutputFile, report};

const STAGES: &[DemoStage] = &[
    DemoStage { name: "prove a computation", run: prove::run },
    DemoStage { name: "train a network", run: train::run },
    DemoStage { name: "classify privately", run: private::run },
];

/// Runs the command. `profile` is the file of this process's profile, if there is one.
pub(crate) fn run(args: &DemoArgs, profile: Option<&Path>) -> Result<()> {
    let scratch = tempfile::tempdir().context("making a temporary folder")?;
    let folder = args.out.as_deref().unwrap_or(scratch.path());
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let output = OutputFile::begin_public(&args.report)?;
    let ctx = DemoContext::open(args, folder, profile)?;
    let mut out = io::stdout().lock();
    let backends = ctx.backends.each_ref().map(|(domain, status)| format!("{domain} on {status}")).join(", ");
    writeln!(out, "backends: {backends}\n")?;
    let mut sections = Vec::new();
    for stage in STAGES {
        let found = (stage.run)(&ctx).with_context(|| format!("workload `{}`", stage.name))?;
        writeln!(out, "{}\n", found.to_text())?;
        sections.push(found.into_section()?);
    }
    let caps = ctx.stark.caps();
    let page = report::Page {
        title: "Trefoil: three workloads".into(),
        lead: format!("Run on the {} ({}, {} threads): {backends}.", caps.device, caps.path, caps.threads),
        sections,
    };
    output.finish(page.to_html().as_bytes())?;
    writeln!(out, "report: {}", args.report.display())?;
    Ok(())
}
