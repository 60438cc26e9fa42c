//! Products of secret matrices against scalar products, with triples and with weights that are opened once.

use std::time::Duration;

use crate::common::{
    WORDS, add, both,
    queues::{Sim, cpu},
    words,
};
use backend_api::{Fork as _, Queue as _};
use cuda_sim::driver::Counters;
use pfss::{
    BundleError, Channel as _, ChannelError, Dealer, MatrixShape, MatrixTriple, OpenedWeights, Party, PfssError, Ring,
    Session, WeightKey, WeightMask, WeightShape, WeightTriple, memory_pair,
};
use runtime::AnyQueue;

/// Widths of rings in which matrices are multiplied.
const RINGS: [u32; 5] = [1, 13, 43, 63, 64];

/// Products of matrices, one scalar product after the other.
fn scalar_products(MatrixShape { batch, rows, inner, cols }: MatrixShape, x: &[u64], y: &[u64]) -> Vec<u64> {
    let mut out = Vec::new();
    for b in 0..batch {
        for i in 0..rows {
            for j in 0..cols {
                let term =
                    |k: usize| u128::from(x[(b * rows + i) * inner + k]) * u128::from(y[(b * inner + k) * cols + j]);
                out.push((0..inner).fold(0u128, |sum, k| sum.wrapping_add(term(k))) as u64);
            }
        }
    }
    out
}

#[test]
fn products_of_matrices_are_exact_and_send_what_their_shape_says() {
    let q = runtime::cpu().unwrap();
    let small = [(1, 1, 1, 1), (1, 3, 4, 2), (3, 2, 1, 5), (2, 3, 4, 5), (2, 0, 3, 2), (0, 1, 1, 1), (2, 2, 0, 2)];
    let shapes = small.into_iter().chain([(1, 65, 130, 67)]);
    let all = RINGS.into_iter().flat_map(|bits| shapes.clone().map(move |shape| (bits, shape)));
    for (bits, (batch, rows, inner, cols)) in all {
        let (ring, shape) = (Ring::new(bits).unwrap(), MatrixShape { batch, rows, inner, cols });
        let [left, right, _] = shape.lens();
        // bits above the ring are ignored
        let shares = [[words(left, 1), words(right, 2)], [words(left, 3), vec![0; right]]];
        let [x, y] = [0, 1].map(|factor| add(WORDS, [&shares[0][factor], &shares[1][factor]]));
        let triples = Dealer::insecure_from_seed(8).deal_matrix(&q, ring, shape).unwrap();
        let products = both(triples, |mut session, party, triple| {
            let [x, y] = &shares[party];
            let product = session.matmul(&runtime::cpu().unwrap(), triple, [x, y]).unwrap();
            assert_eq!((session.traffic().sent_bytes, session.traffic().rounds), shape.traffic(ring));
            product
        });
        assert_eq!(shape.traffic(ring).0, ((left + right) as u64 * u64::from(bits)).div_ceil(8) + 16);
        expect_products(ring, &products, &scalar_products(shape, &x, &y));
    }
    let shape = MatrixShape { batch: 1, rows: 1, inner: 2, cols: 1 };
    assert_eq!(shape.traffic(WORDS), (8 * 4 + 16, 1));
    let triples = Dealer::insecure_from_seed(8).deal_matrix(&q, WORDS, shape).unwrap();
    let revealed = both(triples, |mut session, _, triple| {
        let product = session.matmul(&runtime::cpu().unwrap(), triple, [&[1, 2], &[3, 4]]).unwrap();
        session.reveal(&runtime::cpu().unwrap(), WORDS, Party::Zero, &product).unwrap()
    });
    assert_eq!(revealed, [Some(vec![2 * 6 + 4 * 8]), None]);
    // In a ring of one byte an element takes one byte.
    let ring = Ring::new(8).unwrap();
    let triples = Dealer::insecure_from_seed(8).deal_matrix(&q, ring, shape).unwrap();
    let revealed = both(triples, |mut session, _, triple| {
        let product = session.matmul(&runtime::cpu().unwrap(), triple, [&[1, 20], &[3, 4]]).unwrap();
        let before = session.traffic().sent_bytes;
        let words = session.reveal(&runtime::cpu().unwrap(), ring, Party::One, &product).unwrap();
        (words, session.traffic().sent_bytes - before)
    });
    assert_eq!(revealed, [(None, 16 + 1), (Some(vec![(2 * 6 + 40 * 8) % 256]), 16)]);
}

