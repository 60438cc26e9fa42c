//! How often gates call the driver of a device: exact numbers, so that none of them grows unseen.

use std::{collections::BTreeMap, time::Duration};

use crate::common::{
    both, flat,
    queues::{Sim, cpu},
    words,
};
use cuda_sim::driver::Counters;
use pfss::{
    AutoTrunc, Dealer, DeviceShares, Gate, GateKind, KeyBundle, MatrixShape, MemoryChannel, Party, PfssError,
    Predicate, RangeClaim, Ring, Session, SignedRange, Step, Task,
    functions::{Accuracy, TableFn, gelu},
    memory_pair,
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::{CoeffMode, SufModes},
};
use runtime::AnyQueue;

/// What one evaluation asks of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Calls {
    /// Kernels.
    launches: u64,
    /// Copies from the host.
    up: u64,
    /// Copies to the host.
    down: u64,
    /// Fills, which wipe secrets.
    clears: u64,
}

impl Calls {
    fn between(before: &Counters, after: &Counters) -> Self {
        let calls = |part| named(after, part) - named(before, part);
        Self {
            launches: after.launches - before.launches,
            up: calls("cuMemcpyHtoD"),
            down: calls("cuMemcpyDtoH"),
            clears: calls("cuMemsetD8"),
        }
    }
}

/// Calls of all functions whose name has `part`.
fn named(counters: &Counters, part: &str) -> u64 {
    let counted: &BTreeMap<&'static str, u64> = &counters.calls;
    counted.iter().filter(|(name, _)| name.contains(part)).map(|(_, calls)| calls).sum()
}

/// Blocks of device memory that the driver had not kept from earlier ones.
fn fresh_blocks(before: &Counters, after: &Counters) -> u64 {
    let fresh = |counters: &Counters| counters.allocations - counters.pool_hits;
    fresh(after) - fresh(before)
}

/// A source of bundles.
type Next<'a> = &'a mut dyn FnMut() -> Result<KeyBundle, PfssError>;
type OnSim<'q> = DeviceShares<'q, AnyQueue>;
type NewPlan = fn(RowLayout, SignedRange, SufModes) -> Result<SecureSoftmaxPlan, PfssError>;

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
    // with the most calls of any function: copies, fills, allocations, events
    let table: [(&str, Gate, Task<'_>, Calls, u64); 8] = [
        ("relu", Gate::relu(64).unwrap(), Task::Relu, calls(3, 2, 2, 3), 100),
        ("truncate-reduce", Gate::truncate_reduce(64, 12).unwrap(), Task::TruncateReduce, calls(3, 2, 2, 3), 104),
        ("ars", Gate::ars(64, 12).unwrap(), Task::Ars, calls(5, 2, 2, 3), 100),
        ("relu ars", Gate::relu_ars(64, 12).unwrap(), Task::ReluArs, calls(5, 2, 2, 3), 100),
        ("lut", Gate::lut(8, 40).unwrap(), Task::Lut(&[7; 256]), calls(3, 2, 2, 4), 100),
        (
            "sign predicates",
            Gate::sign_predicates(64).unwrap().with_masks(2).unwrap(),
            Task::Predicates(&PREDICATES),
            calls(3, 2, 2, 3),
            100,
        ),
        ("gelu by masked selection", gelu(select), Task::Suf, calls(4, 2, 2, 3), 106),
        ("gelu by payloads", gelu(lookup), Task::Suf, calls(3, 1, 1, 3), 86),
    ];
    let x = words(COUNT, 5);
    for (name, gate, task, expected, most) in table {
        let x_hat: Vec<u64> = x.iter().map(|&x| gate.ring().reduce(x)).collect();
        // the first evaluation loads the kernels and fills the pools
        let mut counters = Vec::new();
        for seed in [1, 2] {
            let [bundle, _] = Dealer::insecure_from_seed(seed).deal(&q, &gate, COUNT).unwrap();
            let keys = bundle.with_open_inputs().unwrap();
            counters = vec![sim.session.counters()];
            // to the end of the gate; the peer's part of each opening is taken to be zero
            let mut step = keys.eval(&q, task, &x_hat).unwrap();
            while let Step::Open(pending) = step {
                let (bits, words) = (vec![0; pending.masked_bits().len()], vec![0; pending.masked_words().len()]);
                step = pending.finish_with(&q, &bits, &words).unwrap();
            }
            counters.push(sim.session.counters());
        }
        let [before, after] = &counters[..] else { unreachable!("two counts") };
        assert_eq!(Calls::between(before, after), expected, "{name}");
        assert_eq!(fresh_blocks(before, after), 0, "{name}: the pool has kept the blocks of the first evaluation");
        let all = named(after, "") - named(before, "");
        assert!(all <= most, "{name}: {all} calls, expected at most {most}");
    }
}

