//! What all runs of a party's folder of many runs have in common, and how each is read.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use backend_api::ops::fss::FssOps;
use pfss::{Channel, OpenedWeights, Party, Traffic, WeightKey, WeightTriple};

use super::{
    checked::{CheckedFolder, is_used, read_manifest_of, spend},
    files::{missing, refused},
    key_files::CheckedFiles,
    lock::FolderLock,
    manifest::{DealPart, Manifest},
    model::read_model,
    opened::{KeptWeights, is_opened},
};
use crate::{
    InferenceError, OpenedPlan,
    keys::opened::{WeightKeys, check_triples},
    party::{self, Role},
    tls::{Fingerprint, Identity},
};

/// Facts that all runs of a party have in common.
#[derive(Debug)]
pub(super) struct PartyFolder {
    pub(super) path: PathBuf,
    /// The folder of the keys that open the weights.
    pub(super) weights: CheckedFolder,
    pub(super) runs: u32,
    pub(super) party: Party,
    pub(super) plan: OpenedPlan,
    pub(super) identity: Identity,
    pub(super) peer: Fingerprint,
    /// Held until the last run of this process has ended.
    pub(super) _lock: FolderLock,
}

/// The weights of a deal, before or after they are opened.
#[derive(Debug)]
pub(super) enum WeightState {
    Keys(Vec<WeightKey>),
    Opened(Arc<KeptWeights>),
    /// The opening failed.
    Spent,
}

/// The keys of the next run, which were read and checked.
#[derive(Debug)]
pub(super) struct NextRun {
    /// Triples of the products by weights.
    pub(super) products: Vec<WeightTriple>,
    /// The files of all other keys.
    pub(super) others: CheckedFiles,
    /// Bytes of all of them on disk.
    pub(super) bytes: u64,
}

impl PartyFolder {
    pub(super) fn run_path(&self, index: u32) -> PathBuf {
        self.path.join(DealPart::Run { index }.folder_name())
    }

    /// Files of keys of a run.
    pub(super) fn run_files(&self) -> usize {
        self.plan.products.len() + self.plan.others.deals().count()
    }

    /// Reads the opened weights, or the keys that open them.
    pub(super) fn read_weights(&self, progress: &mut dyn FnMut(&str)) -> Result<WeightState, InferenceError> {
        let path = &self.weights.path;
        if is_opened(path)? {
            return Ok(WeightState::Opened(Arc::new(KeptWeights::read(path, &self.plan, self.party)?)));
        }
        if is_used(path) {
            return Err(InferenceError::WeightsSpent { path: self.path.clone() });
        }
        let keys = self.weights.read_keys(&self.plan.products, progress, |_, bytes| WeightKey::from_bytes(bytes))?;
        WeightKeys::check(&self.plan, self.party, &keys)?;
        Ok(WeightState::Keys(keys))
    }

    /// Reads and checks run `index`.
    pub(super) fn read_next(
        &self,
        index: u32,
        weights: &WeightState,
        progress: &mut dyn FnMut(&str),
    ) -> Result<NextRun, InferenceError> {
        self.read_run(&open_run(&self.path, &self.weights, index)?, weights, progress)
    }

    /// Reads and checks the keys of a run: triples of the products by weights, then all others.
    pub(super) fn read_run(
        &self,
        run: &CheckedFolder,
        weights: &WeightState,
        progress: &mut dyn FnMut(&str),
    ) -> Result<NextRun, InferenceError> {
        let Self { plan, party, .. } = self;
        run.check_plan(plan.digest(), self.run_files())?;
        let products = run.read_keys(&plan.products, progress, |_, bytes| WeightTriple::from_bytes(bytes))?;
        check_triples(plan, *party, &products, weights.nonces())?;
        let others = CheckedFiles::read(run, products.len(), plan.others.deals(), *party, progress)?;
        Ok(NextRun { products, others, bytes: run.key_bytes() })
    }

    /// Spends the keys of the weights, opens the weights, and writes them.
    pub(super) fn open_weights<Q: FssOps>(
        &self,
        q: &Q,
        keys: Vec<WeightKey>,
        channel: &mut dyn Channel,
        role: Role<'_>,
    ) -> Result<(Arc<KeptWeights>, Traffic), InferenceError> {
        let (path, model) = (&self.weights.path, &self.weights.model);
        let server = match role {
            Role::Client(_) => None,
            Role::Server(weights) => Some(weights),
        };
        spend(path, keys.len())?;
        let opened = party::open_weights(q, model, keys, channel, server);
        let kept =
            opened.and_then(|(opened, traffic)| Ok((Arc::new(KeptWeights::write(path, opened, server)?), traffic)));
        kept.map_err(|reason| InferenceError::Opening { path: self.path.clone(), reason: Box::new(reason) })
    }
}

impl WeightState {
    /// The nonces of the keys of the weights.
    pub(super) fn nonces(&self) -> Vec<[u8; 16]> {
        match self {
            Self::Keys(keys) => keys.iter().map(WeightKey::nonce).collect(),
            Self::Opened(kept) => kept.weights.iter().map(OpenedWeights::nonce).collect(),
            Self::Spent => Vec::new(),
        }
    }

    /// The digest of the opened weights, if they were opened.
    pub(super) fn digest(&self) -> Option<[u8; 32]> {
        match self {
            Self::Keys(_) | Self::Spent => None,
            Self::Opened(kept) => Some(kept.digest()),
        }
    }
}

/// The number of runs of a deal, from the manifest of the keys that open the weights.
pub(super) fn runs_of(path: &Path, manifest: &Manifest) -> Result<u32, InferenceError> {
    match manifest.part {
        Some(DealPart::Weights { runs }) if (1..=DealPart::MAX_RUNS).contains(&runs) => Ok(runs),
        _ => Err(refused(path, &format!("expected the keys of weights for 1 to {} runs", DealPart::MAX_RUNS))),
    }
}

/// The last run that was used, or 0. Earlier ones are not used any more.
pub(super) fn used_runs(path: &Path, runs: u32) -> u32 {
    let used = |&index: &u32| is_used(&path.join(DealPart::Run { index }.folder_name()));
    (1..=runs).rev().find(used).unwrap_or_default()
}

/// Reads the manifest of a run, and checks that it is of the deal of `weights`.
pub(super) fn open_run(path: &Path, weights: &CheckedFolder, index: u32) -> Result<CheckedFolder, InferenceError> {
    let part = DealPart::Run { index };
    let (name, run) = (part.folder_name(), path.join(part.folder_name()));
    let party = Party::try_from(weights.manifest.party).map_err(|e| refused(path, &e.to_string()))?;
    let manifest = read_manifest_of(&run, party).map_err(missing(path, &format!("{name}/{}", Manifest::FILE)))?;
    let expected = Manifest { part: Some(part), keys: manifest.keys.clone(), ..weights.manifest.clone() };
    if manifest != expected {
        return Err(refused(&run, "expected a run of the same deal as the keys of the weights, got another"));
    }
    // All folders of a deal have the same model, and a copy of its file.
    if let Some(digest) = &manifest.model_sha256 {
        read_model(&run, &manifest.model, digest)?;
    }
    let run = CheckedFolder { path: run, manifest, model: weights.model.clone() };
    run.check_size()?;
    Ok(run)
}
