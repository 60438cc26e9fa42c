//! Models on shares in device memory, against the same models on two processors.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use backend_api::Queue as _;
use cuda_sim::driver::{self, Counters, Simulation};
use inference::{
    Architecture, Attention, Deal, InferenceError, Keys, Layers, Model, ModelLimits, OpenedKeys, Parameters,
    Preference, Value,
    party::{self, Inferred, Role},
    plain,
};
use pfss::{Dealer, Traffic, memory_pair};
use runtime::{AnyQueue, Choice, Domain, Settings};

use crate::{
    common::{PATIENCE, digits, images, keys, open_weights, weights},
    model_files::{self, FILES},
};

/// The simulated machine and a queue of its device. One test has it at a time.
struct Sim {
    q: AnyQueue,
    cpu: AnyQueue,
    /// Dropped last: the machine of the next test has no queue of this one.
    session: Simulation,
}

impl Sim {
    fn new() -> Self {
        let session = driver::simulate("").unwrap();
        let open = |choice| runtime::open_with(&Settings::default(), Some(Domain::Pfss), Some(choice)).unwrap().0;
        Self { q: open(Choice::Sim), cpu: open(Choice::Cpu), session }
    }

    /// Calls of the driver's functions whose names have `part`, until now.
    fn calls(&self, part: &str) -> u64 {
        let Counters { calls, .. } = self.session.counters();
        calls.iter().filter(|(name, _)| name.contains(part)).map(|(_, calls)| calls).sum()
    }
}

/// The results of a run but for its times.
type Facts = (Option<Vec<u64>>, Traffic, Vec<(String, u64, u64)>, u64);

fn facts(Inferred { logits, traffic, steps, key_memory_bytes }: Inferred) -> Facts {
    let steps = steps.into_iter().map(|step| (step.step, step.sent_bytes, step.rounds)).collect();
    (logits, traffic, steps, key_memory_bytes)
}

/// Runs both parties, each on its queue, client first.
fn run(
    queues: [&AnyQueue; 2],
    model: &Model,
    keys: [impl Into<Keys> + Send; 2],
    weights: &Parameters,
    inputs: &[u64],
) -> [Result<Inferred, InferenceError>; 2] {
    let ([client, server], (to_server, to_client)) = (keys, memory_pair(PATIENCE));
    let serve = || party::run(queues[1], model, server, to_client, Role::Server(weights), |_| ());
    let infer = || party::run(queues[0], model, client, to_server, Role::Client(inputs), |_| ());
    let (served, inferred) = test_process::pair(serve, infer);
    [inferred, served]
}

/// Runs on two processors, two devices, and a device that serves a processor are the same.
fn same_everywhere(sim: &Sim, model: &Model, weights: &Parameters, inputs: &[u64]) {
    let run = |queues| run(queues, model, keys(model), weights, inputs).map(|result| facts(result.unwrap()));
    let expected = run([&sim.cpu; 2]);
    assert_eq!(expected[0].0, Some(plain::logits(model, weights, inputs).unwrap()));
    for queues in [[&sim.q; 2], [&sim.cpu, &sim.q]] {
        let before = sim.q.budget().live_bytes();
        let got = run(queues);
        assert!(got == expected, "{}: {:?}", model.architecture(), model.preference());
        assert_eq!(sim.q.budget().live_bytes(), before, "no shares are left on the device");
    }
}

#[test]
fn built_in_models_on_devices_send_and_compute_what_processors_do() {
    let sim = Sim::new();
    let transformer = Model::new(Architecture::Transformer, 1).unwrap();
    // the digits' model has the same gates by every preference
    let models = Preference::ALL.map(|preference| transformer.clone().preferring(preference));
    for model in models.into_iter().chain([digits(2)]) {
        same_everywhere(&sim, &model, &weights(&model), &images(&model));
    }
}

#[test]
fn models_of_files_on_devices_send_and_compute_what_processors_do() {
    let sim = Sim::new();
    for (file, count) in FILES.into_iter().zip([1, 2, 1, 1, 3]) {
        for preference in Preference::ALL {
            let model = model_files::model(file, count).preferring(preference);
            let (shape, values) = model_files::inputs(&model);
            same_everywhere(&sim, &model, &weights(&model), &model.encode(&shape, &values).unwrap());
        }
    }
}

