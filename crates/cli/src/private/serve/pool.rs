//! The key folders of a server, and which of their runs are unused, expected and running.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use anyhow::{Context as _, Result};
use backend_api::ops::fss::FssOps;
use inference::{
    InferenceError, Limits, Model, Parameters,
    party::Role,
    tls::{Fingerprint, PeerListener, TlsChannel},
};
use pfss::Party;

use crate::{
    exit::say,
    files,
    private::{
        keys::{RunKeys, SpentRun},
        listen,
    },
};

/// The key folders of a server.
pub(super) struct Pool {
    folders: Vec<PooledFolder>,
    counts: Mutex<PoolCounts>,
}

/// A folder of keys with the weights that it serves.
pub(super) struct PooledFolder {
    pub(super) path: PathBuf,
    pub(super) model: Model,
    pub(super) weights: Arc<Parameters>,
    /// The certificate of its client.
    client: Fingerprint,
    /// Its unused runs; `None` after a single one.
    keys: Mutex<Option<RunKeys>>,
}

/// The numbers of runs and clients of all folders.
struct PoolCounts {
    /// Unused runs of each folder.
    unused: Vec<u32>,
    /// Clients of each folder that were accepted, and have not begun a run.
    expected: Vec<u32>,
    /// Clients that were accepted, and have not ended.
    running: usize,
}

impl Pool {
    /// Reads and checks all folders, and the file of weights for the model of each.
    ///
    /// Folders without a run that can be used are left out if others have some.
    pub(super) fn open(paths: &[&Path], file: &Path) -> Result<Self> {
        let (mut folders, mut spent) = (Vec::<PooledFolder>::new(), None);
        for path in paths {
            let keys = match RunKeys::open(path, Party::One) {
                Err(error) if paths.len() > 1 && is_spent(&error) => {
                    say("note", &error.to_string());
                    spent = Some(error);
                    continue;
                }
                opened => opened?,
            };
            let (model, client) = (keys.model().clone(), keys.endpoint(Limits::default()).peer);
            if let Some(other) = folders.iter().find(|other| other.client == client) {
                let reason =
                    format!("expected keys of another deal than {}, got keys of the same", other.path.display());
                return Err(InferenceError::Folder { path: path.to_path_buf(), reason }.into());
            }
            // Weights are held once for each model.
            let known = folders.iter().find(|other| other.model.architecture() == model.architecture());
            let weights = match known {
                Some(other) => Arc::clone(&other.weights),
                None => {
                    let bytes = files::read(file).with_context(|| format!("reading {}", file.display()))?;
                    Arc::new(Parameters::read(&model, &bytes)?)
                }
            };
            keys.check(Role::Server(&weights))?;
            folders.push(PooledFolder {
                path: path.to_path_buf(),
                model,
                weights,
                client,
                keys: Mutex::new(Some(keys)),
            });
        }
        if let (true, Some(error)) = (folders.is_empty(), spent) {
            return Err(error);
        }
        let unused = folders.iter().map(|folder| lock(&folder.keys).as_ref().map_or(0, RunKeys::unused)).collect();
        let counts = PoolCounts { unused, expected: vec![0; folders.len()], running: 0 };
        Ok(Self { folders, counts: Mutex::new(counts) })
    }

    /// Listens on `address` for the clients of all folders, and prints the address.
    pub(super) fn listen(&self, address: &str, limits: Limits) -> Result<PeerListener> {
        let keys: Vec<_> = self.folders.iter().map(|folder| lock(&folder.keys)).collect();
        let endpoints: Vec<_> = keys.iter().filter_map(|keys| Some(keys.as_ref()?.endpoint(limits))).collect();
        Ok(PeerListener::new(listen(address)?, &endpoints).map_err(InferenceError::from)?)
    }

    /// Unused runs.
    pub(super) fn unused(&self) -> u32 {
        lock(&self.counts).unused.iter().sum()
    }

