//! Key bundles: one encoding each, and an accepted bundle can be evaluated.

use pfss::{GateKind, Interval, KeyBundle, Predicate, SignedRange};

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
    let x_hat = vec![u64::MAX; keys.count()];
    let evaluated = match keys.gate().kind() {
        GateKind::FullPredicates => keys.eval_predicates_additive(q, &vec![Predicate::Wrap; masks], &x_hat).err(),
        GateKind::SignPredicates => keys.eval_predicates_additive(q, &vec![Predicate::Borrow; masks], &x_hat).err(),
        GateKind::LowPredicates => keys.eval_predicates_additive(q, &vec![Predicate::Carry; masks], &x_hat).err(),
        GateKind::Relu => keys.eval_relu_within(q, SignedRange::of_bits(2), &x_hat).err(),
        GateKind::Suf => keys.eval_suf(q, &x_hat).err(),
        GateKind::Lut => {
            let table = vec![1; 1 << n];
            keys.eval_lut(q, &table, &x_hat).err()
        }
        GateKind::Product => keys.eval_product(&[&x_hat[..], &x_hat].concat()).err(),
        GateKind::Lrs => keys.eval_lrs(q, &x_hat).err(),
        GateKind::Ars => keys.eval_ars(q, &x_hat).err(),
        GateKind::ReluArs => keys.eval_relu_ars(q, &x_hat).err(),
        GateKind::TruncateReduce => keys.eval_truncate_reduce(q, &x_hat).err(),
        GateKind::GapArs => {
            let Ok(cert) = SignedRange::new(-1, 1).and_then(|range| range.gap_cert(n)) else {
                unreachable!("every ring of this gate has -1 to 1 in its gap")
            };
            keys.eval_gap_ars(q, &cert, &x_hat).err()
        }
        _ => keys.eval_interval_powers(q, &[Interval { start: 1, end: None }], &x_hat).err(),
    };
    assert_eq!(evaluated, None, "an accepted bundle cannot be evaluated");
}