/// Sums and parts of values, which are made without an engine.
fn sums(layers: &mut Layers<'_>, x: &Value) -> Result<Value, InferenceError> {
    let y = layers.dense("dense", x, 4, true)?;
    let y = y.add(&y)?.add(x)?;
    let part = layers.relu("relu", &y.rows(1..3)?.add(&x.rows(0..2)?)?)?;
    let attention = Attention { heads: 1, causal: true, limits: Some([32, 64]) };
    let mixed = layers.attention("attention", &part.add(&y.rows(0..2)?)?, &attention)?;
    layers.layer_norm("norm", &mixed.add(&part)?.rows(1..2)?, true, None)?.add(&y.rows(2..3)?)
}

const LIMITS: ModelLimits = ModelLimits { weights: 1, inputs: [0, 1] };

#[test]
fn functions_on_devices_send_and_compute_what_processors_do() {
    let (sim, model) = (Sim::new(), Model::from_fn("sums", &[3, 4], LIMITS, sums).unwrap());
    for (count, preference) in [(1, Preference::Rounds), (2, Preference::Balanced)] {
        let model = Model::new(model.architecture().clone(), count).unwrap().preferring(preference);
        let inputs: Vec<u64> = (0..12 * count as u64).map(|at| at * 331 % 4097).collect();
        same_everywhere(&sim, &model, &weights(&model), &inputs);
    }
    // The result is the input, or a part of it.
    for function in [|_: &mut Layers<'_>, x: &Value| Ok(x.clone()), |_: &mut Layers<'_>, x: &Value| x.rows(1..2)] {
        let model = Model::from_fn("same", &[2, 2], LIMITS, function).unwrap();
        same_everywhere(&sim, &model, &weights(&model), &[1, 2, 3, 4096]);
    }
}

#[test]
fn parties_on_devices_record_their_model_once() {
    static APPLIED: AtomicU32 = AtomicU32::new(0);
    let counted = |layers: &mut Layers<'_>, x: &Value| {
        APPLIED.fetch_add(1, Ordering::Relaxed);
        sums(layers, x)
    };
    let (sim, model) = (Sim::new(), Model::from_fn("counted", &[3, 4], LIMITS, counted).unwrap());
    let (keys, weights) = (keys(&model), weights(&model));
    APPLIED.store(0, Ordering::Relaxed);
    let _ = run([&sim.q; 2], &model, keys, &weights, &[1; 12]).map(Result::unwrap);
    // Each party plans its run, and runs.
    assert_eq!(APPLIED.load(Ordering::Relaxed), 2 * 2);
}

#[test]
fn a_deeper_model_takes_no_more_device_memory() {
    // Results of layers alone, and summed.
    for summed in [false, true] {
        let sim = Sim::new();
        let peaks = [3, 12].map(|depth| {
            let deep = move |layers: &mut Layers<'_>, x: &Value| {
                let (mut x, mut sum) = (x.add(x)?, x.clone());
                for index in 0..depth {
                    x = layers.relu(&format!("relu{index}"), &x)?;
                    if summed {
                        sum = sum.add(&x)?;
                    }
                }
                if summed { Ok(sum) } else { Ok(x) }
            };
            let model = Model::from_fn("deep", &[40], LIMITS, deep).unwrap();
            let _ = run([&sim.cpu, &sim.q], &model, keys(&model), &weights(&model), &[1; 40]).map(Result::unwrap);
            sim.q.budget().peak_bytes()
        });
        assert!(peaks[0] > 0 && peaks[0] == peaks[1], "{peaks:?}");
    }
}

/// Threads of tests have 2 MiB of stack.
#[test]
fn the_most_layers_without_a_message_run_on_a_device() {
    let layers: Vec<String> =
        (0..128).map(|index| format!(r#"{{"name": "p{index}", "kind": "position_embedding"}}"#)).collect();
    let file = format!(
        r#"{{"version": 1, "name": "deep", "weight_limit": 1, "layers": [{}],
            "input": {{"shape": [1, 2], "fraction_bits": 12, "min": 0, "max": 1}}}}"#,
        layers.join(", ")
    );
    let (sim, model) = (Sim::new(), model_files::model(&file, 1));
    same_everywhere(&sim, &model, &weights(&model), &[7, 4096]);
}

