//! Backward passes that the device cannot end: memory is short, or the device is lost.

use std::sync::Arc;

use backend_api::{BackendError, Queue as _};
use nn_ops::{Dense, Mode, NnError, ParameterTable, Tape};
use runtime::{AnyQueue, Choice, Settings};

use super::{Arena, Values, drawn, ones, random, tensor};

/// Rows and features: the gradient of the input, the last result of the backward pass, takes the most memory.
const SHAPE: [usize; 2] = [4, 300];
const HIDDEN: usize = 3;

/// Two layers with the gradients of an earlier pass, which are ones.
struct Network {
    q: AnyQueue,
    layers: [Dense; 2],
    x: Values,
    values: Arena,
    gradients: Arena,
    /// Memory that no pass uses: a device has budgets from 64 KiB on.
    ballast: Option<Values>,
}

impl Network {
    fn table() -> Arc<ParameterTable> {
        let specs = [Dense::specs("first", [SHAPE[1], HIDDEN]), Dense::specs("last", [HIDDEN, 1])].concat();
        ParameterTable::new(&specs).unwrap()
    }

    fn new(settings: &Settings, choice: Choice) -> Self {
        let q = runtime::open_with(settings, None, Some(choice)).unwrap().0;
        let table = Self::table();
        let layers = ["first", "last"].map(|name| Dense::find(&table, name).unwrap());
        let (x, ballast) = (tensor(&q, &SHAPE, &drawn(17, &SHAPE, 0)), Some(tensor(&q, &[1 << 14], &[0.0; 1 << 14])));
        Self { layers, x, values: random(17, &q, &table), gradients: ones(&q, &table), ballast, q }
    }

    /// Runs both passes; returns the greatest number of bytes in use until the end of each, and the result of the second.
    fn run(&mut self) -> ([u64; 2], Result<(), NnError>) {
        let Self { q, layers, x, values, gradients, .. } = self;
        let mut tape = Tape::new(q, values, Mode::Training { step: 0 });
        let mut y = tape.variable(x.at());
        for &mut layer in layers {
            y = tape.layer(layer, y).unwrap();
        }
        let loss = tape.sum(y, &[0, 1]).unwrap();
        let forward = q.budget().peak_bytes();
        let outcome = tape.backward(loss, gradients).map(drop);
        ([forward, q.budget().peak_bytes()], outcome)
    }

    fn gradients(&self) -> Result<Vec<f32>, BackendError> {
        self.q.read(self.gradients.view())
    }
}

#[test]
fn gradients_are_zeros_after_a_backward_pass_without_memory_and_the_next_pass_succeeds() {
    for choice in [Choice::Cpu, Choice::Sim] {
        let with = |mem_limit_bytes| Network::new(&Settings { mem_limit_bytes, ..Settings::default() }, choice);
        let mut whole = with(None);
        let ([forward, backward], outcome) = whole.run();
        outcome.unwrap();
        assert!(forward + 1024 < backward, "{choice:?}: {forward} and {backward} bytes");
        assert!(whole.gradients().unwrap().iter().any(|&g| g != 0.0 && g != 1.0), "{choice:?}");
        whole.q.clear(whole.gradients.view_mut()).unwrap();
        whole.run().1.unwrap();
        let expected = whole.gradients().unwrap();

        // From a limit of the forward pass alone to one byte less than both passes need: the pass ends at different nodes.
        for limit in (forward..backward).step_by(512).chain([backward - 1]) {
            let mut short = with(Some(limit));
            let live = short.q.budget().live_bytes();
            let error = short.run().1.unwrap_err();
            assert!(matches!(error, NnError::Backend(BackendError::BudgetExceeded { .. })), "{choice:?}: {error}");
            assert!(short.gradients().unwrap().iter().all(|&g| g == 0.0), "{choice:?}, {limit} bytes");
            assert_eq!(short.q.budget().live_bytes(), live, "{choice:?}, {limit} bytes");
        }
        // The same queue, after one byte short.
        let mut short = with(Some(backward - 1));
        short.run().1.unwrap_err();
        short.ballast = None;
        short.run().1.unwrap();
        assert_eq!(short.gradients().unwrap(), expected, "{choice:?}");
    }
}

/// Loses the device in the backward pass, at launch `launch` of the process, and opens it again.
fn lose(launch: u32) {
    let fault = format!("fail=700@launch:{launch}");
    let settings = Settings { simulated: Some(fault.parse().unwrap()), ..Settings::default() };
    let mut network = Network::new(&settings, Choice::Sim);
    let error = network.run().1.unwrap_err();
    let NnError::Backend(lost @ BackendError::DeviceLost { cause, .. }) = &error else { panic!("{error}") };
    assert!(cause.contains("700"), "{error}");
    assert_eq!(network.gradients().as_ref(), Err(lost));
    drop(network);

    // The device is opened again and has the gradients of the processor.
    let [got, expected] = [Choice::Sim, Choice::Cpu].map(|choice| {
        let mut network = Network::new(&Settings::default(), choice);
        network.run().1.unwrap();
        network.gradients().unwrap()
    });
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.into_iter().zip(expected) {
        assert!((got - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{got} instead of {expected}");
    }
}

// The forward pass has three launches. A process has one simulated machine, and so one fault.

#[test]
fn a_device_lost_before_the_backward_pass_is_named_and_its_gradients_cannot_be_read() {
    test_process::alone(|| lose(4));
}

#[test]
fn a_device_lost_after_some_gradients_is_named_and_its_gradients_cannot_be_read() {
    test_process::alone(|| lose(7));
}
