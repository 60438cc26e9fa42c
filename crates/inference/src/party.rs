//! One party's run of a model on shares.

use core::fmt;
use std::{
    collections::{BTreeMap, HashMap},
    time::Instant,
};

use backend_api::ops::{fss::FssOps, tensor::TensorOps};
use pfss::{Channel, OpenedWeights, Party, Session, SharedQueue, Traffic, WeightKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::{
    Call, Engine, InferenceError, Model, Parameters, Words,
    engine::Recorder,
    fixed_point::RING,
    keys::{
        opened::{OpenedKeys, WeightKeys, WeightProducts},
        queue::KeyQueue,
        stored::Keys,
    },
    words::device::DeviceWords,
};

/// A party's role and inputs.
#[derive(Clone, Copy)]
pub enum Role<'a> {
    /// Party 0: inputs in fixed point, one after the other; learns the logits.
    ///
    /// They have [`Model::input_len`] words each, pixels if they are images.
    Client(&'a [u64]),
    /// Party 1: the weights; learns nothing.
    Server(&'a Parameters),
}

/// Shows the role alone: inputs and weights are secret.
impl fmt::Debug for Role<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client(_) => "Client",
            Self::Server(_) => "Server",
        })
    }
}

/// The results and measurements of a party.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// The logits, `[count][classes]`; only for the client.
    pub logits: Option<Vec<u64>>,
    /// Bytes of messages and rounds.
    pub traffic: Traffic,
    /// Time and traffic of each step.
    pub steps: Vec<Measured>,
    /// The most bytes of keys that were in memory at once.
    ///
    /// Keys of a folder are in memory for a gate, keys that were dealt in this process all at once.
    /// Triples of products by opened weights are counted from the beginning.
    pub key_memory_bytes: u64,
}

/// What one step took.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Measured {
    /// The step.
    pub step: String,
    /// Wall time, waiting for the other party included.
    pub seconds: f64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Exchanges.
    pub rounds: u64,
}

impl Role<'_> {
    /// The party that plays it.
    #[must_use]
    pub const fn party(&self) -> Party {
        match self {
            Self::Client(_) => Party::Zero,
            Self::Server(_) => Party::One,
        }
    }

    /// Checks the inputs without keys.
    ///
    /// [`KeyFolder::consume`](crate::folder::KeyFolder::consume) calls this before it marks a
    /// folder as used.
    ///
    /// # Errors
    /// [`InferenceError::Images`] for another number of inputs, [`InferenceError::Pixel`] for
    /// images, [`InferenceError::Input`] or [`InferenceError::OneHot`] for the inputs of the model
    /// of a file or a function, and [`InferenceError::Parameters`] for weights that `model` does
    /// not take.
    pub fn check(&self, model: &Model) -> Result<(), InferenceError> {
        match self {
            Self::Client(images) => model.check_input(images),
            Self::Server(weights) => weights.check(model),
        }
    }
}

/// Runs `model` with the keys of [`Model::plan`] over an open channel.
///
/// Keys are those that [`Plan::deal`](crate::Plan::deal) made or
/// [`KeyFolder::consume`](crate::folder::KeyFolder::consume) returned. `progress` is called with
/// each step before it runs.
///
/// The client's share of the images is the images themselves, and the server's is zero; for weights
/// it is the other way round. Only masked words are sent, and at the end the server's share of the
/// logits.
///
/// # Errors
/// [`InferenceError::Keys`] or [`InferenceError::Pfss`] for keys that do not match the plan and
/// this party, before anything is sent. As [`Role::check`] for inputs that do not fit, also before
/// anything is sent. [`InferenceError::Pfss`] if the session fails, [`InferenceError::Stalled`] if
/// the peer is silent for as long as the channel waits, and [`InferenceError::Folder`] or
/// [`InferenceError::Io`] if a file of keys cannot be read again.
pub fn run<Q: SharedQueue + TensorOps, C: Channel>(
    q: &Q,
    model: &Model,
    keys: impl Into<Keys>,
    channel: C,
    role: Role<'_>,
    mut progress: impl FnMut(&str),
) -> Result<Inferred, InferenceError> {
    role.check(model)?;
    let (Recorder { steps, others }, outputs) = model.record()?;
    let keys = KeyQueue::new(&model.plan_of(steps, outputs)?, role.party(), keys.into())?;
    infer(q, model, others.into_inner(), (keys, None), Box::new(channel), role, &mut progress)
}

