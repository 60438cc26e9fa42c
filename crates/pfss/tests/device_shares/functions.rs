//! Functions of several gates: splines, tables and softmax.

use crate::{
    common::{
        WORDS, both, open,
        queues::{Sim, cpu},
        share,
    },
    device_shares::{FORMS, Form, expect_unspent, session},
};
use pfss::{
    Dealer, DeviceShares, KeyBundle, MemoryChannel, Party, PfssError, Ring, Session, SignedRange, Traffic,
    functions::{Accuracy, FixedGates, TableBundles, TableFn, TableGates, gelu},
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::{CoeffMode, PredProgram, SufModes},
};
use runtime::AnyQueue;

/// A function with the bundles that it takes, in order.
#[derive(Clone, Copy, Debug)]
enum Function<'a> {
    Spline(&'a FixedGates),
    Table(&'a TableGates),
    Softmax(&'a SecureSoftmaxPlan),
}

impl Function<'_> {
    /// Both parties' bundles for `count` inputs.
    fn deal(self, mut dealer: Dealer, q: &AnyQueue, count: usize) -> [Vec<KeyBundle>; 2] {
        let deals: Vec<_> = match self {
            Self::Spline(gates) => gates.gates().map(|gate| (gate.clone(), count)).collect(),
            Self::Table(gates) => gates.gates().map(|gate| (gate.clone(), count)).into(),
            Self::Softmax(plan) => plan.deals(),
        };
        dealer.deal_all(q, &deals).unwrap()
    }

    fn on_host(
        self,
        session: &mut Session<MemoryChannel>,
        q: &AnyQueue,
        next: impl FnMut() -> Result<KeyBundle, PfssError>,
        x: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        match self {
            Self::Spline(gates) => session.function_from(q, gates, next, x),
            Self::Table(gates) => session.table_function_from(q, gates, next, x),
            Self::Softmax(plan) => session.softmax_from(q, plan, next, x),
        }
    }

    fn on_device<'q>(
        self,
        session: &mut Session<MemoryChannel>,
        next: impl FnMut() -> Result<KeyBundle, PfssError>,
        x: &DeviceShares<'q, AnyQueue>,
    ) -> Result<DeviceShares<'q, AnyQueue>, PfssError> {
        match self {
            Self::Spline(gates) => session.function_on_device_from(gates, next, x),
            Self::Table(gates) => session.table_function_on_device_from(gates, next, x),
            Self::Softmax(plan) => session.softmax_on_device_from(plan, next, x),
        }
    }
}

/// Bundles one after the other, and an error after the last.
fn in_turn(bundles: Vec<KeyBundle>) -> impl FnMut() -> Result<KeyBundle, PfssError> {
    let mut bundles = bundles.into_iter();
    move || bundles.next().ok_or(PfssError::OpenInputs)
}

/// Both parties' shares of the results, with what each has sent; shares of `x` are in `ring`.
fn run(q: &AnyQueue, function: Function<'_>, ring: Ring, x: &[i64], forms: [Form; 2]) -> [(Vec<u64>, Traffic); 2] {
    let x = share(ring, x);
    let bundles = function.deal(Dealer::insecure_from_seed(5), &cpu(None), x[0].len());
    both(bundles, |mut session, party, bundles| {
        let next = in_turn(bundles);
        let result = match forms[party] {
            Form::Host => function.on_host(&mut session, q, next, &x[party]).unwrap(),
            Form::Device => {
                let x = DeviceShares::upload(q, session.party(), ring, &x[party]).unwrap();
                let result = function.on_device(&mut session, next, &x).unwrap();
                assert_eq!((result.party(), result.ring()), (session.party(), WORDS));
                result.download().unwrap()
            }
        };
        (result, session.traffic())
    })
}

/// Checks words and traffic in each of `forms` against the host's, and the opened results against `plain`.
fn check(q: &AnyQueue, function: Function<'_>, ring: Ring, x: &[i64], plain: &[i64], forms: &[[Form; 2]]) {
    let expected = run(&cpu(None), function, ring, x, [Form::Host, Form::Host]);
    assert_eq!(open(WORDS, [&expected[0].0, &expected[1].0]), plain, "{function:?}");
    for forms in forms {
        assert!(run(q, function, ring, x, *forms) == expected, "{function:?}, {forms:?}");
    }
}

