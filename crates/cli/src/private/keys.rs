//! A party's keys for the next run of a model, of a deal for one run or for many.

use std::path::Path;

use anyhow::Result;
use backend_api::ops::fss::FssOps;
use inference::{
    InferenceError, Limits, Model, Plan,
    cost::{folder_bytes, run_folder_bytes},
    folder::{KeyFolder, RunsFolder},
    party::{self, Inferred, Role},
    tls::{Endpoint, TlsChannel},
};
use pfss::{Party, Traffic};

use super::{advance, before_dealing, expect_planned_keys, kind::KeyPathKind, steps_bar};

/// A party's folder with the keys of a run, read and checked.
pub(super) enum RunKeys {
    /// Keys of a single run.
    Single { folder: Box<KeyFolder>, plan: Plan, party: Party },
    /// Keys of many runs on weights that are opened once.
    Many(Box<RunsFolder>),
}

impl RunKeys {
    /// Reads the folder of `party`, and compares its size with the plan of its model.
    pub(super) fn open(path: &Path, party: Party) -> Result<Self> {
        if KeyPathKind::of(path) == Some(KeyPathKind::Runs) {
            // The run may write opened weights, which are secret.
            before_dealing(&RunsFolder::opened_path(path))?;
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

    /// Runs the model with the peer of [`endpoint`](Self::endpoint), and spends the keys.
    pub(super) fn run<Q: FssOps>(
        self,
        q: &Q,
        channel: TlsChannel,
        role: Role<'_>,
        title: &'static str,
    ) -> Result<Inferred> {
        let bar = steps_bar(self.steps(), title)?;
        let done = match self {
            Self::Single { folder, .. } => {
                let model = folder.model().clone();
                let keys = folder.consume(role)?;
                party::run(q, &model, keys, channel, role, |step| advance(&bar, step))?
            }
            Self::Many(folder) => folder.run(q, channel, role, |step| advance(&bar, step))?,
        };
        bar.finish_and_clear();
        Ok(done)
    }

    fn steps(&self) -> usize {
        match self {
            // the opening of the logits comes after the steps of the plan
            Self::Single { plan, .. } => plan.steps().len() + 1,
            Self::Many(folder) => folder.steps(),
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
