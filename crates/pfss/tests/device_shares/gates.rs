//! Every task whose results are words, chains of tasks, and sums of shares.

use crate::{
    common::{
        add, both, descriptor,
        queues::{Sim, cpu},
        share, suf_gate, words,
    },
    device_shares::{FORMS, Form},
};
use backend_api::Fork as _;
use pfss::{
    AutoTrunc, Dealer, DeviceShares, Gate, Interval, KeyBundle, MatrixShape, Party, Predicate, RangeClaim, Ring,
    SignedRange, Task, Traffic,
    functions::{Accuracy, gelu},
    suf::{CoeffMode, SufModes},
};
use runtime::AnyQueue;

const PREDICATES: [Predicate; 2] = [Predicate::Lt { beta: 12_345 }, Predicate::Lt { beta: 3 }];
const SIGNS: [Predicate; 2] = [Predicate::NonNegative, Predicate::Msb { c: 5 }];
const LOW: [Predicate; 1] = [Predicate::LowLt { gamma: 77 }];
const INTERVALS: [Interval; 2] = [Interval { start: 3, end: Some(900) }, Interval { start: 900, end: None }];
const TABLE: [u64; 64] = [0x12_3456_789a; 64];

/// Words alone: two of them and a parabola, by a mode of selecting the piece.
fn pieces(coeffs: CoeffMode) -> Gate {
    let desc = descriptor(20, &[], &[], &[(0, &[&[1, 2, 3], &[7]]), (70_000, &[&[4, 5], &[9, 1]])]);
    suf_gate(desc, SufModes { coeffs, ..SufModes::default() })
}

/// A gate, its task, and the bits of its results.
type Case<'a> = (Gate, Task<'a>, u32);

/// Every task whose results are words, with its gate in all forms.
fn tasks() -> Vec<Case<'static>> {
    let range = SignedRange::new(-(1 << 20), 1 << 20).unwrap();
    let cert = |n| Task::GapArs(range.gap_cert(n).unwrap());
    let lut = Gate::lut(6, 40).unwrap();
    let one_piece = suf_gate(descriptor(30, &[], &[], &[(0, &[&[1, 2, 3]])]), SufModes::default());
    let mut tasks = vec![
        (Gate::relu(64).unwrap(), Task::Relu, 64),
        (Gate::relu_within(64, 22).unwrap(), Task::ReluWithin(range), 64),
        (Gate::relu(17).unwrap(), Task::Abs, 17),
        (Gate::truncate_reduce(40, 9).unwrap(), Task::TruncateReduce, 31),
        (Gate::gap_ars(64, 12).unwrap(), cert(64), 64),
        (Gate::gap_ars_to(43, 12, 64).unwrap(), cert(43), 64),
        (Gate::gap_ars_to(43, 12, 64).and_then(Gate::in_one_round).unwrap(), cert(43), 64),
        (Gate::lrs(24, 5).unwrap(), Task::Lrs, 24),
        (Gate::ars(64, 12).unwrap(), Task::Ars, 64),
        (Gate::relu_ars(30, 11).unwrap(), Task::ReluArs, 30),
        (lut.clone(), Task::Lut(&TABLE), 40),
        (Gate::full_predicates(33).unwrap().with_masks(2).unwrap(), Task::Predicates(&PREDICATES), 33),
        (Gate::sign_predicates(16).unwrap().with_masks(2).unwrap(), Task::Predicates(&SIGNS), 16),
        (Gate::low_predicates(64, 12).unwrap().with_masks(1).unwrap(), Task::Predicates(&LOW), 64),
        (Gate::interval_powers(20, 2).unwrap(), Task::IntervalPowers(&INTERVALS), 20),
        (Gate::product(64).unwrap(), Task::Product, 64),
        (Gate::product(13).unwrap(), Task::Product, 13),
        (pieces(CoeffMode::MaskedSelect), Task::Suf, 20),
        (pieces(CoeffMode::IntervalLut), Task::Suf, 20),
        (one_piece, Task::Suf, 30),
    ];
    let masked = [0, 3, 6, 10, 15, 17, 18, 19].map(|at: usize| {
        let (gate, task, bits) = tasks[at].clone();
        (gate.with_masked_outputs().unwrap(), task, bits)
    });
    tasks.extend(masked);
    tasks
}

