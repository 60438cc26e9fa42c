//! Devices that make one proof together.

use std::{collections::BTreeMap, sync::Arc, thread};

use anyhow::{Context as _, Result, bail};
use backend_api::Ranks;
use clap::Args;
use runtime::{AnyQueue, AnyRank, CollectiveKind};
use stark::{
    AnyStatement, Collective, CollectiveError, Component, Digest, PcsConfig, Protocol, ProveOptions, Residency, Stage,
    StatementProof, StatementProver,
};

use super::number::whole;
use crate::stark::trace::TraceInput;

/// How many devices make one proof together. Proofs do not depend on it.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct DevicesArgs {
    /// Make the proof on N devices, a power of two of 1..=64.
    ///
    /// They are GPUs counted from TREFOIL_CUDA_DEVICE, or equal shares of the processor's threads.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=64), conflicts_with = "blocks")]
    devices: u32,
}

/// A proof, with facts from where it was made.
pub(in crate::stark) struct MadeOn {
    pub(in crate::stark) proof: StatementProof,
    pub(in crate::stark) root: Digest,
    /// Columns and log of the number of rows of each component.
    pub(in crate::stark) airs: Vec<(usize, u32)>,
    pub(in crate::stark) residency: Residency,
    /// The most bytes that one rank sent to another, with what its prover was made by.
    pub(in crate::stark) most_sent: u64,
    /// The ways between devices, in words, if there are several.
    pub(in crate::stark) routes: Option<String>,
}

impl MadeOn {
    /// A proof with the facts that its prover has.
    pub(in crate::stark) fn new(
        proof: StatementProof,
        prover: &StatementProver<'_, AnyQueue, AnyStatement>,
        q: &AnyQueue,
        most_sent: u64,
    ) -> Result<Self> {
        let airs = prover.components().iter().map(Component::air);
        let airs = airs.map(|air| (air.columns().get(1).map_or(0, Vec::len), air.log_rows())).collect();
        Ok(Self {
            proof,
            root: prover.preprocessed_root(q)?,
            airs,
            residency: prover.residency(),
            most_sent,
            routes: None,
        })
    }
}

impl DevicesArgs {
    /// How many.
    pub(in crate::stark) const fn count(self) -> usize {
        self.devices as usize
    }
}

/// Makes a proof on all queues together, a thread each; `watch` gets the stages of the first.
pub(in crate::stark) fn prove(
    queues: &[AnyQueue],
    config: PcsConfig,
    statement: &AnyStatement,
    trace: &TraceInput,
    watch: &mut (dyn FnMut(Stage) + Send),
) -> Result<MadeOn> {
    let mut watch = Some(watch);
    let ranks = runtime::ranks(queues).context("how the devices reach each other")?;
    let routes = ranks.first().map(routes);
    let made: Vec<Result<MadeOn>> = thread::scope(|scope| {
        let ranks = queues.iter().zip(ranks);
        let made = ranks.map(|(q, rank)| {
            let watch = watch.take();
            scope.spawn(move || prove_on(q, Arc::new(rank), config, statement, trace, watch))
        });
        let made: Vec<_> = made.collect();
        made.into_iter().map(|made| made.join().unwrap_or_else(|_| bail!("a device's thread panicked"))).collect()
    });
    let mut proofs = Vec::new();
    let mut failures = Vec::new();
    for (rank, made) in made.into_iter().enumerate() {
        match made.with_context(|| format!("device {rank} of {}", queues.len())) {
            Ok(made) => proofs.push(made),
            Err(error) => failures.push(error),
        }
    }
    // Others end because one failed: report that one.
    let is_echo =
        |error: &CollectiveError| matches!(error, CollectiveError::GaveUp { .. } | CollectiveError::Gone { .. });
    failures.sort_by_key(|error| error.chain().any(|cause| cause.downcast_ref().is_some_and(is_echo)));
    if let Some(failure) = failures.into_iter().next() {
        return Err(failure);
    }
    let most_sent = proofs.iter().map(|made| made.most_sent).max().unwrap_or(0);
    let mut proofs = proofs.into_iter();
    let first = proofs.next().context("no device made a proof")?;
    if proofs.any(|other| other.proof != first.proof) {
        bail!("the devices made different proofs");
    }
    Ok(MadeOn { most_sent, routes, ..first })
}

/// Pairs of devices by route.
#[cfg(feature = "cuda")]
fn pairs_by_route(rank: &AnyRank) -> BTreeMap<String, Vec<String>> {
    let mut pairs = BTreeMap::<String, Vec<String>>::new();
    for runtime::Link { from, to, route, .. } in rank.links() {
        let route = match route {
            runtime::Route::Peer => format!("by {route}"),
            runtime::Route::Device | runtime::Route::Host(_) => route.to_string(),
        };
        pairs.entry(route).or_default().push(format!("{from} to {to}"));
    }
    pairs
}

#[cfg(not(feature = "cuda"))]
const fn pairs_by_route(_: &AnyRank) -> BTreeMap<String, Vec<String>> {
    BTreeMap::new()
}

/// The routes between devices, in words.
fn routes(rank: &AnyRank) -> String {
    if rank.kind() == CollectiveKind::Nccl {
        return "all by NCCL".to_owned();
    }
    let pairs = pairs_by_route(rank);
    match pairs.len() {
        0 => "through host memory".to_owned(),
        1 => format!("all {}", pairs.into_keys().collect::<String>()),
        _ => pairs.into_iter().map(|(route, of)| format!("{} {route}", of.join(", "))).collect::<Vec<_>>().join("; "),
    }
}

/// What one rank does.
pub(in crate::stark) fn prove_on<C: Collective<AnyQueue> + 'static>(
    q: &AnyQueue,
    rank: Arc<C>,
    config: PcsConfig,
    statement: &AnyStatement,
    trace: &TraceInput,
    watch: Option<&mut (dyn FnMut(Stage) + Send)>,
) -> Result<MadeOn> {
    let mut prover = StatementProver::sharded(q, Arc::clone(&rank), Protocol::V2_3, config, statement)?;
    let mut options = ProveOptions::new();
    if let Some(watch) = watch {
        options = options.watching(watch);
    }
    let proof = trace.prove(&mut prover, q, options)?;
    let most_sent = rank.sent_bytes().into_iter().max().unwrap_or(0);
    MadeOn::new(proof, &prover, q, most_sent)
}