/// Opens the server's weights under masks, for any number of runs by [`run_opened`].
///
/// The keys are of [`OpenedPlan::deal_weights`](crate::OpenedPlan::deal_weights). `weights` are the
/// server's, and `None` for the client. The opened weights are in the order of the model's
/// products; keep them, or their bytes, for the runs.
///
/// # Errors
/// [`InferenceError::Keys`] or [`InferenceError::Pfss`] for keys that do not match the plan and
/// this party, and [`InferenceError::Parameters`] for weights that `model` does not take, before
/// anything is sent. [`InferenceError::Pfss`] or [`InferenceError::Stalled`] if the session fails;
/// the weights then need new keys.
pub fn open_weights<Q: FssOps, C: Channel>(
    q: &Q,
    model: &Model,
    keys: Vec<WeightKey>,
    channel: C,
    weights: Option<&Parameters>,
) -> Result<(Vec<OpenedWeights>, Traffic), InferenceError> {
    let party = if weights.is_some() { Party::One } else { Party::Zero };
    weights.map_or(Ok(()), |weights| weights.check(model))?;
    let keys = WeightKeys::new(&model.opened_plan()?, party, keys)?;
    let session = Session::new(Box::new(channel) as Box<dyn Channel>);
    let mut engine = OpeningEngine { q, session, keys, weights, opened: Vec::new() };
    model.run(&mut engine, model.shares(vec![0; model.count() * model.input_len()]))?;
    Ok((engine.opened, engine.session.traffic()))
}

/// [`run`] on the weights of [`open_weights`].
///
/// The keys are of [`OpenedPlan::deal_run`](crate::OpenedPlan::deal_run). The server's biases come
/// from its [`Role`]; its matrices of weights are those that it opened.
///
/// # Errors
/// As [`run`].
pub fn run_opened<Q: SharedQueue + TensorOps, C: Channel>(
    q: &Q,
    model: &Model,
    keys: OpenedKeys,
    weights: &[OpenedWeights],
    channel: C,
    role: Role<'_>,
    mut progress: impl FnMut(&str),
) -> Result<Inferred, InferenceError> {
    role.check(model)?;
    let (Recorder { steps, others }, outputs) = model.record()?;
    let plan = model.opened_plan_of(steps, outputs)?;
    let products = WeightProducts::new(&plan, role.party(), keys.products, weights)?;
    let keys = KeyQueue::new(plan.others(), role.party(), keys.others)?;
    let (parameters, keys) = (others.into_inner(), (keys, Some(products)));
    let mut inferred = infer(q, model, parameters, keys, Box::new(channel), role, &mut progress)?;
    inferred.key_memory_bytes += plan.triple_memory_bytes(role.party());
    Ok(inferred)
}

/// Runs `model` with checked keys and the products by opened weights, if any.
///
/// `parameters` are those that are no matrices, with their elements.
///
/// It is compiled once for all types of channels: a virtual call takes nothing compared with a
/// message.
fn infer<Q: SharedQueue + TensorOps>(
    q: &Q,
    model: &Model,
    parameters: Vec<(String, usize)>,
    (keys, products): (KeyQueue, Option<WeightProducts<'_>>),
    channel: Box<dyn Channel + '_>,
    role: Role<'_>,
    progress: &mut dyn FnMut(&str),
) -> Result<Inferred, InferenceError> {
    let session = Session::new(channel);
    let device = DeviceWords::new(q, role.party(), RING);
    let placed = match (&device, role) {
        (Some(device), Role::Server(weights)) => place_parameters(device, parameters, weights)?,
        _ => HashMap::new(),
    };
    let mut shared = ShareEngine { q, session, keys, products, device, placed, role, progress, steps: Vec::new() };
    let input = match role {
        Role::Client(images) => shared.of_host(images.to_vec()),
        Role::Server(_) => shared.zeros(model.count() * model.input_len()),
    };
    let shares = model.run(&mut shared, model.shares(input))?.words;
    let logits = shared.measure("reveal", |shared| match &mut shared.device {
        None => Ok(shared.session.reveal(q, RING, Party::Zero, shares.on_host()?)?),
        Some(device) => {
            device.run_recorded()?;
            let words = Zeroizing::new(device.get(&shares)?.download()?);
            Ok(shared.session.reveal(q, RING, Party::Zero, &words)?)
        }
    })?;
    let (traffic, key_memory_bytes) = (shared.session.traffic(), shared.keys.most_bytes());
    Ok(Inferred { logits, traffic, steps: shared.steps, key_memory_bytes })
}

/// Words of the server's biases and other parameters that local steps take, by name.
///
/// They go to the device in one copy, when the run begins. Matrices of weights stay in host memory.
fn place_parameters<Q: FssOps + TensorOps>(
    device: &DeviceWords<'_, Q>,
    parameters: Vec<(String, usize)>,
    weights: &Parameters,
) -> Result<HashMap<String, Words>, InferenceError> {
    // A name may occur twice.
    let parameters: BTreeMap<String, usize> = parameters.into_iter().collect();
    // With its whole capacity from the first: a list that grows leaves copies that are not wiped.
    let mut all = Zeroizing::new(Vec::with_capacity(parameters.values().sum()));
    let mut places = Vec::with_capacity(parameters.len());
    for (name, len) in parameters {
        let start = all.len();
        all.extend_from_slice(&Zeroizing::new(weights.get(&name, len)?));
        places.push((name, start..start + len));
    }
    let all = device.given(core::mem::take(&mut all));
    Ok(places.into_iter().map(|(name, range)| (name, all.slice(range))).collect())
}

/// The engine of shares in host memory, or in device memory if the queue has separate memory.
struct ShareEngine<'a, Q: FssOps> {
    q: &'a Q,
    /// Dropped before the keys: the peer of a failed party does not wait for their wiping.
    session: Session<Box<dyn Channel + 'a>>,
    keys: KeyQueue,
    /// Triples and opened weights, if the weights were opened before.
    products: Option<WeightProducts<'a>>,
    /// The shares in device memory, if they stay there between steps.
    device: Option<DeviceWords<'a, Q>>,
    /// The server's parameters that are on the device, by name.
    placed: HashMap<String, Words>,
    role: Role<'a>,
    progress: &'a mut dyn FnMut(&str),
    steps: Vec<Measured>,
}

