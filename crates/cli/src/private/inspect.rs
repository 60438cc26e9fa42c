//! `trefoil pfss inspect`: the public facts of any keys.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Result;
use clap::Args;
use inference::folder::{KeyFolder, Manifest, RunsFolder, RunsState};
use pfss::Party;
use serde_json::{Value, json};

use super::{
    bundle,
    kind::{KeyPathKind, folder_of, unknown},
};
use crate::{files::NamedFile, output::OutputFile};

/// Show what keys are for: model or gate, party, sizes, costs. Never a secret.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A folder with keys, or a bundle such as `keys.pfk`.
    ///
    /// The folder is one that `deal` or `gen` made, or the folder `party0` or `party1` in it.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Also write the output as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl InspectArgs {
    /// The files that it reads and writes.
    pub(crate) fn files(&self) -> Vec<NamedFile<'_>> {
        let json = self.json.as_deref().map(|path| NamedFile::written("--json", path));
        [Some(NamedFile::read("PATH", &self.path)), json].into_iter().flatten().collect()
    }
}

/// Runs the command.
pub(super) fn run(args: &InspectArgs) -> Result<()> {
    let facts = match KeyPathKind::of(&args.path).ok_or_else(|| unknown(&args.path))? {
        KeyPathKind::File => bundle::inspect_bundle(&args.path)?,
        KeyPathKind::Gate => bundle::inspect_folder(&args.path)?,
        KeyPathKind::Model => model(&args.path)?,
        KeyPathKind::Runs => runs(&args.path)?,
        kind @ (KeyPathKind::Gates | KeyPathKind::Models | KeyPathKind::AllRuns) => {
            let mut both = Vec::new();
            for party in Party::BOTH {
                let folder = folder_of(&args.path, party);
                writeln!(io::stdout(), "{}", folder.display())?;
                both.push(match kind {
                    KeyPathKind::Gates => bundle::inspect_folder(&folder)?,
                    KeyPathKind::AllRuns => runs(&folder)?,
                    _ => model(&folder)?,
                });
            }
            Value::Array(both)
        }
    };
    if let Some(path) = &args.json {
        OutputFile::begin(path)?.finish(&serde_json::to_vec_pretty(&facts)?)?;
    }
    Ok(())
}

/// Shows the purpose of a party's folder of `deal`.
fn model(path: &Path) -> Result<Value> {
    let (manifest, used) = (KeyFolder::manifest(path)?, KeyFolder::is_used(path));
    show(&manifest, if used { ", used" } else { "" })?;
    Ok(json!({"used": used, "manifest": manifest}))
}

/// Shows the purpose of a party's folder of `deal --runs`.
fn runs(path: &Path) -> Result<Value> {
    let RunsState { manifest, runs, used, is_opened } = RunsFolder::state(path)?;
    let weights = match (is_opened, used == runs) {
        (true, _) => "opened",
        (false, true) => "removed",
        (false, false) => "not opened",
    };
    show(&manifest, &format!(", {used} of {runs} runs used, weights {weights}"))?;
    Ok(json!({"runs": runs, "used_runs": used, "is_opened": is_opened, "manifest": manifest}))
}

/// Shows a manifest, with the state of its keys.
fn show(manifest: &Manifest, state: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "model  {}", manifest.purpose())?;
    if let Some(digest) = &manifest.model_sha256 {
        writeln!(out, "file   {}", digest.escape_debug())?;
    }
    if let Some(function) = &manifest.function {
        writeln!(out, "layers {}", function.sha256.escape_debug())?;
    }
    writeln!(out, "prefer {}", manifest.prefer)?;
    writeln!(out, "party  {}", manifest.party)?;
    writeln!(out, "deal   {}{state}", manifest.deal.escape_debug())?;
    writeln!(out, "plan   {}", manifest.plan.escape_debug())?;
    writeln!(out, "peer   {}", manifest.peer.escape_debug())?;
    for key in &manifest.keys {
        writeln!(out, "{}  {:>10} bytes  {}", key.file.escape_debug(), key.bytes, key.step.escape_debug())?;
    }
    Ok(())
}
