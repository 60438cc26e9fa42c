//! Binary operations of the field tower against wide-integer models, on edge values and random ones.

use core_types::field::{CM31, Field, M31, P, QM31, Twiddle};
use fastrand::Rng;

const EDGES: [u32; 12] = [0, 1, 2, 3, 0xffff, 0x1_0000, 0x3fff_ffff, 0x4000_0000, 0x4000_0001, P - 3, P - 2, P - 1];

fn m31(rng: &mut Rng) -> M31 {
    M31::from_u64(rng.u64(..))
}

fn qm31(rng: &mut Rng) -> QM31 {
    QM31::from_coordinates([0; 4].map(|_| m31(rng)))
}

fn m(word: u32) -> M31 {
    M31::from_canonical(word).expect("a canonical word")
}

fn q(words: [u32; 4]) -> QM31 {
    QM31::from_coordinates(words.map(m))
}

fn check_pair(a: M31, b: M31, c: M31) {
    let p = u64::from(P);
    let [wa, wb, wc] = [a, b, c].map(|x| u64::from(x.word()));
    assert_eq!(u64::from((a + b).word()), (wa + wb) % p);
    assert_eq!(u64::from((a - b).word()), (wa + p - wb) % p);
    assert_eq!(u64::from((a * b).word()), wa * wb % p);
    assert_eq!(a.times_twiddle(Twiddle::new(b)), a * b);
    assert_eq!(u64::from(a.plus_product(b, Twiddle::new(c)).word()), (wa + wb * wc) % p);
    assert_eq!(u64::from(a.plus_product(b, Twiddle::new(c).negated()).word()), (wa + wb * (p - wc)) % p);
    assert_eq!(a.butterfly(b, Twiddle::new(c)), (a + b * c, a - b * c));
    assert_eq!(a.inverse_butterfly(b, Twiddle::new(c)), (a + b, (a - b) * c));
}

#[test]
fn m31_operations_match_u64_remainders_on_edges_and_ten_million_pairs() {
    for a in EDGES {
        for b in EDGES {
            for c in EDGES {
                check_pair(m(a), m(b), m(c));
            }
        }
    }
    let mut rng = Rng::with_seed(1);
    for _ in 0..10_000_000 {
        let word = rng.u64(..);
        let (a, b) = (M31::from_u32(word as u32), M31::from_u32((word >> 32) as u32));
        check_pair(a, b, a + b);
    }
}

#[test]
fn u64_words_reduce_to_their_remainder() {
    let p = u64::from(P);
    for word in [0, p, p * p, (p - 1) * (p - 1) * 4, u64::MAX, u64::MAX - 1, 1 << 62, 1 << 63, (1 << 62) - 1] {
        assert_eq!(u64::from(M31::from_u64(word).word()), word % p);
    }
    let mut rng = Rng::with_seed(2);
    for _ in 0..1_000_000 {
        let word = rng.u64(..);
        assert_eq!(u64::from(M31::from_u64(word).word()), word % p);
    }
}

#[test]
fn rotations_are_products_with_powers_of_two() {
    let mut rng = Rng::with_seed(3);
    for k in 0..93 {
        let power = m(2).pow(k);
        for x in EDGES.map(m).into_iter().chain((0..100).map(|_| m31(&mut rng))) {
            assert_eq!(x.times_power_of_two(k), x * power);
            assert_eq!(x.div_power_of_two(k) * power, x);
        }
    }
}

#[test]
fn powers_match_repeated_products() {
    for x in EDGES.map(m) {
        let mut product = M31::ONE;
        for exponent in 0..40 {
            assert_eq!(x.pow(exponent), product);
            product *= x;
        }
        assert_eq!(x.pow(P - 1), if x.is_zero() { M31::ZERO } else { M31::ONE });
    }
}

/// Coordinates of the product over `1, i, u, iu` by the definition, in 128-bit integers.
fn product_model(x: QM31, y: QM31) -> QM31 {
    // (power of i, power of u) of basis element k, with i^2 = -1 and u^2 = 2 + i.
    let mut wide = [0i128; 4];
    for (j, a) in x.coordinates().into_iter().enumerate() {
        for (k, b) in y.coordinates().into_iter().enumerate() {
            let product = i128::from(a.word()) * i128::from(b.word());
            let (i_power, u_power) = ((j & 1) + (k & 1), (j >> 1) + (k >> 1));
            let mut complex = if i_power == 2 { [-product, 0] } else { [0, 0] };
            if i_power < 2 {
                complex[i_power] = product;
            }
            match u_power {
                2 => {
                    wide[0] += 2 * complex[0] - complex[1];
                    wide[1] += complex[0] + 2 * complex[1];
                }
                _ => {
                    wide[2 * u_power] += complex[0];
                    wide[2 * u_power + 1] += complex[1];
                }
            }
        }
    }
    QM31::from_coordinates(wide.map(|w| m(w.rem_euclid(i128::from(P)) as u32)))
}