/// Small keys, for many elements on the simulated device.
fn small_tasks() -> Vec<Case<'static>> {
    let cert = SignedRange::of_bits(18).gap_cert(20).unwrap();
    vec![
        (Gate::truncate_reduce(40, 9).unwrap(), Task::TruncateReduce, 31),
        (Gate::gap_ars(20, 3).and_then(Gate::in_one_round).unwrap(), Task::GapArs(cert), 20),
        (Gate::product(37).unwrap(), Task::Product, 37),
        (Gate::lut(6, 40).unwrap(), Task::Lut(&TABLE), 40),
    ]
}

/// Both parties' shares of the results, with what each has sent.
fn run(q: &AnyQueue, (gate, task, bits): &Case<'_>, count: usize, forms: [Form; 2]) -> [(Vec<u64>, Traffic); 2] {
    let inputs = if let Task::Product = task { 2 * count } else { count };
    let x = [1, 2].map(|seed| words(inputs, seed));
    let bundles = Dealer::insecure_from_seed(8).deal(&cpu(None), gate, count).unwrap();
    both(bundles, |mut session, party, bundle| {
        // party 0's keys are expanded from their seed
        let bundle = copy(&bundle);
        let result = match forms[party] {
            Form::Host => session.run(q, *task, bundle, &x[party]).unwrap().words,
            Form::Device => {
                let x = DeviceShares::upload(q, session.party(), gate.ring(), &x[party]).unwrap();
                let result = session.run_on_device(*task, bundle, &x).unwrap();
                assert_eq!((result.party(), result.ring().bits()), (session.party(), *bits));
                result.download().unwrap()
            }
        };
        (result, session.traffic())
    })
}

/// A second, equal bundle, read from its bytes.
fn copy(bundle: &KeyBundle) -> KeyBundle {
    KeyBundle::from_bytes(&bundle.to_bytes()).unwrap().insecure_reusable()
}

#[test]
fn results_and_traffic_on_a_processor_are_those_of_shares_in_host_memory() {
    let q = cpu(None);
    for task in tasks() {
        for count in [1, 31, 32, 33, 4097] {
            let expected = run(&q, &task, count, [Form::Host, Form::Host]);
            for forms in FORMS {
                assert!(run(&q, &task, count, forms) == expected, "{count} of {task:?}, {forms:?}");
            }
        }
    }
}

#[test]
fn results_and_traffic_on_a_device_are_those_of_a_processor() {
    let (sim, host) = (Sim::new(""), cpu(None));
    let q = sim.queue(None);
    // of 8200 elements, party 0's masks take more than 64 KiB and are expanded there
    let few = tasks().into_iter().flat_map(|task| [1, 33].map(|count| (task.clone(), count)));
    let many = small_tasks().into_iter().flat_map(|task| [31, 32, 4097, 8200].map(|count| (task.clone(), count)));
    for (at, (task, count)) in few.chain(many).enumerate() {
        let expected = run(&host, &task, count, [Form::Host, Form::Host]);
        let mixed = FORMS[1 + at % 2];
        for forms in [FORMS[0], mixed] {
            assert!(run(&q, &task, count, forms) == expected, "{count} of {task:?}, {forms:?}");
        }
    }
}

