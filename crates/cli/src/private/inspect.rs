use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;
use inference::folder::KeyFolder;

use super::bundle;
use crate::exit::Usage;

/// Show what a key folder or a bundle of one gate is for: model or gate, party, sizes, costs. Never a secret.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// A folder `party0` or `party1` of `deal`, or a bundle such as `keys.pfk` in one of `gen`.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Also write what is shown of a bundle as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn run(args: &InspectArgs) -> Result<()> {
    if args.path.is_file() {
        return bundle::inspect(&args.path, args.json.as_deref());
    }
    if args.json.is_some() {
        return Err(Usage(format!("expected a bundle for --json, got the folder {}", args.path.display())).into());
    }
    let manifest = KeyFolder::manifest(&args.path)?;
    let used = args.path.join("used").exists();
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
