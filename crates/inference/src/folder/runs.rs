//! A party's folder of many runs on weights that are opened once.

use core::mem;
use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use backend_api::ops::{fss::FssOps, tensor::TensorOps};
use pfss::{Channel, Party, PfssError, SharedQueue, Traffic, WeightTriple};

use super::{
    agreement::{AGREEMENT, PartyState},
    begun::{BegunRun, Preparation, sum},
    checked::{CheckedFolder, is_used, read_manifest, read_manifest_of, remove_keys, spend},
    files::digest,
    lock::FolderLock,
    manifest::{DealPart, Manifest},
    opened::{is_opened, opened_path, remove_opened},
    party_folder::{NextRun, PartyFolder, WeightState, open_run, runs_of, used_runs},
};
use crate::{
    Architecture, InferenceError, Limits, Model, OpenedKeys, OpenedPlan,
    party::{Inferred, Role},
    tls::Endpoint,
};

/// The steps that come before a run.
const AGREE: &str = "agree on the run";
const OPEN: &str = "open the weights";

/// A party's folder of a deal for many runs, whose next run was read and checked.
///
/// [`deal_runs`](super::deal_runs) makes it. [`run`](Self::run) spends one run, and opens the
/// weights if no run before has. [`begin`](Self::begin) spends one run after the other, for several
/// connections at once. The folder is locked until this and all of its runs are dropped.
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
    folder: Arc<PartyFolder>,
    weights: WeightState,
    /// The number of the next unused run, one more than all if there is none.
    next: u32,
    /// The next run, if it was read.
    run: Option<NextRun>,
    /// Whether keys that a killed process left in used folders were removed.
    is_clean: bool,
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

impl RunsFolder {
    /// Reads and checks the folder of `party`: the weights and the next unused run.
    ///
    /// Files are checked as [`KeyFolder::open`](super::KeyFolder::open) does. `progress` is called
    /// with the step of each file of keys before the file is read.
    ///
    /// # Errors
    /// [`InferenceError::InUse`] if the folder is open already, here or in another process,
    /// [`InferenceError::RunsUsed`] if no run is left, [`InferenceError::WeightsSpent`] if an
    /// opening of the weights failed, and as [`KeyFolder::open`](super::KeyFolder::open).
    pub fn open(path: &Path, party: Party, mut progress: impl FnMut(&str)) -> Result<Self, InferenceError> {
        Self::read(path, party, None, &mut progress)
    }

    /// Reads and checks the folder of `party` for a model, which may be a Rust function.
    ///
    /// This is [`open`](Self::open) with the check of
    /// [`KeyFolder::open_for`](super::KeyFolder::open_for), which has an example.
    ///
    /// # Errors
    /// [`InferenceError::OtherModel`] if the keys are for another model, and as
    /// [`open`](Self::open) and the function.
    pub fn open_for(
        path: &Path,
        party: Party,
        architecture: &Architecture,
        mut progress: impl FnMut(&str),
    ) -> Result<Self, InferenceError> {
        Self::read(path, party, Some(architecture), &mut progress)
    }