/// Gates whose roots of each tree and whose words take more than 64 KiB each: with few, a copy takes less time.
#[test]
fn a_device_expands_roots_and_words_in_place_of_their_copies() {
    const MANY: usize = 4128;
    let sim = Sim::new("");
    let (q, host) = (sim.queue(None), cpu(None));
    // With each expansion of a tree's roots or of all words: a ReLU has the words r, c and c r, a shift three more.
    for (gate, task, expansions, words_each) in
        [(Gate::relu(10).unwrap(), Task::Relu, 2, 3), (Gate::ars(10, 8).unwrap(), Task::Ars, 3, 6)]
    {
        let x_hat: Vec<u64> = words(MANY, 5).into_iter().map(|x| gate.ring().reduce(x)).collect();
        // the peer's part of each opening is taken to be zero
        let shares = |q: &AnyQueue, party: usize| {
            let bundles = Dealer::insecure_from_seed(3).deal(&host, &gate, MANY).unwrap();
            let keys = bundles.into_iter().nth(party).unwrap().with_open_inputs().unwrap();
            let mut step = keys.eval(q, task, &x_hat).unwrap();
            loop {
                match step {
                    Step::Open(pending) => {
                        let (bits, words) =
                            (vec![0; pending.masked_bits().len()], vec![0; pending.masked_words().len()]);
                        step = pending.finish_with(q, &bits, &words).unwrap();
                    }
                    Step::Done(shares) => return flat(&shares),
                }
            }
        };
        let [zero, one] = [0, 1].map(|party| {
            let before = sim.session.counters();
            let got = shares(&q, party);
            let after = sim.session.counters();
            assert!(got == shares(&host, party), "{} of party {party}", gate.kind());
            let launches = |counters: &Counters| counters.launches_of.get("fss_expand_seed").copied().unwrap_or(0);
            (after.bytes_to_device - before.bytes_to_device, launches(&after) - launches(&before))
        });
        // party 1 has no seed; its sections have the same sizes
        assert_eq!((zero.1, one.1), (expansions, 0), "{}", gate.kind());
        let roots = expansions as usize - 1;
        assert_eq!(one.0 - zero.0, (MANY * (16 * roots + 8 * words_each)) as u64, "{}", gate.kind());
    }
}

const fn calls(launches: u64, up: u64, down: u64, clears: u64) -> Calls {
    Calls { launches, up, down, clears }
}

/// One party's calls in a step that both run, apart from kernels, and the rounds of the step.
fn of_one_party<K: Send>(
    sim: &Sim,
    keys: [K; 2],
    run: impl Fn(&mut Session<MemoryChannel>, K) + Sync,
) -> ([u64; 3], u64) {
    let before = sim.session.counters();
    let rounds = both(keys, |mut session, _, keys| {
        run(&mut session, keys);
        session.traffic().rounds
    });
    let Calls { up, down, clears, .. } = Calls::between(&before, &sim.session.counters());
    assert_eq!(rounds[0], rounds[1]);
    let calls = [up, down, clears].map(|both| {
        assert!(both.is_multiple_of(2), "{both} calls of both parties");
        both / 2
    });
    (calls, rounds[0])
}