#[test]
fn functions_with_keys_from_a_source_give_the_words_of_shares_in_host_memory() {
    let (sim, host) = (Sim::new(""), cpu(None));
    let device = sim.queue(None);
    let spline = gelu(Accuracy::QUADRATIC_32).unwrap();
    let splines = [CoeffMode::MaskedSelect, CoeffMode::IntervalLut].map(|coeffs| {
        let gates = spline.gates(SufModes { coeffs, ..SufModes::default() }).unwrap();
        [gates.clone(), gates.in_one_round().unwrap()]
    });
    let table = TableFn::gelu(12).unwrap();
    // cells out of the table's range, which need a comparison, and none
    let tables = [SignedRange::of_bits(25), SignedRange::new(-16_000, 15_999).unwrap()]
        .map(|range| table.gates_within(range).unwrap());
    for (q, counts, forms) in [(&host, &[0, 1, 32, 33][..], &FORMS[..]), (&device, &[0, 33], &FORMS[..1])] {
        for &count in counts {
            let x: Vec<i64> = (0..count).map(|e| e * 900 - 14_000).collect();
            let plain: Vec<i64> = x.iter().map(|&x| spline.eval(x)).collect();
            for gates in splines.as_flattened() {
                check(q, Function::Spline(gates), WORDS, &x, &plain, forms);
            }
            let plain: Vec<i64> = x.iter().map(|&x| table.eval(x)).collect();
            for gates in &tables {
                // the ring of the product has the most bits that the gates read
                for ring in [WORDS, gates.gates()[4].ring()] {
                    check(q, Function::Table(gates), ring, &x, &plain, forms);
                }
            }
        }
    }
}

/// Masks of 64 KiB and more, which a device expands for party 0: the look-ups' masks side by side.
#[test]
fn many_elements_by_table_give_the_words_of_shares_in_host_memory() {
    let sim = Sim::new("");
    let table = TableFn::neg_exp(8).unwrap();
    let gates = table.gates_within(SignedRange::new(0, 1000).unwrap()).unwrap();
    let x: Vec<i64> = (0..8200).map(|e| e % 1001).collect();
    let plain: Vec<i64> = x.iter().map(|&x| table.eval(x)).collect();
    check(&sim.queue(None), Function::Table(&gates), WORDS, &x, &plain, &FORMS[..1]);
}

/// The plans of a layout: exponentials by spline and by table, each in fewer rounds too.
fn plans(layout: &RowLayout, modes: SufModes) -> Vec<SecureSoftmaxPlan> {
    let logits = SignedRange::new(-(1 << 20), 1 << 20).unwrap();
    let plans =
        [SecureSoftmaxPlan::new, SecureSoftmaxPlan::by_table].map(|new| new(layout.clone(), logits, modes).unwrap());
    plans.into_iter().flat_map(|plan| [plan.clone().in_fewer_rounds().unwrap(), plan]).collect()
}

/// Logits between -8 and 8.
fn logits(count: usize) -> Vec<i64> {
    let mut rng = fastrand::Rng::with_seed(3);
    (0..count).map(|_| rng.i64(-8 * 4096..8 * 4096)).collect()
}

/// Checks the softmax of a layout by each of `plans`.
fn check_softmax(q: &AnyQueue, plans: &[SecureSoftmaxPlan], forms: &[[Form; 2]]) {
    for plan in plans {
        let x = logits(plan.layout().active());
        check(q, Function::Softmax(plan), WORDS, &x, &plan.eval(&x).unwrap(), forms);
    }
}

