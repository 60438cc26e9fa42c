//! A party's keys for the next run of a model, of a deal for one run or for many.

use std::path::Path;

use anyhow::Result;
use backend_api::ops::{fss::FssOps, tensor::TensorOps};
use inference::{
    InferenceError, Keys, Limits, Model, Plan,
    cost::{folder_bytes, run_folder_bytes},
    folder::{BegunRun, KeyFolder, RunsFolder},
    party::{self, Inferred, Role},
    tls::{Connection, Endpoint, TlsChannel},
};
use pfss::{Party, SharedQueue, Traffic};

use super::{advance, expect_planned_keys, kind::KeyPathKind, remove_leftovers, steps_bar};

/// A party's folder with the keys of a run, read and checked.
pub(super) enum RunKeys {
    /// Keys of a single run.
    Single { folder: Box<KeyFolder>, plan: Plan, party: Party },
    /// Keys of many runs on weights that are opened once.
    Many(Box<RunsFolder>),
}

/// A run whose keys are spent.
pub(super) enum SpentRun {
    /// Of keys for a single run.
    Single { model: Model, keys: Keys, planned: Traffic, key_bytes: u64 },
    /// Of keys for many runs.
    Many(Box<BegunRun>),
}

impl RunKeys {
    /// Reads the folder of `party`, and compares its size with the plan of its model.
    pub(super) fn open(path: &Path, party: Party) -> Result<Self> {
        if KeyPathKind::of(path) == Some(KeyPathKind::Runs) {
            // A run writes opened weights, which are secret.
            remove_leftovers(&RunsFolder::opened_path(path));
            let folder = open_runs(path, party)?;
            expect_planned_keys(&run_folder_bytes(folder.plan(), party), party, folder.key_bytes())?;
            return Ok(Self::Many(Box::new(folder)));
        }
        KeyPathKind::Model.expect(path)?;
        let folder = super::open(path, party)?;
        let plan = folder.model().plan()?;
        expect_planned_keys(&folder_bytes(&plan, party), party, folder.key_bytes())?;
        Ok(Self::Single { folder: Box::new(folder), plan, party })
    }

    /// The model that the keys are for.
    pub(super) fn model(&self) -> &Model {
        match self {
            Self::Single { folder, .. } => folder.model(),
            Self::Many(folder) => folder.model(),
        }
    }

    /// Bytes of keys of the run on disk.
    pub(super) fn key_bytes(&self) -> u64 {
        match self {
            Self::Single { folder, .. } => folder.key_bytes(),
            Self::Many(folder) => folder.key_bytes(),
        }
    }

    /// The bytes and rounds of the run, exactly.
    pub(super) fn traffic(&self) -> Traffic {
        match self {
            Self::Single { plan, party, .. } => plan.traffic(*party),
            Self::Many(folder) => folder.traffic(),
        }
    }

    /// This party's side of a connection.
    pub(super) fn endpoint(&self, limits: Limits) -> Endpoint<'_> {
        match self {
            Self::Single { folder, .. } => folder.endpoint(limits),
            Self::Many(folder) => folder.endpoint(limits),
        }
    }

    /// Checks the inputs of the run before a connection is made.
    pub(super) fn check(&self, role: Role<'_>) -> Result<(), InferenceError> {
        match self {
            Self::Single { folder, .. } => role.check(folder.model()),
            Self::Many(folder) => folder.check(role),
        }
    }

    /// Unused runs.
    pub(super) fn unused(&self) -> u32 {
        match self {
            Self::Single { .. } => 1,
            Self::Many(folder) => folder.unused(),
        }
    }

    /// Spends the next run, with the peer of [`endpoint`](Self::endpoint).
    ///
    /// Returns the keys of later runs as well, which several connections may take one after the
    /// other.
    pub(super) fn begin<Q: FssOps>(
        self,
        q: &Q,
        channel: &mut TlsChannel,
        role: Role<'_>,
        progress: impl FnMut(&str),
    ) -> (Result<SpentRun, InferenceError>, Option<Self>) {
        match self {
            Self::Single { folder, plan, party } => {
                let (model, planned, key_bytes) = (folder.model().clone(), plan.traffic(party), folder.key_bytes());
                let keys = folder.consume(role);
                (keys.map(|keys| SpentRun::Single { model, keys, planned, key_bytes }), None)
            }
            Self::Many(mut folder) => {
                let begun = folder.begin(q, channel, role, progress);
                (begun.map(|run| SpentRun::Many(Box::new(run))), Some(Self::Many(folder)))
            }
        }
    }

    /// Runs the model with the peer of [`endpoint`](Self::endpoint), and spends the keys.
    ///
    /// `connection` is of the channel, for errors.
    pub(super) fn run<Q: SharedQueue + TensorOps>(
        self,
        q: &Q,
        mut channel: TlsChannel,
        connection: &Connection,
        role: Role<'_>,
        title: &'static str,
    ) -> Result<Inferred> {
        let bar = steps_bar(self.steps(), title)?;
        let (begun, _later) = self.begin(q, &mut channel, role, |step| advance(&bar, step));
        let done = begun.and_then(|run| run.run(q, channel, role, |step| advance(&bar, step)));
        let done = done.map_err(|error| error.over(connection))?;
        bar.finish_and_clear();
        Ok(done)
    }

    /// The number of steps of the next run.
    pub(super) fn steps(&self) -> usize {
        match self {
            // the opening of the logits comes after the steps of the plan
            Self::Single { plan, .. } => plan.steps().len() + 1,
            Self::Many(folder) => folder.steps(),
        }
    }
}

impl SpentRun {
    /// The number of the run, if it is one of many.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Self::Single { .. } => None,
            Self::Many(run) => Some(run.index()),
        }
    }

    /// Bytes of its keys.
    pub(super) fn key_bytes(&self) -> u64 {
        match self {
            Self::Single { key_bytes, .. } => *key_bytes,
            Self::Many(run) => run.key_bytes(),
        }
    }

    /// The bytes and rounds of the run, exactly.
    pub(super) fn traffic(&self) -> Traffic {
        match self {
            Self::Single { planned, .. } => *planned,
            Self::Many(run) => run.traffic(),
        }
    }

    /// Runs the model with the peer that the run was begun with.
    pub(super) fn run<Q: SharedQueue + TensorOps>(
        self,
        q: &Q,
        channel: TlsChannel,
        role: Role<'_>,
        progress: impl FnMut(&str),
    ) -> Result<Inferred, InferenceError> {
        match self {
            Self::Single { model, keys, .. } => party::run(q, &model, keys, channel, role, progress),
            Self::Many(run) => run.run(q, channel, role, progress),
        }
    }
}

/// Reads a party's folder of many runs.
pub(super) fn open_runs(path: &Path, party: Party) -> Result<RunsFolder> {
    let state = RunsFolder::state(path)?;
    let bar = steps_bar(state.manifest.keys.len(), "read keys")?;
    let folder = RunsFolder::open(path, party, |step| advance(&bar, step))?;
    bar.finish_and_clear();
    Ok(folder)
}
