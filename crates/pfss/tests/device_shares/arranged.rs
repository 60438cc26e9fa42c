//! Shares at other places, in other rings, and sums over rows, against plain words.

use crate::common::{
    queues::{Sim, cpu},
    words,
};
use backend_api::Fork as _;
use pfss::{DeviceShares, Party, PfssError, Ring};
use runtime::AnyQueue;

type OnQueue<'q> = DeviceShares<'q, AnyQueue>;

/// Runs `check` on a processor and on the simulated device, for both parties and rings of 1, 37 and 64 bits.
fn each(check: impl Fn(&AnyQueue, Party, Ring)) {
    let (sim, host) = (Sim::new(""), cpu(None));
    for q in [&host, &sim.queue(None)] {
        for party in Party::BOTH {
            [1, 37, 64].iter().for_each(|&bits| check(q, party, Ring::new(bits).unwrap()));
        }
    }
}

/// Shares of random words, also above the ring, with the words.
fn shares(q: &AnyQueue, party: Party, ring: Ring, len: usize) -> (OnQueue<'_>, Vec<u64>) {
    let words = words(len, len as u64 + 7);
    (DeviceShares::upload(q, party, ring, &words).unwrap(), words)
}

/// Checks the words, modulo the ring, and that party, ring and device are `of`'s.
#[track_caller]
fn expect(got: OnQueue<'_>, of: &OnQueue<'_>, words: impl IntoIterator<Item = u64>) {
    let ring = of.ring();
    let expected: Vec<u64> = words.into_iter().map(|word| word & ring.mask()).collect();
    assert_eq!(got.download().unwrap(), expected);
    assert_eq!((got.ring(), got.party(), got.len()), (ring, of.party(), expected.len()));
    assert!(std::ptr::eq(got.queue(), of.queue()));
}

#[test]
fn zeros_are_zero() {
    each(|q, party, ring| {
        for len in [0, 1, 33, 4097] {
            let (x, _) = shares(q, party, ring, len);
            drop(x); // memory that holds no zeros
            let zeros = DeviceShares::zeros(q, party, ring, len).unwrap();
            assert_eq!(zeros.download().unwrap(), vec![0; len]);
            assert_eq!((zeros.ring(), zeros.party(), zeros.len()), (ring, party, len));
        }
    });
}

#[test]
fn shares_in_a_narrower_ring_are_the_low_bits() {
    each(|q, party, ring| {
        for len in [0, 1, 33] {
            let (x, words) = shares(q, party, ring, len);
            for bits in [1, 36, 37, 64].into_iter().filter(|&bits| bits <= ring.bits()) {
                let narrow = Ring::new(bits).unwrap();
                let got = x.in_ring(narrow).unwrap();
                assert_eq!((got.ring(), got.party(), got.len()), (narrow, party, len));
                let low: Vec<u64> = words.iter().map(|word| word & (u64::MAX >> (64 - bits))).collect();
                assert_eq!(got.download().unwrap(), low, "{bits}");
                // gates and sums ignore bits above the ring
                let doubled: Vec<u64> = low.iter().map(|word| (2 * u128::from(*word) % (1 << bits)) as u64).collect();
                assert_eq!(got.add(&got).unwrap().download().unwrap(), doubled, "{bits}");
            }
        }
    });
}

#[test]
fn slices_and_concatenations_are_those_of_the_words() {
    each(|q, party, ring| {
        let (x, a) = shares(q, party, ring, 70);
        let (y, b) = shares(q, party, ring, 3);
        for range in [0..0, 0..70, 1..2, 33..70, 70..70] {
            expect(x.slice(range.clone()).unwrap(), &x, a[range].iter().copied());
        }
        let none = x.slice(5..5).unwrap();
        expect(none.slice(0..0).unwrap(), &x, []);
        let concat = DeviceShares::concat;
        expect(concat(&[&none]).unwrap(), &x, []);
        expect(concat(&[&x]).unwrap(), &x, a.iter().copied());
        expect(concat(&[&y, &none, &x, &y]).unwrap(), &x, [&b, &a, &b].into_iter().flatten().copied());
    });
}

