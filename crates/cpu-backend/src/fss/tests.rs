//! Exhaustive small rings, through the op set.

use backend_api::ops::fss::FssOps;
use core_types::{
    AesKey, Label, PrgKeys,
    cmp::{cmp_leaves, cmp_levels},
    params::fss::{CmpParams, DcfParams, PackParams, padded},
};

use crate::{CpuConfig, CpuQueue};

fn labels(count: usize, salt: u128) -> Vec<Label> {
    (0..count as u128)
        .map(|i| Label::new((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) ^ salt))
        .collect()
}

fn queue() -> CpuQueue {
    CpuQueue::open(CpuConfig { allow_table_aes: true, ..CpuConfig::default() }).unwrap()
}

#[test]
fn comparison_shares_reconstruct_for_every_alpha_and_point_of_small_rings() {
    for bits in 1..=9u32 {
        let size = 1usize << bits;
        let alphas: Vec<u64> = (0..size as u64).collect();
        let points: Vec<u64> = alphas.iter().flat_map(|&y| alphas.iter().map(move |_| y)).collect();
        let (count, row) = (size as u32, padded(size as u32));
        let params = CmpParams { key: AesKey::new([7; 16]), bits, party: 0, count, points: count };
        let roots = labels(2 * row, 5);
        let mut corrections = vec![0; cmp_levels(bits) as usize * row];
        let mut leaves = vec![0; 2 * row];
        let q = queue();
        q.cmp_gen(&params, &alphas, &roots, &mut corrections, &mut leaves).unwrap();
        let shares = [0, 1].map(|party| {
            let leaves = if cmp_leaves(bits) == 1 { &leaves[party * row..][..row] } else { &leaves[..] };
            let mut shares = vec![0u32; size * row / 32];
            let params = CmpParams { party: party as u32, ..params };
            q.cmp_eval(&params, &roots[party * row..][..row], &corrections, leaves, &points, &mut shares).unwrap();
            shares
        });
        for y in 0..size {
            for alpha in 0..size {
                let at = y * row / 32 + alpha / 32;
                let bit = (shares[0][at] ^ shares[1][at]) >> (alpha % 32) & 1;
                assert_eq!(bit == 1, alpha <= y, "bits {bits} alpha {alpha} y {y}");
            }
        }
    }
}

#[test]
fn payload_shares_reconstruct_for_every_alpha_and_point_of_small_rings() {
    for (bits, words, width) in [(1, 1, 64), (3, 2, 64), (4, 3, 17), (5, 5, 64), (6, 8, 1)] {
        let size = 1usize << bits;
        let alphas: Vec<u64> = (0..size as u64).collect();
        let points: Vec<u64> = alphas.iter().flat_map(|&y| alphas.iter().map(move |_| y)).collect();
        let betas: Vec<u64> = (0..(words * size) as u64).map(|i| (i + 3).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let (count, row) = (size as u32, padded(size as u32));
        let keys = PrgKeys::from_nonce([3; 16]);
        let params =
            DcfParams { keys, bits, party: 0, count, points: count, words: words as u32, width, reserved: [0; 2] };
        let roots = labels(2 * row, 5);
        let mut corrections = vec![0; bits as usize * row];
        let mut values = vec![0; bits as usize * words * row];
        let mut last = vec![0; words * row];
        let q = queue();
        q.dcf_gen(&params, &alphas, &betas, &roots, &mut corrections, &mut values, &mut last).unwrap();
        let shares = [0, 1].map(|party| {
            let mut shares = vec![0u64; size * words * size];
            let params = DcfParams { party: party as u32, ..params };
            let roots = &roots[party * row..][..row];
            q.dcf_eval(&params, roots, &corrections, &values, &last, &points, &mut shares).unwrap();
            shares
        });
        let mask = u64::MAX >> (64 - width);
        for y in 0..size {
            for word in 0..words {
                for alpha in 0..size {
                    let at = (y * words + word) * size + alpha;
                    let sum = shares[0][at].wrapping_add(shares[1][at]) & mask;
                    let expected = if y < alpha { betas[word * size + alpha] & mask } else { 0 };
                    assert_eq!(sum, expected, "bits {bits} alpha {alpha} y {y} word {word}");
                }
            }
        }
    }
}

#[test]
fn packing_round_trips_at_every_width() {
    let q = queue();
    for bits in 1..=64u32 {
        for count in [0u32, 1, 2, 31, 63, 64, 65, 130] {
            let params = PackParams { count, bits };
            let elements: Vec<u64> =
                (0..u64::from(count)).map(|i| (i + 9).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            let mut words = vec![u64::MAX; (count as usize * bits as usize).div_ceil(64)];
            q.pack_bits(&params, &elements, &mut words).unwrap();
            let mut back = vec![0; count as usize];
            q.unpack_bits(&params, &words, &mut back).unwrap();
            let mask = u64::MAX >> (64 - bits);
            assert!(elements.iter().zip(&back).all(|(e, b)| e & mask == *b));
        }
    }
}