#[test]
fn softmax_of_rows_of_every_kind_of_length_gives_the_words_of_shares_in_host_memory() {
    let (sim, host) = (Sim::new(""), cpu(None));
    let device = sim.queue(None);
    let every_kind = RowLayout::ragged(33, &[0, 1, 2, 3, 7, 33, 0]).unwrap();
    let all = plans(&every_kind, SufModes::default());
    check_softmax(&host, &all, &FORMS);
    check_softmax(&device, &all[2..3], &FORMS[..1]);
    // No elements, a row of one, rows of one length, even or odd in each round, and rows of even lengths.
    for (at, lengths) in [&[0, 0][..], &[1], &[4; 4], &[6; 2], &[5; 3], &[1; 3], &[2, 4], &[0, 8, 8]].iter().enumerate()
    {
        let all = plans(&RowLayout::ragged(8, lengths).unwrap(), SufModes::default());
        check_softmax(&host, &all, &FORMS);
        check_softmax(&device, &all[at % 4..][..1], &FORMS[..1]);
    }
    // each plan, and both mixed forms
    for (at, plan) in plans(&RowLayout::causal(4, 4, 0), SufModes::default()).into_iter().enumerate() {
        check_softmax(&host, core::slice::from_ref(&plan), &FORMS);
        check_softmax(&device, &[plan], &FORMS[at % 3..][..1]);
    }
}

/// Distances take fewer bits than the ring of the shares, and more than the product of a table.
#[test]
fn softmax_takes_shares_in_a_ring_that_holds_distances() {
    let (layout, x) = (RowLayout::ragged(5, &[5, 1, 4]).unwrap(), logits(10));
    for (bits, most) in [(33, 20), (46, 43)] {
        let range = SignedRange::new(-(1 << most), 1 << most).unwrap();
        let plan = SecureSoftmaxPlan::by_table(layout.clone(), range, SufModes::default()).unwrap();
        let ring = Ring::new(bits).unwrap();
        assert_eq!(plan.deals()[0].0.ring(), ring);
        check(&cpu(None), Function::Softmax(&plan), ring, &x, &plan.eval(&x).unwrap(), &FORMS);
    }
}

#[test]
fn shares_that_do_not_fit_a_function_are_refused_before_a_bundle_is_read() {
    let q = cpu(None);
    let shares = |party, bits, len| DeviceShares::upload(&q, party, Ring::new(bits).unwrap(), &vec![1; len]).unwrap();
    let spline = gelu(Accuracy::CUBIC_16).unwrap();
    let hidden = SufModes { coeffs: CoeffMode::StepDcf, ..SufModes::default() };
    let [splines, off_device] = [SufModes::default(), hidden].map(|modes| spline.gates(modes).unwrap());
    let tables = TableFn::gelu(12).unwrap().gates().unwrap();
    let layout = RowLayout::ragged(4, &[2, 3]).unwrap();
    let [by_spline, by_table] = [1, 3].map(|at| plans(&layout, SufModes::default()).remove(at));
    let thresholds = SufModes { preds: PredProgram::StepDcf, ..SufModes::default() };
    let [pieces, thresholds] = [hidden, thresholds].map(|modes| plans(&layout, modes).remove(3));
    let wrong_party = PfssError::WrongParty { expected: Party::Zero, got: Party::One };
    let length = PfssError::Length { what: "active elements", expected: 5, got: 4 };
    let (mut session, _peer) = session();
    for (function, x, expected) in [
        (Function::Spline(&splines), shares(Party::One, 64, 5), wrong_party.clone()),
        (Function::Spline(&splines), shares(Party::Zero, 63, 5), PfssError::WiderRing { most: 63, got: 64 }),
        (
            Function::Spline(&off_device),
            shares(Party::Zero, 64, 5),
            PfssError::NotOnDevice { got: "a descriptor with hidden pieces" },
        ),
        (Function::Table(&tables), shares(Party::One, 64, 5), wrong_party.clone()),
        (Function::Table(&tables), shares(Party::Zero, 32, 5), PfssError::WiderRing { most: 32, got: 33 }),
        (Function::Softmax(&by_spline), shares(Party::One, 64, 5), wrong_party),
        (Function::Softmax(&by_spline), shares(Party::Zero, 63, 5), PfssError::WiderRing { most: 63, got: 64 }),
        (Function::Softmax(&by_table), shares(Party::Zero, 32, 5), PfssError::WiderRing { most: 32, got: 33 }),
        (Function::Softmax(&by_table), shares(Party::Zero, 64, 4), length),
        (
            Function::Softmax(&pieces),
            shares(Party::Zero, 64, 5),
            PfssError::NotOnDevice { got: "a descriptor with hidden pieces" },
        ),
        (
            Function::Softmax(&thresholds),
            shares(Party::Zero, 64, 5),
            PfssError::NotOnDevice { got: "a descriptor with hidden thresholds" },
        ),
    ] {
        let next = || -> Result<KeyBundle, PfssError> { panic!("{function:?} reads a bundle") };
        assert_eq!(function.on_device(&mut session, next, &x).unwrap_err(), expected, "{function:?}");
    }
    assert_eq!(session.traffic(), Traffic::default());
}