/// Shares modulo `2^64` are shares modulo `2^k`, so gates ignore the bits above their ring.
#[test]
fn gates_take_shares_of_wider_rings() {
    let (sim, host, wide) = (Sim::new(""), cpu(None), Ring::new(64).unwrap());
    for q in [&host, &sim.queue(None)] {
        for case in tasks().into_iter().filter(|(gate, ..)| gate.ring() != wide) {
            let (gate, task, bits) = &case;
            let expected = run(&host, &case, 33, [Form::Host, Form::Host]);
            let x = [1, 2].map(|seed| words(if let Task::Product = task { 66 } else { 33 }, seed));
            let bundles = Dealer::insecure_from_seed(8).deal(&host, gate, 33).unwrap();
            let got = both(bundles, |mut session, party, bundle| {
                let x = DeviceShares::upload(q, session.party(), wide, &x[party]).unwrap();
                let result = session.run_on_device(*task, copy(&bundle), &x).unwrap();
                assert_eq!(result.ring().bits(), *bits);
                (result.download().unwrap(), session.traffic())
            });
            assert!(got == expected, "{case:?}");
        }

        // Factors of a product may be in different rings.
        let deal = || Dealer::insecure_from_seed(8).deal(&host, &Gate::product(37).unwrap(), 33).unwrap();
        let [x, y] = [[1, 2], [3, 4]].map(|seeds| seeds.map(|seed| words(33, seed)));
        let expected = both(deal(), |mut session, party, bundle| {
            session.product(&host, copy(&bundle), [&x[party], &y[party]]).unwrap()
        });
        let got = both(deal(), |mut session, party, bundle| {
            let upload =
                |words, bits| DeviceShares::upload(q, session.party(), Ring::new(bits).unwrap(), words).unwrap();
            let [x, y] = [upload(&x[party], 64), upload(&y[party], 38)];
            session.product_on_device(copy(&bundle), [&x, &y]).unwrap().download().unwrap()
        });
        assert!(got == expected);
    }
}

/// One element more than those whose words go to the device at once.
#[test]
fn sums_in_parts_are_those_of_shares_in_host_memory() {
    let many = [Predicate::Lt { beta: 77 }; Gate::MAX_MASKS as usize];
    let (sim, host) = (Sim::new(""), cpu(None));
    let q = sim.queue(None);
    let task = (Gate::full_predicates(14).unwrap().with_masks(Gate::MAX_MASKS).unwrap(), Task::Predicates(&many), 14);
    let expected = run(&host, &task, 993, [Form::Host, Form::Host]);
    assert!(run(&q, &task, 993, FORMS[0]) == expected);
}

/// `floor(max(x, 0) / 2^12) y + x + 3 p`, with the public `p`.
#[test]
fn a_chain_of_gates_and_sums_is_that_of_shares_in_host_memory_and_of_plain_arithmetic() {
    const COUNT: usize = 45;
    let (sim, host, ring) = (Sim::new(""), cpu(None), Ring::new(64).unwrap());
    let q = sim.queue(None);
    let values = |seed: u64| words(COUNT, seed).into_iter().map(|word| word as i64 >> 24).collect::<Vec<i64>>();
    let (x, y, public) = (values(1), values(2), words(COUNT, 3));
    let split = |values: &[i64], seed| -> [Vec<u64>; 2] {
        let zero = words(COUNT, seed);
        let one = values.iter().zip(&zero).map(|(&value, &share)| (value as u64).wrapping_sub(share)).collect();
        [zero, one]
    };
    let (xs, ys) = (split(&x, 4), split(&y, 5));
    let cert = SignedRange::of_bits(41).gap_cert(64).unwrap();
    let mut dealer = Dealer::insecure_from_seed(9);
    let mut deal = |gate: Gate| dealer.deal(&host, &gate, COUNT).unwrap();
    let (relu, shift, product) =
        (deal(Gate::relu(64).unwrap()), deal(Gate::gap_ars(64, 12).unwrap()), deal(Gate::product(64).unwrap()));

    let keys = || [0, 1].map(|party: usize| [&relu, &shift, &product].map(|bundles| copy(&bundles[party])));
    let on_host = both(keys(), |mut session, party, [relu, shift, product]| {
        let (x, y) = (&xs[party], &ys[party]);
        let positive = session.relu(&host, relu, x).unwrap();
        let shifted = session.run(&host, Task::GapArs(cert), shift, &positive).unwrap().words;
        let product = session.product(&host, product, [&shifted, y]).unwrap();
        let sum = product.iter().zip(x).zip(&public);
        let sum = sum.map(|((&product, &x), &p)| {
            let p = if party == 0 { p } else { 0 };
            product.wrapping_add(x).wrapping_add(p.wrapping_mul(3))
        });
        sum.collect::<Vec<u64>>()
    });
    let on_device = both(keys(), |mut session, party, [relu, shift, product]| {
        let [x, y] = [&xs, &ys].map(|shares| DeviceShares::upload(&q, session.party(), ring, &shares[party]).unwrap());
        let positive = session.run_on_device(Task::Relu, relu, &x).unwrap();
        let shifted = session.run_on_device(Task::GapArs(cert), shift, &positive).unwrap();
        let product = session.product_on_device(product, [&shifted, &y]).unwrap();
        // x + 3 p is 3 (x + p) - 2 x
        let biased = x.add_public(&public).unwrap().scale(3).unwrap().sub(&x.scale(2).unwrap()).unwrap();
        product.add(&biased).unwrap().download().unwrap()
    });
    assert!(on_device == on_host);
    let plain = x.iter().zip(&y).zip(&public).map(|((&x, &y), &p)| {
        let product = (x.max(0) >> 12).wrapping_mul(y);
        product.wrapping_add(x).cast_unsigned().wrapping_add(p.wrapping_mul(3))
    });
    assert_eq!(add(ring, [&on_device[0], &on_device[1]]), plain.collect::<Vec<_>>());
}