/// Attention and the layer after it, in narrow rings, so that messages are packed.
///
/// A gate of two rounds has two copies from the host. The first has its keys, the opened inputs and
/// the terms of the sums of bits, the second the opened bits, the shares that they select and the
/// terms of these sums. It has two copies to the host, and clears the keys, the bits, and the
/// shares.
#[test]
fn the_steps_of_a_transformer_copy_to_the_host_once_a_round_at_most() {
    const SIDE: usize = 4;
    let sim = Sim::new("");
    let (q, x, mut dealer) = (sim.queue(None), vec![5; SIDE * SIDE], Dealer::insecure_from_seed(4));
    let gate = |gates: u64| [2, 2, 3].map(|calls| gates * calls);

    let shape = MatrixShape { batch: 1, rows: SIDE, inner: SIDE, cols: SIDE };
    let triples = dealer.deal_matrix(&q, Ring::new(43).unwrap(), shape).unwrap();
    let product = of_one_party(&sim, triples, |session, triple| {
        session.matmul(&q, triple, [&x, &x]).unwrap();
    });
    assert_eq!(product, ([1; 3], 1));

    let cert = SignedRange::new(-(1 << 40), 1 << 40).unwrap().gap_cert(43).unwrap();
    let bundles = dealer.deal(&q, &Gate::gap_ars_to(43, 12, 64).unwrap(), x.len()).unwrap();
    let shift = of_one_party(&sim, bundles, |session, bundle| {
        session.run(&q, Task::GapArs(cert), bundle, &x).unwrap();
    });
    assert_eq!(shift, (gate(1), 2));

    // the two rounds of the tournament, the exponential and the reciprocal with their shifts, and the last shift
    let (layout, logits) = (RowLayout::ragged(SIDE, &[SIDE; SIDE]).unwrap(), SignedRange::new(-(1 << 20), 1 << 20));
    let plan = SecureSoftmaxPlan::new(layout, logits.unwrap(), SufModes::default()).unwrap();
    let bundles = dealer.deal_all(&q, &plan.deals()).unwrap();
    let softmax = of_one_party(&sim, bundles, |session, bundles| {
        session.softmax(&q, &plan, bundles, &x).unwrap();
    });
    assert_eq!(softmax, (gate(2 + 2 + 2 + 1), 15));

    let gates = gelu(Accuracy::CUBIC_16).unwrap().gates(SufModes::default()).unwrap();
    let bundles = dealer.deal_function(&q, &gates, x.len()).unwrap();
    let function = of_one_party(&sim, bundles, |session, bundles| {
        session.function(&q, &gates, bundles, &x).unwrap();
    });
    assert_eq!(function, (gate(2), 4));

    for ([_, down, _], rounds) in [product, shift, softmax, function] {
        assert!(down <= rounds, "{down} copies to the host in {rounds} rounds");
    }
}

