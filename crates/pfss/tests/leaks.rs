//! Statistics that a leak in keys or shares would show, and proof that they would: a published crate fails the first.

use crate::common::{WORDS, add, both, descriptor, flat, pending, suf_gate, words};
use fss_rs::{
    PointFn,
    dpf::{Dpf, DpfImpl},
    group::byte::ByteGroup,
    prg::Aes128MatyasMeyerOseasPrg,
};
use pfss::{
    Dealer, Gate, Interval, KeyBundle, Step, Task, WeightShape, WeightTriple,
    suf::{BoolMode, CoeffMode, PredProgram, SufModes},
};

const COUNT: usize = 256;

/// What one party sees of one tree level, and the secret bit of α that must not show in it.
struct Level {
    alpha: bool,
    t_left: bool,
    t_right: bool,
    /// Chosen bits of the seed correction.
    seed: Vec<bool>,
}

/// The greatest distance from 1/2, in standard deviations, of the rate at which any two of the bits agree.
fn greatest_bias(levels: &[Level]) -> f64 {
    let sigma = (levels.len() as f64).sqrt() / 2.0;
    let rate = |equal: &dyn Fn(&Level) -> bool| {
        let hits = levels.iter().filter(|level| equal(level)).count();
        (hits as f64 - levels.len() as f64 / 2.0).abs() / sigma
    };
    let t = |level: &Level, which: usize| match which {
        0 => level.t_left,
        1 => level.t_right,
        // the correction of the branch that α leaves, and of the one it takes
        2 => [level.t_right, level.t_left][usize::from(level.alpha)],
        _ => [level.t_left, level.t_right][usize::from(level.alpha)],
    };
    let mut worst = rate(&|level| level.t_left == level.t_right);
    for which in 0..4 {
        worst = worst.max(rate(&|level| t(level, which) == level.alpha));
        for bit in 0..levels[0].seed.len() {
            worst = worst.max(rate(&|level| t(level, which) == level.seed[bit]));
            worst = worst.max(rate(&|level| level.alpha == level.seed[bit]));
        }
    }
    worst
}

/// The correction words of a bundle for 64-bit points: the second section, row-major, one row per level.
fn our_levels(bundle: &KeyBundle, alphas: &[u64]) -> Vec<Level> {
    let bytes = bundle.to_bytes();
    let at = |i: usize| u64::from_le_bytes(bytes[i..i + 8].try_into().unwrap()) as usize;
    let (offset, length) = (at(128 + 48 + 32), at(128 + 48 + 40));
    let rows = bytes[offset..offset + length].chunks(16 * alphas.len()).enumerate();
    let level = |(row, (block, &alpha)): (usize, (&[u8], &u64))| {
        let word = u128::from_le_bytes(block.try_into().unwrap());
        let bit = |i: u32| (word >> i) & 1 == 1;
        Level {
            alpha: (alpha >> (63 - row)) & 1 == 1,
            t_left: bit(0),
            t_right: bit(1),
            seed: vec![bit(2), bit(3), bit(64), bit(127)],
        }
    };
    rows.flat_map(|(row, blocks)| blocks.chunks(16).zip(alphas).map(move |pair| level((row, pair)))).collect()
}

#[test]
fn correction_bits_are_independent_of_each_other_and_of_the_secret() {
    let q = runtime::cpu().unwrap();
    let alphas = words(COUNT, 1);
    for gate in [Gate::full_predicates(64).unwrap(), Gate::interval_powers(64, 0).unwrap()] {
        let [bundle, _] = Dealer::insecure_from_seed(3).insecure_deal_for_masks(&q, &gate, &alphas).unwrap();
        let levels = our_levels(&bundle, &alphas);
        assert!(levels.len() >= 10_000);
        assert!(greatest_bias(&levels) < 5.0);
    }
}

#[test]
fn the_same_statistic_convicts_a_crate_that_leaves_the_control_bit_in_the_seed() {
    let mut rng = fastrand::Rng::with_seed(2);
    let mut block = || rng.u128(..);
    let keys = [block().to_le_bytes(), block().to_le_bytes()];
    let prg = Aes128MatyasMeyerOseasPrg::<16, 1, 2>::new(&[&keys[0], &keys[1]]);
    let dpf = DpfImpl::<8, 16, _>::new(prg);
    let mut levels = Vec::new();
    for _ in 0..COUNT {
        let (alpha, roots) = (block() as u64, [block().to_le_bytes(), block().to_le_bytes()]);
        let point = PointFn { alpha: alpha.to_be_bytes(), beta: ByteGroup([1; 16]) };
        let key = dpf.r#gen(&point, [&roots[0], &roots[1]]);
        for (row, cw) in key.cws.iter().enumerate() {
            let bit = |i: usize| (cw.s[i / 8] >> (i % 8)) & 1 == 1;
            let alpha = (alpha >> (63 - row)) & 1 == 1;
            levels.push(Level { alpha, t_left: cw.tl, t_right: cw.tr, seed: vec![bit(0), bit(2), bit(127)] });
        }
    }
    assert!(levels.len() >= 10_000);
    assert!(greatest_bias(&levels) > 100.0);
    // The cause: of the branch that α leaves, the correction of the control bit is bit 0 of the seed correction.
    let lost = |level: &Level| if level.alpha { level.t_left } else { level.t_right };
    assert!(levels.iter().all(|level| lost(level) == level.seed[0]));
}