    /// The number of steps of the next run in the first folder.
    pub(super) fn steps(&self) -> usize {
        let first = self.folders.first().map(|folder| lock(&folder.keys));
        first.and_then(|keys| keys.as_ref().map(RunKeys::steps)).unwrap_or_default()
    }

    /// Whether no run is unused, and none can become unused again.
    pub(super) fn is_spent(&self) -> bool {
        let counts = lock(&self.counts);
        counts.expected.iter().chain(&counts.unused).all(|&count| count == 0)
    }

    /// Whether another client may be accepted, of at most `at_once`.
    pub(super) fn has_room(&self, at_once: usize) -> bool {
        let counts = lock(&self.counts);
        counts.running < at_once
            && counts.unused.iter().zip(&counts.expected).any(|(unused, expected)| unused > expected)
    }

    /// Clients that were accepted, and have not ended.
    pub(super) fn running(&self) -> usize {
        lock(&self.counts).running
    }

    /// Takes in a client of folder `index`.
    ///
    /// # Errors
    /// The reason if no run is left for it: it would take the place of clients of other folders.
    pub(super) fn admit(&self, index: usize) -> Result<AdmittedClient<'_>, String> {
        let mut counts = lock(&self.counts);
        if counts.unused[index] <= counts.expected[index] {
            let path = self.folders[index].path.display();
            return Err(format!("key folder {path}: expected an unused run, other clients have them all"));
        }
        counts.expected[index] += 1;
        counts.running += 1;
        Ok(AdmittedClient { pool: self, index, is_expected: true })
    }
}

/// A client that was accepted. It is counted until this is dropped.
pub(super) struct AdmittedClient<'a> {
    pool: &'a Pool,
    index: usize,
    /// Whether it has not begun a run.
    is_expected: bool,
}

/// The result of beginning a run.
pub(super) enum RunStart {
    /// Its keys are spent, and it can run.
    Run(SpentRun),
    /// It has not begun, and nothing is spent.
    Refused(InferenceError),
    /// It has not begun, but keys are spent.
    Lost(InferenceError),
}

impl<'a> AdmittedClient<'a> {
    /// The folder that its keys are in.
    pub(super) fn folder(&self) -> &'a PooledFolder {
        &self.pool.folders[self.index]
    }

    /// Spends the next run of the folder.
    ///
    /// Clients of one folder take turns until their runs have begun.
    pub(super) fn begin<Q: FssOps>(&mut self, q: &Q, channel: &mut TlsChannel, progress: impl FnMut(&str)) -> RunStart {
        let folder = self.folder();
        let mut slot = lock(&folder.keys);
        let Some(keys) = slot.take() else {
            return RunStart::Refused(InferenceError::Used { path: folder.path.clone() });
        };
        let before = keys.unused();
        let (begun, left) = keys.begin(q, channel, Role::Server(&folder.weights), progress);
        let after = left.as_ref().map_or(0, RunKeys::unused);
        *slot = left;

        let mut counts = lock(&self.pool.counts);
        counts.unused[self.index] = after;
        counts.expected[self.index] -= 1;
        self.is_expected = false;
        match begun {
            Ok(run) => RunStart::Run(run),
            Err(error) if after < before => RunStart::Lost(error),
            Err(error) => RunStart::Refused(error),
        }
    }
}

impl Drop for AdmittedClient<'_> {
    fn drop(&mut self) {
        let mut counts = lock(&self.pool.counts);
        counts.expected[self.index] -= u32::from(self.is_expected);
        counts.running -= 1;
    }
}

/// Locks a value that a panic leaves as it was.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a folder was refused since none of its runs can be used any more.
fn is_spent(error: &anyhow::Error) -> bool {
    use InferenceError::{RunsUsed, Used, WeightsSpent};
    matches!(error.downcast_ref(), Some(Used { .. } | RunsUsed { .. } | WeightsSpent { .. }))
}