/// Shares in device memory: what comes to the host is sent, and nothing else.
///
/// A gate has one copy each way for a round. Of two rounds, the copies from the host are the keys
/// with the opened inputs, and the opened bits with the shares that they select; the copies to it
/// are the shares that are opened, which the host masks. It clears the keys, the bits, the shares
/// that opened bits select, and the result when that is dropped. A sum of shares copies nothing but
/// a public addend of many words.
///
/// Copies from the host have up to 8 MiB of the words of keys, and the table sums of a `lut` come to
/// the host in parts: larger batches have more copies than these.
#[test]
fn gates_on_shares_in_device_memory_copy_to_the_host_what_they_send() {
    const BITS: u64 = 4 * COUNT as u64 / 32;
    const WORDS: u64 = 8 * COUNT as u64;
    let sim = Sim::new("");
    let (q, host, mut dealer) = (sim.queue(None), cpu(None), Dealer::insecure_from_seed(4));
    let cert = SignedRange::new(-(1 << 20), 1 << 20).unwrap().gap_cert(64).unwrap();
    let one_round = Gate::gap_ars(64, 12).and_then(Gate::in_one_round).unwrap();
    let function = gelu(Accuracy::CUBIC_16).unwrap().gates(SufModes::default()).unwrap();
    let x = words(COUNT, 5);
    let mut run = |gate: &Gate, task: Task<'_>| {
        let bundles = dealer.deal(&host, gate, COUNT).unwrap();
        let before = sim.session.counters();
        let ([up, down, clears], rounds) = of_one_party(&sim, bundles, |session, bundle| {
            let x = DeviceShares::upload(&q, session.party(), gate.ring(), &x).unwrap();
            session.run_on_device(task, bundle, &x).unwrap();
        });
        let after = sim.session.counters();
        assert_eq!(
            copies_on_device(&before, &after),
            0,
            "{}: sums of one part are written to their place",
            gate.kind()
        );
        // without the copy of the inputs and the clear of the copy
        ([up - 1, down, clears - 1], rounds, (after.bytes_to_host - before.bytes_to_host) / 2)
    };
    assert_eq!(run(&Gate::relu(64).unwrap(), Task::Relu), ([2, 2, 4], 2, WORDS + BITS));
    assert_eq!(run(&Gate::ars(64, 12).unwrap(), Task::Ars), ([2, 2, 4], 2, WORDS + 2 * BITS));
    assert_eq!(run(&Gate::gap_ars(64, 12).unwrap(), Task::GapArs(cert)), ([2, 2, 4], 2, WORDS + BITS));
    assert_eq!(run(&one_round, Task::GapArs(cert)), ([1, 1, 3], 1, WORDS));
    let selectors = function.suf.cost().masked_bits;
    assert_eq!(run(&function.suf, Task::Suf), ([2, 2, 4], 2, WORDS + selectors * BITS));
    // shares of the signs come as words
    assert_eq!(run(&Gate::lut(8, 40).unwrap(), Task::Lut(&[7; 256])), ([2, 2, 5], 2, 3 * WORDS));

    let bundles = dealer.deal(&host, &Gate::product(64).unwrap(), COUNT).unwrap();
    let before = sim.session.counters().bytes_to_host;
    let product = of_one_party(&sim, bundles, |session, bundle| {
        let x = DeviceShares::upload(&q, session.party(), Ring::new(64).unwrap(), &x).unwrap();
        session.product_on_device(bundle, [&x, &x]).unwrap();
    });
    // both factors in one copy, the words with the first sum, and the product are cleared
    assert_eq!(product, ([1 + 1, 1, 1 + 3], 1));
    assert_eq!((sim.session.counters().bytes_to_host - before) / 2, 2 * WORDS);

    let x = DeviceShares::upload(&q, pfss::Party::Zero, Ring::new(64).unwrap(), &x).unwrap();
    let before = sim.session.counters();
    drop(x.add(&x).unwrap().scale(3).unwrap());
    let sums = Calls::between(&before, &sim.session.counters());
    assert_eq!(sums, calls(2, 0, 0, 2));

    // public words are not wiped, and nothing is computed for party 1's shares or by the identity
    let y = DeviceShares::upload(&q, pfss::Party::One, Ring::new(64).unwrap(), &[3; COUNT]).unwrap();
    let identity = AutoTrunc::choose(64, 0, RangeClaim::Unknown).unwrap();
    let (channel, _peer) = memory_pair(Duration::from_secs(20));
    let mut session = Session::new(channel);
    let before = sim.session.counters();
    drop(x.add_public(&words(COUNT, 9)).unwrap());
    let added = sim.session.counters();
    assert_eq!(Calls::between(&before, &added), calls(1, 1, 0, 1));
    drop(y.add_public(&[9; COUNT]).unwrap());
    drop(session.shift_on_device(&identity, None, &x).unwrap());
    let copied = sim.session.counters();
    assert_eq!(Calls::between(&added, &copied), calls(0, 0, 0, 2));
    assert_eq!(copies_on_device(&added, &copied), 2);
}