/// The peer is gone, or has keys of another deal.
#[test]
fn a_run_that_ends_early_leaves_no_shares_on_the_device() {
    let sim = Sim::new();
    let (model, before) = (model_files::model(LAYER, 1), sim.q.budget().live_bytes());
    let weights = weights(&model);
    let (shape, values) = model_files::inputs(&model);
    let inputs = model.encode(&shape, &values).unwrap();
    for role in [Role::Client(&inputs), Role::Server(&weights)] {
        let party = usize::from(role.party().number());
        let mut ends: Vec<_> = <[_; 2]>::from(memory_pair(PATIENCE)).into();
        let (channel, own) = (ends.swap_remove(party), keys(&model).into_iter().nth(party).unwrap());
        drop(ends);
        party::run(&sim.q, &model, own, channel, role, |_| ()).unwrap_err();
        assert_eq!(sim.q.budget().live_bytes(), before, "party {party}");
    }
    let [[client, _], [_, other]] = [(); 2].map(|()| {
        let mut dealer = Dealer::from_os().unwrap();
        model.plan().unwrap().deal(&sim.cpu, &mut dealer, |_| ()).unwrap()
    });
    let results = run([&sim.q; 2], &model, [client, other], &weights, &inputs);
    assert!(results.iter().all(Result::is_err));
    assert_eq!(sim.q.budget().live_bytes(), before);
}

#[test]
fn a_value_of_another_run_is_refused_by_name() {
    type Use = fn(&mut Layers<'_>, &Value, &Value) -> Result<Value, InferenceError>;
    let uses: [(Use, &str); 4] = [
        (|_, x, kept| x.add(kept), "sum: expected a value of the same run, of 4 words"),
        (|layers, _, kept| layers.relu("relu", kept), "layer \"relu\": its input: expected a value of the same run"),
        (
            |layers, _, kept| layers.limited("cut", kept, 1),
            "layer \"cut\": its input: expected a value of the same run",
        ),
        (|_, _, kept| Ok(kept.clone()), "results: expected a value of the same run"),
    ];
    let sim = Sim::new();
    for (with, expected) in uses {
        static REPLAYS: AtomicBool = AtomicBool::new(false);
        REPLAYS.store(false, Ordering::Relaxed);
        let kept = Mutex::new(None::<Value>);
        let function = move |layers: &mut Layers<'_>, x: &Value| {
            let mut kept = kept.lock().unwrap();
            let first = kept.get_or_insert_with(|| x.clone()).clone();
            drop(kept);
            with(layers, x, if REPLAYS.load(Ordering::Relaxed) { &first } else { x })
        };
        let model = Model::from_fn("keeping", &[4], LIMITS, function).unwrap();
        let (weights, inputs) = (weights(&model), [1; 4]);
        for queues in [[&sim.cpu; 2], [&sim.q; 2]] {
            REPLAYS.store(false, Ordering::Relaxed);
            let keys = keys(&model);
            REPLAYS.store(true, Ordering::Relaxed);
            for refused in run(queues, &model, keys, &weights, &inputs) {
                assert_eq!(refused.unwrap_err().to_string(), format!("{expected}, got 4 words of another run"));
            }
        }
    }
}

