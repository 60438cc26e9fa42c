//! Reconstructed results equal the results of crate `fss-rs`, which has another key format.

use backend_api::ops::fss::{CmpEvalWindow, CmpGen, CmpKeys, DcfEvalWindow, DcfGen, DcfKeys, FssOps};
use core_types::{
    Label, PrgKeys,
    cmp::cmp_levels,
    params::fss::{CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, padded},
};
use fss_rs::{
    PointFn, Share,
    dcf::{BoundState, CmpFn, Dcf, DcfImpl},
    dpf::{Dpf, DpfImpl},
    group::{Group, byte::ByteGroup},
    prg::Aes128MatyasMeyerOseasPrg,
};

const COUNT: usize = 300;

/// Seed length in bytes; the peer requires seeds as long as outputs.
///
/// 16 bytes give 127-bit seeds and payloads that contain our words. Payloads are shared by exclusive or, the one group
/// for which the peer's corrections have the right sign.
const SEED_BYTES: usize = 16;

type Prg<const BLOCKS: usize, const KEYS: usize> = Aes128MatyasMeyerOseasPrg<SEED_BYTES, BLOCKS, KEYS>;

type Xor = ByteGroup<SEED_BYTES>;

fn words(salt: u64, len: usize) -> Vec<u64> {
    let word = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23).wrapping_mul(salt | 1);
    (0..len as u64).map(word).collect()
}

/// Secrets, payloads and points of `bits` bits, among them equal and neighbouring ones.
fn inputs(bits: u32) -> [Vec<u64>; 3] {
    let mask = u64::MAX >> (64 - bits);
    let alphas: Vec<u64> = words(77, COUNT).into_iter().map(|alpha| alpha & mask).collect();
    let near = |(e, &alpha): (usize, &u64)| match e % 4 {
        0 => alpha,
        1 => alpha.wrapping_add(1) & mask,
        2 => alpha.wrapping_sub(1) & mask,
        _ => words(e as u64, 1)[0] & mask,
    };
    let points = alphas.iter().enumerate().map(near).collect();
    [alphas, words(99, COUNT), points]
}

/// The last bytes of a number.
fn bytes<const BYTES: usize>(x: u64) -> [u8; BYTES] {
    x.to_be_bytes()[8 - BYTES..].try_into().expect("as many bytes")
}

/// The peer's seeds of both parties for key `e`.
fn seeds(e: usize) -> [[u8; SEED_BYTES]; 2] {
    let seeds = [e as u128, !(e as u128)].map(|seed| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39d).to_be_bytes());
    seeds.map(|mut seed| {
        seed[SEED_BYTES - 1] &= !1; // the bit that a seed does not use
        seed
    })
}

/// What both parties' shares of a key add up to, where `eval` is one party's share.
fn reconstruct(key: Share<SEED_BYTES, Xor>, eval: impl Fn(bool, &Share<SEED_BYTES, Xor>, &mut Xor)) -> u64 {
    let shares = [false, true].map(|party| {
        let own = Share { s0s: vec![key.s0s[usize::from(party)]], ..key.clone() };
        let mut share = Xor::zero();
        eval(party, &own, &mut share);
        u128::from_le_bytes(share.0)
    });
    (shares[0] ^ shares[1]) as u64
}

/// The peer's β 1[y < α], each word in the first bytes of a payload.
fn peer_below<const BYTES: usize>([alphas, betas, points]: &[Vec<u64>; 3]) -> Vec<u64> {
    let keys: [[u8; 16]; 4] = core::array::from_fn(|i| [i as u8 + 1; 16]);
    let dcf = DcfImpl::<BYTES, SEED_BYTES, _>::new(Prg::<2, 4>::new(&keys.each_ref()));
    let value = |e: usize| {
        let beta = ByteGroup(u128::from(betas[e]).to_le_bytes());
        let function = CmpFn { alpha: bytes(alphas[e]), beta, bound: BoundState::LtAlpha };
        let key = dcf.r#gen(&function, seeds(e).each_ref());
        reconstruct(key, |party, key, share| dcf.eval(party, key, &[&bytes(points[e])], &mut [share]))
    };
    (0..COUNT).map(value).collect()
}

/// The peer's β 1[y = α].
fn peer_at<const BYTES: usize>([alphas, betas, points]: &[Vec<u64>; 3]) -> Vec<u64> {
    let keys: [[u8; 16]; 2] = core::array::from_fn(|i| [i as u8 + 7; 16]);
    let dpf = DpfImpl::<BYTES, SEED_BYTES, _>::new(Prg::<1, 2>::new(&keys.each_ref()));
    let value = |e: usize| {
        let function = PointFn { alpha: bytes(alphas[e]), beta: ByteGroup(u128::from(betas[e]).to_le_bytes()) };
        let key = dpf.r#gen(&function, seeds(e).each_ref());
        reconstruct(key, |party, key, share| dpf.eval(party, key, &[&bytes(points[e])], &mut [share]))
    };
    (0..COUNT).map(value).collect()
}

