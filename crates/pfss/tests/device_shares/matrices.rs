//! Products of matrices of shares in device memory.

use crate::{
    common::{
        both,
        queues::{Sim, cpu},
        words,
    },
    device_shares::{FORMS, Form, session},
    matrices::open_weights,
};
use pfss::{
    Dealer, DeviceShares, MatrixShape, MatrixTriple, Party, PfssError, Ring, Traffic, WeightShape, WeightTriple,
};
use runtime::AnyQueue;

/// The products of both parties, in a ring, with the shares of their factors in these forms.
fn multiply(q: &AnyQueue, ring: Ring, shape: MatrixShape, forms: [Form; 2]) -> [(Vec<u64>, Traffic); 2] {
    let [left, right, _] = shape.lens();
    let triples = Dealer::insecure_from_seed(8).deal_matrix(&cpu(None), ring, shape).unwrap();
    both(triples, |mut session, party, triple| {
        let [x, y] = [left, right].map(|len| words(len, (len + party) as u64));
        let product = match forms[party] {
            Form::Host => session.matmul(q, triple, [&x, &y]).unwrap(),
            Form::Device => {
                let [x, y] = [x, y].map(|x| DeviceShares::upload(q, session.party(), ring, &x).unwrap());
                session.matmul_on_device(triple, [&x, &y]).unwrap().download().unwrap()
            }
        };
        (product, session.traffic())
    })
}

/// Two products by the same weights, the second of the first one's result.
fn multiply_twice(q: &AnyQueue, ring: Ring, side: usize, rows: usize, forms: [Form; 2]) -> [(Vec<u64>, Traffic); 2] {
    let (host, mut dealer) = (cpu(None), Dealer::insecure_from_seed(8));
    let ([zero, one], mask) = dealer.deal_weights(ring, WeightShape { inner: side, cols: side }).unwrap();
    let [first, second] = [(); 2].map(|()| dealer.deal_weight_triple(&host, &mask, rows).unwrap());
    let ([first_zero, first_one], [second_zero, second_one]) = (first, second);
    let keys = [(zero, first_zero, second_zero), (one, first_one, second_one)];
    both(keys, |mut session, party, (key, first, second)| {
        let (x, y) = (words(rows * side, party as u64), words(side * side, 2 + party as u64));
        let weights = session.open_weights(q, key, &y).unwrap();
        let product = match forms[party] {
            Form::Host => {
                let x = session.matmul_weights(q, first, &x, &weights).unwrap();
                session.matmul_weights(q, second, &x, &weights).unwrap()
            }
            Form::Device => {
                let x = DeviceShares::upload(q, session.party(), ring, &x).unwrap();
                let x = session.matmul_weights_on_device(first, &x, &weights).unwrap();
                session.matmul_weights_on_device(second, &x, &weights).unwrap().download().unwrap()
            }
        };
        (product, session.traffic())
    })
}

/// With the larger shapes, a device expands the masks of the first factor, and both parties' of both.
#[test]
fn products_of_matrices_are_those_of_shares_in_host_memory() {
    let (sim, host) = (Sim::new(""), cpu(None));
    let device = sim.queue(None);
    let shapes = [(2, 3, 4, 5), (1, 0, 3, 2), (1, 103, 81, 3), (1, 3, 91, 101)];
    for (bits, (batch, rows, inner, cols)) in [13, 64].into_iter().flat_map(|bits| shapes.map(|shape| (bits, shape))) {
        let (ring, shape) = (Ring::new(bits).unwrap(), MatrixShape { batch, rows, inner, cols });
        let expected = multiply(&host, ring, shape, [Form::Host, Form::Host]);
        for (q, forms) in [&host, &device].into_iter().flat_map(|q| FORMS.map(|forms| (q, forms))) {
            assert!(multiply(q, ring, shape, forms) == expected, "{bits} bits, {shape:?}, {forms:?}");
        }
    }
    for (bits, side, rows) in [(13, 5, 3), (64, 4, 1), (64, 8, 1025), (43, 95, 2)] {
        let ring = Ring::new(bits).unwrap();
        let expected = multiply_twice(&host, ring, side, rows, [Form::Host, Form::Host]);
        for (q, forms) in [&host, &device].into_iter().flat_map(|q| FORMS.map(|forms| (q, forms))) {
            assert!(multiply_twice(q, ring, side, rows, forms) == expected, "{bits} bits, {side}, {rows}, {forms:?}");
        }
    }
}