#[test]
fn rows_are_added_to_each_row() {
    each(|q, party, ring| {
        for (rows, width) in [(0, 3), (1, 1), (1, 40), (7, 1), (5, 2), (5, 3), (7, 4), (5, 5), (5, 33), (257, 19)] {
            let ((x, a), (row, b)) = (shares(q, party, ring, rows * width), shares(q, party, ring, width));
            let sums = |b: &[u64]| (0..a.len()).map(|i| a[i].wrapping_add(b[i % width])).collect::<Vec<u64>>();
            expect(x.add_rows(&row).unwrap(), &x, sums(&b));
            let public = words(width, 99);
            let added = if party == Party::Zero { public.clone() } else { vec![0; width] };
            expect(x.add_public_rows(&public).unwrap(), &x, sums(&added));
        }
        let (none, _) = shares(q, party, ring, 0);
        expect(none.add_rows(&none).unwrap(), &none, []);
        expect(none.add_public_rows(&[]).unwrap(), &none, []);
    });
}

#[test]
fn linear_sums_are_those_of_the_words_in_the_ring_asked_for() {
    each(|q, party, ring| {
        for (rows, width) in [(0, 3), (1, 1), (1, 40), (7, 1), (5, 33), (257, 19)] {
            let ((x, a), (row, b)) = (shares(q, party, ring, rows * width), shares(q, party, ring, width));
            for bits in [1, ring.bits()] {
                let narrow = Ring::new(bits).unwrap();
                for (factors, row) in [([1, 1], Some(&row)), ([3, u64::MAX], Some(&row)), ([5, 7], None)] {
                    let [alpha, beta] = factors.map(u128::from);
                    let sum = |(i, &a): (usize, &u64)| {
                        let b = if row.is_some() { u128::from(b[i % width]) } else { 0 };
                        ((alpha * u128::from(a)).wrapping_add(beta * b) % (1 << bits)) as u64
                    };
                    let expected: Vec<u64> = a.iter().enumerate().map(sum).collect();
                    let got = x.linear_in(narrow, factors, row).unwrap();
                    assert_eq!((got.ring(), got.party(), got.download().unwrap()), (narrow, party, expected.clone()));
                    let (mut got, _) = shares(q, party, ring, rows * width);
                    got.linear_in_place(narrow, factors, row).unwrap();
                    assert_eq!((got.ring(), got.party(), got.download().unwrap()), (narrow, party, expected));
                }
            }
            // Rows of equal words are added by another form of the same op.
            for public in [words(width, 99), vec![1 << 40; width]] {
                let added = if party == Party::Zero { public.clone() } else { vec![0; width] };
                let sums = (0..a.len()).map(|i| a[i].wrapping_add(added[i % width]));
                expect(x.add_public_rows(&public).unwrap(), &x, sums.clone());
                let (mut got, _) = shares(q, party, ring, rows * width);
                got.add_public_rows_in_place(&public).unwrap();
                expect(got, &x, sums);
            }
        }
        // Shares that were zeros are not public any more.
        let (x, a) = shares(q, party, ring, 33);
        let mut sum = DeviceShares::zeros(q, party, ring, 33).unwrap();
        sum.linear_in_place(ring, [1, 1], Some(&x)).unwrap();
        expect(sum, &x, a);
    });
}

#[test]
fn linear_sums_of_shares_that_do_not_fit_change_nothing() {
    let (q, other) = (cpu(None), cpu(None));
    let [ring, narrow, narrower] = [64, 37, 36].map(|bits| Ring::new(bits).unwrap());
    let shares = |q, party, ring, len| DeviceShares::upload(q, party, ring, &words(len, 1)).unwrap();
    let (mut x, before) = (shares(&q, Party::Zero, ring, 4), words(4, 1));
    for (to, row, expected) in [
        (narrow, shares(&q, Party::One, ring, 4), PfssError::WrongParty { expected: Party::Zero, got: Party::One }),
        (narrow, shares(&other, Party::Zero, ring, 4), PfssError::OtherDevice),
        (narrow, shares(&q, Party::Zero, narrower, 4), PfssError::WiderRing { most: 36, got: 37 }),
        (
            narrow,
            shares(&q, Party::Zero, ring, 3),
            PfssError::Length { what: "shares in whole rows", expected: 6, got: 4 },
        ),
    ] {
        assert_eq!(x.linear_in(to, [1, 1], Some(&row)).unwrap_err(), expected);
        assert_eq!(x.linear_in_place(to, [1, 1], Some(&row)).unwrap_err(), expected);
    }
    let length = PfssError::Length { what: "shares in whole rows", expected: 6, got: 4 };
    assert_eq!(x.add_public_rows_in_place(&[1, 2, 3]).unwrap_err(), length);
    assert_eq!((x.ring(), x.download().unwrap()), (ring, before));
    let mut y = shares(&q, Party::Zero, narrow, 4);
    let wider = PfssError::WiderRing { most: 37, got: 64 };
    assert_eq!(y.linear_in(ring, [1, 0], None).unwrap_err(), wider);
    assert_eq!(y.linear_in_place(ring, [1, 0], None).unwrap_err(), wider);
}

