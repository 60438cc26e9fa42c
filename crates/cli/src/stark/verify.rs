//! `trefoil stark verify`.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use stark::{Digest, M31, PcsConfig, Protocol, Statement, StatementProof, preprocessed_root, verify};

use super::{file::ProofFile, known::Use};

/// Check a proof in a file, and say what it proves.
///
/// Everything in the file is public and is checked, but for what is said to be proven: look at it.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Refuse proofs with less security than so many bits, conjectured.
    #[arg(long, value_name = "BITS", default_value_t = 0)]
    min_security: u32,
}

struct Verifying<'a>(&'a StatementProof);

impl Use for Verifying<'_> {
    type Out = ();

    fn with<S: Statement>(self, statement: &S) -> Result<()> {
        let config = self.0.proof.config;
        let claimed = *self.0.proof.commitments.first().context("the proof has no root")?;
        // First with the root that the file claims: then the sizes below are those that the proof is of.
        verify(Protocol::V2_3, config, statement, claimed, self.0)?;
        let root = known_root(statement, &config)?;
        ensure!(root == claimed, "expected preprocessed columns with root {root}, got {claimed}");
        Ok(())
    }
}

/// The root of a statement's preprocessed columns, computed here.
fn known_root<S: Statement>(statement: &S, config: &PcsConfig) -> Result<Digest> {
    let columns = statement.preprocessed_values();
    let columns: Vec<&[M31]> = columns.iter().map(|column| &column[..]).collect();
    config.validate()?;
    Ok(preprocessed_root(&runtime::cpu()?, config, &columns)?)
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs) -> Result<()> {
    let file = ProofFile::read(&args.file)?;
    let bits = file.proof.proof.config.security_bits();
    ensure!(bits >= args.min_security, "the proof has {bits} bits of security, expected {}", args.min_security);
    let refused = || format!("{} is refused", args.file.display());
    file.statement.with(Verifying(&file.proof)).with_context(refused)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{} proves, with {bits} bits of conjectured security:", args.file.display())?;
    writeln!(out, "{}", serde_json::to_string(&file.statement)?)?;
    Ok(())
}
