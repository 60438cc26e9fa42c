//! Layers whose backward pass fails: gradients stay as they were, or are zeros with an error for it.

use std::sync::Arc;

use backend_api::{BackendError, Queue as _};
use half::bf16;
use nn_ops::{
    Activation, Dense, Embedding, Gru, GruVariant, Indices, Layer, LayerNorm, Mode, NnError, ParameterArena,
    ParameterId, ParameterTable, Parameters, RmsNorm, SelfAttention, Sequential, Tape, Tensor,
};
use runtime::{AnyQueue, Choice, Settings};

use super::{Arena, drawn, ones, random, tensor};
use crate::common::open;

const TRAINING: Mode = Mode::Training { step: 0 };

/// A forward and a backward pass: the error of the first, or the outcome of the second.
type LayerPass = Box<dyn Fn(&AnyQueue, &Arena, &mut Arena) -> Result<Result<(), NnError>, NnError>>;

/// The parameters of a layer, and its passes.
type LayerTrial = (Vec<ParameterId>, LayerPass);

/// The passes of a layer over an input of `shape`.
fn trial(layer: impl Layer + 'static, shape: &'static [usize]) -> LayerTrial {
    let own = layer.ids();
    let pass = move |q: &AnyQueue, values: &Arena, gradients: &mut Arena| {
        let x = tensor(q, shape, &drawn(19, shape, 1));
        let (y, saved) = layer.forward(q, values, TRAINING, x.at())?;
        let of_y = y.layout().shape();
        let g = tensor(q, of_y, &drawn(19, of_y, 2));
        Ok(layer.backward(q, values, saved, x.at(), g.at(), gradients).map(drop))
    };
    (own, Box::new(pass))
}

/// The rows of a table that five indices name.
fn rows(tokens: Embedding) -> LayerTrial {
    let pass = move |q: &AnyQueue, values: &Arena, gradients: &mut Arena| {
        let text = Indices::new(q, tokens.rows(), &[2, 0, 2, 1, 3])?;
        let y = tokens.forward(q, values, &text)?;
        let shape = y.layout().shape();
        Ok(tokens.backward(q, &text, tensor(q, shape, &drawn(19, shape, 2)).at(), gradients))
    };
    (tokens.ids(), Box::new(pass))
}

fn network(table: &ParameterTable) -> Sequential {
    let [first, last] = ["first", "last"].map(|name| Dense::find(table, name).unwrap());
    Sequential::new([first.into(), Activation::Tanh.into(), last.into()])
}

/// The tensors of a layer of each kind.
fn table() -> Arc<ParameterTable> {
    let mut specs =
        [Dense::specs("dense", [3, 4]), Dense::specs("first", [3, 4]), Dense::specs("last", [4, 2])].concat();
    specs.extend(LayerNorm::specs("norm", 6));
    specs.extend(RmsNorm::specs("rms", 6));
    specs.extend(SelfAttention::specs("heads", 4));
    specs.extend(Gru::specs("unit", [3, 4], GruVariant::ResetAfter));
    specs.extend(Embedding::specs("tokens", [5, 3]));
    ParameterTable::new(&specs).unwrap()
}

/// Gradients of zeros for the parameters of a layer, and of ones for the others.
fn zeros_of(q: &AnyQueue, table: &Arc<ParameterTable>, own: &[ParameterId]) -> Vec<f32> {
    let mut gradients = ones(q, table);
    for &id in own {
        gradients.write(q, id, &vec![0.0; table.layout(id).unwrap().numel()]).unwrap();
    }
    read(q, &gradients)
}

fn read(q: &AnyQueue, gradients: &Arena) -> Vec<f32> {
    q.read(gradients.view()).unwrap()
}