#[test]
fn row_sums_are_sums_of_the_words_of_each_row() {
    each(|q, party, ring| {
        for (rows, width) in [(0, 3), (1, 1), (1, 300), (300, 1), (5, 33), (129, 130)] {
            let (x, a) = shares(q, party, ring, rows * width);
            let sums = a.chunks(width).map(|row| row.iter().fold(0u64, |sum, &word| sum.wrapping_add(word)));
            expect(x.row_sums(width).unwrap(), &x, sums);
        }
        let (none, _) = shares(q, party, ring, 0);
        expect(none.row_sums(0).unwrap(), &none, []);
    });
}

#[test]
fn permuted_axes_are_read_in_the_given_order() {
    const CASES: [(&[usize], &[usize]); 9] = [
        (&[], &[]),
        (&[5], &[0]),
        (&[3, 4], &[0, 1]),
        (&[33, 65], &[1, 0]),
        (&[2, 0, 3], &[2, 0, 1]),
        (&[usize::MAX, 0, usize::MAX], &[2, 1, 0]),
        (&[4, 3, 2, 5], &[0, 2, 1, 3]),
        (&[2, 3, 1, 4, 5], &[4, 2, 0, 3, 1]),
        (&[2, 3, 2, 3, 2, 3], &[5, 3, 1, 4, 2, 0]),
    ];
    each(|q, party, ring| {
        for (shape, order) in CASES {
            let len = if shape.contains(&0) { 0 } else { shape.iter().product() };
            let (x, a) = shares(q, party, ring, len);
            // each share of the source has its place in the result, by its index along every axis
            let mut expected = vec![0; len];
            for (mut from, &word) in a.iter().enumerate() {
                let mut index = vec![0; shape.len()];
                for axis in (0..shape.len()).rev() {
                    (index[axis], from) = (from % shape[axis], from / shape[axis]);
                }
                let to = order.iter().fold(0, |to, &axis| to * shape[axis] + index[axis]);
                expected[to] = word;
            }
            expect(x.permuted(shape, order).unwrap(), &x, expected);
        }
    });
}

#[test]
fn repeated_shares_stand_in_a_row() {
    each(|q, party, ring| {
        for (len, times) in [(0, 5), (5, 0), (1, 1), (1, 300), (33, 7), (513, 3)] {
            let (x, a) = shares(q, party, ring, len);
            expect(x.repeated(times).unwrap(), &x, (0..len * times).map(|i| a[i / times]));
        }
    });
}

#[test]
fn gathered_shares_are_those_at_their_places_or_zero() {
    each(|q, party, ring| {
        for (len, count) in [(0, 0), (0, 5), (1, 9), (33, 0), (40, 33), (300, 4097)] {
            let (x, a) = shares(q, party, ring, len);
            let places: Vec<Option<u32>> = words(count, 3)
                .into_iter()
                .map(|word| (len > 0 && !word.is_multiple_of(5)).then(|| (word % len.max(1) as u64) as u32))
                .collect();
            let expected = places.iter().map(|place| place.map_or(0, |place| a[place as usize]));
            expect(x.gathered(&places).unwrap(), &x, expected);
        }
        let (x, a) = shares(q, party, ring, 3);
        expect(x.gathered(&[Some(2), None, Some(0), Some(2)]).unwrap(), &x, [a[2], 0, a[0], a[2]]);
    });
}