/// Weights of party 1: its share is in host memory, and party 0's is zeros.
#[test]
fn products_by_factors_in_host_memory_equal_products_on_the_device() {
    let (sim, host) = (Sim::new(""), cpu(None));
    let device = sim.queue(None);
    // The device expands the shares of the larger ones from their seed.
    for (bits, (rows, inner, cols)) in [(13, (3, 4, 5)), (64, (103, 81, 3)), (43, (3, 91, 101))] {
        let (ring, shape) = (Ring::new(bits).unwrap(), MatrixShape { batch: 1, rows, inner, cols });
        let [left, right, _] = shape.lens();
        let run = |q: &AnyQueue, on_host: bool| {
            let triples = Dealer::insecure_from_seed(8).deal_matrix(&host, ring, shape).unwrap();
            both(triples, |mut session, party, triple| {
                let y = if party == 0 { vec![0; right] } else { words(right, 7) };
                let upload = |words: &[u64]| DeviceShares::upload(q, session.party(), ring, words).unwrap();
                let (x, placed) = (upload(&words(left, party as u64)), upload(&y));
                let product = match on_host {
                    true => session.matmul_by_host_on_device(triple, &x, &y),
                    false => session.matmul_on_device(triple, [&x, &placed]),
                };
                (product.unwrap().download().unwrap(), session.traffic())
            })
        };
        let expected = run(&host, false);
        assert!(run(&host, true) == expected && run(&device, true) == expected, "{bits} bits, {shape:?}");
    }
}

#[test]
fn products_take_factors_of_wider_rings() {
    let (sim, host, ring) = (Sim::new(""), cpu(None), Ring::new(13).unwrap());
    let shape = MatrixShape { batch: 2, rows: 3, inner: 4, cols: 5 };
    let [left, right, _] = shape.lens();
    let wide = |bits| Ring::new(bits).unwrap();
    for q in [&host, &sim.queue(None)] {
        let triples = Dealer::insecure_from_seed(8).deal_matrix(&host, ring, shape).unwrap();
        let got = both(triples, |mut session, party, triple| {
            let factors = [(left, 64), (right, 20)].map(|(len, bits)| {
                DeviceShares::upload(q, session.party(), wide(bits), &words(len, (len + party) as u64)).unwrap()
            });
            let product = session.matmul_on_device(triple, factors.each_ref()).unwrap();
            assert_eq!(product.ring(), ring);
            (product.download().unwrap(), session.traffic())
        });
        assert!(got == multiply(&host, ring, shape, [Form::Host, Form::Host]));

        // The same for the first factor of a product by opened weights.
        let by_weights = |on_device: bool| {
            let mut dealer = Dealer::insecure_from_seed(8);
            let ([zero, one], mask) = dealer.deal_weights(ring, WeightShape { inner: 4, cols: 5 }).unwrap();
            let [first, second] = dealer.deal_weight_triple(&host, &mask, 3).unwrap();
            both([(zero, first), (one, second)], |mut session, party, (key, triple)| {
                let (x, y) = (words(12, party as u64), words(20, 2 + party as u64));
                let weights = session.open_weights(q, key, &y).unwrap();
                if !on_device {
                    return session.matmul_weights(q, triple, &x, &weights).unwrap();
                }
                let x = DeviceShares::upload(q, session.party(), wide(64), &x).unwrap();
                session.matmul_weights_on_device(triple, &x, &weights).unwrap().download().unwrap()
            })
        };
        assert!(by_weights(true) == by_weights(false));
    }
}

