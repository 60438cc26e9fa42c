//! The committed bundles of `tests/golden`, written by an independent implementation, `tests/reference/bundles.py`.
//!
//! The folder has bundles of version 1, as release 0.1.0 dealt them; its folder `seeded` has them as they are dealt now.

use std::{collections::BTreeMap, fs, path::PathBuf};

use pfss::{
    Dealer, Gate, GateKind, Interval, KeyBundle, MatrixShape, MatrixTriple, Predicate, Ring, SignedRange,
    suf::{BoolMode, CoeffMode, Pred, PredProgram, SufModes},
};
use runtime::AnyQueue;

use crate::{
    backends::play::{Questions, Turn},
    common::{
        add, both, descriptor,
        queues::{Sim, cpu},
        suf_gate, two_bits,
    },
};

/// The seed of the first bundle; each has the next.
const FIRST_SEED: u64 = 1000;

/// Name, width of the ring and seed of each triple of matrices.
const TRIPLES: [(&str, u32, u64); 2] = [("matrix", 64, 1019), ("matrix_43", 43, 1020)];
const SHAPE: MatrixShape = MatrixShape { batch: 2, rows: 1, inner: 3, cols: 2 };

/// Two pieces, the top bit of `x + 5`, and its conjunction with a bit of the low three bits.
fn suf(n: u32, polys: [&[u64]; 2], modes: SufModes) -> Gate {
    let preds = [Pred::MsbAdd { c: 5 }, Pred::LtLow { f: 3, gamma: 5 }];
    let pieces = [(0, &polys[..1]), (3 << (n - 3), &polys[1..])];
    suf_gate(descriptor(n, &preds, &two_bits(), &pieces), modes)
}

/// Name, gate and number of elements of each bundle, in the order of their seeds.
fn cases() -> Vec<(&'static str, Gate, usize)> {
    let modes = |preds, coeffs, bools| SufModes { preds, coeffs, bools };
    let select = modes(PredProgram::SharedAlpha, CoeffMode::MaskedSelect, BoolMode::Additive);
    let payload = modes(PredProgram::SharedAlpha, CoeffMode::IntervalLut, BoolMode::XorPacked);
    let hidden = modes(PredProgram::StepDcf, CoeffMode::StepDcf, BoolMode::Additive);
    let one_round = Gate::gap_ars(64, 9).and_then(Gate::in_one_round).unwrap();
    let (lines, parabolas): ([&[u64]; 2], [&[u64]; 2]) = ([&[1, 2], &[3]], [&[1, 2, 3], &[4, 5]]);
    vec![
        ("full_predicates", Gate::full_predicates(9).unwrap().with_masks(2).unwrap(), 3),
        ("sign_predicates", Gate::sign_predicates(10).unwrap().with_masks(2).unwrap(), 3),
        ("low_predicates", Gate::low_predicates(64, 3).unwrap().with_masks(2).unwrap(), 33),
        ("relu", Gate::relu(10).unwrap(), 3),
        ("relu_within", Gate::relu_within(64, 6).unwrap(), 3),
        ("truncate_reduce", Gate::truncate_reduce(16, 9).unwrap(), 3),
        ("gap_ars", Gate::gap_ars(64, 9).unwrap(), 3),
        ("interval_powers", Gate::interval_powers(5, 2).unwrap(), 3),
        ("lrs", Gate::lrs(10, 8).unwrap(), 3),
        ("ars", Gate::ars(10, 8).unwrap(), 3),
        ("relu_ars", Gate::relu_ars(10, 3).unwrap(), 3),
        ("suf_select", suf(9, parabolas, select), 3),
        ("suf_payload", suf(6, parabolas, payload), 3),
        ("suf_hidden", suf(6, lines, hidden), 3),
        ("lut", Gate::lut(8, 40).unwrap(), 3),
        ("product", Gate::product(64).unwrap(), 3),
        ("relu_masked", Gate::relu(10).unwrap().with_masked_outputs().unwrap(), 3),
        ("truncate_masked", Gate::truncate_reduce(16, 9).unwrap().with_masked_outputs().unwrap(), 3),
        ("suf_masked", suf(9, parabolas, select).with_masked_outputs().unwrap(), 3),
        ("gap_ars_widened", Gate::gap_ars_to(43, 9, 64).unwrap(), 3),
        ("gap_ars_one_round", Gate::gap_ars_to(43, 9, 64).and_then(Gate::in_one_round).unwrap(), 3),
        ("gap_ars_one_round_masked", one_round.with_masked_outputs().unwrap(), 3),
    ]
}

