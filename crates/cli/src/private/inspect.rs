use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use inference::folder::KeyFolder;

/// Show what a key folder is for: model, party, files and sizes. Never a secret.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A folder `party0` or `party1` of a deal.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs the command.
pub(super) fn run(args: &InspectArgs) -> Result<()> {
    let manifest = KeyFolder::manifest(&args.folder)?;
    let used = args.folder.join("used").exists();
    let mut out = io::stdout().lock();
    writeln!(out, "model  {} for {} images", manifest.model.escape_debug(), manifest.count)?;
    writeln!(out, "party  {}", manifest.party)?;
    writeln!(out, "deal   {}{}", manifest.deal.escape_debug(), if used { ", used" } else { "" })?;
    writeln!(out, "plan   {}", manifest.plan.escape_debug())?;
    writeln!(out, "peer   {}", manifest.peer.escape_debug())?;
    for key in &manifest.keys {
        writeln!(out, "{}  {:>10} bytes  {}", key.file.escape_debug(), key.bytes, key.step.escape_debug())?;
    }
    Ok(())
}
