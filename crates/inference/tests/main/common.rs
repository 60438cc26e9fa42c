//! Weights, deals and runs for tests.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use inference::{
    Architecture, InferenceError, Key, Keys, Model, OpenedKeys, Parameters,
    folder::{self, KeyFolder, RunsFolder},
    party::{self, Inferred, Role},
};
use nn_ops::io::{Tensor, Tensors};
use pfss::{Channel, Dealer, OpenedWeights, Party, Traffic, WeightKey, memory_pair};
use tempfile::TempDir;

pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Weights of every size within the limit of the architecture, the extremes among them.
pub(crate) fn weights(model: &Model) -> Parameters {
    let limit = model.weight_limit() as f32;
    let mut rng = fastrand::Rng::with_seed(1);
    let mut weight = || match rng.u8(..64) {
        0 => limit,
        1 => -limit,
        _ => 0.3 * (2.0 * rng.f32() - 1.0),
    };
    let tensor = |parameter: inference::Parameter| {
        let data = (0..parameter.len()).map(|_| weight()).collect();
        (parameter.name, Tensor { shape: parameter.shape, data })
    };
    let tensors: Tensors = model.parameters().into_iter().map(tensor).collect();
    Parameters::from_tensors(model, &tensors).unwrap()
}

/// Test images of the shipped set, in fixed point.
pub(crate) fn images(model: &Model) -> Vec<u64> {
    inference::digits::load().unwrap().1.take(model.count()).fixed_point()
}

pub(crate) fn digits(count: usize) -> Model {
    Model::new(Architecture::Digits, count).unwrap()
}

/// Keys that anyone can repeat.
pub(crate) fn keys(model: &Model) -> [Vec<Key>; 2] {
    let q = runtime::cpu().unwrap();
    model.plan().unwrap().deal(&q, &mut Dealer::insecure_from_seed(3), |_| ()).unwrap()
}

/// Runs both parties over a channel each; client first.
pub(crate) fn run_over<C: Channel + Send>(
    model: &Model,
    keys: [impl Into<Keys> + Send; 2],
    channels: [C; 2],
    weights: &Parameters,
) -> [Result<Inferred, InferenceError>; 2] {
    run_on(model, keys, channels, weights, &images(model))
}

/// [`run_over`] on these inputs in fixed point.
pub(crate) fn run_on<C: Channel + Send>(
    model: &Model,
    keys: [impl Into<Keys> + Send; 2],
    channels: [C; 2],
    weights: &Parameters,
    inputs: &[u64],
) -> [Result<Inferred, InferenceError>; 2] {
    let ([client, server], [to_server, to_client]) = (keys, channels);
    let serve = || party::run(&runtime::cpu().unwrap(), model, server, to_client, Role::Server(weights), |_| ());
    let infer = || party::run(&runtime::cpu().unwrap(), model, client, to_server, Role::Client(inputs), |_| ());
    let (served, inferred) = test_process::pair(serve, infer);
    [inferred, served]
}

/// Runs both parties in memory.
pub(crate) fn run(
    model: &Model,
    keys: [impl Into<Keys> + Send; 2],
    weights: &Parameters,
) -> [Result<Inferred, InferenceError>; 2] {
    run_over(model, keys, memory_pair(PATIENCE).into(), weights)
}

/// Opens the weights between both parties, client first.
pub(crate) fn open_weights(
    model: &Model,
    keys: [Vec<WeightKey>; 2],
    weights: &Parameters,
) -> [(Vec<OpenedWeights>, Traffic); 2] {
    let ([client, server], (to_server, to_client)) = (keys, memory_pair(PATIENCE));
    let serve = || party::open_weights(&runtime::cpu().unwrap(), model, server, to_client, Some(weights)).unwrap();
    let open = || party::open_weights(&runtime::cpu().unwrap(), model, client, to_server, None).unwrap();
    let (served, opened) = test_process::pair(serve, open);
    [opened, served]
}

/// Runs both parties on opened weights and these inputs in fixed point, client first.
pub(crate) fn run_opened(
    model: &Model,
    keys: [OpenedKeys; 2],
    opened: &[Vec<OpenedWeights>; 2],
    weights: &Parameters,
    inputs: &[u64],
) -> [Inferred; 2] {
    let ([client, server], (to_server, to_client)) = (keys, memory_pair(PATIENCE));
    let serve = || {
        let (q, role) = (runtime::cpu().unwrap(), Role::Server(weights));
        party::run_opened(&q, model, server, &opened[1], to_client, role, |_| ()).unwrap()
    };
    let infer = || {
        let (q, role) = (runtime::cpu().unwrap(), Role::Client(inputs));
        party::run_opened(&q, model, client, &opened[0], to_server, role, |_| ()).unwrap()
    };
    let (served, inferred) = test_process::pair(serve, infer);
    [inferred, served]
}

/// Both parties' folders of a deal, client first.
fn parties(out: &Path) -> [PathBuf; 2] {
    Party::BOTH.map(|party| out.join(format!("party{}", party.number())))
}

/// A deal for one run in the folder `deal` of a new one, and both parties' folders of it.
pub(crate) fn deal(model: &Model) -> (TempDir, [PathBuf; 2]) {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    folder::deal(&runtime::cpu().unwrap(), model, &out, |_| ()).unwrap();
    (scratch, parties(&out))
}

/// Opens both parties' folders of a deal for one run.
pub(crate) fn open(paths: &[PathBuf; 2]) -> [KeyFolder; 2] {
    Party::BOTH.map(|party| KeyFolder::open(&paths[party.index()], party, |_| ()).unwrap())
}

/// Spends both parties' folders on these inputs in fixed point.
pub(crate) fn consume([client, server]: [KeyFolder; 2], weights: &Parameters, inputs: &[u64]) -> [Keys; 2] {
    [client.consume(Role::Client(inputs)).unwrap(), server.consume(Role::Server(weights)).unwrap()]
}

/// [`deal`] for many runs.
pub(crate) fn deal_runs(model: &Model, runs: u32) -> (TempDir, [PathBuf; 2]) {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    folder::deal_runs(&runtime::cpu().unwrap(), model, runs, &out, |_| ()).unwrap();
    (scratch, parties(&out))
}

/// Opens both parties' folders of a deal for many runs.
pub(crate) fn open_runs(paths: &[PathBuf; 2]) -> [RunsFolder; 2] {
    Party::BOTH.map(|party| RunsFolder::open(&paths[party.index()], party, |_| ()).unwrap())
}

/// Runs both parties on the next run of their folders and these inputs in fixed point.
///
/// The client is first.
pub(crate) fn next_run(
    [client, server]: [RunsFolder; 2],
    weights: &Parameters,
    inputs: &[u64],
) -> [Result<Inferred, InferenceError>; 2] {
    let (to_server, to_client) = memory_pair(PATIENCE);
    let serve = || server.run(&runtime::cpu().unwrap(), to_client, Role::Server(weights), |_| ());
    let infer = || client.run(&runtime::cpu().unwrap(), to_server, Role::Client(inputs), |_| ());
    let (served, inferred) = test_process::pair(serve, infer);
    [inferred, served]
}