/// Compares reduced shares of products with the products modulo `2^64`.
fn expect_products(ring: Ring, shares: &[Vec<u64>; 2], products: &[u64]) {
    assert!(shares.iter().flatten().all(|&word| word <= ring.mask()), "{} bits", ring.bits());
    let expected: Vec<u64> = products.iter().map(|&word| ring.reduce(word)).collect();
    assert_eq!(add(ring, [&shares[0], &shares[1]]), expected, "{} bits", ring.bits());
}

#[test]
fn a_matrix_triple_is_refused_for_other_shapes_to_the_other_party_and_twice() {
    let shape = MatrixShape { batch: 1, rows: 1, inner: 2, cols: 1 };
    let q = runtime::cpu().unwrap();
    let triples = Dealer::from_os().unwrap().deal_matrix(&q, WORDS, shape).unwrap();
    let bytes = triples.each_ref().map(MatrixTriple::to_bytes);
    let read = |party: usize| MatrixTriple::from_bytes(&bytes[party]).unwrap();
    let (to_one, to_zero) = memory_pair(Duration::from_secs(20));
    let mut session = Session::new(to_one);
    let refused = session.matmul(&q, read(0), [&[1, 2], &[3]]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements of a factor", expected: 2, got: 1 });
    let refused = session.matmul(&q, read(1), [&[1, 2], &[3, 4]]).unwrap_err();
    assert_eq!(refused, PfssError::WrongParty { expected: Party::Zero, got: Party::One });
    let one = read(1);
    let other = std::thread::spawn(move || {
        let q = runtime::cpu().unwrap();
        Session::new(to_zero).matmul(&q, one, [&[0, 0], &[0, 0]]).map(drop)
    });
    let nonce = read(0).nonce();
    session.matmul(&q, read(0), [&[1, 2], &[3, 4]]).unwrap();
    other.join().unwrap().unwrap();
    assert_eq!(session.matmul(&q, read(0), [&[1, 2], &[3, 4]]), Err(PfssError::ReusedBundle { nonce }));
    let huge = MatrixShape { rows: usize::MAX, ..shape };
    let refused = Dealer::insecure_from_seed(1).deal_matrix(&q, WORDS, huge).unwrap_err();
    assert!(matches!(refused, PfssError::Bundle(BundleError::Overflow { .. })));
}

#[test]
fn products_by_opened_weights_are_exact_and_open_the_first_factor_alone() {
    let q = runtime::cpu().unwrap();
    let shapes = [
        (1, 1, [1, 1, 1]),
        (4, 2, [3, 1, 2]),
        (3, 5, [2, 0, 7]),
        (0, 2, [2, 1, 0]),
        (2, 0, [1, 3, 0]),
        (9, 8, [5, 1, 6]),
        (4, 5, [3, 1, 2]),
        (130, 67, [65, 1, 2]),
    ];
    for (bits, (inner, cols, rows)) in RINGS.into_iter().flat_map(|bits| shapes.map(|shape| (bits, shape))) {
        let (ring, shape) = (Ring::new(bits).unwrap(), WeightShape { inner, cols });
        let mut dealer = Dealer::insecure_from_seed(8);
        let ([zero, one], mask) = dealer.deal_weights(ring, shape).unwrap();
        let mut triples: [Vec<WeightTriple>; 2] = Default::default();
        for rows in rows {
            let dealt = dealer.deal_weight_triple(&q, &mask, rows).unwrap();
            triples.iter_mut().zip(dealt).for_each(|(triples, triple)| triples.push(triple));
        }
        let [triples_zero, triples_one] = triples;
        let y = [words(inner * cols, 1), words(inner * cols, 2)];
        let x = [3, 4].map(|seed| rows.map(|rows| words(rows * inner, seed)));
        let products = both([(zero, triples_zero), (one, triples_one)], |mut session, party, (key, triples)| {
            let mut traffic = session.traffic();
            let mut since = |session: &Session<_>| {
                let before = std::mem::replace(&mut traffic, session.traffic());
                (traffic.sent_bytes - before.sent_bytes, traffic.rounds - before.rounds)
            };
            let weights = session.open_weights(&q, key, &y[party]).unwrap();
            assert_eq!(since(&session), shape.traffic(ring));
            let mut products = Vec::new();
            for ((triple, x), rows) in triples.into_iter().zip(&x[party]).zip(rows) {
                products.extend(session.matmul_weights(&q, triple, x, &weights).unwrap());
                assert_eq!(since(&session), shape.product_traffic(ring, rows));
            }
            products
        });
        let y = add(WORDS, [&y[0], &y[1]]);
        let expected =
            [0, 1, 2].map(|run| scalar_products(shape.product(rows[run]), &add(WORDS, [&x[0][run], &x[1][run]]), &y));
        expect_products(ring, &products, &expected.concat());
    }
    let shape = WeightShape { inner: 3, cols: 2 };
    assert_eq!((shape.traffic(WORDS), shape.product_traffic(WORDS, 5)), ((8 * 6 + 16, 1), (8 * 15 + 16, 1)));
}

/// Compares each party's shares from a device with its shares from the processor, and counts the bytes copied there.
///
/// `run` computes both parties' shares, each party's on its queue, of a product whose factors and results have the
/// given lengths. The device expands the shares of party `i` if `expand[i]`.
fn expect_on_device(
    schedule: &str,
    [left, right, results]: [usize; 3],
    expand: [bool; 2],
    run: impl Fn([&AnyQueue; 2]) -> [Vec<u64>; 2],
) {
    let host = cpu(None);
    let expected = run([&host; 2]);
    for (party, expands) in expand.into_iter().enumerate() {
        let sim = Sim::new(schedule);
        let q = sim.queue(None);
        let (mut queues, before) = ([&host; 2], sim.session.counters());
        queues[party] = &q;
        assert!(run(queues) == expected, "party {party}, {left} and {right} words");

        let after = sim.session.counters();
        let launches = |counters: &Counters| counters.launches_of.get("fss_expand_seed").copied().unwrap_or(0);
        let (launched, bytes) = (launches(&after) - launches(&before), after.bytes_to_device - before.bytes_to_device);
        let opened = left + right;
        // With their seeds, party 0 copies no share, and party 1 its share of the product of the masks.
        let copied = match (expands, party) {
            (false, _) => (0, 8 * (2 * opened + results)),
            (true, 0) => (3, 8 * opened),
            (true, _) => (2, 8 * (opened + results)),
        };
        assert_eq!((launched, bytes), (copied.0, copied.1 as u64), "party {party}, {left} and {right} words");
        drop(q);
        assert_eq!(sim.session.reports(), [], "party {party}");
    }
}

#[test]
fn shares_do_not_depend_on_where_masks_are_expanded() {
    let host = cpu(None);
    // Odd numbers of words, and a word less or more than 64 KiB of shares of party 0 and of party 1.
    for (bits, schedule, [batch, rows, inner, cols], expand) in [
        (64, "", [3, 5, 41, 67], [true; 2]),
        (13, "schedule=lazy", [3, 5, 41, 67], [true; 2]),
        (64, "", [1, 1, 1, 4095], [false; 2]),
        (64, "", [1, 1, 2, 2730], [true, false]),
        (43, "", [1, 1, 1, 8190], [true, false]),
        (43, "schedule=lazy", [1, 1, 1, 8191], [true; 2]),
    ] {
        let (ring, shape) = (Ring::new(bits).unwrap(), MatrixShape { batch, rows, inner, cols });
        let lens @ [left, right, _] = shape.lens();
        let [x, y] = [words(left, 1), words(right, 2)];
        expect_on_device(schedule, lens, expand, |queues| {
            let triples = Dealer::insecure_from_seed(8).deal_matrix(&host, ring, shape).unwrap();
            both(triples, |mut session, party, triple| session.matmul(queues[party], triple, [&x, &y]).unwrap())
        });
        if batch > 1 {
            continue;
        }
        expect_on_device(schedule, lens, expand, |queues| {
            let mut dealer = Dealer::insecure_from_seed(8);
            let ([zero, one], mask) = dealer.deal_weights(ring, WeightShape { inner, cols }).unwrap();
            let [triple_zero, triple_one] = dealer.deal_weight_triple(&host, &mask, rows).unwrap();
            both([(zero, triple_zero), (one, triple_one)], |mut session, party, (key, triple)| {
                let weights = session.open_weights(queues[party], key, &y).unwrap();
                session.matmul_weights(queues[party], triple, &x, &weights).unwrap()
            })
        });
    }
}

/// Bytes copied to the device, and launches that expand seeds.
fn copied_and_expanded(counters: &Counters) -> [u64; 2] {
    [counters.bytes_to_device, counters.launches_of.get("fss_expand_seed").copied().unwrap_or(0)]
}

/// What `run` adds to [`copied_and_expanded`], and its result.
fn count<T>(sim: &Sim, run: impl FnOnce() -> T) -> ([u64; 2], T) {
    let before = copied_and_expanded(&sim.session.counters());
    let result = run();
    let after = copied_and_expanded(&sim.session.counters());
    ([0, 1].map(|i| after[i] - before[i]), result)
}

/// Both parties' shares of a product by weights that both have opened, each party's on its queue.
fn products_on(
    queues: [&AnyQueue; 2],
    triples: [WeightTriple; 2],
    x: &[u64],
    weights: [&OpenedWeights; 2],
) -> [Vec<u64>; 2] {
    both(triples, |mut session, party, triple| {
        session.matmul_weights(queues[party], triple, x, weights[party]).unwrap()
    })
}

#[test]
fn opened_weights_stay_on_a_device_for_later_products() {
    let (host, shape, rows) = (cpu(None), WeightShape { inner: 41, cols: 301 }, 3);
    let [left, right, results] = shape.product(rows).lens();
    let y = words(right, 2);
    for party in [0, 1] {
        let sim = Sim::new("");
        let q = sim.queue(Some(64 << 20));
        let fork = q.fork().unwrap();
        let (keys, mask) = Dealer::insecure_from_seed(8).deal_weights(WORDS, shape).unwrap();
        let weights = open_weights(keys, &y);
        let product = |q: &AnyQueue, seed: u64| {
            let (x, mut queues) = (words(left, seed), [&host; 2]);
            queues[party] = q;
            let triples = Dealer::insecure_from_seed(seed).deal_weight_triple(&host, &mask, rows).unwrap();
            products_on(queues, triples, &x, weights.each_ref())
        };

        // The activations, and for party 1 its share of the product of the masks, which every product copies.
        let each = (8 * left + [0, 8 * results][party]) as u64;
        let (all, held) = (each + 8 * right as u64, q.buffer_bytes(right, 8));
        let run = |q: &AnyQueue, seed: u64, (copied, live): (u64, u64)| {
            let (counted, got) = count(&sim, || product(q, seed));
            assert_eq!((counted[0], q.budget().live_bytes()), (copied, live), "party {party}, product {seed}");
            assert!(got == product(&host, seed), "party {party}, product {seed}");
        };
        // A copy that takes more than half of the device's memory, with all else there, is not kept.
        let busy = q.alloc::<u8>(32 << 20).unwrap();
        run(&q, 3, (all, q.budget().live_bytes()));
        drop(busy);
        assert_eq!(q.budget().live_bytes(), 0);
        run(&q, 5, (all, held));
        run(&q, 6, (each, held));
        run(&fork, 7, (each, held));
        assert_eq!(host.budget().live_bytes(), 0);

        // The copy is wiped and freed with the weights.
        let clears = || {
            let calls = sim.session.counters().calls;
            calls.iter().filter(|(name, _)| name.contains("cuMemsetD8")).map(|(_, calls)| calls).sum::<u64>()
        };
        let before = clears();
        drop(weights);
        assert_eq!((clears() - before, q.budget().live_bytes()), (1, 0));
        drop((q, fork));
        assert_eq!(sim.session.reports(), [], "party {party}");
    }
}

#[test]
fn a_device_expands_the_masks_that_a_dealer_multiplies() {
    let host = cpu(None);
    // Odd lengths, and a word less or more than 64 KiB of masks.
    for (bits, schedule, [batch, rows, inner, cols], expands) in [
        (64, "", [1, 5, 41, 203], true),
        (13, "schedule=lazy", [3, 5, 41, 67], true),
        (43, "", [1, 1, 1, 8190], false),
        (43, "", [1, 1, 1, 8191], true),
    ] {
        let (ring, shape) = (Ring::new(bits).unwrap(), MatrixShape { batch, rows, inner, cols });
        let [left, right, _] = shape.lens();
        let sim = Sim::new(schedule);
        let q = sim.queue(None);
        // With seeds, no masks are copied.
        let copied = if expands { [0, 4] } else { [8 * (left + right) as u64, 0] };
        let matrices = |q: &AnyQueue| {
            let triples = Dealer::insecure_from_seed(8).deal_matrix(q, ring, shape).unwrap();
            triples.map(|triple| triple.to_bytes())
        };
        let (counted, triples) = count(&sim, || matrices(&q));
        assert_eq!(counted, copied, "{shape:?}");
        assert!(triples == matrices(&host), "{shape:?}");

        if batch == 1 {
            let weights = |q: &AnyQueue| {
                let mut dealer = Dealer::insecure_from_seed(8);
                let (_, mask) = dealer.deal_weights(ring, WeightShape { inner, cols }).unwrap();
                dealer.deal_weight_triple(q, &mask, rows).unwrap().map(|triple| triple.to_bytes())
            };
            let (counted, triples) = count(&sim, || weights(&q));
            assert_eq!(counted, copied, "{shape:?}");
            assert!(triples == weights(&host), "{shape:?}");
        }
        drop(q);
        assert_eq!(sim.session.reports(), [], "{shape:?}");
    }
}

/// Both parties' results of a product by opened weights.
fn by_weights(triples: [WeightTriple; 2], x: &[u64], weights: &[OpenedWeights; 2]) -> [Result<Vec<u64>, PfssError>; 2] {
    both(triples, |mut session, party, triple| {
        let zeros = vec![0; x.len()];
        let x = if party == 0 { x } else { &zeros };
        session.matmul_weights(&runtime::cpu().unwrap(), triple, x, &weights[party])
    })
}

/// Opens weights of party 1.
pub(crate) fn open_weights(keys: [WeightKey; 2], y: &[u64]) -> [OpenedWeights; 2] {
    both(keys, |mut session, party, key| {
        let zeros = vec![0; y.len()];
        let y = if party == 1 { y } else { &zeros };
        session.open_weights(&runtime::cpu().unwrap(), key, y).unwrap()
    })
}

#[test]
fn opened_weights_keys_masks_and_triples_go_through_bytes() {
    let shape = WeightShape { inner: 3, cols: 2 };
    let (keys, mask) = Dealer::from_os().unwrap().deal_weights(WORDS, shape).unwrap();
    let keys = keys.map(|key| WeightKey::from_bytes(&key.to_bytes()).unwrap());
    let y = words(6, 5);
    let opened = open_weights(keys, &y);
    assert_eq!(opened[0].digest(), opened[1].digest());
    // Later runs: another dealer, and processes that begin again.
    for seed in 0..3 {
        let mask = WeightMask::from_bytes(&mask.to_bytes()).unwrap();
        let triples = Dealer::from_os().unwrap().deal_weight_triple(&runtime::cpu().unwrap(), &mask, 4).unwrap();
        let triples = triples.map(|triple| WeightTriple::from_bytes(&triple.to_bytes()).unwrap());
        let weights = opened.each_ref().map(|weights| OpenedWeights::from_bytes(&weights.to_bytes()).unwrap());
        assert_eq!(weights[1].digest(), opened[1].digest());
        let x = words(12, seed);
        let [zero, one] = by_weights(triples, &x, &weights).map(Result::unwrap);
        assert_eq!(add(WORDS, [&zero, &one]), scalar_products(shape.product(4), &x, &y));
    }
}

#[test]
fn a_weight_key_by_hand_opens_under_published_blocks() {
    // NIST SP 800-38A, F.5.1: key, first counter block and key stream, here of section 1, which begins 2^64 blocks later.
    let counter = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff_u128 - (1 << 64);
    let seed = [0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128, counter].map(u128::to_be_bytes).concat();
    let blocks: [u128; 2] = [0xec8c_df73_9860_7cb0_f2d2_1675_ea9e_a1e4, 0x362b_7c3c_6773_5163_18a0_77d7_fc50_73ae];
    let key = |party: u8| {
        let lens = [1, 0, 2, 2].map(u64::to_le_bytes).concat();
        let header = [&b"PFW1\x01\0"[..], &[party, 0], &lens, b"a nonce by hand."].concat();
        let digest = blake3::hash(&[&b"pfss weight key v1"[..], &header, &seed].concat());
        WeightKey::from_bytes(&[&header[..], digest.as_bytes(), &seed].concat()).unwrap()
    };
    // Both parties have one seed, so that zeros are opened as twice their masks.
    let opened = open_weights([key(0), key(1)], &[0; 4]).map(|weights| weights.to_bytes().to_vec());
    let stream = blocks.map(u128::to_be_bytes).concat();
    let words = stream.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word).wrapping_mul(2));
    let words: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    assert!(opened.iter().all(|bytes| bytes[88..] == [&seed[..], &words].concat()));
}

