//! Prove a computation: a wide-Fibonacci trace.
//!
//! The proof is verified, also with a bit flipped.

use std::time::Instant;

use anyhow::{Context as _, Result};
use core_types::field::{M31, QM31};
use stark::{FriConfig, PcsConfig, Protocol, ProveOptions, Stage, StatementProver, TraceSource, verify};
use stark_airs::WideFibonacci;

use super::stage::{DemoContext, Findings};

/// Columns of the trace.
const COLUMNS: u32 = 100;

/// 96 bits of conjectured security.
const CONFIG: PcsConfig = PcsConfig {
    pow_bits: 16,
    fri_config: FriConfig { log_blowup_factor: 1, log_last_layer_degree_bound: 0, n_queries: 80, fold_step: 1 },
    lifting_log_size: None,
};

/// Runs the workload.
pub(crate) fn run(ctx: &DemoContext) -> Result<Findings> {
    let q = &ctx.stark;
    let log_rows = if ctx.small { 10 } else { 16 };
    let mut found = Findings::new("Prove a computation (stark)");
    let bar = ctx.bar("prove a computation", Stage::ALL.len() + 2)?;

    let air = WideFibonacci::new(log_rows, COLUMNS)?;
    let trace = found.time("generate the trace", || {
        let seeds: Vec<_> = (0..1 << log_rows).map(|row| [M31::ONE, M31::from_u32(row)]).collect();
        Ok(air.trace(&seeds)?)
    })?;
    bar.inc(1);
    let mut prover = StatementProver::new(q, Protocol::V2_3, CONFIG, &air)?;
    let mut begun: Vec<(Stage, Instant)> = Vec::new();
    let watch = &mut |stage| {
        begun.push((stage, Instant::now()));
        bar.inc(1);
    };
    let proof = prover.prove_with(q, &TraceSource::columns(&trace), ProveOptions::new().watching(watch))?;
    let ends = begun.iter().skip(1).map(|(_, start)| *start).chain([Instant::now()]);
    for ((stage, start), end) in begun.iter().zip(ends) {
        found.took(&stage.to_string(), end - *start);
    }
    let root = prover.preprocessed_root(q)?;
    let accepted = found.time("verify", || Ok(verify(Protocol::V2_3, CONFIG, &air, root, &proof)))?;
    found.check("the verifier accepts the proof", accepted.is_ok())?;
    let mut changed = proof.clone();
    let sample = changed.proof.sampled_values.get_mut(1).and_then(|tree| tree.first_mut()?.first_mut());
    *sample.context("the proof has a sample of each column")? += QM31::ONE;
    let refused = verify(Protocol::V2_3, CONFIG, &air, root, &changed).is_err();
    found.check("the verifier refuses it with one value changed", refused)?;
    bar.finish_and_clear();

    let rows = 1usize << log_rows;
    found.fact("trace", format!("{rows} rows x {COLUMNS} columns, {} KiB", (rows * COLUMNS as usize * 4) >> 10));
    found.fact("proof", format!("{} KiB of JSON", serde_json::to_vec(&proof)?.len().div_ceil(1024)));
    found.fact("security", format!("{} bits, conjectured", CONFIG.security_bits()));
    let root = proof.proof.commitments.get(1).context("the proof has a root of the trace")?;
    found.fact("root of the trace", root);
    Ok(found)
}