/// No share comes to the host, and of the host only public lists go to the device.
#[test]
fn rearranged_shares_and_their_sums_stay_in_device_memory() {
    const WIDTH: usize = 8;
    type OnQueue<'q> = DeviceShares<'q, AnyQueue>;
    type Run = for<'a, 'q> fn(&'a OnQueue<'q>, &'a OnQueue<'q>) -> Result<OnQueue<'q>, PfssError>;
    let sim = Sim::new("");
    let (q, ring) = (sim.queue(None), Ring::new(37).unwrap());
    // with the copies within device memory, and the bytes of copies from the host
    let table: [(&str, Run, Calls, u64, usize); 15] = [
        ("zeros", |x, _| DeviceShares::zeros(x.queue(), x.party(), x.ring(), 5), calls(0, 0, 0, 1), 0, 0),
        ("in_ring", |x, _| x.in_ring(Ring::new(36).unwrap()), calls(1, 0, 0, 1), 0, 0),
        ("slice", |x, _| x.slice(3..60), calls(0, 0, 0, 1), 1, 0),
        ("concat", |x, row| DeviceShares::concat(&[x, row]), calls(0, 0, 0, 1), 2, 0),
        ("permuted", |x, _| x.permuted(&[WIDTH, WIDTH], &[1, 0]), calls(1, 0, 0, 1), 0, 0),
        ("repeated", |x, _| x.repeated(3), calls(1, 0, 0, 1), 0, 0),
        ("gathered", |x, _| x.gathered(&[Some(63), None, Some(2)]), calls(1, 1, 0, 1), 0, 4 * 3),
        ("row_sums", |x, _| x.row_sums(WIDTH), calls(2, 0, 0, 1), 0, 0),
        ("add_rows", |x, row| x.add_rows(row), calls(1, 0, 0, 1), 0, 0),
        ("add_public_rows", |x, _| x.add_public_rows(&words(WIDTH, 7)), calls(1, 1, 0, 1), 0, 8 * WIDTH),
        // a launch for each word of a short row
        ("add_public_rows of two words in turn", |x, _| x.add_public_rows(&[7, 8].repeat(2)), calls(3, 0, 0, 1), 0, 0),
        (
            "add_public of three words in turn",
            |x, _| x.add_public(&[7, 8, 9].repeat(22)[..64]),
            calls(4, 0, 0, 1),
            0,
            0,
        ),
        ("add_public_rows of equal words", |x, _| x.add_public_rows(&[7; WIDTH]), calls(1, 0, 0, 1), 0, 0),
        ("linear_in", |x, row| x.linear_in(x.ring(), [3, 5], Some(row)), calls(1, 0, 0, 1), 0, 0),
        (
            "linear_in_place",
            |x, row| {
                let mut copy = x.slice(0..COUNT)?;
                copy.linear_in_place(x.ring(), [3, 5], Some(row))?;
                Ok(copy)
            },
            calls(1, 0, 0, 1),
            1,
            0,
        ),
    ];
    let [x, row] = [COUNT, WIDTH].map(|len| DeviceShares::upload(&q, Party::Zero, ring, &words(len, 5)).unwrap());
    for (name, run, expected, copies, bytes) in table {
        let before = sim.session.counters();
        drop(run(&x, &row).unwrap());
        let after = sim.session.counters();
        assert_eq!(Calls::between(&before, &after), expected, "{name}");
        assert_eq!(copies_on_device(&before, &after), copies, "{name}");
        assert_eq!(after.bytes_to_device - before.bytes_to_device, bytes as u64, "{name}");
        assert_eq!(after.bytes_to_host, before.bytes_to_host, "{name}");
    }
}