#[test]
fn keys_and_triples_of_weights_are_refused_to_others_and_twice() {
    let (q, shape) = (runtime::cpu().unwrap(), WeightShape { inner: 2, cols: 1 });
    let mut dealer = Dealer::from_os().unwrap();
    let mut deal = |shape| {
        let (keys, mask) = dealer.deal_weights(WORDS, shape).unwrap();
        let triple = dealer.deal_weight_triple(&q, &mask, 1).unwrap();
        (keys.each_ref().map(WeightKey::to_bytes), triple.each_ref().map(WeightTriple::to_bytes))
    };
    let ((keys, triple), (other_keys, other_triple)) = (deal(shape), deal(shape));
    let key = |party: usize| WeightKey::from_bytes(&keys[party]).unwrap();
    let other_key = |party: usize| WeightKey::from_bytes(&other_keys[party]).unwrap();
    let triple = |party: usize| WeightTriple::from_bytes(&triple[party]).unwrap();
    let (to_one, _to_zero) = memory_pair(Duration::from_secs(20));
    let mut session = Session::new(to_one);

    // Lengths and parties; nothing is spent, as the keys open afterwards.
    let refused = session.open_weights(&q, key(0), &[1]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements of the weights", expected: 2, got: 1 });
    let refused = session.open_weights(&q, key(1), &[1, 2]).unwrap_err();
    assert_eq!(refused, PfssError::WrongParty { expected: Party::Zero, got: Party::One });
    let weights = open_weights([key(0), key(1)], &[7, 8]);
    let others = open_weights([other_key(0), other_key(1)], &[7, 8]);
    let refused = session.open_weights(&q, key(0), &[1, 2]).unwrap_err();
    assert_eq!(refused, PfssError::ReusedBundle { nonce: key(0).nonce() });

    // Triples: none is spent either.
    let refused = session.matmul_weights(&q, triple(0), &[1], &weights[0]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements of the first factor", expected: 2, got: 1 });
    let wrong_party = PfssError::WrongParty { expected: Party::Zero, got: Party::One };
    let refused = session.matmul_weights(&q, triple(1), &[1, 2], &weights[0]).unwrap_err();
    assert_eq!(refused, wrong_party);
    let refused = session.matmul_weights(&q, triple(0), &[1, 2], &weights[1]).unwrap_err();
    assert_eq!(refused, wrong_party);
    let refused = session.matmul_weights(&q, triple(0), &[1, 2], &others[0]).unwrap_err();
    assert_eq!(refused, PfssError::OtherWeights { expected: key(0).nonce(), got: other_key(0).nonce() });
    // The ring of the triple is changed, with a digest that fits.
    let forged = |at: usize, value: u8| {
        let mut bytes = triple(0).to_bytes().to_vec();
        bytes[at] = value;
        let digest = blake3::hash(&[&b"pfss weight triple v1"[..], &bytes[..56], &bytes[88..]].concat());
        bytes[56..88].copy_from_slice(digest.as_bytes());
        WeightTriple::from_bytes(&bytes).unwrap()
    };
    for (at, value, x, what, expected, got) in [
        (7, 63, &[1, 2][..], "bits of the weights", 63, 64),
        (24, 3, &[1, 2, 3][..], "rows of the weights", 3, 2),
        (32, 2, &[1, 2][..], "columns of the weights", 2, 1),
    ] {
        let refused = session.matmul_weights(&q, forged(at, value), x, &weights[0]).unwrap_err();
        assert_eq!(refused, PfssError::Length { what, expected, got });
    }
    assert_eq!(session.traffic().rounds, 0);
    let [zero, one] = by_weights([triple(0), triple(1)], &[1, 2], &weights).map(Result::unwrap);
    assert_eq!(add(WORDS, [&zero, &one]), [7 + 2 * 8]);
    let refused = session.matmul_weights(&q, triple(0), &[1, 2], &weights[0]).unwrap_err();
    assert_eq!(refused, PfssError::ReusedBundle { nonce: triple(0).nonce() });

    // The other deal's triple is whole, and sizes that no address space holds are refused.
    let others_triple = [0, 1].map(|party: usize| WeightTriple::from_bytes(&other_triple[party]).unwrap());
    let [zero, one] = by_weights(others_triple, &[3, 4], &others).map(Result::unwrap);
    assert_eq!(add(WORDS, [&zero, &one]), [3 * 7 + 4 * 8]);
    let huge = dealer.deal_weights(WORDS, WeightShape { inner: usize::MAX, cols: 2 });
    assert!(matches!(huge, Err(BundleError::Overflow { .. })));
    let (_, mask) = dealer.deal_weights(WORDS, shape).unwrap();
    let refused = dealer.deal_weight_triple(&q, &mask, usize::MAX).unwrap_err();
    assert!(matches!(refused, PfssError::Bundle(BundleError::Overflow { .. })));
}

#[test]
fn a_closed_session_refuses_every_product_and_opening() {
    let (q, shape) = (runtime::cpu().unwrap(), WeightShape { inner: 1, cols: 1 });
    let mut dealer = Dealer::insecure_from_seed(9);
    let ([key, _], _) = dealer.deal_weights(WORDS, shape).unwrap();
    let (keys, mask) = dealer.deal_weights(WORDS, shape).unwrap();
    let [triple, _] = dealer.deal_weight_triple(&q, &mask, 1).unwrap();
    let [product, _] = Dealer::from_os().unwrap().deal_matrix(&q, WORDS, shape.product(1)).unwrap();
    let unspent = MatrixTriple::from_bytes(&product.to_bytes()).unwrap();
    let weights = open_weights(keys, &[7]);

    let mut session = Session::new(memory_pair(Duration::from_secs(20)).0);
    let lost = PfssError::Channel(ChannelError::Lost { doing: "sending" });
    assert_eq!(session.reveal(&q, WORDS, Party::One, &[1]), Err(lost));
    assert_eq!(session.reveal(&q, WORDS, Party::One, &[1]), Err(PfssError::Closed));
    assert_eq!(session.matmul(&q, product, [&[1], &[2]]), Err(PfssError::Closed));
    assert_eq!(session.open_weights(&q, key, &[1]).unwrap_err(), PfssError::Closed);
    assert_eq!(session.matmul_weights(&q, triple, &[1], &weights[0]), Err(PfssError::Closed));
    // The refused product spent no keys: with them, another session gets as far as its channel.
    let mut next = Session::new(memory_pair(Duration::from_secs(20)).0);
    let ended = next.matmul(&q, unspent, [&[1], &[2]]);
    assert!(matches!(ended, Err(PfssError::Channel(ChannelError::Lost { .. }))), "{ended:?}");
}

#[test]
fn shares_are_given_and_taken_at_the_same_step() {
    let q = runtime::cpu().unwrap();
    // a word of 8 and a word of 7 bits take a byte each
    let [sent, taken] = both([8, 7], |mut session, _, bits| {
        session.reveal(&q, Ring::new(bits).unwrap(), Party::One, &[1]).unwrap_err()
    });
    assert_eq!(sent, PfssError::Channel(ChannelError::Lost { doing: "receiving" }));
    // a peer that answers for another step
    let (zero, mut one) = memory_pair(Duration::from_secs(20));
    one.send(&[0; 16]).unwrap();
    let answered = Session::new(zero).reveal(&q, WORDS, Party::One, &[1]).unwrap_err();
    for refused in [taken, answered] {
        assert!(matches!(refused, PfssError::Channel(ChannelError::Step { round: 0, .. })), "{refused}");
    }
}

#[test]
fn parties_with_differently_opened_weights_fail_at_the_first_step() {
    // An insecure dealer's key opens again, as a copy of the bytes in another process would.
    let shape = WeightShape { inner: 2, cols: 2 };
    let deal = || Dealer::insecure_from_seed(9).deal_weights(WORDS, shape).unwrap();
    let [zero, one] = [[1, 2, 3, 4], [1, 2, 3, 5]].map(|y| open_weights(deal().0, &y));
    assert_ne!(zero[0].digest(), one[0].digest());
    let ([weights_zero, _], [_, weights_one]) = (zero, one);
    let q = runtime::cpu().unwrap();
    let triples = Dealer::insecure_from_seed(10).deal_weight_triple(&q, &deal().1, 1).unwrap();
    for refused in by_weights(triples, &[1, 2], &[weights_zero, weights_one]) {
        assert!(matches!(refused, Err(PfssError::Channel(ChannelError::Step { round: 0, .. }))), "{refused:?}");
    }
}
