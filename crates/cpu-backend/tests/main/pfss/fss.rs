//! Exhaustive small rings, through the op set.

use backend_api::{
    Queue,
    ops::fss::{
        CmpEvalAll, CmpEvalWindow, CmpGen, CmpKeys, DcfEvalWindow, DcfGen, DcfKeys, ExpandSeed, FssOps, PackBits,
        UnpackBits,
    },
};
use core_types::{
    AesKey, Label, PrgKeys, Ring,
    cmp::{CMP_ALL_BITS, cmp_blocks, cmp_eval, cmp_gen, cmp_leaves, cmp_levels},
    dcf::{DcfCiphers, DcfDealer, dcf_eval_window},
    params::fss::{
        CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, PackParams, SeedParams, padded,
    },
};
use cpu_backend::{AesPath, CpuConfig, CpuQueue, Simd, SimdLevel};

use super::words;
use crate::levels::{expect_equal, queue};

fn labels(count: usize, seed: u64) -> Vec<Label> {
    let mut rng = fastrand::Rng::with_seed(seed);
    core::iter::repeat_with(|| Label::new(rng.u128(..))).take(count).collect()
}

/// Comparison keys of both parties.
struct Comparisons<'a> {
    params: CmpWindowParams,
    roots: &'a [Label],
    corrections: Vec<u128>,
    leaves: Vec<u128>,
}

impl<'a> Comparisons<'a> {
    /// Deals keys for α.
    fn deal(q: &CpuQueue, params: CmpWindowParams, alphas: &[u64], roots: &'a [Label]) -> Self {
        let (CmpWindowParams { key, bits, count, .. }, row) = (params, padded(params.count));
        let of = CmpGenParams { key, bits, count, reserved: [0; 2] };
        let (mut corrections, mut leaves) = (vec![0; cmp_levels(bits) as usize * row], vec![0; 2 * row]);
        q.cmp_gen(CmpGen { params: &of, alphas, roots, corrections: &mut corrections, leaves: &mut leaves }).unwrap();
        Self { params, roots, corrections, leaves }
    }

    /// The keys of a party.
    fn keys(&self, party: usize) -> CmpKeys<'_, CpuQueue> {
        let (row, all) = (padded(self.params.count), &self.leaves[..]);
        let leaves = if cmp_leaves(self.params.bits) == 1 { &all[party * row..][..row] } else { all };
        CmpKeys { roots: &self.roots[party * row..][..row], corrections: &self.corrections, leaves }
    }

    /// The shares of a party, in memory that held `before`.
    fn shares(&self, q: &CpuQueue, party: usize, window: u32, at: [&[u64]; 2], before: u32) -> Vec<u32> {
        let (params, [x_hat, offsets]) = (CmpWindowParams { party: party as u32, window, ..self.params }, at);
        let mut shares = vec![before; params.points as usize * padded(params.count) / 32];
        let keys = self.keys(party);
        q.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat, offsets, shares: &mut shares }).unwrap();
        shares
    }
}

/// Payload keys of both parties.
struct Payloads<'a> {
    params: DcfWindowParams,
    roots: &'a [Label],
    corrections: Vec<u128>,
    values: Vec<u64>,
    last: Vec<u64>,
}

impl<'a> Payloads<'a> {
    /// Deals keys for α and β.
    fn deal(q: &CpuQueue, params: DcfWindowParams, [alphas, betas]: [&[u64]; 2], roots: &'a [Label]) -> Self {
        let DcfWindowParams { keys, bits, count, words, width, .. } = params;
        let (row, levels, len) = (padded(count), bits as usize, words as usize);
        let of = DcfGenParams { keys, bits, count, words, width };
        let (mut corrections, mut last) = (vec![0; levels * row], vec![0; len * row]);
        let mut values = vec![0; levels * len * row];
        q.dcf_gen(DcfGen {
            params: &of,
            alphas,
            betas,
            roots,
            corrections: &mut corrections,
            values: &mut values,
            last: &mut last,
        })
        .unwrap();
        Self { params, roots, corrections, values, last }
    }

