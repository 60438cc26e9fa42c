//! Speed lines of what users of `pfss` call: gates on shares, dealing, and reading of keys.
//!
//! One party works alone: its own messages stand in for the peer's.

use cpu_backend::SimdLevel;
use pfss::{
    Channel, ChannelError, Dealer, Gate, KeyBundle, Party, Session, Task,
    batch::{BatchConfig, Job, SuperBatch},
    functions::{Accuracy, FixedBundles, gelu},
    suf::SufModes,
};
use runtime::AnyQueue;

use crate::{
    Contender, Goal, Line,
    host::words,
    line::{RunSize, one_thread},
};

/// Elements of a batch.
const ELEMENTS: usize = 1 << 16;

/// Every line, each with its goal on a processor with AES in vectors.
pub(super) fn contests() -> Vec<Line> {
    let size = || RunSize::computing("element", ELEMENTS as f64, 0.0);
    let line = |id: &str, nanoseconds: f64| Line::of_peers(id, size()).goal(Goal::Rate(1e9 / nanoseconds), "vaes");
    vec![
        line("pfss.relu", 150.0).peer(relu_by_session).peer(relu_by_batch),
        line("pfss.deal", 600.0).peer(deal_relu),
        line("pfss.read", 250.0).peer(read_relu),
        line("pfss.gelu", 500.0).peer(|| gelu_by(Accuracy::CUBIC_16)).peer(|| gelu_by(Accuracy::QUADRATIC_32)),
    ]
}

/// A connection whose peer returns each message.
struct EchoChannel;

impl Channel for EchoChannel {
    fn party(&self) -> Party {
        Party::Zero
    }

    fn send(&mut self, _message: &[u8]) -> Result<(), ChannelError> {
        Ok(())
    }

    fn recv(&mut self, _len: usize) -> Result<Vec<u8>, ChannelError> {
        Err(ChannelError::Lost { doing: "receiving" })
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Vec<u8>, ChannelError> {
        Ok(message.to_vec())
    }
}

fn queue() -> AnyQueue {
    one_thread(SimdLevel::Avx512)
}

fn relu() -> Gate {
    Gate::relu(64).expect("a known ring")
}

/// Deals party 0's keys of a ReLU, one bundle after another.
fn relu_keys() -> impl FnMut() -> KeyBundle {
    let (q, gate, mut dealer) = (queue(), relu(), Dealer::insecure_from_seed(5));
    move || {
        let [bundle, _] = dealer.deal(&q, &gate, ELEMENTS).expect("a batch that fits");
        bundle
    }
}

fn relu_by_session() -> Contender {
    let (q, x) = (queue(), words(ELEMENTS, 6));
    let run = move |bundle: KeyBundle| {
        let shares = Session::new(EchoChannel).relu(&q, bundle, &x).expect("an input for each key");
        core::hint::black_box(shares);
    };
    Contender::fed("trefoil, session", relu_keys(), run)
}

fn relu_by_batch() -> Contender {
    let (q, x) = (queue(), words(ELEMENTS, 6));
    let run = move |bundle: KeyBundle| {
        let mut session = Session::new(EchoChannel);
        let mut batch = SuperBatch::new(&q, None, BatchConfig::default()).expect("a processor needs no stager");
        let opened = session.open_masked(&q, vec![(bundle, &x)]).expect("an input for each key");
        for (keys, x_hat) in opened {
            batch.enqueue(Job::new(Task::Relu, keys, x_hat)).expect("a job within the limits");
        }
        batch.flush().expect("keys of this gate");
        session.finalize(&mut batch).expect("the same jobs on both sides");
        core::hint::black_box(&batch);
    };
    Contender::fed("trefoil, super-batch", relu_keys(), run)
}

fn deal_relu() -> Contender {
    let mut keys = relu_keys();
    Contender::new("trefoil, ReLU(64)", move || {
        core::hint::black_box(keys());
    })
}

fn read_relu() -> Contender {
    let bytes = relu_keys()().to_bytes();
    Contender::new("trefoil, ReLU(64)", move || {
        core::hint::black_box(KeyBundle::from_bytes(&bytes).expect("bytes of a bundle"));
    })
}

fn gelu_by(accuracy: Accuracy) -> Contender {
    let (q, dealer_q) = (queue(), queue());
    let gates = gelu(accuracy).and_then(|function| function.gates(SufModes::default())).expect("a known function");
    let (mut dealer, x, dealt) = (Dealer::insecure_from_seed(5), words(ELEMENTS, 6), gates.clone());
    let feed = move || {
        let [bundles, _] = dealer.deal_function(&dealer_q, &dealt, ELEMENTS).expect("a batch that fits");
        bundles
    };
    let run = move |bundles: FixedBundles| {
        let shares = Session::new(EchoChannel).function(&q, &gates, bundles, &x).expect("an input for each key");
        core::hint::black_box(shares);
    };
    Contender::fed(&format!("trefoil, degree {}, {} pieces", accuracy.degree, accuracy.pieces), feed, run)
}
