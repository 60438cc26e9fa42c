//! `trefoil stark inspect`.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::Result;
use clap::Args;
use stark::ProofFile;

use super::{file, options::config::security};
use crate::{files::NamedFile, output::print, text::cut};

/// The most characters that are shown of a statement: no true one has more.
const MOST_STATEMENT: usize = 1_000;

/// The most trees and the most claimed sums that are shown.
///
/// No proof has more trees, and no computation that ships has more sums.
const MOST_SHOWN: usize = 8;

/// Show the contents of a proof's file, without checking it.
///
/// All output repeats claims of the file. Runs on the host alone: no variable of the environment is
/// read.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl InspectArgs {
    /// The file that it reads.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        vec![NamedFile::read("FILE", &self.file)]
    }
}

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> Result<()> {
    print(&described(&file::read(&args.file)?)?)
}

/// Describes a proof file.
///
/// It may be hostile: long lists are cut, and their remainder is counted.
fn described(file: &ProofFile) -> Result<String> {
    let (statement, proof) = (&file.statement, &file.proof.proof);
    let (config, fri) = (proof.config, proof.config.fri_config);
    let mut text = String::new();
    writeln!(text, "statement          {}", cut(&serde_json::to_string(statement)?, MOST_STATEMENT))?;
    let sums = &file.proof.claimed_sums;
    writeln!(text, "claimed sums       {:?}{}", &sums[..sums.len().min(MOST_SHOWN)], and_more(sums.len()))?;
    let lifting = config.lifting_log_size.map_or_else(|| "none".to_owned(), |log_size| format!("2^{log_size}"));
    writeln!(
        text,
        "parameters         blowup 2^{}, {} queries, {} bits of work, fold step 2^{}, last layer 2^{}, lifting {lifting}",
        fri.log_blowup_factor, fri.n_queries, config.pow_bits, fri.fold_step, fri.log_last_layer_degree_bound,
    )?;
    writeln!(text, "security           {} bits, conjectured", security(&config))?;
    if let Some(warning) = file::refused_by_stwo(file) {
        writeln!(text, "stwo               {warning}")?;
    }
    for (tree, root) in proof.commitments.iter().enumerate().take(MOST_SHOWN) {
        let columns = proof.sampled_values.get(tree).map_or(0, Vec::len);
        let witness = proof.decommitments.get(tree).map_or(0, |decommitment| decommitment.hash_witness.len());
        writeln!(text, "tree {tree}             root {root}, {columns} columns, {witness} digests of witness")?;
    }
    if proof.commitments.len() > MOST_SHOWN {
        writeln!(text, "trees             {}", and_more(proof.commitments.len()))?;
    }
    writeln!(text, "FRI layers         {} and the first", proof.fri_proof.inner_layers.len())?;
    writeln!(text, "last layer         {} coefficients", proof.fri_proof.last_layer_poly.coeffs.len())?;
    writeln!(text, "nonce              {}", proof.proof_of_work)?;
    Ok(text)
}

/// Counts the entries that are not shown; empty if all are.
fn and_more(count: usize) -> String {
    count.checked_sub(MOST_SHOWN).filter(|&more| more > 0).map_or_else(String::new, |more| format!(" and {more} more"))
}
