//! The bytes of bundles in which a seed takes the place of party 0's uniform shares.

use pfss::{
    AutoTrunc, Dealer, Gate, KeyBundle, Party, SignedRange, Task,
    functions::{Accuracy, gelu},
    run_lockstep,
    suf::SufModes,
};

use crate::common::{WORDS, open, share, words};

/// GeLU with 32 quadratic pieces: its descriptor and its shift.
fn gelu_gates() -> [Gate; 2] {
    let gates = gelu(Accuracy::QUADRATIC_32).unwrap().gates(SufModes::default()).unwrap();
    let AutoTrunc::Gap { gate, .. } = gates.shift else { panic!("values are proven to lie within the gap") };
    [gates.suf, gate]
}

#[test]
fn bundles_have_the_bytes_that_their_gate_states_for_each_party() {
    let q = runtime::cpu().unwrap();
    let mut gates = vec![
        Gate::full_predicates(9).unwrap().with_masks(2).unwrap(),
        Gate::relu(10).unwrap(),
        Gate::gap_ars(64, 12).unwrap(),
        Gate::gap_ars(64, 12).and_then(Gate::in_one_round).unwrap(),
        Gate::ars(12, 3).unwrap(),
        Gate::relu_ars(10, 3).unwrap().with_masked_outputs().unwrap(),
        Gate::interval_powers(5, 2).unwrap(),
        Gate::lut(8, 40).unwrap(),
        Gate::lut(3, 40).unwrap(),
        Gate::product(64).unwrap(),
        Gate::low_predicates(12, 3).unwrap().with_masks(31).unwrap(),
    ];
    gates.extend(gelu_gates());
    for gate in gates {
        // the rows of 2048 elements fill multiples of 256 bytes, so that nothing else depends on the count
        let [less, more] = [2048, 4096].map(|count| {
            let bundles = Dealer::insecure_from_seed(9).deal(&q, &gate, count).unwrap();
            bundles.map(|bundle| {
                assert_eq!(bundle.byte_len(), bundle.to_bytes().len());
                bundle.byte_len() as u64
            })
        });
        for party in Party::BOTH {
            let bytes = more[party.index()] - less[party.index()];
            assert_eq!(8 * bytes, 2048 * gate.key_bits_of(party), "{} of {party}", gate.kind());
        }
        assert_eq!(gate.key_bits_of(Party::One), gate.key_bits_per_element());
    }
}

/// The figures of the documents.
#[test]
fn a_gelu_takes_party_0_less_than_half_the_bytes_of_party_1() {
    let bytes = Party::BOTH.map(|party| gelu_gates().map(|gate| gate.key_bits_of(party) / 8));
    assert_eq!(bytes, [[304, 320], [1132, 368]]);
    let [zero, one] = bytes.map(|[suf, shift]| suf + shift);
    let grouped = format!("{},{:03}", one / 1000, one % 1000);
    let sentence = format!("{zero} of {grouped} bytes of a GeLU");
    assert!(include_str!("../../../docs/pfss.md").contains(&sentence), "{sentence}");
}

#[test]
fn a_party_with_a_seed_and_a_party_without_compute_together() {
    let q = runtime::cpu().unwrap();
    let range = SignedRange::new(-(1 << 40), 1 << 40).unwrap();
    let (gate, task) = (Gate::gap_ars(64, 12).unwrap(), Task::GapArs(range.gap_cert(64).unwrap()));
    let bundles = Dealer::from_os().unwrap().deal(&q, &gate, 40).unwrap();
    let bytes = bundles.each_ref().map(KeyBundle::to_bytes);
    assert_eq!(bytes.each_ref().map(|bytes| bytes[4]), [2, 1]);
    let x: Vec<i64> = words(40, 3).into_iter().map(|word| word as i64 >> 24).collect();
    let [mine, theirs] = share(WORDS, &x);
    let keys = bytes.map(|bytes| KeyBundle::from_bytes(&bytes).unwrap());
    let [zero, one] = run_lockstep(&q, task, keys, [&mine, &theirs]).unwrap();
    let got = open(WORDS, [&zero.words, &one.words]);
    assert!(got.into_iter().eq(x.iter().map(|x| x >> 12)));
}
