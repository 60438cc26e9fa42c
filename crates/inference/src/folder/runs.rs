//! A party's folder of many runs on weights that are opened once.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    time::Instant,
};

use backend_api::ops::fss::FssOps;
use pfss::{Channel, OpenedWeights, Party, PfssError, Traffic, WeightKey, WeightTriple};

use super::{
    agreement::{AGREEMENT, PartyState},
    checked::{CheckedFolder, is_used, read_key, read_manifest, refused, remove_keys, spend},
    files::{digest, missing},
    manifest::{DealPart, Manifest},
    opened::{KeptWeights, is_opened, opened_path},
};
use crate::{
    InferenceError, Limits, Model, OpenedKeys, OpenedPlan,
    keys::{
        deal::Key,
        opened::{WeightKeys, check_triples},
        queue::KeyQueue,
    },
    party::{self, Inferred, Measured, Role},
    tls::{Endpoint, Fingerprint, Identity},
};

/// The steps that come before a run.
const AGREE: &str = "agree on the run";
const OPEN: &str = "open the weights";

/// A party's folder of a deal for many runs, whose next run was read and checked.
///
/// [`deal_runs`](super::deal_runs) makes it. [`run`](Self::run) spends one run, and opens the
/// weights if no run before has.
///
/// ```
/// use inference::{Architecture, Model, Parameters, folder::{self, RunsFolder}, party::Role, plain};
/// use pfss::{Party, memory_pair};
///
/// let (scratch, model) = (tempfile::tempdir()?, Model::new(Architecture::Digits, 1)?);
/// let out = scratch.path().join("deal");
/// folder::deal_runs(&runtime::cpu()?, &model, 2, &out, |_| ())?;
/// let (weights, images) = (Parameters::zeros(&model), vec![0; model.input_len()]);
/// for _ in 0..2 {
///     let client = RunsFolder::open(&out.join("party0"), Party::Zero, |_| ())?;
///     let server = RunsFolder::open(&out.join("party1"), Party::One, |_| ())?;
///     let (to_server, to_client) = memory_pair(std::time::Duration::from_secs(10));
///     let queues = [runtime::cpu()?, runtime::cpu()?];
///     let logits = std::thread::scope(|scope| {
///         let run = || server.run(&queues[1], to_client, Role::Server(&weights), |_| ());
///         let serving = scope.spawn(run);
///         let inferred = client.run(&queues[0], to_server, Role::Client(&images), |_| ())?;
///         serving.join().map_err(|_| "the server ends")??;
///         Ok::<_, Box<dyn std::error::Error>>(inferred.logits)
///     })?;
///     assert_eq!(logits, Some(plain::logits(&model, &weights, &images)?));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunsFolder {
    folder: PartyFolder,
    weights: WeightState,
    /// The next unused run, its keys, and their bytes on disk.
    next: u32,
    keys: OpenedKeys,
    key_bytes: u64,
}

/// The public state of a party's folder of many runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsState {
    /// The manifest of the keys that open the weights.
    pub manifest: Manifest,
    /// Runs of the deal.
    pub runs: u32,
    /// Runs that were used or skipped.
    pub used: u32,
    /// Whether the weights were opened.
    pub is_opened: bool,
}

/// Facts that all runs of a party have in common.
#[derive(Debug)]
struct PartyFolder {
    path: PathBuf,
    /// The folder of the keys that open the weights.
    weights: CheckedFolder,
    runs: u32,
    party: Party,
    plan: OpenedPlan,
    identity: Identity,
    peer: Fingerprint,
}

/// The weights of a deal, before or after they are opened.
#[derive(Debug)]
enum WeightState {
    Keys(Vec<WeightKey>),
    Opened(KeptWeights),
}

impl RunsFolder {
    /// Reads and checks the folder of `party`: the weights and the next unused run.
    ///
    /// Files are checked as [`KeyFolder::open`](super::KeyFolder::open) does. `progress` is called
    /// with the step of each file of keys before the file is read.
    ///
    /// # Errors
    /// [`InferenceError::RunsUsed`] if no run is left, [`InferenceError::WeightsSpent`] if an
    /// opening of the weights failed, and as [`KeyFolder::open`](super::KeyFolder::open).
    pub fn open(path: &Path, party: Party, mut progress: impl FnMut(&str)) -> Result<Self, InferenceError> {
        // The next run, and the size of its files before a plan takes memory for the batch.
        let weights = CheckedFolder::open(&path.join(DealPart::WEIGHTS), party)?;
        let runs = runs_of(&weights.path, &weights.manifest)?;
        let next = used_runs(path, runs) + 1;
        if next > runs {
            return Err(InferenceError::RunsUsed { path: path.to_owned(), runs });
        }
        let run = open_run(path, &weights, next)?;
        // Everything is checked against the plan.
        let plan = weights.model.opened_plan()?;
        weights.check_plan(plan.digest(), plan.products.len())?;
        let (identity, peer) = weights.identity()?;
        let folder = PartyFolder { path: path.to_owned(), weights, runs, party, plan, identity, peer };
        let weights = folder.read_weights(&mut progress)?;
        let keys = folder.read_run(&run, &weights, &mut progress)?;
        Ok(Self { folder, weights, next, keys, key_bytes: run.key_bytes() })
    }

