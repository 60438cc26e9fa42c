//! `trefoil stark verify`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use stark::MIN_SECURITY_BITS;

use super::{
    file,
    options::{
        config::{MOST_SECURITY, security},
        number::whole,
    },
};
use crate::{files::NamedFile, output::print, text::shown};

/// Check a proof in a file, and show its statement.
///
/// Everything in the file is public. The proof is checked against the statement in the file, so
/// look at the statement that is shown. The preprocessed columns of that statement are computed,
/// which takes up to 2 s and 1.5 GiB; a file that would take more is refused.
///
/// Runs on the host alone, with all its threads: no variable of the environment is read, not even
/// TREFOIL_BACKEND or TREFOIL_MEM_LIMIT.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Refuse proofs with fewer bits of conjectured security, 0..=120: no proof has more.
    #[arg(long, value_name = "BITS", default_value_t = MIN_SECURITY_BITS, value_parser = whole(0..=MOST_SECURITY))]
    min_security: u32,
}

impl VerifyArgs {
    /// The file that it reads.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        vec![NamedFile::read("FILE", &self.file)]
    }
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs) -> Result<()> {
    let file = file::read(&args.file)?;
    let bits = security(&file.proof.proof.config);
    let refused = || {
        let hint = if bits < args.min_security { "; `--min-security` accepts less" } else { "" };
        format!("{} is refused{hint}", args.file.display())
    };
    file.verify_with_security(&runtime::cpu()?, args.min_security).with_context(refused)?;
    let (name, statement) = (shown(&args.file.to_string_lossy()), serde_json::to_string(&file.statement)?);
    print(&format!("{name} proves, with {bits} bits of conjectured security:\n{statement}\n"))
}
