//! Reconstructed results equal those of the crate `fss-rs`, whose keys have another format.

use backend_api::ops::fss::FssOps;
use core_types::{
    Label, PrgKeys,
    cmp::cmp_levels,
    params::fss::{CmpParams, DcfParams, padded},
};
use fss_rs::{
    dcf::{BoundState, CmpFn, Dcf, DcfImpl},
    group::{Group, byte::ByteGroup},
    prg::Aes128MatyasMeyerOseasPrg,
};

const COUNT: usize = 300;

/// The peer ties its seeds to the bytes of an output: 16 bytes are 127-bit seeds, and payloads of which words are a part.
/// Payloads are shared by exclusive or, the one group for which its corrections have the right sign.
const SEED_BYTES: usize = 16;

type Prg = Aes128MatyasMeyerOseasPrg<SEED_BYTES, 2, 4>;

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

/// The peer's β 1[y < α], each word in the first bytes of a payload.
fn peer<const BYTES: usize>([alphas, betas, points]: &[Vec<u64>; 3]) -> Vec<u64> {
    let keys: [[u8; 16]; 4] = core::array::from_fn(|i| [i as u8 + 1; 16]);
    let dcf = DcfImpl::<BYTES, SEED_BYTES, _>::new(Prg::new(&keys.each_ref()));
    let bytes = |x: u64| -> [u8; BYTES] { x.to_be_bytes()[8 - BYTES..].try_into().expect("as many bytes") };
    let reconstruct = |e: usize| {
        let seeds = [e as u128, !(e as u128)].map(|seed| seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39d).to_be_bytes());
        let seeds = seeds.map(|mut seed| {
            seed[SEED_BYTES - 1] &= !1; // the bit that a seed does not use
            seed
        });
        let function = CmpFn {
            alpha: bytes(alphas[e]),
            beta: ByteGroup(u128::from(betas[e]).to_le_bytes()),
            bound: BoundState::LtAlpha,
        };
        let mut key = dcf.r#gen(&function, seeds.each_ref());
        let both = key.s0s.clone();
        let shares = [false, true].map(|party| {
            key.s0s = vec![both[usize::from(party)]];
            let mut share = ByteGroup::zero();
            dcf.eval(party, &key, &[&bytes(points[e])], &mut [&mut share]);
            u128::from_le_bytes(share.0)
        });
        (shares[0] ^ shares[1]) as u64
    };
    (0..COUNT).map(reconstruct).collect()
}

fn roots() -> Vec<Label> {
    let words = words(5, 4 * padded(COUNT as u32));
    words.chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect()
}

fn our_dcf(bits: u32, [alphas, betas, points]: &[Vec<u64>; 3]) -> Vec<u64> {
    let q = runtime::cpu().expect("threads start");
    let row = padded(COUNT as u32);
    let keys = PrgKeys::from_nonce([3; 16]);
    let params =
        DcfParams { keys, bits, party: 0, count: COUNT as u32, points: 1, words: 1, width: 64, reserved: [0; 2] };
    let roots = roots();
    let (mut corrections, mut values) = (vec![0; bits as usize * row], vec![0; bits as usize * row]);
    let mut last = vec![0; row];
    q.dcf_gen(&params, alphas, betas, &roots, &mut corrections, &mut values, &mut last).expect("lengths match");
    let shares = [0, 1].map(|party| {
        let mut shares = vec![0; COUNT];
        let params = DcfParams { party: party as u32, ..params };
        let roots = &roots[party * row..][..row];
        q.dcf_eval(&params, roots, &corrections, &values, &last, points, &mut shares).expect("lengths match");
        shares
    });
    shares[0].iter().zip(&shares[1]).map(|(a, b)| a.wrapping_add(*b)).collect()
}

fn our_cmp(bits: u32, [alphas, _, points]: &[Vec<u64>; 3]) -> Vec<bool> {
    let q = runtime::cpu().expect("threads start");
    let row = padded(COUNT as u32);
    let key = PrgKeys::from_nonce([3; 16]).child;
    let params = CmpParams { key, bits, party: 0, count: COUNT as u32, points: 1 };
    let roots = roots();
    let (mut corrections, mut leaves) = (vec![0; cmp_levels(bits) as usize * row], vec![0; 2 * row]);
    q.cmp_gen(&params, alphas, &roots, &mut corrections, &mut leaves).expect("lengths match");
    let shares = [0, 1].map(|party| {
        let mut shares = vec![0; row / 32];
        let params = CmpParams { party: party as u32, ..params };
        let roots = &roots[party * row..][..row];
        q.cmp_eval(&params, roots, &corrections, &leaves, points, &mut shares).expect("lengths match");
        shares
    });
    (0..COUNT).map(|e| (shares[0][e / 32] ^ shares[1][e / 32]) >> (e % 32) & 1 == 1).collect()
}

/// β 1[y < α] is β exactly where α <= y fails, because no payload here is zero.
fn agrees<const BYTES: usize>(bits: u32) {
    let inputs = inputs(bits);
    let theirs = peer::<BYTES>(&inputs);
    assert_eq!(our_dcf(bits, &inputs), theirs);
    let reached: Vec<bool> = theirs.iter().map(|&value| value == 0).collect();
    assert_eq!(our_cmp(bits, &inputs), reached);
    assert!(reached.contains(&true) && reached.contains(&false));
}

#[test]
fn comparisons_of_64_bits_agree_with_fss_rs() {
    agrees::<8>(64);
}

#[test]
fn comparisons_of_32_bits_agree_with_fss_rs() {
    agrees::<4>(32);
}