/// An op waits for the work on another queue of its device that wrote its operands.
#[test]
fn factors_on_two_forks_of_one_device_give_the_plain_products() {
    let (host, ring) = (cpu(None), Ring::new(64).unwrap());
    let shape = MatrixShape { batch: 1, rows: 5, inner: 3, cols: 5 };
    let factors = [1, 2].map(|seed| [words(15, seed), words(15, seed + 2)]); // of each party
    let [x, y] = [0, 1].map(|factor| add(ring, [&factors[0][factor], &factors[1][factor]]));
    let expected: Vec<u64> = x.iter().zip(&y).map(|(x, y)| x.wrapping_mul(*y).wrapping_add(*y)).collect();
    let matrices = shape.multiply(&x, &y);
    for schedule in [None, Some("schedule=lazy"), Some("schedule=random;seed=1")] {
        let sim = schedule.map(Sim::new);
        let q = sim.as_ref().map_or_else(|| cpu(None), |sim| sim.queue(None));
        let mut dealer = Dealer::insecure_from_seed(9);
        let bundles = dealer.deal(&host, &Gate::product(64).unwrap(), 15).unwrap();
        let triples = dealer.deal_matrix(&host, ring, shape).unwrap();
        let [zero, one] = both(bundles.into_iter().zip(triples).collect::<Vec<_>>().try_into().unwrap(), {
            |mut session, party: usize, (bundle, triple)| {
                let (first, second) = (q.fork().unwrap(), q.fork().unwrap());
                let x = DeviceShares::upload(&first, session.party(), ring, &factors[party][0]).unwrap();
                let y = DeviceShares::upload(&second, session.party(), ring, &factors[party][1]).unwrap();
                let product = session.product_on_device(bundle, [&x, &y]).unwrap().add(&y).unwrap();
                let matrices = session.matmul_on_device(triple, [&x, &y]).unwrap();
                [product, matrices].map(|shares| shares.download().unwrap())
            }
        });
        assert_eq!(add(ring, [&zero[0], &one[0]]), expected, "{schedule:?}");
        assert_eq!(add(ring, [&zero[1], &one[1]]), matrices, "{schedule:?}");
    }
}

