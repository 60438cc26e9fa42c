//! Key bundles: one encoding each, and an accepted bundle can be evaluated.

use pfss::{GateKind, Interval, KeyBundle, Predicate, SignedRange, Task};

use crate::queue::QUEUE;

const HEADER_BYTES: usize = 128;
const DIGEST_AT: usize = 96;

/// Checks one input.
pub fn check_input(data: &[u8]) {
    check(data);
    // With a right digest the fuzzer gets past it, as an attacker does.
    if data.len() >= HEADER_BYTES {
        let mut sealed = data.to_vec();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&sealed[..DIGEST_AT]);
        hasher.update(&sealed[HEADER_BYTES..]);
        sealed[DIGEST_AT..HEADER_BYTES].copy_from_slice(hasher.finalize().as_bytes());
        check(&sealed);
    }
}

fn check(data: &[u8]) {
    let Ok(bundle) = KeyBundle::from_bytes(data) else { return };
    assert_eq!(bundle.to_bytes()[..], *data, "two encodings of one bundle");
    let q = &*QUEUE;
    let Ok(keys) = bundle.insecure_reusable().with_open_inputs() else {
        unreachable!("a bundle that may be used again")
    };
    let (n, masks) = (keys.gate().n(), keys.gate().masks() as usize);
    let predicates: Vec<Predicate>;
    let table: Vec<u64>;
    let task = match keys.gate().kind() {
        kind @ (GateKind::FullPredicates | GateKind::SignPredicates | GateKind::LowPredicates) => {
            let predicate = match kind {
                GateKind::FullPredicates => Predicate::Wrap,
                GateKind::SignPredicates => Predicate::Borrow,
                _ => Predicate::Carry,
            };
            predicates = vec![predicate; masks];
            Task::Predicates(&predicates)
        }
        GateKind::Relu => Task::ReluWithin(SignedRange::of_bits(2)),
        GateKind::Suf => Task::Suf,
        GateKind::Lut => {
            table = vec![1; 1 << n];
            Task::Lut(&table)
        }
        GateKind::Product => Task::Product,
        GateKind::Lrs => Task::Lrs,
        GateKind::Ars => Task::Ars,
        GateKind::ReluArs => Task::ReluArs,
        GateKind::TruncateReduce => Task::TruncateReduce,
        GateKind::GapArs => {
            let Ok(cert) = SignedRange::new(-1, 1).and_then(|range| range.gap_cert(n)) else {
                unreachable!("every ring of this gate has -1 to 1 in its gap")
            };
            Task::GapArs(cert)
        }
        _ => Task::IntervalPowers(&[Interval { start: 1, end: None }]),
    };
    let inputs = if let Task::Product = task { 2 * keys.count() } else { keys.count() };
    let evaluated = keys.eval(q, task, &vec![u64::MAX; inputs]).err();
    assert_eq!(evaluated, None, "an accepted bundle cannot be evaluated");
}