impl<Q: SharedQueue + TensorOps> ShareEngine<'_, Q> {
    /// Words of the host, copied to a device when a step needs them.
    fn of_host(&self, words: Vec<u64>) -> Words {
        match &self.device {
            Some(device) => device.given(words),
            None => words.into(),
        }
    }

    /// This party's share of words that the other party has.
    fn zeros(&self, len: usize) -> Words {
        match &self.device {
            Some(device) => device.zeros(len),
            None => vec![0; len].into(),
        }
    }

    fn measure<T>(
        &mut self,
        step: &str,
        run: impl FnOnce(&mut Self) -> Result<T, InferenceError>,
    ) -> Result<T, InferenceError> {
        (self.progress)(step);
        let (before, start) = (self.session.traffic(), Instant::now());
        let result = run(self).map_err(|error| error.in_step(self.role.party().peer(), step))?;
        let after = self.session.traffic();
        self.steps.push(Measured {
            step: step.to_owned(),
            seconds: start.elapsed().as_secs_f64(),
            sent_bytes: after.sent_bytes - before.sent_bytes,
            rounds: after.rounds - before.rounds,
        });
        Ok(result)
    }
}

impl<Q: SharedQueue + TensorOps> Engine for ShareEngine<'_, Q> {
    fn constant(&self, word: u64) -> u64 {
        match self.role {
            Role::Client(_) => word,
            Role::Server(_) => 0,
        }
    }

    fn parameter(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
        match self.placed.get(name) {
            Some(words) => Ok(words.clone()),
            None => self.matrix(name, len),
        }
    }

    fn matrix(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
        Ok(match self.role {
            Role::Client(_) => self.zeros(len),
            Role::Server(weights) => self.of_host(weights.get(name, len)?),
        })
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Words, InferenceError> {
        self.measure(step, |shared| {
            shared.device.as_mut().map_or(Ok(()), DeviceWords::run_recorded)?;
            let products = shared.products.as_mut().filter(|_| call.weight_product().is_some());
            let opened = products.map(WeightProducts::take).transpose()?;
            let (q, session, keys) = (shared.q, &mut shared.session, &mut shared.keys);
            match &mut shared.device {
                None => Ok(call.shared(q, session, keys, opened)?.into()),
                Some(device) => {
                    let shares = call.on_device(device, session, keys, opened)?;
                    Ok(device.insert(shares))
                }
            }
        })
    }
}

/// The engine that opens weights: products by them are zeros, and so is everything else.
struct OpeningEngine<'a, Q> {
    q: &'a Q,
    session: Session<Box<dyn Channel + 'a>>,
    keys: WeightKeys,
    weights: Option<&'a Parameters>,
    opened: Vec<OpenedWeights>,
}

impl<Q: FssOps> Engine for OpeningEngine<'_, Q> {
    fn constant(&self, _: u64) -> u64 {
        0
    }

    fn parameter(&self, name: &str, len: usize) -> Result<Words, InferenceError> {
        Ok(self.weights.map_or_else(|| Ok(vec![0; len]), |weights| weights.get(name, len))?.into())
    }

    fn call(&mut self, step: &str, call: &Call<'_>) -> Result<Words, InferenceError> {
        if let Call::Matmul { y, weights: true, .. } = call {
            let key = self.keys.take()?;
            let opened = self.session.open_weights(self.q, key, y.on_host()?);
            let peer = self.session.party().peer();
            self.opened.push(opened.map_err(|error| InferenceError::from(error).in_step(peer, step))?);
        }
        Ok(vec![0; call.len()].into())
    }
}