#[test]
fn opened_weights_on_devices_send_and_compute_what_processors_do() {
    let sim = Sim::new();
    for model in [digits(2), Model::new(Architecture::Transformer, 1).unwrap().preferring(Preference::Balanced)] {
        let (weights, plan, inputs) = (weights(&model), model.opened_plan().unwrap(), images(&model));
        let run = |queues: [&AnyQueue; 2]| {
            let mut dealer = Dealer::insecure_from_seed(4);
            let (keys, masks) = plan.deal_weights(&mut dealer).unwrap();
            let opened = open_weights(&model, keys, &weights).map(|(opened, _)| opened);
            // The second run finds the opened weights on the device.
            [(); 2].map(|()| {
                let [client, server]: [OpenedKeys; 2] = plan.deal_run(&sim.cpu, &mut dealer, &masks, |_| ()).unwrap();
                let (to_server, to_client) = memory_pair(PATIENCE);
                let serve = || {
                    let role = Role::Server(&weights);
                    party::run_opened(queues[1], &model, server, &opened[1], to_client, role, |_| ()).unwrap()
                };
                let infer = || {
                    let role = Role::Client(&inputs);
                    party::run_opened(queues[0], &model, client, &opened[0], to_server, role, |_| ()).unwrap()
                };
                let (served, inferred) = test_process::pair(serve, infer);
                [inferred, served].map(facts)
            })
        };
        let expected = run([&sim.cpu; 2]);
        assert_eq!(expected[1][0].0, Some(plain::logits(&model, &weights, &inputs).unwrap()));
        for queues in [[&sim.q; 2], [&sim.cpu, &sim.q], [&sim.q, &sim.cpu]] {
            assert!(run(queues) == expected, "{}", model.architecture());
            assert_eq!(sim.q.budget().live_bytes(), 0, "neither shares nor opened weights are left on the device");
        }
    }
}

/// A layer of a transformer of width 8 on 4 positions.
const LAYER: &str = r#"{
    "version": 1, "name": "layer", "weight_limit": 1,
    "input": {"shape": [4, 8], "fraction_bits": 12, "min": -1, "max": 1},
    "layers": [
        {"name": "mixed", "kind": {"residual": {"layers": [
            {"name": "mixed.norm", "kind": {"layer_norm": {"eps": 0.0625, "affine": false}}},
            {"name": "attention", "kind": {"attention": {
                "heads": 2, "causal": false, "limits": {"projections": 16, "scores": 64}}}}
        ]}}},
        {"name": "fed", "kind": {"residual": {"layers": [
            {"name": "fed.norm", "kind": {"layer_norm": {"eps": 0.0625, "affine": false}}},
            {"name": "feed.hidden", "kind": {"dense": {"outputs": 16}}},
            {"name": "feed.gelu", "kind": {"activation": "gelu"}},
            {"name": "feed.out", "kind": {"dense": {"outputs": 8}}}
        ]}}}
    ]
}"#;

/// Both parties' calls of the driver in a run of one layer.
///
/// Words that are sent come to the host, and nothing else. Each party has one copy for each round, the
/// last of its share of the results, and another for the second of two look-ups that travel together.
///
/// The device gets what each round opens, with keys, in one copy, and in two more for a second look-up. In place of the
/// last round's, which opens the results to the client, it gets the inputs, or the server's biases. Matrices of weights stay
/// in host memory.
///
/// A block is cleared when it is released, so at most once for each time that a kernel or a copy wrote it. The client's
/// shares of weights and the server's of inputs are zeros: they are cleared when they are allocated.
#[test]
fn a_layer_on_devices_copies_to_the_host_what_it_sends() {
    let sim = Sim::new();
    for preference in Preference::ALL {
        let model = model_files::model(LAYER, 1).preferring(preference);
        let (weights, (shape, values)) = (weights(&model), model_files::inputs(&model));
        let inputs = model.encode(&shape, &values).unwrap();
        let calls = || ["cuMemcpyDtoH", "cuMemcpyHtoD", "cuMemsetD8", "cuLaunchKernel"].map(|part| sim.calls(part));
        let before = calls();
        let [client, _] = run([&sim.q; 2], &model, keys(&model), &weights, &inputs).map(Result::unwrap);
        let after = calls();
        let [to_host, to_device, clears, launches] = [0, 1, 2, 3].map(|at| after[at] - before[at]);
        let plan = model.plan().unwrap();
        let second_lookups = plan.deals().filter(|deal| matches!(deal, Deal::Alongside(..))).count() as u64;
        let messages = client.traffic.rounds + second_lookups;
        assert_eq!(to_host, 2 * messages, "{preference}");
        let most = 2 * (client.traffic.rounds + 2 * second_lookups);
        assert_eq!(to_device, most, "{preference}: copies to the device");
        let given = model.parameters().len() as u64 + 1;
        let most = launches + to_device + given;
        assert!(clears <= most, "{preference}: {clears} clears, expected at most {most}");
    }
}