fn roots() -> Vec<Label> {
    let words = words(5, 4 * padded(COUNT as u32));
    words.chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect()
}

fn our_dcf(bits: u32, [alphas, betas, x_hat]: &[Vec<u64>; 3]) -> Vec<u64> {
    let q = runtime::cpu().expect("threads start");
    let row = padded(COUNT as u32);
    let keys = PrgKeys::from_nonce([3; 16]);
    let (count, points, words, width, window) = (COUNT as u32, 1, 1, 64, bits);
    let roots = roots();
    let (mut corrections, mut values) = (vec![0; bits as usize * row], vec![0; bits as usize * row]);
    let mut last = vec![0; row];
    q.dcf_gen(DcfGen {
        params: &DcfGenParams { keys, bits, count, words, width },
        alphas,
        betas,
        roots: &roots,
        corrections: &mut corrections,
        values: &mut values,
        last: &mut last,
    })
    .expect("lengths match");
    let shares = [0, 1].map(|party| {
        let mut shares = vec![0; COUNT];
        let params = DcfWindowParams { keys, bits, party, count, points, words, width, window, reserved: 0 };
        let roots = &roots[party as usize * row..][..row];
        q.dcf_eval_window(DcfEvalWindow {
            params: &params,
            keys: DcfKeys { roots, corrections: &corrections, values: &values, last: &last },
            x_hat,
            offsets: &[0],
            shares: &mut shares,
        })
        .expect("lengths match");
        shares
    });
    shares[0].iter().zip(&shares[1]).map(|(a, b)| a.wrapping_add(*b)).collect()
}

fn our_cmp(bits: u32, [alphas, _, x_hat]: &[Vec<u64>; 3]) -> Vec<bool> {
    let q = runtime::cpu().expect("threads start");
    let row = padded(COUNT as u32);
    let key = PrgKeys::from_nonce([3; 16]).child;
    let (count, points, window) = (COUNT as u32, 1, bits);
    let params = CmpGenParams { key, bits, count, reserved: [0; 2] };
    let roots = roots();
    let (mut corrections, mut leaves) = (vec![0; cmp_levels(bits) as usize * row], vec![0; 2 * row]);
    q.cmp_gen(CmpGen { params: &params, alphas, roots: &roots, corrections: &mut corrections, leaves: &mut leaves })
        .expect("lengths match");
    let shares = [0, 1].map(|party| {
        let mut shares = vec![0; row / 32];
        let params = CmpWindowParams { key, bits, party, count, points, window, reserved: [0; 3] };
        let roots = &roots[party as usize * row..][..row];
        q.cmp_eval_window(CmpEvalWindow {
            params: &params,
            keys: CmpKeys { roots, corrections: &corrections, leaves: &leaves },
            x_hat,
            offsets: &[0],
            shares: &mut shares,
        })
        .expect("lengths match");
        shares
    });
    (0..COUNT).map(|e| (shares[0][e / 32] ^ shares[1][e / 32]) >> (e % 32) & 1 == 1).collect()
}

/// β 1[y < α] is β exactly where α <= y fails, because no payload here is zero; and y = α exactly where α <= y holds and
/// α <= y - 1 does not.
fn agrees<const BYTES: usize>(bits: u32) {
    let inputs = inputs(bits);
    let theirs = peer_below::<BYTES>(&inputs);
    assert_eq!(our_dcf(bits, &inputs), theirs);
    let reached: Vec<bool> = theirs.iter().map(|&value| value == 0).collect();
    assert_eq!(our_cmp(bits, &inputs), reached);
    assert!(reached.contains(&true) && reached.contains(&false));

    let [alphas, betas, points] = inputs;
    let before = points.iter().map(|y| y.saturating_sub(1)).collect();
    let passed = our_cmp(bits, &[alphas.clone(), betas.clone(), before]);
    let unit = |e: usize| if reached[e] && !(points[e] > 0 && passed[e]) { betas[e] } else { 0 };
    let ours: Vec<u64> = (0..COUNT).map(unit).collect();
    assert_eq!(ours, peer_at::<BYTES>(&[alphas, betas, points]));
    assert!(ours.iter().filter(|&&value| value > 0).count() >= COUNT / 4);
}

#[test]
fn points_and_comparisons_of_64_bits_agree_with_fss_rs() {
    agrees::<8>(64);
}

#[test]
fn points_and_comparisons_of_32_bits_agree_with_fss_rs() {
    agrees::<4>(32);
}