#[test]
fn factors_that_do_not_fit_spend_no_triple() {
    let (q, other) = (cpu(None), cpu(None));
    let shape = MatrixShape { batch: 1, rows: 1, inner: 2, cols: 1 };
    let [triple, _] = Dealer::from_os().unwrap().deal_matrix(&q, Ring::new(64).unwrap(), shape).unwrap();
    let bytes = triple.to_bytes();
    let shares =
        |q, party, bits, len| DeviceShares::upload(q, party, Ring::new(bits).unwrap(), &words(len, 1)).unwrap();
    let (mut session, peer) = session();
    let [fits, fits_too] = [(); 2].map(|()| shares(&q, Party::Zero, 64, 2));
    let wrong_party = PfssError::WrongParty { expected: Party::Zero, got: Party::One };
    for (x, y, expected) in [
        (&fits, shares(&q, Party::Zero, 63, 2), PfssError::WiderRing { most: 63, got: 64 }),
        (&fits, shares(&other, Party::Zero, 64, 2), PfssError::OtherDevice),
        (&fits, shares(&q, Party::One, 64, 2), wrong_party.clone()),
        (
            &fits,
            shares(&q, Party::Zero, 64, 3),
            PfssError::Length { what: "elements of a factor", expected: 2, got: 3 },
        ),
        (&shares(&q, Party::One, 64, 2), shares(&q, Party::One, 64, 2), wrong_party),
        (&shares(&q, Party::Zero, 63, 2), fits_too, PfssError::WiderRing { most: 63, got: 64 }),
    ] {
        let triple = MatrixTriple::from_bytes(&bytes).unwrap();
        assert_eq!(session.matmul_on_device(triple, [x, &y]).unwrap_err(), expected);
    }
    let read = || MatrixTriple::from_bytes(&bytes).unwrap();
    let too_many = PfssError::Length { what: "elements of a factor", expected: 2, got: 3 };
    assert_eq!(session.matmul_by_host_on_device(read(), &fits, &[1, 2, 3]).unwrap_err(), too_many);
    assert_eq!(session.traffic(), Traffic::default());

    drop(peer);
    assert!(matches!(session.matmul_on_device(read(), [&fits, &fits]), Err(PfssError::Channel(_))));
    assert_eq!(session.matmul_on_device(read(), [&fits, &fits]).unwrap_err(), PfssError::Closed);
    let (mut other, _peer) = super::session();
    let reused = PfssError::ReusedBundle { nonce: triple.nonce() };
    assert_eq!(other.matmul_on_device(read(), [&fits, &fits]).unwrap_err(), reused);
}

#[test]
fn factors_that_do_not_fit_spend_no_triple_of_opened_weights() {
    let (q, ring) = (cpu(None), Ring::new(64).unwrap());
    let mut dealer = Dealer::from_os().unwrap();
    let (keys, mask) = dealer.deal_weights(ring, WeightShape { inner: 2, cols: 1 }).unwrap();
    let [triple, _] = dealer.deal_weight_triple(&q, &mask, 1).unwrap();
    let bytes = triple.to_bytes();
    let read = || WeightTriple::from_bytes(&bytes).unwrap();
    let [weights, _] = open_weights(keys, &[3, 4]);
    let (mut session, peer) = session();
    let wrong_party = PfssError::WrongParty { expected: Party::Zero, got: Party::One };
    for (party, bits, len, expected) in [
        (Party::Zero, 63, 2, PfssError::WiderRing { most: 63, got: 64 }),
        (Party::One, 64, 2, wrong_party),
        (Party::Zero, 64, 3, PfssError::Length { what: "elements of the first factor", expected: 2, got: 3 }),
    ] {
        let x = DeviceShares::upload(&q, party, Ring::new(bits).unwrap(), &words(len, 1)).unwrap();
        assert_eq!(session.matmul_weights_on_device(read(), &x, &weights).unwrap_err(), expected);
    }
    assert_eq!(session.traffic(), Traffic::default());

    drop(peer);
    let x = DeviceShares::upload(&q, Party::Zero, ring, &[1, 2]).unwrap();
    assert!(matches!(session.matmul_weights_on_device(read(), &x, &weights), Err(PfssError::Channel(_))));
    assert_eq!(session.matmul_weights_on_device(read(), &x, &weights).unwrap_err(), PfssError::Closed);
    let (mut other, _peer) = super::session();
    let reused = PfssError::ReusedBundle { nonce: triple.nonce() };
    assert_eq!(other.matmul_weights_on_device(read(), &x, &weights).unwrap_err(), reused);
}
