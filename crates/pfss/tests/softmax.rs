//! The softmax block over channels: exact against its public model, and close to the real function.

use std::time::Duration;

use crate::common::{both, words};
use pfss::{
    ChannelError, Dealer, PfssError, RangeError, Session, SignedRange, Traffic, memory_pair,
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::{CoeffMode, SufError, SufModes},
};

const ONE: f64 = 4096.0;

fn plan(layout: RowLayout, modes: SufModes) -> SecureSoftmaxPlan {
    SecureSoftmaxPlan::new(layout, SignedRange::new(-(1 << 20), 1 << 20).unwrap(), modes).unwrap()
}

/// Logits between -8 and 8.
fn logits(count: usize, seed: u64) -> Vec<i64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| rng.i64(-8 * 4096..8 * 4096)).collect()
}

/// Runs both parties on shares of packed logits.
fn run(plan: &SecureSoftmaxPlan, x: &[i64]) -> ([Vec<u64>; 2], Traffic) {
    let q = runtime::cpu().unwrap();
    let zero = words(x.len(), 7);
    let one: Vec<u64> = x.iter().zip(&zero).map(|(&x, &share)| (x as u64).wrapping_sub(share)).collect();
    let (x, bundles) = ([zero, one], Dealer::insecure_from_seed(6).deal_all(&q, &plan.deals()).unwrap());
    let [a, b] = both(bundles, |mut session, party, bundles| {
        (session.softmax(&q, plan, bundles, &x[party]).unwrap(), session.traffic())
    });
    assert_eq!(a.1, b.1);
    ([a.0, b.0], a.1)
}

/// Checks that every row of `got` is within 1.1 units of the real softmax, and sums to 1.
fn close(plan: &SecureSoftmaxPlan, x: &[i64], got: &[i64]) {
    for range in plan.layout().ranges().filter(|range| !range.is_empty()) {
        let row = &x[range.clone()];
        let max = row.iter().max().copied().unwrap() as f64;
        let exps: Vec<f64> = row.iter().map(|&x| ((x as f64 - max) / ONE).exp()).collect();
        let sum: f64 = exps.iter().sum();
        for (e, &p) in exps.iter().zip(&got[range.clone()]) {
            assert!((e / sum * ONE - p as f64).abs() <= 1.1, "row of {}: {p} for {}", row.len(), e / sum * ONE);
        }
        let total: i64 = got[range].iter().sum();
        assert!((total - 4096).unsigned_abs() as usize <= row.len(), "row of {}: {total}", row.len());
    }
}

/// Holds the shares to the public model, bit for bit, and the model to the real softmax.
fn check(plan: &SecureSoftmaxPlan, x: &[i64]) {
    let (shares, traffic) = run(plan, x);
    let got: Vec<i64> = shares[0].iter().zip(&shares[1]).map(|(&a, &b)| a.wrapping_add(b) as i64).collect();
    assert_eq!(got, plan.eval(x).unwrap());
    let (bytes, rounds) = plan.traffic();
    assert_eq!(traffic, Traffic { sent_bytes: bytes, received_bytes: bytes, rounds });
    close(plan, x, &got);
    for share in &shares {
        let dense = plan.layout().scatter(share).unwrap();
        let mut active = vec![false; dense.len()];
        for (row, range) in plan.layout().ranges().enumerate() {
            active[row * plan.layout().cols()..][..range.len()].fill(true);
        }
        assert!(dense.iter().zip(active).all(|(&share, active)| active || share == 0));
    }
}

#[test]
fn rows_of_every_kind_of_length_are_exact_and_sum_to_one() {
    let layout = RowLayout::ragged(128, &[0, 1, 2, 3, 127, 128, 0, 5]).unwrap();
    let x = logits(layout.active(), 1);
    check(&plan(layout, SufModes::default()), &x);
}

#[test]
fn causal_attention_is_exact_in_every_mode() {
    let layout = RowLayout::causal(9, 8, 1);
    let x = logits(layout.active(), 2);
    for coeffs in [CoeffMode::MaskedSelect, CoeffMode::IntervalLut, CoeffMode::StepDcf] {
        check(&plan(layout.clone(), SufModes { coeffs, ..SufModes::default() }), &x);
    }
}

#[test]
fn equal_extreme_and_distant_logits_are_exact() {
    let layout = RowLayout::ragged(1024, &[1024, 4, 3, 2]).unwrap();
    let mut x = vec![-77i64; 1024];
    x.extend([1 << 20, -(1 << 20), 0, (1 << 20) - 4096]);
    x.extend([0, 16 * 4096 - 1, -1]);
    x.extend([-(1 << 20); 2]);
    check(&plan(layout, SufModes::default()), &x);
}