/// The questions for the bundle of this gate.
fn questions(gate: &Gate) -> Questions {
    Questions {
        predicates: match gate.kind() {
            GateKind::FullPredicates => {
                vec![Predicate::Lt { beta: 300 }, Predicate::Interval(Interval { start: 5, end: Some(400) })]
            }
            GateKind::SignPredicates => vec![Predicate::NonNegative, Predicate::Msb { c: 5 }],
            GateKind::LowPredicates => vec![Predicate::LowLt { gamma: 5 }, Predicate::Carry],
            _ => vec![],
        },
        intervals: vec![Interval { start: 3, end: Some(20) }, Interval { start: 20, end: None }],
        table: (0..256).map(|i| i * i * 99).collect(),
        range: SignedRange::of_bits(if gate.f() > 0 { gate.f() } else { gate.n() }),
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn committed(file: &str) -> Vec<u8> {
    fs::read(folder().join(file)).unwrap()
}

/// The words of a folder's `shares.txt` by name of the bundle and of the row.
fn shares(folder: &str) -> BTreeMap<(String, String), Vec<u64>> {
    let text = String::from_utf8(committed(&format!("{folder}shares.txt"))).unwrap();
    let row = |line: &str| {
        let mut fields = line.split(' ').map(str::to_owned);
        let key = (fields.next().unwrap(), fields.next().unwrap());
        (key, fields.map(|word| u64::from_str_radix(&word, 16).unwrap()).collect())
    };
    text.lines().map(row).collect()
}

/// Compares two byte strings; the message names the first difference instead of showing both.
fn assert_same(got: &[u8], expected: &[u8], file: &str) {
    let at = got.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!((at, got.len()), (None, expected.len()), "{file}: first different byte and length");
}

#[test]
fn the_dealer_writes_the_committed_bundles_byte_for_byte() {
    let machine = Sim::new("");
    for q in [cpu(None), machine.queue(None)] {
        let cases = cases();
        for (seed, (name, gate, count)) in (FIRST_SEED..).zip(&cases) {
            let dealt = Dealer::insecure_from_seed(seed).deal(&q, gate, *count).unwrap();
            for (party, bundle) in dealt.iter().enumerate() {
                let file = format!("seeded/{name}.{party}.pfk");
                assert_same(&bundle.to_bytes(), &committed(&file), &file);
            }
        }
        let kinds = (1..=u8::MAX).filter_map(GateKind::from_number);
        for kind in kinds {
            assert!(cases.iter().any(|(_, gate, _)| gate.kind() == kind), "no golden bundle of {kind}");
        }
        for (name, bits, seed) in TRIPLES {
            let dealt = Dealer::insecure_from_seed(seed).deal_matrix(&q, Ring::new(bits).unwrap(), SHAPE).unwrap();
            for (party, triple) in dealt.iter().enumerate() {
                let file = format!("seeded/{name}.{party}.pfm");
                assert_same(&triple.to_bytes(), &committed(&file), &file);
            }
        }
        // two for each case and each triple, and the shares
        let files = 2 * (cases.len() + TRIPLES.len()) + 1;
        assert_eq!(fs::read_dir(folder().join("seeded")).unwrap().count(), files, "bundles without a case");
        assert_eq!(fs::read_dir(folder()).unwrap().count(), files + 1, "bundles without a case");
    }
}

#[test]
fn the_committed_bundles_of_both_versions_are_read_and_written_alike() {
    let versions = |file: &str| {
        let bytes = committed(file);
        let again = if file.ends_with(".pfk") {
            KeyBundle::from_bytes(&bytes).unwrap().to_bytes()
        } else {
            MatrixTriple::from_bytes(&bytes).unwrap().to_bytes()
        };
        assert_same(&again, &bytes, file);
        u16::from_le_bytes([bytes[4], bytes[5]])
    };
    for (name, gate, _) in cases() {
        let seeded = if gate.kind() == GateKind::Product { 1 } else { 2 };
        for (folder, expected) in [("", [1, 1]), ("seeded/", [seeded, 1])] {
            assert_eq!(
                [0, 1].map(|party| versions(&format!("{folder}{name}.{party}.pfk"))),
                expected,
                "{folder}{name}"
            );
        }
    }
    for (folder, expected) in [("", [1, 1]), ("seeded/", [2, 2])] {
        for (name, ..) in TRIPLES {
            let file = |party: usize| format!("{folder}{name}.{party}.pfm");
            assert_eq!([0, 1].map(|party| versions(&file(party))), expected, "{folder}{name}");
        }
    }
}

/// Triples of version 1, whose shares are all in their bytes; of later ones the dealer's are multiplied elsewhere.
#[test]
fn committed_triples_of_version_1_multiply() {
    let (x, y): (Vec<u64>, Vec<u64>) = ((1..=6).collect(), (1..=12).map(|word: u64| word << 40).collect());
    let zeros = [x.len(), y.len()].map(|len| vec![0; len]);
    let expected = [1 + 2 * 3 + 3 * 5, 2 + 2 * 4 + 3 * 6, 4 * 7 + 5 * 9 + 6 * 11, 4 * 8 + 5 * 10 + 6 * 12];
    for (name, bits, _) in TRIPLES {
        let read = |party: usize| MatrixTriple::from_bytes(&committed(&format!("{name}.{party}.pfm"))).unwrap();
        let (triples, ring) = ([0, 1].map(read), Ring::new(bits).unwrap());
        assert_eq!((triples[0].shape(), triples[0].ring()), (SHAPE, ring));
        let [zero, one] = both(triples, |mut session, party, triple| {
            let factors = if party == 0 { [&x[..], &zeros[1]] } else { [&zeros[0][..], &y] };
            session.matmul(&cpu(None), triple, factors).unwrap()
        });
        assert_eq!(add(ring, [&zero, &one]), expected.map(|word: u64| ring.reduce(word << 40)), "{bits} bits");
    }
}

/// Both parties' messages and shares, from committed keys; `name` includes the folder.
fn play(q: &AnyQueue, name: &str, gate: &Gate, x_hat: &[u64]) -> [(Vec<u64>, Vec<u64>); 2] {
    let start = |party: usize| {
        let bundle = KeyBundle::from_bytes(&committed(&format!("{name}.{party}.pfk"))).unwrap().insecure_reusable();
        assert_eq!(bundle.gate(), gate, "{name}");
        questions(gate).start(q, bundle, x_hat)
    };
    let (mut turns, mut opened): ([Turn; 2], [Vec<u64>; 2]) = ([start(0), start(1)], Default::default());
    while let (Some(zero), Some(one)) = (turns[0].opening(), turns[1].opening()) {
        for (opened, (bits, words)) in opened.iter_mut().zip([&zero, &one]) {
            opened.extend(bits.iter().map(|&bits| u64::from(bits)).chain(words.iter().copied()));
        }
        let [first, second] = turns;
        turns = [first.absorb(q, &one.0, &one.1), second.absorb(q, &zero.0, &zero.1)];
    }
    let ([zero, one], [first, second]) = (opened, turns);
    [(zero, first.into_shares()), (one, second.into_shares())]
}

#[test]
fn the_committed_bundles_give_the_messages_and_shares_written_beside_them() {
    let machine = Sim::new("");
    for folder in ["", "seeded/"] {
        let rows = shares(folder);
        let row = |name: &str, what: &str| &rows[&(name.to_owned(), what.to_owned())];
        for q in [cpu(None), machine.queue(None)] {
            for (name, gate, _) in cases() {
                let played = play(&q, &format!("{folder}{name}"), &gate, row(name, "x_hat"));
                for (party, (opened, shares)) in played.iter().enumerate() {
                    let of = format!("{folder}{name}, party {party}");
                    assert_eq!(opened, row(name, &format!("opens{party}")), "messages of {of}");
                    assert_eq!(shares, row(name, &format!("shares{party}")), "shares of {of}");
                }
            }
        }
    }
}
