//! Weights and deals for tests.

use std::time::Duration;

use inference::{
    Architecture, InferenceError, Key, Keys, Model, Parameters,
    party::{self, Inferred, Role},
};
use nn_ops::io::{Tensor, Tensors};
use pfss::{Channel, Dealer, memory_pair};

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
    test_process::scope(|scope| {
        let serving = scope
            .spawn(|| party::run(&runtime::cpu().unwrap(), model, server, to_client, Role::Server(weights), |_| ()));
        let role = Role::Client(inputs);
        let inferred = party::run(&runtime::cpu().unwrap(), model, client, to_server, role, |_| ());
        [inferred, serving.join().unwrap()]
    })
}

/// Runs both parties in memory.
pub(crate) fn run(
    model: &Model,
    keys: [impl Into<Keys> + Send; 2],
    weights: &Parameters,
) -> [Result<Inferred, InferenceError>; 2] {
    run_over(model, keys, memory_pair(PATIENCE).into(), weights)
}