/// A row of another queue of the device, whose work an op waits for.
#[test]
fn shares_of_two_forks_of_one_device_are_joined() {
    let ring = Ring::new(64).unwrap();
    for schedule in [None, Some("schedule=lazy"), Some("schedule=random;seed=1")] {
        let sim = schedule.map(Sim::new);
        let q = sim.as_ref().map_or_else(|| cpu(None), |sim| sim.queue(None));
        let other = q.fork().unwrap();
        let ((x, a), (row, b)) = (shares(&q, Party::Zero, ring, 12), shares(&other, Party::Zero, ring, 3));
        let row = row.repeated(2).unwrap().row_sums(2).unwrap(); // twice the row
        let sums: Vec<u64> = (0..12).map(|i| a[i].wrapping_add(b[i % 3].wrapping_mul(2))).collect();
        expect(x.add_rows(&row).unwrap(), &x, sums);
        let joined = DeviceShares::concat(&[&x, &row]).unwrap();
        expect(joined, &x, a.iter().copied().chain(b.iter().map(|word| word.wrapping_mul(2))));
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    let (q, other) = (cpu(None), cpu(None));
    let (ring, narrow) = (Ring::new(37).unwrap(), Ring::new(36).unwrap());
    let of = |q, party, ring| DeviceShares::upload(q, party, ring, &[1, 2, 3, 4, 5, 6]).unwrap();
    let x = of(&q, Party::Zero, ring);
    let message = |result: Result<OnQueue<'_>, PfssError>| result.unwrap_err().to_string();

    assert_eq!(
        message(x.in_ring(Ring::new(38).unwrap())),
        "expected a ring of at most 37 bits for these shares, got a ring of 38 bits"
    );
    assert_eq!(message(x.slice(2..7)), "expected 6 shares at most before the end of a slice, got 7");
    #[expect(clippy::reversed_empty_ranges, reason = "the refused argument")]
    let reversed = x.slice(4..3);
    assert_eq!(message(reversed), "expected 3 shares at most before the start of a slice, got 4");
    assert_eq!(message(DeviceShares::concat(&[])), "expected 1 part at least, got 0");

    assert_eq!(message(x.add_public_rows(&[1; 4])), "expected 8 shares in whole rows, got 6");
    assert_eq!(message(x.add_public_rows(&[])), "expected 0 shares in whole rows, got 6");
    assert_eq!(message(x.add_rows(&x.slice(0..5).unwrap())), "expected 10 shares in whole rows, got 6");
    assert_eq!(message(x.row_sums(4)), "expected 8 shares in whole rows, got 6");
    assert_eq!(message(x.row_sums(0)), "expected 0 shares in whole rows, got 6");
    for (y, expected) in [
        (of(&q, Party::One, ring), PfssError::WrongParty { expected: Party::Zero, got: Party::One }),
        (of(&q, Party::Zero, narrow), PfssError::ShareRing { expected: 37, got: 36 }),
        (of(&other, Party::Zero, ring), PfssError::OtherDevice),
    ] {
        assert_eq!(x.add_rows(&y).unwrap_err(), expected);
        assert_eq!(DeviceShares::concat(&[&x, &x, &y]).unwrap_err(), expected);
    }

    assert_eq!(message(x.permuted(&[2, 4], &[1, 0])), "expected 8 shares of the shape, got 6");
    assert_eq!(
        message(x.permuted(&[usize::MAX; 2], &[1, 0])),
        format!("expected {} shares of the shape, got 6", usize::MAX)
    );
    assert_eq!(message(x.permuted(&[1; 7], &[0; 7])), "expected 6 axes at most, got 7");
    for order in [&[0][..], &[0, 0], &[0, 2], &[0, 1, 2]] {
        let expected = format!("expected an order that lists each of 2 axes once, got {order:?}");
        assert_eq!(message(x.permuted(&[2, 3], order)), expected);
    }
    assert_eq!(
        message(x.repeated(usize::MAX)),
        format!("expected 4294967295 elements of one op at most, got {}", usize::MAX)
    );
    assert_eq!(message(x.repeated(715_827_883)), "expected 4294967295 elements of one op at most, got 4294967298");
    assert_eq!(message(x.gathered(&[Some(5), None, Some(6)])), "place 6 of item 2 is outside 6 shares");
    assert_eq!(message(x.gathered(&[Some(u32::MAX)])), "place 4294967295 of item 0 is outside 6 shares");
}