    /// The public state of a folder, of either party.
    ///
    /// # Errors
    /// As [`KeyFolder::manifest`](super::KeyFolder::manifest).
    pub fn state(path: &Path) -> Result<RunsState, InferenceError> {
        let weights = path.join(DealPart::WEIGHTS);
        let manifest = read_manifest(&weights)?;
        let runs = runs_of(&weights, &manifest)?;
        Ok(RunsState { manifest, runs, used: used_runs(path, runs), is_opened: is_opened(&weights)? })
    }

    /// A digest of a party's folder.
    ///
    /// It is a digest of all manifests, and so of the keys and of both parties' certificates.
    ///
    /// # Errors
    /// As [`state`](Self::state), and [`InferenceError::Io`].
    pub fn digest(path: &Path) -> Result<String, InferenceError> {
        let runs = Self::state(path)?.runs;
        let parts = [DealPart::Weights { runs }].into_iter().chain((1..=runs).map(|index| DealPart::Run { index }));
        let names: Vec<String> = parts.map(|part| format!("{}/{}", part.folder_name(), Manifest::FILE)).collect();
        digest(path, names.iter().map(String::as_str))
    }

    /// Where a party's opened weights are kept.
    #[must_use]
    pub fn opened_path(path: &Path) -> PathBuf {
        opened_path(&path.join(DealPart::WEIGHTS))
    }

