//! `trefoil stark inspect`.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use anyhow::Result;
use clap::Args;

use super::{config::security, file};

/// Show what a proof's file holds, without checking it.
#[derive(Args, Debug)]
pub(crate) struct InspectArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> Result<()> {
    let file = file::read(&args.file)?;
    let (statement, proof) = (&file.statement, &file.proof.proof);
    let mut out = io::stdout().lock();
    let (config, fri) = (proof.config, proof.config.fri_config);
    writeln!(out, "statement          {}", serde_json::to_string(statement)?)?;
    writeln!(out, "claimed sums       {:?}", file.proof.claimed_sums)?;
    writeln!(
        out,
        "parameters         blowup 2^{}, {} queries, {} bits of work, fold step 2^{}, last layer 2^{}, lifting {:?}",
        fri.log_blowup_factor,
        fri.n_queries,
        config.pow_bits,
        fri.fold_step,
        fri.log_last_layer_degree_bound,
        config.lifting_log_size
    )?;
    writeln!(out, "security           {} bits, conjectured", security(&config))?;
    for (tree, root) in proof.commitments.iter().enumerate() {
        let columns = proof.sampled_values.get(tree).map_or(0, Vec::len);
        let witness = proof.decommitments.get(tree).map_or(0, |decommitment| decommitment.hash_witness.len());
        writeln!(out, "tree {tree}             root {root}, {columns} columns, {witness} digests of witness")?;
    }
    writeln!(out, "FRI layers         {} and the first", proof.fri_proof.inner_layers.len())?;
    writeln!(out, "last layer         {} coefficients", proof.fri_proof.last_layer_poly.coeffs.len())?;
    writeln!(out, "nonce              {}", proof.proof_of_work)?;
    Ok(())
}