#[test]
fn shifts_and_functions_give_the_words_of_shares_in_host_memory() {
    let (sim, host, ring) = (Sim::new(""), cpu(None), Ring::new(64).unwrap());
    let (q, function) = (sim.queue(None), gelu(Accuracy::CUBIC_16).unwrap());
    let x: Vec<i64> = (0..33).map(|e| e * 900 - 14_000).collect();
    let x = share(ring, &x);
    let claim = RangeClaim::Proof(SignedRange::of_bits(40));
    let shifts = [12, 0].map(|shift| AutoTrunc::choose(64, shift, claim).unwrap());
    for modes in
        [CoeffMode::MaskedSelect, CoeffMode::IntervalLut].map(|coeffs| SufModes { coeffs, ..SufModes::default() })
    {
        let gates = function.gates(modes).unwrap();
        let deal = || {
            let mut dealer = Dealer::insecure_from_seed(4);
            let [zero, one] = dealer.deal_function(&host, &gates, 33).unwrap();
            let [shift_zero, shift_one] = dealer.deal(&host, shifts[0].gate().unwrap(), 33).unwrap();
            [(zero, shift_zero), (one, shift_one)]
        };
        let expected = both(deal(), |mut session, party, (function, shift)| {
            let y = session.function(&host, &gates, function, &x[party]).unwrap();
            let y = session.shift(&host, &shifts[0], Some(shift), &y).unwrap();
            (session.shift(&host, &shifts[1], None, &y).unwrap(), session.traffic())
        });
        let got = both(deal(), |mut session, party, (function, shift)| {
            let x = DeviceShares::upload(&q, session.party(), ring, &x[party]).unwrap();
            let y = session.function_on_device(&gates, function, &x).unwrap();
            let y = session.shift_on_device(&shifts[0], Some(shift), &y).unwrap();
            (session.shift_on_device(&shifts[1], None, &y).unwrap().download().unwrap(), session.traffic())
        });
        assert!(got == expected, "{modes:?}");
    }
}

#[test]
fn open_masked_inputs_are_evaluated_to_the_same_shares() {
    let (sim, host) = (Sim::new(""), cpu(None));
    let q = sim.queue(None);
    for (gate, task, _) in tasks() {
        let count = 33;
        let inputs = if let Task::Product = task { 2 * count } else { count };
        let x_hat: Vec<u64> = words(inputs, 3);
        let keys = || {
            let bundles = Dealer::insecure_from_seed(8).deal(&host, &gate, count).unwrap();
            bundles.map(|bundle| bundle.with_open_inputs().unwrap())
        };
        let expected = both(keys(), |mut session, _, keys| session.eval(&host, task, keys, &x_hat).unwrap().words);
        let got = both(keys(), |mut session, _, keys| {
            session.eval_on_device(&q, task, keys, &x_hat).unwrap().download().unwrap()
        });
        assert!(got == expected, "{gate:?}");
    }
}

#[test]
fn sums_are_formed_in_the_ring_of_the_shares() {
    let (sim, host, ring) = (Sim::new(""), cpu(None), Ring::new(11).unwrap());
    for q in [&host, &sim.queue(None)] {
        for len in [0, 1, 31, 32, 33, 4097] {
            let [a, b, p] = [1, 2, 3].map(|seed| words(len, seed));
            for party in Party::BOTH {
                let [x, y] = [&a, &b].map(|shares| DeviceShares::upload(q, party, ring, shares).unwrap());
                let expect = |got: DeviceShares<'_, AnyQueue>, word: &dyn Fn(usize) -> u64| {
                    let expected: Vec<u64> = (0..len).map(|i| word(i) % 2048).collect();
                    assert_eq!(got.download().unwrap(), expected, "{len} of {party}");
                    assert_eq!((got.len(), got.is_empty(), got.ring(), got.party()), (len, len == 0, ring, party));
                };
                expect(x.add(&y).unwrap(), &|i| a[i].wrapping_add(b[i]));
                expect(x.sub(&y).unwrap(), &|i| a[i].wrapping_sub(b[i]));
                expect(x.scale(u64::MAX).unwrap(), &|i| a[i].wrapping_neg());
                let of_zero = |p: u64| if party == Party::Zero { p } else { 0 };
                expect(x.add_public(&p).unwrap(), &|i| a[i].wrapping_add(of_zero(p[i])));
                expect(x, &|i| a[i]);
            }
        }
    }
}