    /// The model that the keys are for.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.folder.weights.model
    }

    /// The plan of each run.
    #[must_use]
    pub fn plan(&self) -> &OpenedPlan {
        &self.folder.plan
    }

    /// Bytes of keys of the next run on disk.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// The bytes and rounds of the next run, exactly.
    ///
    /// They include the agreement on the run, and the opening of the weights if it is still to
    /// come.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        let plan = &self.folder.plan;
        let run = sum(AGREEMENT, plan.run_traffic(self.folder.party));
        if self.opens_weights() { sum(run, plan.opening_traffic()) } else { run }
    }

    /// The number of steps of the next run.
    #[must_use]
    pub fn steps(&self) -> usize {
        let plan = &self.folder.plan;
        // The agreement comes before the steps of the plan, the opening of the logits after them.
        1 + usize::from(self.opens_weights()) + plan.products.len() + plan.others.steps().len() + 1
    }

    fn opens_weights(&self) -> bool {
        matches!(self.weights, WeightState::Keys(_))
    }

    /// This party's side of a connection to the party of the other folder.
    #[must_use]
    pub fn endpoint(&self, limits: Limits) -> Endpoint<'_> {
        let PartyFolder { weights, party, identity, peer, .. } = &self.folder;
        Endpoint { party: *party, identity, peer: *peer, protocol: weights.protocol(), limits }
    }

    /// Checks the inputs of a run, before a connection is made.
    ///
    /// # Errors
    /// [`InferenceError::OtherParty`] if `role` is the other party's, as [`Role::check`], and
    /// [`InferenceError::OtherWeights`] for other weights than those that were opened.
    pub fn check(&self, role: Role<'_>) -> Result<(), InferenceError> {
        let PartyFolder { path, party, weights, .. } = &self.folder;
        if role.party() != *party {
            return Err(InferenceError::OtherParty { path: path.clone(), expected: role.party(), got: *party });
        }
        role.check(&weights.model)?;
        match (&self.weights, role) {
            (WeightState::Opened(kept), Role::Server(weights)) => kept.check(path, weights),
            _ => Ok(()),
        }
    }

    /// Reads and checks all later unused runs, and returns the bytes of keys of all unused runs.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`InferenceError::Pfss`] if two runs have the same keys.
    pub fn check_runs(&self, mut progress: impl FnMut(&str)) -> Result<u64, InferenceError> {
        let (mut bytes, mut met) = (self.key_bytes, nonces(&self.keys).collect::<HashSet<_>>());
        for index in self.next + 1..=self.folder.runs {
            let run = open_run(&self.folder.path, &self.folder.weights, index)?;
            let keys = self.folder.read_run(&run, &self.weights, &mut progress)?;
            // Each run is checked by itself; a copy of another run would use its masks again.
            if let Some(nonce) = nonces(&keys).find(|&nonce| !met.insert(nonce)) {
                return Err(PfssError::ReusedBundle { nonce }.into());
            }
            bytes += run.key_bytes();
        }
        Ok(bytes)
    }

    /// Runs the model with the peer of [`endpoint`](Self::endpoint), and spends the run.
    ///
    /// The parties exchange which run is their next one and which weights they have opened. They
    /// use the later of both runs, and mark earlier ones as used. If the weights were not opened,
    /// they are opened first, and written to the folder before the run begins. Files of keys are
    /// removed before anything that depends on them is sent. `progress` is told each step before it
    /// runs.
    ///
    /// Nothing protects against a copy of the folder made earlier.
    ///
    /// # Errors
    /// As [`check`](Self::check), before anything is sent. [`InferenceError::OpenedDiffer`],
    /// [`InferenceError::PeerRun`] or [`InferenceError::Pfss`] if the parties do not agree, before
    /// anything is spent. [`InferenceError::Opening`] if the opening of the weights fails, which
    /// spends their keys for good. As [`party::run_opened`] if the run fails, which spends that run
    /// alone, and [`InferenceError::Used`] if another process got there first.
    pub fn run<Q: FssOps, C: Channel>(
        self,
        q: &Q,
        mut channel: C,
        role: Role<'_>,
        mut progress: impl FnMut(&str),
    ) -> Result<Inferred, InferenceError> {
        self.check(role)?;
        let Self { folder, weights, next, mut keys, .. } = self;
        let mut preparation = Preparation::default();
        // Keys that a killed process left in used folders are removed.
        for index in (1..next).filter(|&index| is_used(&folder.run_path(index))) {
            remove_keys(&folder.run_path(index), folder.run_files())?;
        }
        if matches!(weights, WeightState::Opened(_)) {
            remove_keys(&folder.weights.path, folder.plan.products.len())?;
        }
        // Both parties agree, and nothing is spent so far.
        progress(AGREE);
        let index = preparation.measure(AGREE, || {
            let state = PartyState { opened: weights.digest(), next };
            Ok((state.agree(&mut channel, folder.runs)?, AGREEMENT))
        })?;
        if index > next {
            let run = open_run(&folder.path, &folder.weights, index)?;
            keys = folder.read_run(&run, &weights, &mut |_| ())?;
        }
        // The weights are opened, if no run before has.
        let kept = match weights {
            WeightState::Opened(kept) => kept,
            WeightState::Keys(weight_keys) => {
                progress(OPEN);
                preparation.measure(OPEN, || folder.open_weights(q, weight_keys, &mut channel, role))?
            }
        };
        // The run and those that the peer is ahead are spent.
        for index in next..=index {
            spend(&folder.run_path(index), folder.run_files())?;
        }
        let run = party::run_opened(q, &folder.weights.model, keys, &kept.weights, channel, role, progress)?;
        Ok(preparation.followed_by(run))
    }
}

impl PartyFolder {
    fn run_path(&self, index: u32) -> PathBuf {
        self.path.join(DealPart::Run { index }.folder_name())
    }

    /// Files of keys of a run.
    fn run_files(&self) -> usize {
        self.plan.products.len() + self.plan.others.deals().count()
    }

    /// Reads the opened weights, or the keys that open them.
    fn read_weights(&self, progress: &mut impl FnMut(&str)) -> Result<WeightState, InferenceError> {
        let path = &self.weights.path;
        if is_opened(path)? {
            return Ok(WeightState::Opened(KeptWeights::read(path, &self.plan, self.party)?));
        }
        if is_used(path) {
            return Err(InferenceError::WeightsSpent { path: self.path.clone() });
        }
        let keys = self.weights.read_keys(0, &self.plan.products, progress, |_, bytes| WeightKey::from_bytes(bytes))?;
        WeightKeys::check(&self.plan, self.party, &keys)?;
        Ok(WeightState::Keys(keys))
    }

    /// Reads the keys of a run: triples of the products by weights, then all others.
    fn read_run(
        &self,
        run: &CheckedFolder,
        weights: &WeightState,
        progress: &mut impl FnMut(&str),
    ) -> Result<OpenedKeys, InferenceError> {
        let Self { plan, party, .. } = self;
        run.check_plan(plan.digest(), self.run_files())?;
        let products = run.read_keys(0, &plan.products, progress, |_, bytes| WeightTriple::from_bytes(bytes))?;
        check_triples(plan, *party, &products, weights.nonces())?;
        let others = run.read_keys(products.len(), plan.others.deals(), progress, read_key)?;
        KeyQueue::check(&plan.others, *party, &others)?;
        Ok(OpenedKeys { products, others })
    }