/// A line up to 0x1234 and a parabola after it, with hidden thresholds where the mode hides them.
fn suf(coeffs: CoeffMode) -> Gate {
    let modes = SufModes { preds: PredProgram::StepDcf, coeffs, bools: BoolMode::XorPacked };
    suf_gate(descriptor(64, &[], &[], &[(0, &[&[0, 1]]), (0x1234, &[&[0, 0, 1]])]), modes)
}

/// One gate of each kind with a shift by `f`, powers of `degree`, and masks for predicates of each class.
fn gates(n: u32, f: u32, degree: u32, [full, sign, low]: [u32; 3]) -> Vec<Gate> {
    let gates = [
        Gate::full_predicates(n).and_then(|gate| gate.with_masks(full)),
        Gate::sign_predicates(n).and_then(|gate| gate.with_masks(sign)),
        Gate::low_predicates(n, f).and_then(|gate| gate.with_masks(low)),
        Gate::relu(n),
        Gate::truncate_reduce(n, f),
        Gate::gap_ars(n, f),
        Gate::gap_ars(n, f).and_then(Gate::in_one_round),
        Gate::interval_powers(n, degree),
        Gate::lrs(n, f),
        Gate::ars(n, f),
        Gate::relu_ars(n, f),
        Gate::product(n),
    ];
    gates.map(Result::unwrap).into()
}

/// χ² of two byte histograms against a common distribution: 255 degrees of freedom.
fn chi_squared(a: &[u8], b: &[u8]) -> f64 {
    let mut counts = [[0f64; 2]; 256];
    a.iter().for_each(|&byte| counts[usize::from(byte)][0] += 1.0);
    b.iter().for_each(|&byte| counts[usize::from(byte)][1] += 1.0);
    let (total_a, total_b) = (a.len() as f64, b.len() as f64);
    let term = |[x, y]: [f64; 2]| {
        let (p, q) = ((x + y) * total_a / (total_a + total_b), (x + y) * total_b / (total_a + total_b));
        if x + y > 0.0 { (x - p).powi(2) / p + (y - q).powi(2) / q } else { 0.0 }
    };
    counts.into_iter().map(term).sum()
}

/// 255 plus five standard deviations of √510.
const CHI_LIMIT: f64 = 255.0 + 5.0 * 22.6;

#[test]
fn key_bytes_do_not_tell_two_secrets_apart() {
    let q = runtime::cpu().unwrap();
    let further = [suf(CoeffMode::StepDcf), suf(CoeffMode::MaskedSelect), Gate::lut(13, 64).unwrap()];
    for gate in gates(64, 12, 2, [1; 3]).into_iter().chain(further) {
        let deal = |mask: u64, seed: u64| {
            let bundles = Dealer::insecure_from_seed(seed).insecure_deal_for_masks(&q, &gate, &[mask; 512]).unwrap();
            // the sections start at byte 512, after header and table
            bundles.map(|bundle| bundle.to_bytes()[512..].to_vec())
        };
        let (low, high) = (deal(0, 10), deal(u64::MAX, 11));
        for party in 0..2 {
            let chi = chi_squared(&low[party], &high[party]);
            assert!(chi < CHI_LIMIT, "{}: {chi}", gate.kind());
        }
    }
}

#[test]
fn bundle_lengths_depend_on_gate_and_count_only() {
    let q = runtime::cpu().unwrap();
    let mut dealer = Dealer::insecure_from_seed(4);
    for gate in gates(8, 3, 2, [2, 1, 0]).into_iter().chain([Gate::lut(8, 64).unwrap()]) {
        let mut lengths: Vec<[usize; 2]> = (0..256)
            .map(|r| dealer.insecure_deal_for_masks(&q, &gate, &[r, 255 - r]).unwrap())
            .map(|bundles| bundles.map(|bundle| bundle.to_bytes().len()))
            .collect();
        lengths.dedup();
        assert_eq!(lengths.len(), 1, "{}", gate.kind());
    }
}

