//! `trefoil stark verify`.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;

use super::{config::security, file};

/// Check a proof in a file, and say what it proves.
///
/// Everything in the file is public and is checked, but for what is said to be proven: look at it. The preprocessed columns of that
/// statement are computed, which takes up to 2 s and 1.5 GiB; a file that would take more is refused.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Refuse proofs with less security than so many bits, conjectured.
    #[arg(long, value_name = "BITS", default_value_t = 0)]
    min_security: u32,
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs) -> Result<()> {
    let file = file::read(&args.file)?;
    let bits = security(&file.proof.proof.config);
    ensure!(bits >= args.min_security, "the proof has {bits} bits of security, expected {}", args.min_security);
    let refused = || format!("{} is refused", args.file.display());
    file.verify(&runtime::cpu()?).with_context(refused)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{} proves, with {bits} bits of conjectured security:", args.file.display())?;
    writeln!(out, "{}", serde_json::to_string(&file.statement)?)?;
    Ok(())
}