/// Runs a layer until it has failed `count` times; returns its failures before and after the first addition.
fn fail(name: &str, q: &AnyQueue, table: &Arc<ParameterTable>, count: usize, (own, pass): &LayerTrial) -> [usize; 2] {
    let (values, mut gradients) = (random(19, q, table), ones(q, table));
    let (kept, zeros) = (read(q, &gradients), zeros_of(q, table, own));
    let (mut failures, [mut before, mut after], mut whole) = (0, [0; 2], None);
    // Faults are at most `count` launches apart, and a pass has a launch at least.
    for _ in 0..count * count {
        q.write(&kept, gradients.view_mut()).unwrap();
        let outcome = pass(q, &values, &mut gradients);
        let got = read(q, &gradients);
        failures += usize::from(!matches!(outcome, Ok(Ok(()))));
        match outcome {
            Ok(Ok(())) => assert_eq!(*whole.get_or_insert_with(|| got.clone()), got, "{name}"),
            Ok(Err(NnError::GradientsCleared { reason, .. })) => {
                assert!(matches!(*reason, NnError::Backend(_)), "{name}: {reason}");
                assert_eq!(got, zeros, "{name}");
                after += 1;
            }
            Ok(Err(error)) => {
                assert_eq!(got, kept, "{name}: {error}");
                before += 1;
            }
            Err(error) => assert_eq!(got, kept, "{name}: {error}"),
        }
        if failures == count {
            break;
        }
    }
    assert_eq!(failures, count, "{name}");
    // Passes without a fault add to gradients of the layer, and to no other.
    let (whole, is_own) = (whole.unwrap(), |place: usize| kept[place] != zeros[place]);
    let changed: Vec<usize> = (0..kept.len()).filter(|&place| whole[place] != kept[place]).collect();
    assert!(!changed.is_empty() && changed.into_iter().all(is_own), "{name}");
    [before, after]
}

#[test]
fn a_launch_refused_in_a_backward_pass_leaves_whole_gradients_or_zeros_of_its_layer() {
    test_process::alone(|| {
        let table = table();
        // Each with a number of launches that its passes do not exceed.
        let trials = [
            ("dense", 6, trial(Dense::find(&table, "dense").unwrap(), &[2, 3])),
            ("layer norm", 8, trial(LayerNorm::find(&table, "norm", 1e-5).unwrap(), &[2, 6])),
            ("rms norm", 8, trial(RmsNorm::find(&table, "rms", 1e-5).unwrap(), &[2, 6])),
            ("attention", 24, trial(SelfAttention::find(&table, "heads", 2).unwrap(), &[1, 3, 4])),
            ("recurrent unit", 24, trial(Gru::find(&table, "unit").unwrap(), &[2, 1, 3])),
            ("sequence", 14, trial(network(&table), &[2, 3])),
            ("embedding", 4, rows(Embedding::find(&table, "tokens").unwrap())),
        ];
        // One simulated machine, whose driver refuses launches at growing distances, once for each layer.
        let (mut launch, mut faults) = (0, Vec::new());
        for distance in trials.iter().flat_map(|(_, count, _)| 1..=*count) {
            launch += distance;
            faults.push(format!("fail=1@launch:{launch}"));
        }
        let settings = Settings { simulated: Some(faults.join(";").parse().unwrap()), ..Settings::default() };
        let q = runtime::open_with(&settings, None, Some(Choice::Sim)).unwrap().0;
        for (name, count, trial) in &trials {
            let [before, after] = fail(name, &q, &table, *count, trial);
            // The backward pass of an embedding is an addition alone.
            assert_eq!((before > 0, after > 0), (*name != "embedding", true), "{name}");
        }
    });
}

#[test]
fn a_layer_on_a_device_that_is_lost_returns_the_error_of_the_device() {
    test_process::alone(|| {
        let settings = Settings { simulated: Some("fail=700@launch:3".parse().unwrap()), ..Settings::default() };
        let q = runtime::open_with(&settings, None, Some(Choice::Sim)).unwrap().0;
        let table = table();
        let (values, mut gradients) = (random(19, &q, &table), ones(&q, &table));
        let (_, pass) = trial(Dense::find(&table, "dense").unwrap(), &[2, 3]);
        let error = pass(&q, &values, &mut gradients).unwrap().unwrap_err();
        let NnError::Backend(lost @ BackendError::DeviceLost { .. }) = &error else { panic!("{error}") };
        assert_eq!(q.read(gradients.view()).as_ref(), Err(lost));
    });
}