#[test]
fn keys_of_other_gates_counts_or_parties_are_refused_before_they_are_spent() {
    let q = cpu(None);
    let x = DeviceShares::upload(&q, Party::Zero, WORDS, &[1, 2, 3, 4, 5]).unwrap();
    let splines = gelu(Accuracy::CUBIC_16).unwrap().gates(SufModes::default()).unwrap();
    let tables = TableFn::gelu(12).unwrap().gates().unwrap();
    let layout = RowLayout::ragged(4, &[2, 3]).unwrap();
    let all = plans(&layout, SufModes::default());
    let (mut session, _peer) = session();
    let functions = [Function::Spline(&splines), Function::Table(&tables)];
    for function in functions.into_iter().chain(all.iter().map(Function::Softmax)) {
        // read from bytes, so that a process refuses them once they are spent
        let read = |keys: &KeyBundle| KeyBundle::from_bytes(&keys.to_bytes()).unwrap();
        let dealt = function.deal(Dealer::from_os().unwrap(), &q, 5);
        let [zero, one] = dealt.map(|bundles| bundles.iter().map(read).collect::<Vec<_>>());
        let again = |bundles: &[KeyBundle]| in_turn(bundles.iter().map(read).collect());
        let backwards: Vec<KeyBundle> = zero.iter().rev().map(read).collect();
        let refused = function.on_device(&mut session, again(&backwards), &x).unwrap_err();
        assert_eq!(refused, PfssError::Program, "{function:?}");
        let refused = function.on_device(&mut session, again(&one), &x).unwrap_err();
        assert_eq!(refused, PfssError::WrongParty { expected: Party::Zero, got: Party::One }, "{function:?}");
        if let Function::Spline(_) | Function::Table(_) = function {
            let few = DeviceShares::upload(&q, Party::Zero, WORDS, &[1, 2]).unwrap();
            let refused = function.on_device(&mut session, again(&zero), &few).unwrap_err();
            assert_eq!(refused, PfssError::Length { what: "elements", expected: 5, got: 2 }, "{function:?}");
        }
        assert_eq!(session.traffic(), Traffic::default());
        expect_unspent(zero[0].nonce(), |session| function.on_device(session, again(&zero), &x));
    }
}

/// The look-ups' keys are spent together, before both masked inputs are sent.
#[test]
fn both_look_ups_are_checked_before_either_is_spent() {
    let q = cpu(None);
    let gates = TableFn::gelu(12).unwrap().gates().unwrap();
    let deal = || Dealer::insecure_from_seed(5).deal_table_function(&q, &gates, 3).unwrap().map(Vec::from);
    let others = both(deal(), |mut session, party, mut bundles: Vec<KeyBundle>| {
        // the peer's keys of the slopes
        bundles[3] = deal().into_iter().nth(1 - party).unwrap().remove(3);
        let x = DeviceShares::upload(&q, session.party(), WORDS, &[1, 2, 3]).unwrap();
        let refused = session.table_function_on_device_from(&gates, in_turn(bundles), &x).unwrap_err();
        (refused, session.traffic().rounds)
    });
    let rounds = gates.gates()[..2].iter().map(|gate| gate.cost().rounds).sum();
    let [zero, one] = Party::BOTH;
    let wrong = |expected, got| (PfssError::WrongParty { expected, got }, rounds);
    assert_eq!(others, [wrong(zero, one), wrong(one, zero)]);
    // the host's form takes bundles in the order of the gates
    let [bundles, _] = deal();
    assert!(TableBundles::try_from(bundles).is_ok());
}
