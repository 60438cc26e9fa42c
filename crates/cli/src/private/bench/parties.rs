//! Both parties of a run in this process, measured.

use std::{thread, time::Duration};

use anyhow::Result;
use inference::{
    InferenceError, Key, Model, Parameters,
    party::{self, Measured, Role},
};
use pfss::{Channel, Dealer, Gate, KeyBundle, MemoryChannel, PfssError, Session, Traffic, memory_pair};
use runtime::AnyQueue;
use tracing::subscriber::with_default;

use super::clock::{Activities, PartyClock, TimedChannel};

/// How long a party waits for the other, which may run a long step.
const PATIENCE: Duration = Duration::from_hours(1);
/// Elements and sessions by which the rate of walks is measured.
const ELEMENTS: usize = 1 << 13;
const SESSIONS: usize = 5;

/// The measurements of one party.
pub(super) struct PartyRun {
    /// The steps in order, and the activities in each.
    pub(super) steps: Vec<(Measured, Activities)>,
    pub(super) traffic: Traffic,
    pub(super) key_memory_bytes: u64,
}

/// Runs both parties on inputs and weights that are zero, and returns the client's run first.
///
/// No time depends on values. `progress` is called with each step of the client before it runs.
pub(super) fn run_both(
    queues: &[AnyQueue; 2],
    model: &Model,
    keys: [Vec<Key>; 2],
    progress: impl FnMut(&str),
) -> Result<[PartyRun; 2], InferenceError> {
    let (inputs, weights) = (inputs(model)?, Parameters::zeros(model));
    let ([client, server], (to_server, to_client)) = (keys, memory_pair(PATIENCE));
    let (mine, other) = thread::scope(|scope| {
        let role = Role::Server(&weights);
        let other = scope.spawn(move || run_party(&queues[1], model, server, to_client, role, |_| ()));
        let mine = run_party(&queues[0], model, client, to_server, Role::Client(&inputs), progress);
        (mine, other.join().unwrap_or(Err(InferenceError::Pfss(PfssError::Closed))))
    });
    match (mine, other) {
        (Ok(mine), Ok(other)) => Ok([mine, other]),
        // A lost channel or a stall is how the other party's failure appears here.
        (Err(InferenceError::Pfss(PfssError::Channel(_)) | InferenceError::Stalled { .. }), Err(error))
        | (Err(error), _)
        | (_, Err(error)) => Err(error),
    }
}

/// Runs one party on this thread.
fn run_party(
    q: &AnyQueue,
    model: &Model,
    keys: Vec<Key>,
    channel: MemoryChannel,
    role: Role<'_>,
    mut progress: impl FnMut(&str),
) -> Result<PartyRun, InferenceError> {
    let (clock, mut activities) = (PartyClock::default(), Vec::new());
    let channel = TimedChannel { inner: channel, clock: clock.clone() };
    let inferred = with_default(clock.subscriber(), || {
        party::run(q, model, keys, channel, role, |step| {
            progress(step);
            activities.push(clock.take());
        })
    })?;
    activities.push(clock.take());
    // The first ones are from before the first step.
    let steps = inferred.steps.into_iter().zip(activities.into_iter().skip(1)).collect();
    Ok(PartyRun { steps, traffic: inferred.traffic, key_memory_bytes: inferred.key_memory_bytes })
}

/// The first allowed inputs of a model: zeros if it takes them, or tokens 0.
fn inputs(model: &Model) -> Result<Vec<u64>, InferenceError> {
    let shapes = model.input_shapes();
    let shape = shapes.last().map_or(&[][..], Vec::as_slice);
    let values = |value: f32| vec![value; shape.iter().product()];
    match model.encode(shape, &values(0.0)) {
        Err(InferenceError::Input { min, .. }) => model.encode(shape, &values(min as f32)),
        encoded => encoded,
    }
}

/// AES blocks per second of one party's walks, while both parties walk.
///
/// The best of several sessions of a ReLU of 64 bits.
pub(super) fn walk_rate(queues: &[AnyQueue; 2]) -> Result<f64> {
    let (gate, mut dealer) = (Gate::relu(64)?, Dealer::from_os()?);
    let mut best = f64::INFINITY;
    for _ in 0..SESSIONS {
        let seconds = walk_seconds(queues, dealer.deal(&queues[0], &gate, ELEMENTS)?)?;
        // The spans of a session may be missing if the other thread is the first to reach them.
        if seconds > 0.0 {
            best = best.min(seconds);
        }
    }
    let blocks = gate.cost().aes * ELEMENTS as u64;
    Ok(blocks as f64 / best.max(f64::MIN_POSITIVE))
}

/// The time of party 0's walks in a session of a ReLU.
fn walk_seconds(queues: &[AnyQueue; 2], [zero, one]: [KeyBundle; 2]) -> Result<f64, PfssError> {
    let (x, clock, (to_one, to_zero)) = (vec![0; ELEMENTS], PartyClock::default(), memory_pair(PATIENCE));
    let relu = |mut channel: MemoryChannel, q: &AnyQueue, keys| {
        Session::new(&mut channel as &mut dyn Channel).relu(q, keys, &x)
    };
    let (mine, other) = thread::scope(|scope| {
        let other = scope.spawn(|| relu(to_zero, &queues[1], one));
        let mine = with_default(clock.subscriber(), || relu(to_one, &queues[0], zero));
        (mine, other.join().unwrap_or(Err(PfssError::Closed)))
    });
    mine.and(other)?;
    Ok(clock.take().walk)
}
