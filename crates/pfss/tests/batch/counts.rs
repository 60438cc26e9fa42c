//! How often one gate calls the driver of a device: exact numbers, so that none of them grows unseen.

use std::collections::BTreeMap;

use cuda_sim::driver::Counters;
use pfss::{
    Dealer, Gate, MaskedKeys, Pending, Predicate, SufStep,
    functions::{Accuracy, gelu},
    suf::{CoeffMode, SufModes},
};
use runtime::AnyQueue;

use crate::common::{queues::Sim, words};

/// What one evaluation asks of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Calls {
    /// Kernels.
    launches: u64,
    /// Copies from the host.
    up: u64,
    /// Copies to the host.
    down: u64,
    /// Calls of any function, those included.
    all: u64,
}

impl Calls {
    fn between(before: &Counters, after: &Counters) -> Self {
        let of = |counted: &BTreeMap<&'static str, u64>, part: &str| -> u64 {
            counted.iter().filter(|(name, _)| name.contains(part)).map(|(_, calls)| calls).sum()
        };
        let calls = |part| of(&after.calls, part) - of(&before.calls, part);
        Self {
            launches: after.launches - before.launches,
            up: calls("cuMemcpyHtoD"),
            down: calls("cuMemcpyDtoH"),
            all: calls(""),
        }
    }
}

/// Elements of each batch: two words of bits.
const COUNT: usize = 64;

/// How a gate is evaluated, to its end; the peer's part of each opening is taken to be zero.
type Run = fn(&AnyQueue, MaskedKeys, &[u64]);

fn finish(q: &AnyQueue, pending: Pending) {
    let (bits, words) = (vec![0; pending.masked_bits().len()], vec![0; pending.masked_words().len()]);
    pending.finish_with(q, &bits, &words).unwrap();
}

fn suf(q: &AnyQueue, keys: MaskedKeys, x_hat: &[u64]) {
    let mut step = keys.eval_suf(q, x_hat).unwrap();
    while let SufStep::Open(pending) = step {
        let bits = vec![0; pending.masked_bits().len()];
        step = pending.finish(q, &bits).unwrap();
    }
}

#[test]
fn a_gate_calls_the_driver_so_often_and_no_more() {
    const PREDICATES: [Predicate; 2] = [Predicate::NonNegative, Predicate::Msb { c: 5 }];
    let sim = Sim::new("");
    let q = sim.queue(None);
    let select = SufModes { coeffs: CoeffMode::MaskedSelect, ..SufModes::default() };
    let lookup = SufModes { coeffs: CoeffMode::IntervalLut, ..SufModes::default() };
    let function = gelu(Accuracy::CUBIC_16).unwrap();
    let gelu = |modes| function.gates(modes).unwrap().suf;
    let relu: Run = |q, keys, x_hat| finish(q, keys.eval_relu(q, x_hat).unwrap());
    let table: [(&str, Gate, Run, Calls); 8] = [
        ("relu", Gate::relu(64).unwrap(), relu, calls(3, 10, 2, 176)),
        (
            "truncate-reduce",
            Gate::truncate_reduce(64, 12).unwrap(),
            |q, keys, x_hat| finish(q, keys.eval_truncate_reduce(q, x_hat).unwrap()),
            calls(3, 10, 2, 180),
        ),
        (
            "ars",
            Gate::ars(64, 12).unwrap(),
            |q, keys, x_hat| finish(q, keys.eval_ars(q, x_hat).unwrap()),
            calls(5, 15, 3, 272),
        ),
        (
            "relu ars",
            Gate::relu_ars(64, 12).unwrap(),
            |q, keys, x_hat| finish(q, keys.eval_relu_ars(q, x_hat).unwrap()),
            calls(5, 15, 3, 272),
        ),
        (
            "lut",
            Gate::lut(8, 40).unwrap(),
            |q, keys, x_hat| finish(q, keys.eval_lut(q, &[7; 256], x_hat).unwrap()),
            calls(2, 6, 2, 124),
        ),
        (
            "sign predicates",
            Gate::sign_predicates(64).unwrap().with_masks(2).unwrap(),
            |q, keys, x_hat| finish(q, keys.eval_predicates_additive(q, &PREDICATES, x_hat).unwrap()),
            calls(3, 10, 2, 176),
        ),
        ("gelu by masked selection", gelu(select), suf, calls(4, 10, 2, 180)),
        ("gelu by payloads", gelu(lookup), suf, calls(4, 9, 1, 144)),
    ];
    let x = words(COUNT, 5);
    let got: Vec<(&str, Calls)> = table
        .iter()
        .map(|(name, gate, run, _)| {
            let x_hat: Vec<u64> = x.iter().map(|&x| gate.ring().reduce(x)).collect();
            // the first evaluation loads the kernels and fills the pools
            let mut counters = Vec::new();
            for seed in [1, 2] {
                let [bundle, _] = Dealer::insecure_from_seed(seed).deal(&q, gate, COUNT).unwrap();
                let keys = bundle.with_open_inputs().unwrap();
                counters = vec![sim.session.counters()];
                run(&q, keys, &x_hat);
                counters.push(sim.session.counters());
            }
            (*name, Calls::between(&counters[0], &counters[1]))
        })
        .collect();
    let expected: Vec<(&str, Calls)> = table.iter().map(|&(name, _, _, calls)| (name, calls)).collect();
    assert_eq!(got, expected);
}

const fn calls(launches: u64, up: u64, down: u64, all: u64) -> Calls {
    Calls { launches, up, down, all }
}