    /// The shares of a party, in memory that held `before`.
    fn shares(&self, q: &CpuQueue, party: usize, window: u32, at: [&[u64]; 2], before: u64) -> Vec<u64> {
        let (params, [x_hat, offsets]) = (DcfWindowParams { party: party as u32, window, ..self.params }, at);
        let (row, Self { corrections, values, last, .. }) = (padded(params.count), self);
        let roots = &self.roots[party * row..][..row];
        let keys = DcfKeys { roots, corrections: &corrections[..], values: &values[..], last: &last[..] };
        let mut shares = vec![before; x_hat.len() * offsets.len() * params.words as usize];
        q.dcf_eval_window(DcfEvalWindow { params: &params, keys, x_hat, offsets, shares: &mut shares }).unwrap();
        shares
    }
}

/// Offsets by which the masked input 0 is each of `points` points.
fn every_point(points: usize) -> Vec<u64> {
    (0..points as u64).map(u64::wrapping_neg).collect()
}

/// A queue for every AES path that this processor has, each with one thread and with two.
fn queues() -> Vec<CpuQueue> {
    let strongest = Simd::detect_up_to(SimdLevel::Avx512);
    let paths = [AesPath::Portable, AesPath::AesNi, AesPath::Vaes256, AesPath::Vaes512];
    let simds = paths.into_iter().filter_map(|path| strongest.with_aes(path));
    simds.flat_map(|simd| [1, 2].map(|threads| queue(simd, threads))).collect()
}