/// Bytes of the masked inputs of a gate of one input word or more, and of its parts of openings.
fn opened_bytes(gate: &Gate, count: usize) -> usize {
    // shares of the signs of a look-up come as words
    let opened = match gate.kind() {
        GateKind::Lut => 2 * 8 * count,
        _ => 4 * count.div_ceil(32) * gate.cost().masked_bits as usize,
    };
    let inputs = if gate.kind() == GateKind::Product { 2 } else { 1 };
    inputs * 8 * count + opened
}

/// Functions on shares in device memory: what comes to the host is sent, and nothing else.
///
/// Gates have the copies above. Sums, and sums of rows, take none. All lists of places together take
/// one, which rows of one length of a power of two do not need.
#[test]
fn functions_on_shares_in_device_memory_copy_to_the_host_what_they_send() {
    let sim = Sim::new("");
    let (q, host, ring) = (sim.queue(None), cpu(None), Ring::new(64).unwrap());
    // One party's copies from the host without the inputs', copies to the host, and bytes of the latter.
    let run = |deals: &[(Gate, usize)],
               count: usize,
               run: &(dyn Fn(&mut Session<MemoryChannel>, Next<'_>, &OnSim<'_>) + Sync)| {
        let bundles = Dealer::insecure_from_seed(4).deal_all(&host, deals).unwrap();
        let before = sim.session.counters();
        let ([up, down, _], rounds) = of_one_party(&sim, bundles, |session, bundles| {
            let x = DeviceShares::upload(&q, session.party(), ring, &words(count, 5)).unwrap();
            let mut bundles = bundles.into_iter();
            run(session, &mut || bundles.next().ok_or(PfssError::OpenInputs), &x);
        });
        let bytes = (sim.session.counters().bytes_to_host - before.bytes_to_host) / 2;
        (up - 1, down, bytes as usize, rounds)
    };

    // Truncation, line, both look-ups, product and shift; the look-ups' inputs come to the host once, for both masks, and
    // their results take one copy each.
    let table = TableFn::gelu(12).unwrap().gates().unwrap();
    let deals = table.gates().map(|gate| (gate.clone(), COUNT));
    let bytes = |deals: &[(Gate, usize)]| deals.iter().map(|(gate, count)| opened_bytes(gate, *count)).sum::<usize>();
    let (up, down, got, rounds) = run(&deals, COUNT, &|session, next, x| {
        session.table_function_on_device_from(&table, next, x).unwrap();
    });
    assert_eq!((up, down, got, rounds), (2 + 2 + 2 * 2 + 1 + 2, 9 + 1, bytes(&deals) - 8 * COUNT, 9));

    for (layout, lists) in [(RowLayout::ragged(4, &[4; 4]).unwrap(), 0), (RowLayout::causal(4, 4, 0), 1)] {
        let logits = SignedRange::new(-(1 << 20), 1 << 20).unwrap();
        let active = layout.active();
        for (new, exponential) in [(SecureSoftmaxPlan::new as NewPlan, [4, 4]), (SecureSoftmaxPlan::by_table, [11, 10])]
        {
            let plan = new(layout.clone(), logits, SufModes::default()).unwrap();
            let (up, down, got, rounds) = run(&plan.deals(), active, &|session, next, x| {
                session.softmax_on_device_from(&plan, next, x).unwrap();
            });
            // Two comparisons, reciprocals, products, rounding.
            let others = [2 * 2 + 4 + 1 + 2; 2];
            assert_eq!((up, down), (others[0] + exponential[0] + lists, others[1] + exponential[1]));
            let second_lookups = exponential[1].saturating_sub(9) as usize;
            assert_eq!((got, rounds), (bytes(&plan.deals()) - 8 * active * second_lookups, plan.traffic().1));
            // A second look-up has its copies in the rounds of the first.
            assert!(up - lists <= rounds + 2 * second_lookups as u64 && down <= rounds + second_lookups as u64);
        }
    }
}

/// Copies within device memory.
fn copies_on_device(before: &Counters, after: &Counters) -> u64 {
    named(after, "cuMemcpyDtoD") - named(before, "cuMemcpyDtoD")
}