    /// Reads and checks a folder for a model, or for the one that the folder holds.
    fn read(
        path: &Path,
        party: Party,
        given: Option<&Architecture>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, InferenceError> {
        // The next run, and the size of its files before a plan takes memory for the batch.
        let of_weights = path.join(DealPart::WEIGHTS);
        let manifest = read_manifest_of(&of_weights, party)?;
        let runs = runs_of(&of_weights, &manifest)?;
        let lock = FolderLock::take(path)?;
        let next = used_runs(path, runs) + 1;
        if next > runs {
            // The process of the last run may have been killed before it had removed these.
            remove_opened(&of_weights)?;
            let last = path.join(DealPart::Run { index: runs }.folder_name());
            if let Ok(manifest) = read_manifest(&last) {
                remove_keys(&last, manifest.keys.len())?;
            }
            return Err(InferenceError::RunsUsed { path: path.to_owned(), runs });
        }
        let weights = CheckedFolder::new(&of_weights, manifest, given)?;
        let run = open_run(path, &weights, next)?;
        // Everything is checked against the plan.
        let plan = weights.model.opened_plan()?;
        weights.check_plan(plan.digest(), plan.products.len())?;
        let (identity, peer) = weights.identity()?;
        let folder = PartyFolder { path: path.to_owned(), weights, runs, party, plan, identity, peer, _lock: lock };
        let weights = folder.read_weights(progress)?;
        let run = Some(folder.read_run(&run, &weights, progress)?);
        Ok(Self { folder: Arc::new(folder), weights, next, run, is_clean: false })
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

    /// Where a party's opened weights are kept until the last run is spent.
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

    /// Bytes of keys of the next run on disk; 0 if the run was not read yet.
    ///
    /// [`open`](Self::open) reads the first one, and [`begin`](Self::begin) each later one.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        self.run.as_ref().map_or(0, |run| run.bytes)
    }

    /// Unused runs; 0 if the opening of the weights failed.
    #[must_use]
    pub fn unused(&self) -> u32 {
        match self.weights {
            WeightState::Spent => 0,
            WeightState::Keys(_) | WeightState::Opened(_) => self.folder.runs + 1 - self.next,
        }
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
        let PartyFolder { weights, party, identity, peer, .. } = &*self.folder;
        Endpoint { party: *party, identity, peer: *peer, protocol: weights.protocol(), limits }
    }

    /// Checks the inputs of a run, before a connection is made.
    ///
    /// # Errors
    /// [`InferenceError::OtherParty`] if `role` is the other party's, as [`Role::check`], and
    /// [`InferenceError::OtherWeights`] for other weights than those that were opened.
    pub fn check(&self, role: Role<'_>) -> Result<(), InferenceError> {
        let PartyFolder { path, party, weights, .. } = &*self.folder;
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
    /// `progress` is called with the step of each file of keys before the file is read.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`InferenceError::Pfss`] if two runs have the same keys.
    pub fn check_runs(&self, mut progress: impl FnMut(&str)) -> Result<u64, InferenceError> {
        let read = self.run.as_ref();
        let (mut bytes, mut met) = (self.key_bytes(), HashSet::new());
        met.extend(read.into_iter().flat_map(nonces));
        for index in self.next + u32::from(read.is_some())..=self.folder.runs {
            let run = self.folder.read_next(index, &self.weights, &mut progress)?;
            // Each run is checked by itself; a copy of another run would use its masks again.
            if let Some(nonce) = nonces(&run).find(|&nonce| !met.insert(nonce)) {
                return Err(PfssError::ReusedBundle { nonce }.into());
            }
            bytes += run.bytes;
        }
        Ok(bytes)
    }

    /// Runs the model with the peer of [`endpoint`](Self::endpoint), and spends the run.
    ///
    /// This is [`begin`](Self::begin), and then the run. `progress` is called with each step
    /// before it runs.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`InferenceError::FailedRun`] if the run fails, which spends
    /// that run alone.
    pub fn run<Q: SharedQueue + TensorOps, C: Channel>(
        mut self,
        q: &Q,
        mut channel: C,
        role: Role<'_>,
        mut progress: impl FnMut(&str),
    ) -> Result<Inferred, InferenceError> {
        let run = self.begin(q, &mut channel, role, &mut progress)?;
        run.run(q, channel, role, progress)
    }

    /// Agrees with the peer of [`endpoint`](Self::endpoint) on the next run, and spends it.
    ///
    /// The parties exchange which run is their next one and which weights they have opened. They
    /// use the later of both runs, and mark earlier ones as used. If the weights were not opened,
    /// they are opened first, and written to the folder before the run begins. Files of keys are
    /// removed before anything that depends on them is sent, and the opened weights with the last
    /// run. `progress` is called with each step before it runs.
    ///
    /// The returned run does not need this folder any more: the next one may begin on another
    /// connection. Nothing protects against a copy of the folder made earlier.
    ///
    /// # Errors
    /// As [`check`](Self::check), [`InferenceError::RunsUsed`] and [`InferenceError::WeightsSpent`]
    /// if there is nothing to begin, and as [`open`](Self::open) for the files of the run, before
    /// anything that depends on keys is sent. [`InferenceError::OpenedDiffer`],
    /// [`InferenceError::PeerRun`] or [`InferenceError::Pfss`] if the parties do not agree, before
    /// anything is spent but the runs that the peer has used.
    /// [`InferenceError::Opening`] if the opening of the weights fails, which spends their keys for
    /// good. [`InferenceError::Used`] if a run was used by a process that had no lock.
    pub fn begin<Q: FssOps, C: Channel>(
        &mut self,
        q: &Q,
        channel: &mut C,
        role: Role<'_>,
        mut progress: impl FnMut(&str),
    ) -> Result<BegunRun, InferenceError> {
        self.begin_on(q, channel, role, &mut progress)
    }

    /// [`begin`](Self::begin), compiled once for all types of channels.
    fn begin_on<Q: FssOps>(
        &mut self,
        q: &Q,
        channel: &mut dyn Channel,
        role: Role<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<BegunRun, InferenceError> {
        self.check(role)?;
        let first = self.next_run()?;
        self.clean()?;
        let (folder, next, planned) = (Arc::clone(&self.folder), self.next, self.traffic());
        let mut preparation = Preparation::default();

        // Both parties agree, and nothing is spent so far.
        progress(AGREE);
        let agreed = preparation.measure(AGREE, || {
            let state = PartyState { opened: self.weights.digest(), next };
            let agreed = state.agree(channel, folder.runs);
            Ok((agreed.map_err(|error| error.in_step(folder.party.peer(), AGREE))?, AGREEMENT))
        });
        let index = match agreed {
            Ok(index) => index,
            Err(error) => {
                self.run = Some(first);
                return Err(error);
            }
        };
        // Runs that the peer has used never begin again, also if this one cannot be read.
        if index > next {
            self.next = index;
            (next..index).try_for_each(|skipped| spend(&folder.run_path(skipped), folder.run_files()))?;
        }
        let NextRun { products, others, bytes } = match index > next {
            true => folder.read_next(index, &self.weights, &mut |_| ())?,
            false => first,
        };
        // The files are opened while they have names; the run reads them.
        let keys = OpenedKeys { products, others: others.hold()? };

        // The weights are opened, if no run before has.
        let weights = match mem::replace(&mut self.weights, WeightState::Spent) {
            WeightState::Opened(kept) => kept,
            WeightState::Keys(weight_keys) => {
                progress(OPEN);
                preparation.measure(OPEN, || folder.open_weights(q, weight_keys, channel, role))?
            }
            WeightState::Spent => return Err(InferenceError::WeightsSpent { path: folder.path.clone() }),
        };
        self.weights = WeightState::Opened(Arc::clone(&weights));

        // The run is spent. Whatever happens, it does not begin again.
        self.next = index + 1;
        spend(&folder.run_path(index), folder.run_files())?;
        if index == folder.runs {
            remove_opened(&folder.weights.path)?;
        }
        Ok(BegunRun { folder, index, keys, key_bytes: bytes, weights, planned, preparation })
    }

    /// Takes the next run, and reads it if it was not read.
    fn next_run(&mut self) -> Result<NextRun, InferenceError> {
        let (path, runs) = (&self.folder.path, self.folder.runs);
        if matches!(self.weights, WeightState::Spent) {
            return Err(InferenceError::WeightsSpent { path: path.clone() });
        }
        if self.next > runs {
            return Err(InferenceError::RunsUsed { path: path.clone(), runs });
        }
        match self.run.take() {
            Some(run) => Ok(run),
            None => self.folder.read_next(self.next, &self.weights, &mut |_| ()),
        }
    }

    /// Removes keys that a killed process left in used folders.
    fn clean(&mut self) -> Result<(), InferenceError> {
        if self.is_clean {
            return Ok(());
        }
        let folder = &self.folder;
        for index in (1..self.next).filter(|&index| is_used(&folder.run_path(index))) {
            remove_keys(&folder.run_path(index), folder.run_files())?;
        }
        if matches!(self.weights, WeightState::Opened(_)) {
            remove_keys(&folder.weights.path, folder.plan.products.len())?;
        }
        self.is_clean = true;
        Ok(())
    }
}

/// The nonces of the keys of a run.
fn nonces(run: &NextRun) -> impl Iterator<Item = [u8; 16]> + '_ {
    run.products.iter().map(WeightTriple::nonce).chain(run.others.nonces())
}