/// A dense layer in bf16 with `limit` bytes: the peak of the forward pass and of both, and the outcome.
fn in_16_bits(limit: Option<u64>, on_tape: bool) -> ([u64; 2], Result<(), NnError>) {
    let settings = Settings { mem_limit_bytes: limit, ..Settings::default() };
    let q = runtime::open_with(&settings, None, Some(Choice::Cpu)).unwrap().0;
    let (table, shape) = (ParameterTable::new(&Dense::specs("dense", [16, 64])).unwrap(), [3, 16]);
    let layer = Dense::find(&table, "dense").unwrap();
    let rounded = |shape: &[usize], site| drawn(19, shape, site).into_iter().map(bf16::from_f32).collect::<Vec<_>>();
    let tensor = |shape: &[usize], site| Tensor::from_values(&q, shape, &rounded(shape, site)).unwrap();
    let mut values: ParameterArena<_, bf16> = ParameterArena::zeros(&q, &table).unwrap();
    values.write(&q, layer.weight(), &rounded(&[16, 64], 0)).unwrap();
    let mut gradients = ones(&q, &table);
    let (kept, x, g) = (read(&q, &gradients), tensor(&shape, 1), tensor(&[3, 64], 2));
    // Both passes.
    let (forward, outcome) = if on_tape {
        let mut tape = Tape::new(&q, &values, TRAINING);
        let input = tape.variable(x.at());
        let y = tape.layer(layer, input).unwrap();
        let loss = tape.sum(y, &[0, 1]).unwrap();
        (q.budget().peak_bytes(), tape.backward(loss, &mut gradients).map(drop))
    } else {
        let (_, saved) = layer.forward(&q, &values, TRAINING, x.at()).unwrap();
        let forward = q.budget().peak_bytes();
        (forward, layer.backward(&q, &values, saved, x.at(), g.at(), &mut gradients).map(drop))
    };
    // The gradients: sums, zeros, or as they were. A tape clears them after every error.
    let got = read(&q, &gradients);
    match &outcome {
        Ok(()) => assert_ne!(got, kept),
        Err(error) if on_tape || matches!(error, NnError::GradientsCleared { .. }) => {
            assert!(got.iter().all(|&g| g == 0.0), "{error}");
        }
        Err(error) => assert_eq!(got, kept, "{error}"),
    }
    ([forward, q.budget().peak_bytes()], outcome)
}

#[test]
fn a_layer_in_16_bits_without_memory_leaves_whole_gradients_or_zeros() {
    let is_budget = |error: &NnError| matches!(error, NnError::Backend(BackendError::BudgetExceeded { .. }));
    for on_tape in [false, true] {
        let ([forward, backward], outcome) = in_16_bits(None, on_tape);
        outcome.unwrap();
        let [mut before, mut after] = [0; 2];
        for limit in (forward..backward).step_by(32).chain([backward - 1]) {
            match in_16_bits(Some(limit), on_tape).1.unwrap_err() {
                NnError::GradientsCleared { reason, .. } if is_budget(&reason) => after += 1,
                error if is_budget(&error) => before += 1,
                error => panic!("{limit} bytes: {error}"),
            }
        }
        // A tape returns the error of the device.
        assert_eq!((before > 0, after > 0), (true, !on_tape), "{before} and {after}");
    }
}

#[test]
fn a_sequence_whose_first_layer_refuses_its_input_has_gradients_of_zeros() {
    let (q, table) = (open(Choice::Cpu), table());
    let (network, values, mut gradients) = (network(&table), random(19, &q, &table), ones(&q, &table));
    let [x, other, g] = [[2, 3], [5, 3], [2, 2]].map(|shape| tensor(&q, &shape, &drawn(19, &shape, 1)));
    let (_, saved) = network.forward(&q, &values, TRAINING, x.at()).unwrap();
    let refused = network.backward(&q, &values, saved, other.at(), g.at(), &mut gradients).unwrap_err();
    let expected = "`sequential_backward` failed after it had begun to add gradients, and set them to zeros: \
                    `dense_backward` expected g of shape [5, 4], got [2, 4]";
    assert_eq!(refused.to_string(), expected);
    assert_eq!(read(&q, &gradients), zeros_of(&q, &table, &network.ids()));
    // The last layer refuses its gradient before anything is added.
    let (mut gradients, (_, saved)) = (ones(&q, &table), network.forward(&q, &values, TRAINING, x.at()).unwrap());
    let refused = network.backward(&q, &values, saved, x.at(), x.at(), &mut gradients).unwrap_err();
    assert_eq!(refused.to_string(), "`dense_backward` expected g of shape [2, 2], got [2, 3]");
    assert_eq!(read(&q, &gradients), read(&q, &ones(&q, &table)));
}

#[test]
fn gradients_of_another_table_are_refused() {
    let (q, table) = (open(Choice::Cpu), table());
    let other = ParameterTable::new(&Dense::specs("dense", [3, 4])).unwrap();
    let (values, mut gradients) = (random(19, &q, &table), ones(&q, &other));
    let (_, pass) = trial(Dense::find(&table, "dense").unwrap(), &[2, 3]);
    let refused = pass(&q, &values, &mut gradients).unwrap();
    assert_eq!(refused, Err(NnError::OtherPlan { op: "dense_backward", what: "parameter table" }));
    assert_eq!(read(&q, &gradients), read(&q, &ones(&q, &other)));
}