    /// Spends the keys of the weights, opens the weights, and writes them.
    fn open_weights<Q: FssOps, C: Channel>(
        &self,
        q: &Q,
        keys: Vec<WeightKey>,
        channel: &mut C,
        role: Role<'_>,
    ) -> Result<(KeptWeights, Traffic), InferenceError> {
        let (path, model) = (&self.weights.path, &self.weights.model);
        let server = match role {
            Role::Client(_) => None,
            Role::Server(weights) => Some(weights),
        };
        spend(path, keys.len())?;
        let opened = party::open_weights(q, model, keys, channel, server);
        let kept = opened.and_then(|(opened, traffic)| Ok((KeptWeights::write(path, opened, server)?, traffic)));
        kept.map_err(|reason| InferenceError::Opening { path: self.path.clone(), reason: Box::new(reason) })
    }
}

impl WeightState {
    /// The nonces of the keys of the weights.
    fn nonces(&self) -> Vec<[u8; 16]> {
        match self {
            Self::Keys(keys) => keys.iter().map(WeightKey::nonce).collect(),
            Self::Opened(kept) => kept.weights.iter().map(OpenedWeights::nonce).collect(),
        }
    }

    /// The digest of the opened weights, if they were opened.
    fn digest(&self) -> Option<[u8; 32]> {
        match self {
            Self::Keys(_) => None,
            Self::Opened(kept) => Some(kept.digest()),
        }
    }
}

/// The nonces of the keys of a run.
fn nonces(keys: &OpenedKeys) -> impl Iterator<Item = [u8; 16]> + '_ {
    keys.products.iter().map(WeightTriple::nonce).chain(keys.others.iter().map(Key::nonce))
}

/// The steps before a run, with their traffic.
#[derive(Default)]
struct Preparation {
    steps: Vec<Measured>,
    traffic: Traffic,
}

impl Preparation {
    fn measure<T>(
        &mut self,
        step: &str,
        run: impl FnOnce() -> Result<(T, Traffic), InferenceError>,
    ) -> Result<T, InferenceError> {
        let start = Instant::now();
        let (result, traffic) = run()?;
        let (seconds, sent_bytes, rounds) = (start.elapsed().as_secs_f64(), traffic.sent_bytes, traffic.rounds);
        self.steps.push(Measured { step: step.to_owned(), seconds, sent_bytes, rounds });
        self.traffic = sum(self.traffic, traffic);
        Ok(result)
    }

    /// The results of a run, with these steps before its own.
    fn followed_by(mut self, run: Inferred) -> Inferred {
        self.steps.extend(run.steps);
        Inferred { logits: run.logits, traffic: sum(self.traffic, run.traffic), steps: self.steps }
    }
}

fn sum(a: Traffic, b: Traffic) -> Traffic {
    Traffic {
        sent_bytes: a.sent_bytes + b.sent_bytes,
        received_bytes: a.received_bytes + b.received_bytes,
        rounds: a.rounds + b.rounds,
    }
}

/// The number of runs of a deal, from the manifest of the keys that open the weights.
fn runs_of(path: &Path, manifest: &Manifest) -> Result<u32, InferenceError> {
    match manifest.part {
        Some(DealPart::Weights { runs }) if (1..=DealPart::MAX_RUNS).contains(&runs) => Ok(runs),
        _ => Err(refused(path, &format!("expected the keys of weights for 1 to {} runs", DealPart::MAX_RUNS))),
    }
}

/// The last run that was used, or 0. Earlier ones are not used any more.
fn used_runs(path: &Path, runs: u32) -> u32 {
    let used = |&index: &u32| is_used(&path.join(DealPart::Run { index }.folder_name()));
    (1..=runs).rev().find(used).unwrap_or_default()
}

/// Reads the manifest of a run, and checks that it is of the deal of `weights`.
fn open_run(path: &Path, weights: &CheckedFolder, index: u32) -> Result<CheckedFolder, InferenceError> {
    let part = DealPart::Run { index };
    let (name, run) = (part.folder_name(), path.join(part.folder_name()));
    let party = Party::try_from(weights.manifest.party).map_err(|e| refused(path, &e.to_string()))?;
    let run = CheckedFolder::open(&run, party).map_err(missing(path, &format!("{name}/{}", Manifest::FILE)))?;
    let expected = Manifest { part: Some(part), keys: run.manifest.keys.clone(), ..weights.manifest.clone() };
    if run.manifest != expected {
        return Err(refused(&run.path, "expected a run of the same deal as the keys of the weights, got another"));
    }
    run.check_size()?;
    Ok(run)
}
