//! How often one gate calls the driver of a device: exact numbers, so that none of them grows unseen.

use std::collections::BTreeMap;

use crate::common::{queues::Sim, words};
use cuda_sim::driver::Counters;
use pfss::{
    Dealer, Gate, Predicate, Step, Task,
    functions::{Accuracy, gelu},
    suf::{CoeffMode, SufModes},
};

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

#[test]
fn a_gate_calls_the_driver_so_often_and_no_more() {
    const PREDICATES: [Predicate; 2] = [Predicate::NonNegative, Predicate::Msb { c: 5 }];
    let sim = Sim::new("");
    let q = sim.queue(None);
    let select = SufModes { coeffs: CoeffMode::MaskedSelect, ..SufModes::default() };
    let lookup = SufModes { coeffs: CoeffMode::IntervalLut, ..SufModes::default() };
    let function = gelu(Accuracy::CUBIC_16).unwrap();
    let gelu = |modes| function.gates(modes).unwrap().suf;
    let table: [(&str, Gate, Task<'_>, Calls); 8] = [
        ("relu", Gate::relu(64).unwrap(), Task::Relu, calls(3, 10, 2, 176)),
        ("truncate-reduce", Gate::truncate_reduce(64, 12).unwrap(), Task::TruncateReduce, calls(3, 10, 2, 180)),
        ("ars", Gate::ars(64, 12).unwrap(), Task::Ars, calls(5, 15, 3, 272)),
        ("relu ars", Gate::relu_ars(64, 12).unwrap(), Task::ReluArs, calls(5, 15, 3, 272)),
        ("lut", Gate::lut(8, 40).unwrap(), Task::Lut(&[7; 256]), calls(3, 8, 2, 156)),
        (
            "sign predicates",
            Gate::sign_predicates(64).unwrap().with_masks(2).unwrap(),
            Task::Predicates(&PREDICATES),
            calls(3, 10, 2, 176),
        ),
        ("gelu by masked selection", gelu(select), Task::Suf, calls(4, 10, 2, 180)),
        ("gelu by payloads", gelu(lookup), Task::Suf, calls(4, 9, 1, 144)),
    ];
    let x = words(COUNT, 5);
    let got: Vec<(&str, Calls)> = table
        .iter()
        .map(|(name, gate, task, _)| {
            let x_hat: Vec<u64> = x.iter().map(|&x| gate.ring().reduce(x)).collect();
            // the first evaluation loads the kernels and fills the pools
            let mut counters = Vec::new();
            for seed in [1, 2] {
                let [bundle, _] = Dealer::insecure_from_seed(seed).deal(&q, gate, COUNT).unwrap();
                let keys = bundle.with_open_inputs().unwrap();
                counters = vec![sim.session.counters()];
                // to the end of the gate; the peer's part of each opening is taken to be zero
                let mut step = keys.eval(&q, *task, &x_hat).unwrap();
                while let Step::Open(pending) = step {
                    let (bits, words) = (vec![0; pending.masked_bits().len()], vec![0; pending.masked_words().len()]);
                    step = pending.finish_with(&q, &bits, &words).unwrap();
                }
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