#[test]
fn qm31_matches_the_published_answers() {
    let x = q([1, 2, 3, 4]);
    assert_eq!(x * q([5, 6, 7, 8]), q([2_147_483_566, 109, 2_147_483_629, 60]));
    assert_eq!(x.inverse(), Some(q([1_855_247_052, 856_841_008, 1_588_674_294, 1_863_525_709])));
}

#[test]
fn qm31_products_match_the_definition() {
    for bits in 0..1 << 16u32 {
        // Every coordinate is 0, 1, P - 2 or P - 1.
        let pick = |shift: u32| m([0, 1, P - 2, P - 1][(bits >> shift & 3) as usize]);
        let x = QM31::from_coordinates([pick(0), pick(2), pick(4), pick(6)]);
        let y = QM31::from_coordinates([pick(8), pick(10), pick(12), pick(14)]);
        assert_eq!(x * y, product_model(x, y));
    }
    let mut rng = Rng::with_seed(4);
    for _ in 0..200_000 {
        let (x, y) = (qm31(&mut rng), qm31(&mut rng));
        assert_eq!(x * y, product_model(x, y));
        assert_eq!(x.a * y.a, product_model(QM31::new(x.a, CM31::ZERO), QM31::new(y.a, CM31::ZERO)).a);
    }
}

fn check_laws<F: Field + core::fmt::Debug>(x: F, y: F, z: F) {
    assert_eq!((x + y) * z, x * z + y * z);
    assert_eq!((x * y) * z, x * (y * z));
    assert_eq!(x - y, x + -y);
    assert_eq!(x.double(), x + x);
    assert_eq!(x.square(), x * x);
    assert_eq!(x * F::ONE + F::ZERO, x);
    match x.inverse() {
        Some(inverse) => assert_eq!(x * inverse, F::ONE),
        None => assert_eq!(x, F::ZERO),
    }
}

#[test]
fn field_laws_hold_in_every_field_of_the_tower() {
    let mut rng = Rng::with_seed(5);
    let zero_or = |k: u64, x: QM31| if k.is_multiple_of(7) { QM31::ZERO } else { x };
    for k in 0..50_000 {
        let (x, y, z) = (zero_or(k, qm31(&mut rng)), qm31(&mut rng), qm31(&mut rng));
        check_laws(x, y, z);
        check_laws(x.a, y.a, z.a);
        check_laws(x.a.a, y.a.a, z.a.a);
    }
}

#[test]
fn words_outside_the_field_never_become_elements() {
    for bad in [P, P + 1, 1 << 31, u32::MAX] {
        for position in 0..4 {
            let mut words = [1u32; 4];
            words[position] = bad;
            assert!(bytemuck::checked::try_cast::<[u32; 4], QM31>(words).is_err());
            if position < 2 {
                assert!(bytemuck::checked::try_cast::<[u32; 2], CM31>([words[0], words[1]]).is_err());
            }
        }
        assert!(bytemuck::checked::try_cast::<u32, M31>(bad).is_err());
        assert!(bytemuck::checked::try_cast::<u32, Twiddle>(bad | 1).is_err());
    }
    assert!(bytemuck::checked::try_cast::<u32, Twiddle>(2 * P).is_err());
    assert!(bytemuck::checked::try_cast::<u32, Twiddle>(2 * P - 2).is_ok());
}

#[test]
fn sums_of_scaled_elements_match_separate_products_on_edges_and_random_ones() {
    let largest = QM31::from_coordinates([m(P - 1); 4]);
    assert_eq!(QM31::sum_of_scaled([m(P - 1); 4], [largest; 4]), QM31::from_coordinates([m(4); 4]));
    let mut rng = Rng::with_seed(6);
    for _ in 0..100_000 {
        let (factors, values) = ([0; 4].map(|_| m31(&mut rng)), [0; 4].map(|_| qm31(&mut rng)));
        let expected = (0..4).fold(QM31::ZERO, |sum, i| sum + values[i].scale(factors[i]));
        assert_eq!(QM31::sum_of_scaled(factors, values), expected);
    }
}
