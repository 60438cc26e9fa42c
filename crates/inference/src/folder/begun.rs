//! A run of many that both parties agreed on, and the steps before it.

use std::{sync::Arc, time::Instant};

use backend_api::ops::tensor::TensorOps;
use pfss::{Channel, SharedQueue, Traffic};

use super::{opened::KeptWeights, party_folder::PartyFolder};
use crate::{
    InferenceError, OpenedKeys,
    party::{self, Inferred, Measured, Role},
};

/// A run that both parties agreed on. Its keys are spent.
///
/// [`RunsFolder::begin`](super::RunsFolder::begin) returns it. Several runs of a folder may be
/// in progress at once, each on its own connection.
#[derive(Debug)]
pub struct BegunRun {
    pub(super) folder: Arc<PartyFolder>,
    pub(super) index: u32,
    pub(super) keys: OpenedKeys,
    pub(super) key_bytes: u64,
    pub(super) weights: Arc<KeptWeights>,
    /// The bytes and rounds of the steps before the run and of the run.
    pub(super) planned: Traffic,
    pub(super) preparation: Preparation,
}

impl BegunRun {
    /// The number of the run, from 1.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Bytes of its keys, whose files no longer have names.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// Its bytes and rounds, exactly.
    ///
    /// They include the agreement on the run, and the opening of the weights if it opened them.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.planned
    }

    /// Runs the model with the peer that it was begun with.
    ///
    /// `progress` is called with each step before it runs.
    ///
    /// # Errors
    /// [`InferenceError::FailedRun`] with the number of the run and the error of
    /// [`party::run_opened`].
    pub fn run<Q: SharedQueue + TensorOps, C: Channel>(
        self,
        q: &Q,
        channel: C,
        role: Role<'_>,
        progress: impl FnMut(&str),
    ) -> Result<Inferred, InferenceError> {
        let Self { folder, index, keys, weights, preparation, .. } = self;
        let run = party::run_opened(q, &folder.weights.model, keys, &weights.weights, channel, role, progress);
        run.map(|run| preparation.followed_by(run)).map_err(|reason| InferenceError::FailedRun {
            path: folder.path.clone(),
            run: index,
            runs: folder.runs,
            reason: Box::new(reason),
        })
    }
}

/// The steps before a run, with their traffic.
#[derive(Debug, Default)]
pub(super) struct Preparation {
    steps: Vec<Measured>,
    traffic: Traffic,
}

impl Preparation {
    pub(super) fn measure<T>(
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
        Inferred { traffic: sum(self.traffic, run.traffic), steps: self.steps, ..run }
    }
}

pub(super) fn sum(a: Traffic, b: Traffic) -> Traffic {
    Traffic {
        sent_bytes: a.sent_bytes + b.sent_bytes,
        received_bytes: a.received_bytes + b.received_bytes,
        rounds: a.rounds + b.rounds,
    }
}