#[test]
fn no_window_of_a_bundle_holds_a_mask_a_threshold_or_a_payload() {
    let q = runtime::cpu().unwrap();
    let masks = words(32, 5);
    let descriptors = [CoeffMode::StepDcf, CoeffMode::IntervalLut, CoeffMode::MaskedSelect].map(suf);
    for gate in gates(64, 12, 3, [0; 3]).into_iter().chain(descriptors) {
        let mut secrets = std::collections::HashSet::new();
        for &r in &masks {
            secrets.extend([r, r.wrapping_add(0x1234), r & (u64::MAX >> 1), r >> 12, r.wrapping_neg()]);
            secrets.extend([(r >> 12).wrapping_neg(), r.wrapping_mul(r), r.wrapping_neg().wrapping_pow(3)]);
        }
        for bundle in Dealer::insecure_from_seed(6).insecure_deal_for_masks(&q, &gate, &masks).unwrap() {
            let bytes = bundle.to_bytes();
            let windows = bytes[512..].windows(8).map(|window| u64::from_le_bytes(window.try_into().unwrap()));
            for word in windows.filter(|&word| word != 0) {
                assert!(!secrets.contains(&word), "{}: {word:#x}", gate.kind());
            }
        }
    }
}

#[test]
fn one_party_s_output_shares_are_uniform() {
    let q = runtime::cpu().unwrap();
    // one input, one mask: all that varies is the dealer's randomness
    let (x_hat, masks) = ([5 + 77; 1 << 15], [77; 1 << 15]);
    let mut dealer = Dealer::insecure_from_seed(7);
    let mut deal = |gate| {
        let bundles = dealer.insecure_deal_for_masks(&q, &gate, &masks).unwrap();
        bundles.map(|bundle| bundle.with_open_inputs().unwrap())
    };
    let arithmetic = deal(Gate::relu(64).unwrap()).map(|relu| {
        let pending = pending(relu.eval(&q, Task::Relu, &x_hat).unwrap());
        let open = vec![0; pending.masked_bits().len()];
        pending.finish(&q, &open).unwrap()
    });
    let interval = [Interval { start: 3, end: Some(9) }];
    let payload = deal(Gate::interval_powers(64, 0).unwrap())
        .map(|powers| powers.eval(&q, Task::IntervalPowers(&interval), &x_hat).unwrap());

    for step in arithmetic.into_iter().chain(payload) {
        let Step::Done(shares) = step else { panic!("a second opening") };
        assert_uniform(&flat(&shares));
    }
}

/// Each bit by itself and in pairs, and the mean.
fn assert_uniform(shares: &[u64]) {
    let sigma = (shares.len() as f64).sqrt() / 2.0;
    let bias = |hits: usize| (hits as f64 - shares.len() as f64 / 2.0).abs() / sigma;
    for bit in 0..64 {
        assert!(bias(shares.iter().filter(|&&share| (share >> bit) & 1 == 1).count()) < 5.0, "bit {bit}");
        let runs = shares.windows(2).filter(|pair| ((pair[0] ^ pair[1]) >> bit) & 1 == 1).count();
        assert!(bias(runs) < 5.0, "serial correlation of bit {bit}");
    }
    let mean = shares.iter().map(|&share| share as f64 / 2f64.powi(64)).sum::<f64>() / shares.len() as f64;
    assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12f64).sqrt() / (shares.len() as f64).sqrt());
}

#[test]
fn shares_of_products_by_opened_weights_are_uniform_over_runs() {
    // one input and one weight in every row: all that varies is the dealer's randomness
    let (rows, mut dealer) = (1 << 13, Dealer::insecure_from_seed(9));
    let q = runtime::cpu().unwrap();
    let (keys, mask) = dealer.deal_weights(WORDS, WeightShape { inner: 1, cols: 1 }).unwrap();
    let mut runs: [Vec<WeightTriple>; 2] = Default::default();
    for _ in 0..4 {
        let triples = dealer.deal_weight_triple(&q, &mask, rows).unwrap();
        runs.iter_mut().zip(triples).for_each(|(run, triple)| run.push(triple));
    }
    let ([zero, one], [zero_runs, one_runs]) = (keys, runs);
    let shares = both([(zero, zero_runs), (one, one_runs)], |mut session, party, (key, triples)| {
        let x = vec![5; rows];
        let weights = session.open_weights(&q, key, &[7 * party as u64]).unwrap();
        let products = triples.into_iter().map(|triple| session.matmul_weights(&q, triple, &x, &weights).unwrap());
        products.collect::<Vec<_>>().concat()
    });
    assert!(add(WORDS, [&shares[0], &shares[1]]).iter().all(|&product| product == 2 * 5 * 7));
    shares.iter().for_each(|shares| assert_uniform(shares));
}

#[test]
fn masked_bits_of_one_party_are_uniform() {
    let q = runtime::cpu().unwrap();
    let gate = Gate::truncate_reduce(64, 12).unwrap();
    for shift in Dealer::insecure_from_seed(7).insecure_deal_for_masks(&q, &gate, &[77; 1 << 15]).unwrap() {
        let step = shift.with_open_inputs().unwrap().eval(&q, Task::TruncateReduce, &[5 + 77; 1 << 15]).unwrap();
        let ones: u32 = pending(step).masked_bits().iter().map(|word| word.count_ones()).sum();
        let sigma = f64::from(1 << 15).sqrt() / 2.0;
        assert!((f64::from(ones) - f64::from(1 << 14)).abs() < 5.0 * sigma);
    }
}