#[test]
fn comparison_shares_reconstruct_for_every_alpha_and_point_of_small_rings() {
    for (q, bits) in queues().into_iter().flat_map(|q| (1..=10u32).map(move |bits| (q.clone(), bits))) {
        let size = 1usize << bits;
        let alphas: Vec<u64> = (0..size as u64).collect();
        let (x_hat, offsets) = (vec![0; size], every_point(size));
        let (count, row) = (size as u32, padded(size as u32));
        let key = AesKey::new([7; 16]);
        let params = CmpWindowParams { key, bits, party: 0, count, points: count, window: bits, reserved: [0; 3] };
        let roots = labels(2 * row, 5);
        let keys = Comparisons::deal(&q, params, &alphas, &roots);
        let shares = [0, 1].map(|party| keys.shares(&q, party, bits, [&x_hat, &offsets], 0));
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
    let wide = (1..=6).flat_map(|bits| (1..=5).map(move |words| (bits, words, 64)));
    let shapes: Vec<(u32, usize, u32)> = wide.chain([(4, 3, 17), (6, 8, 1)]).collect();
    for (q, &(bits, words, width)) in queues().iter().flat_map(|q| shapes.iter().map(move |shape| (q, shape))) {
        let size = 1usize << bits;
        let alphas: Vec<u64> = (0..size as u64).collect();
        let (x_hat, offsets) = (vec![0; size], every_point(size));
        let betas = super::words(words * size, 3);
        let (count, row) = (size as u32, padded(size as u32));
        let keys = PrgKeys::from_nonce([3; 16]);
        let (points, payload, window) = (count, words as u32, bits);
        let params =
            DcfWindowParams { keys, bits, party: 0, count, points, words: payload, width, window, reserved: 0 };
        let roots = labels(2 * row, 5);
        let keys = Payloads::deal(q, params, [&alphas, &betas], &roots);
        let shares = [0, 1].map(|party| keys.shares(q, party, window, [&x_hat, &offsets], 0));
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
    let q = CpuQueue::open(CpuConfig::default()).unwrap();
    for bits in 1..=64u32 {
        for count in [0u32, 1, 2, 31, 63, 64, 65, 130] {
            let params = PackParams { count, bits };
            let elements = words(count as usize, 9);
            let mut words = vec![u64::MAX; (count as usize * bits as usize).div_ceil(64)];
            q.pack_bits(PackBits { params: &params, elements: &elements, words: &mut words }).unwrap();
            let mut back = vec![0; count as usize];
            q.unpack_bits(UnpackBits { params: &params, words: &words, elements: &mut back }).unwrap();
            let mask = u64::MAX >> (64 - bits);
            assert!(elements.iter().zip(&back).all(|(e, b)| e & mask == *b));
        }
    }
}

/// Everything that one queue computes for a batch: key sections and both parties' shares.
#[derive(PartialEq)]
struct QueueOutputs {
    words128: Vec<Vec<u128>>,
    words64: Vec<Vec<u64>>,
    bits: Vec<Vec<u32>>,
}

fn everything(q: &CpuQueue, count: u32, bits: u32, points: u32) -> QueueOutputs {
    let row = padded(count);
    let alphas = words(count as usize, 1);
    let (x_hat, offsets) = (&words(count as usize, 2)[..], &words(points as usize, 4)[..]);
    let roots = labels(2 * row, 77);
    let keys = PrgKeys::from_nonce([9; 16]);
    let cmp = CmpWindowParams { key: keys.child, bits, party: 0, count, points, window: bits, reserved: [0; 3] };
    let mut out = QueueOutputs { words128: Vec::new(), words64: Vec::new(), bits: Vec::new() };
    let comparisons = Comparisons::deal(q, cmp, &alphas, &roots);
    for party in 0..2 {
        out.bits.push(comparisons.shares(q, party, bits, [x_hat, offsets], u32::MAX));
        if bits <= CMP_ALL_BITS {
            // all keys, or those after the first group
            let first = if count > 32 && party == 1 { 32 } else { 0 };
            let (keys, party_number) = (count - first, party as u32);
            let params = CmpAllParams { key: cmp.key, bits, party: party_number, count, first, keys, reserved: [0; 3] };
            let mut units = vec![u128::MAX; cmp_blocks(bits) as usize * keys as usize];
            let keys = comparisons.keys(party);
            q.cmp_eval_all(CmpEvalAll { params: &params, keys, units: &mut units }).unwrap();
            out.words128.push(units);
        }
    }
    out.words128.extend([comparisons.corrections, comparisons.leaves]);
    for (len, width) in [(1usize, 64), (2, 13), (3, 64), (8, 40)] {
        let betas = words(len * count as usize, 3);
        let (payload, window) = (len as u32, bits);
        let dcf = DcfWindowParams { keys, bits, party: 0, count, points, words: payload, width, window, reserved: 0 };
        let payloads = Payloads::deal(q, dcf, [&alphas, &betas], &roots);
        out.words64.extend([0, 1].map(|party| payloads.shares(q, party, bits, [x_hat, offsets], 0)));
        out.words128.push(payloads.corrections);
        out.words64.extend([payloads.values, payloads.last]);
    }
    out
}

#[test]
fn every_path_and_thread_count_expands_a_seed_to_the_same_words() {
    let queues = queues();
    let key = AesKey::new([9; 16]);
    for (rows, blocks) in [(0u32, 3u32), (1, 0), (1, 1), (2, 31), (3, 33), (1, 257), (2, 20_000)] {
        let params = SeedParams { key, first: u128::MAX - 40, mask: [!3, 1023], rows, blocks, reserved: [0; 2] };
        let name = format!("{rows} rows of {blocks} blocks");
        expect_equal(&queues, &name, |q| {
            let mut words = vec![u64::MAX; 2 * rows as usize * blocks as usize];
            q.expand_seed(ExpandSeed { params: &params, words: &mut words }).unwrap();
            words
        });
    }
}

#[test]
fn every_path_and_thread_count_makes_the_same_words() {
    let queues = queues();
    for (count, bits, points) in [
        (0, 64, 1),
        (1, 64, 2),
        (31, 8, 1),
        (32, 9, 5),
        (33, 12, 4),
        (33, 7, 3),
        (255, 64, 9),
        (256, 1, 2),
        (257, 16, 0),
        (2100, 11, 2),
        (40, 13, 0),
    ] {
        let name = format!("{count} keys of {bits} bits");
        expect_equal(&queues, &name, |q| everything(q, count, bits, points));
    }
}

/// Batches of several jobs against the formulas of one key at a time, which share no code with the walks of vectors.
#[test]
fn keys_of_several_jobs_are_those_of_the_scalar_formulas() {
    let (count, bits, points, len, width) = (2100u32, 9, 2, 3usize, 50);
    let row = padded(count);
    let (alphas, betas) = (words(count as usize, 1), words(len * count as usize, 2));
    let (x_hat, offsets, roots) = (words(count as usize, 3), words(points as usize, 4), labels(2 * row, 5));
    let prg = PrgKeys::from_nonce([8; 16]);
    let (key, ring) = (prg.child, Ring::new(width).unwrap());
    let of_key = |e: usize| [roots[e], roots[row + e]];
    for q in queues() {
        let cmp = CmpWindowParams { key, bits, party: 1, count, points, window: bits, reserved: [0; 3] };
        let keys = Comparisons::deal(&q, cmp, &alphas, &roots);
        let shares = keys.shares(&q, 1, bits, [&x_hat, &offsets], 0);
        let Comparisons { corrections, leaves, .. } = keys;
        for e in 0..count as usize {
            let mut levels = Vec::new();
            let made = cmp_gen(&key, bits, alphas[e], of_key(e), |_, word| levels.push(word));
            assert!(levels.iter().enumerate().all(|(level, &word)| corrections[level * row + e] == word), "key {e}");
            assert_eq!([leaves[e], leaves[row + e]], made, "key {e}");
            for (j, &offset) in offsets.iter().enumerate() {
                let y = x_hat[e].wrapping_sub(offset);
                let (correction, leaf) = (|level: u32| levels[level as usize], |side: u32| made[side as usize]);
                let share = cmp_eval(&key, (bits, 1), roots[row + e], correction, leaf, y);
                assert_eq!(shares[j * row / 32 + e / 32] >> (e % 32) & 1, share, "key {e}, point {j}");
            }
        }

        let (payload, window) = (len as u32, bits);
        let dcf =
            DcfWindowParams { keys: prg, bits, party: 1, count, points, words: payload, width, window, reserved: 0 };
        let keys = Payloads::deal(&q, dcf, [&alphas, &betas], &roots);
        let shares = keys.shares(&q, 1, window, [&x_hat, &offsets], 0);
        let Payloads { corrections, values, last, .. } = keys;
        let ciphers = DcfCiphers { child: &prg.child, value: &prg.value };
        for e in 0..count as usize {
            let beta: Vec<u64> = (0..len).map(|word| betas[word * count as usize + e]).collect();
            let mut dealer = DcfDealer::start(of_key(e), &beta, ring);
            for level in 0..bits as usize {
                let (correction, made) = dealer.level(&ciphers, (alphas[e] >> (bits as usize - 1 - level)) as u32 & 1);
                assert_eq!(corrections[level * row + e], correction, "key {e}");
                assert!((0..len).all(|word| values[(level * len + word) * row + e] == made[word]), "key {e}");
            }
            let made = dealer.last(&ciphers);
            assert!((0..len).all(|word| last[word * row + e] == made[word]), "key {e}");
            dcf_eval_window(
                |cipher, input| ciphers.hash(cipher, input),
                (bits, 1, bits),
                (payload, ring),
                roots[row + e],
                |level| corrections[level as usize * row + e],
                |level, block| {
                    let (section, level) = if level == bits { (&last, 0) } else { (&values, level as usize) };
                    let at = |word: usize| section[(level * len + word) * row + e];
                    [at(2 * block as usize), if 2 * block as usize + 1 < len { at(2 * block as usize + 1) } else { 0 }]
                },
                0..points,
                |j| x_hat[e].wrapping_sub(offsets[j as usize]),
                |j, word, share| {
                    let at = (j as usize * len + word as usize) * count as usize + e;
                    assert_eq!(shares[at], share, "key {e}, point {j}");
                },
            );
        }
    }
}

/// Offsets within 2^`window` of the first, its ends among them.
fn offsets(bits: u32, window: u32, points: u32) -> Vec<u64> {
    let span = if window == 64 { u64::MAX } else { 1 << window };
    let mut rng = fastrand::Rng::with_seed(bits.into());
    let first = rng.u64(..);
    let past = |j: u32| match j {
        0 => 0,
        1 => span,
        _ => rng.u64(..span),
    };
    let mask = u64::MAX >> (64 - bits);
    (0..points).map(past).map(|past| first.wrapping_add(past) & mask).collect()
}

/// The shares of new payload keys for α and β at `x_hat` less each of `offsets`: each point from the root, and by windows.
fn both_dcf(
    q: &CpuQueue,
    params: DcfWindowParams,
    secrets: [&[u64]; 2],
    roots: &[Label],
    x_hat: &[u64],
    offsets: &[u64],
) -> [Vec<u64>; 2] {
    let (keys, party) = (Payloads::deal(q, params, secrets, roots), params.party as usize);
    [(params.bits, 1), (params.window, 2)]
        .map(|(window, before)| keys.shares(q, party, window, [x_hat, offsets], before))
}

#[test]
fn shares_at_clustered_points_are_those_at_single_points() {
    for (count, bits, window, points) in [
        (1, 64, 15, 34),
        (31, 64, 7, 5),
        (33, 25, 14, 9),
        (33, 9, 8, 4),
        (64, 9, 7, 3),
        (257, 64, 63, 2),
        (70, 10, 10, 5),
        (40, 64, 64, 3),
        (40, 6, 6, 3),
        (2100, 12, 9, 6),
        (33, 8, 8, 0),
        (0, 12, 8, 3),
    ] {
        let row = padded(count);
        let mut x_hat = words(count as usize, 5);
        let (offsets, roots) = (offsets(bits, window, points), labels(2 * row, 7));
        // masked inputs that place a cluster around the start of the ring
        x_hat.iter_mut().take(3).zip([0, 1, 1 << (bits / 2)]).for_each(|(x, y)| *x = offsets.first().unwrap_or(&0) + y);
        let (alphas, prg) = (words(count as usize, 1), PrgKeys::from_nonce([9; 16]));
        for q in queues() {
            let name = format!("{count} keys of {bits} bits at {points} points, window {window}, {:?}", q.caps());
            let clustered = CmpWindowParams { key: prg.child, bits, party: 1, count, points, window, reserved: [0; 3] };
            let keys = Comparisons::deal(&q, clustered, &alphas, &roots);
            let [single, at_once] =
                [(bits, 1), (window, 2)].map(|(window, before)| keys.shares(&q, 1, window, [&x_hat, &offsets], before));
            assert!(single == at_once, "{name}");
            for (len, width) in [(1usize, 64), (3, 17), (8, 64)] {
                let party = (len % 2) as u32;
                let (keys, words) = (prg, len as u32);
                let clustered = DcfWindowParams { keys, bits, party, count, points, words, width, window, reserved: 0 };
                let betas = super::words(len * count as usize, 2);
                let [single, at_once] = both_dcf(&q, clustered, [&alphas, &betas], &roots, &x_hat, &offsets);
                assert!(single == at_once, "{name}, {len} words");
            }
        }
    }
}

/// Payload trees have windows of fewer points than a block of leaves.
#[test]
fn payload_shares_at_narrow_clusters_are_those_at_single_points() {
    let (count, bits) = (33, 12);
    let x_hat: Vec<u64> = (0..33u64).map(|e| e * 0x155).collect();
    let (keys, roots) = (PrgKeys::from_nonce([2; 16]), labels(2 * padded(count), 3));
    for (q, window) in queues().into_iter().flat_map(|q| (0..=bits).map(move |window| (q.clone(), window))) {
        let offsets = offsets(bits, window, 5);
        let clustered =
            DcfWindowParams { keys, bits, party: 0, count, points: 5, words: 2, width: 64, window, reserved: 0 };
        let [single, at_once] = both_dcf(&q, clustered, [&x_hat, &[7; 66]], &roots, &x_hat, &offsets);
        assert!(single == at_once, "window {window}");
    }
}