#[test]
fn rows_of_up_to_1024_elements_are_within_a_unit_of_the_real_softmax() {
    for len in [2, 16, 128, 512, 1024] {
        let plan = plan(RowLayout::ragged(len, &[len]).unwrap(), SufModes::default());
        let in_clear = |x: &[i64]| close(&plan, x, &plan.eval(x).unwrap());
        // one and two peaks, all others at every distance; 9 is where sums of small errors were greatest
        let distances = (0..=17 * 4096).step_by(29 * (len / 16).max(1));
        for distance in distances.chain([9 * 4096, 16 * 4096 - 1, 16 * 4096, 100 * 4096]) {
            for peaks in [1, 2] {
                let x: Vec<i64> = (0..len).map(|at| if at < peaks { distance } else { 0 }).collect();
                in_clear(&x);
            }
        }
        // random rows, flat and steep
        let mut rng = fastrand::Rng::with_seed(len as u64);
        for spread in [1, 4096, 4 * 4096, 8 * 4096, 16 * 4096] {
            let x: Vec<i64> = (0..len).map(|_| rng.i64(-spread..=spread)).collect();
            in_clear(&x);
        }
    }
    // equal elements, causal rows
    let lengths: Vec<usize> = (1..=1024).step_by(31).collect();
    let equal = plan(RowLayout::ragged(1024, &lengths).unwrap(), SufModes::default());
    let x = vec![-77; equal.layout().active()];
    close(&equal, &x, &equal.eval(&x).unwrap());
    let causal = plan(RowLayout::causal(200, 128, 0), SufModes::default());
    let x = logits(causal.layout().active(), 3);
    close(&causal, &x, &causal.eval(&x).unwrap());
}

#[test]
fn packing_halves_what_causal_rows_cost() {
    let modes = SufModes::default();
    let (causal, _) = plan(RowLayout::causal(64, 64, 0), modes).traffic();
    let (square, rounds) = plan(RowLayout::causal(64, 64, 64), modes).traffic();
    assert!(causal < square * 11 / 20, "{causal} of {square}");
    // six levels of the tournament, two functions of four rounds, a product, a shift
    assert_eq!(rounds, 6 * 2 + 2 * 4 + 1 + 2);
    let nothing = plan(RowLayout::ragged(4, &[0, 0]).unwrap(), modes);
    assert!(nothing.eval(&[]).unwrap().is_empty());
    check(&nothing, &[]);
}

#[test]
fn parties_with_other_layouts_of_the_same_counts_are_told() {
    let q = runtime::cpu().unwrap();
    let plans = [[2, 3], [3, 2]].map(|lengths| plan(RowLayout::ragged(3, &lengths).unwrap(), SufModes::default()));
    let deals = plans[0].deals();
    assert_eq!(deals, plans[1].deals());
    let bundles = Dealer::insecure_from_seed(6).deal_all(&q, &deals).unwrap();
    let errors =
        both(bundles, |mut session, party, bundles| session.softmax(&q, &plans[party], bundles, &[0; 5]).unwrap_err());
    for error in errors {
        assert!(matches!(error, PfssError::Channel(ChannelError::Step { .. })), "{error}");
    }
}

#[test]
fn plans_and_bundles_that_do_not_fit_are_refused() {
    let range = SignedRange::new(i64::MIN / 2 - 1, i64::MAX / 2).unwrap();
    let layout = RowLayout::ragged(4, &[2, 3]).unwrap();
    let refused = SecureSoftmaxPlan::new(layout.clone(), range, SufModes::default()).unwrap_err();
    assert!(matches!(refused, PfssError::Range(RangeError::Overflow { bits: 64, .. })));
    let long = RowLayout::ragged(2000, &[3, 1025]).unwrap();
    let refused = SecureSoftmaxPlan::new(long, SignedRange::new(-1, 1).unwrap(), SufModes::default()).unwrap_err();
    assert_eq!(refused, PfssError::Suf(SufError::Cap { what: "elements of a row", max: 1024, got: 1025 }));

    let q = runtime::cpu().unwrap();
    let plan = plan(layout, SufModes::default());
    let deal = || Dealer::insecure_from_seed(1).deal_all(&q, &plan.deals()).unwrap();
    let (channel, _other) = memory_pair(Duration::from_secs(1));
    let mut session = Session::new(channel);
    let [bundles, _] = deal();
    let refused = session.softmax(&q, &plan, bundles, &[0; 4]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "active elements", expected: 5, got: 4 });
    let [mut bundles, _] = deal();
    bundles.pop();
    let refused = session.softmax(&q, &plan, bundles, &[0; 5]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "bundles", expected: 8, got: 7 });
    let [mut bundles, _] = deal();
    bundles.swap(2, 4);
    assert_eq!(session.softmax(&q, &plan, bundles, &[0; 5]).unwrap_err(), PfssError::Program);
    let [mut bundles, _] = deal();
    bundles.swap(0, 1);
    let refused = session.softmax(&q, &plan, bundles, &[0; 5]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "elements", expected: 1, got: 2 });
}
