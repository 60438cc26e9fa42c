//! The softmax block over channels: exact against its public model, and close to the real function.

use std::time::Duration;

use crate::common::{WORDS, both, open, share};
use pfss::{
    ChannelError, Dealer, PfssError, RangeError, Session, SignedRange, Traffic, memory_pair,
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::{CoeffMode, SufError, SufModes},
};

const ONE: f64 = 4096.0;

type New = fn(RowLayout, SignedRange, SufModes) -> Result<SecureSoftmaxPlan, PfssError>;

/// Exponentials by spline and by table.
const FORMS: [New; 2] = [SecureSoftmaxPlan::new, SecureSoftmaxPlan::by_table];

/// Both forms for logits of magnitude at most 256.
fn plans(layout: &RowLayout, modes: SufModes) -> [SecureSoftmaxPlan; 2] {
    let logits = SignedRange::new(-(1 << 20), 1 << 20).unwrap();
    FORMS.map(|new| new(layout.clone(), logits, modes).unwrap())
}

/// Logits between -8 and 8.
fn logits(count: usize, seed: u64) -> Vec<i64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| rng.i64(-8 * 4096..8 * 4096)).collect()
}

/// Runs both parties on shares of packed logits.
fn run(plan: &SecureSoftmaxPlan, x: &[i64]) -> ([Vec<u64>; 2], Traffic) {
    let (q, x) = (runtime::cpu().unwrap(), share(WORDS, x));
    let bundles = Dealer::insecure_from_seed(6).deal_all(&q, &plan.deals()).unwrap();
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

/// Checks a plan as it is, and in fewer rounds: both have the results of the same public model.
fn check(plan: &SecureSoftmaxPlan, x: &[i64]) {
    let fewer = plan.clone().in_fewer_rounds().unwrap();
    assert_eq!(fewer.eval(x).unwrap(), plan.eval(x).unwrap());
    [plan, &fewer].into_iter().for_each(|plan| check_plan(plan, x));
}

/// Holds the shares to the public model, bit for bit, and the model to the real softmax.
fn check_plan(plan: &SecureSoftmaxPlan, x: &[i64]) {
    let (shares, traffic) = run(plan, x);
    let got = open(WORDS, [&shares[0], &shares[1]]);
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
    for plan in plans(&layout, SufModes::default()) {
        check(&plan, &x);
    }
}

#[test]
fn causal_attention_is_exact_in_every_mode() {
    let layout = RowLayout::causal(9, 8, 1);
    let x = logits(layout.active(), 2);
    for coeffs in [CoeffMode::MaskedSelect, CoeffMode::IntervalLut, CoeffMode::StepDcf] {
        for plan in plans(&layout, SufModes { coeffs, ..SufModes::default() }) {
            check(&plan, &x);
        }
    }
}

#[test]
fn equal_extreme_and_distant_logits_are_exact() {
    let layout = RowLayout::ragged(1024, &[1024, 4, 3, 2]).unwrap();
    let mut x = vec![-77i64; 1024];
    x.extend([1 << 20, -(1 << 20), 0, (1 << 20) - 4096]);
    x.extend([0, 16 * 4096 - 1, -1]);
    x.extend([-(1 << 20); 2]);
    for plan in plans(&layout, SufModes::default()) {
        check(&plan, &x);
    }
}

#[test]
fn logits_far_from_zero_and_far_apart_are_exact() {
    let layout = RowLayout::ragged(5, &[5, 1, 4]).unwrap();
    // Distances of fewer bits than the ring of a table's product, and of more.
    for (min, max) in [(1i64 << 40, (1 << 40) + 20 * 4096), (-(1 << 40) - 3, -(1 << 40)), (-(1 << 50), 1 << 50)] {
        let near = |distance: i64| (max - distance).max(min);
        let x = [min, max, near(1), near(4096), max, min, near(7 * 4096), near(3 * 4096 + 5), max, near(511 * 128)];
        for new in FORMS {
            let plan = new(layout.clone(), SignedRange::new(min, max).unwrap(), SufModes::default()).unwrap();
            check(&plan, &x);
        }
    }
}

#[test]
fn rows_of_up_to_1024_elements_are_within_a_unit_of_the_real_softmax() {
    for len in [2, 16, 128, 512, 1024] {
        let plans = plans(&RowLayout::ragged(len, &[len]).unwrap(), SufModes::default());
        let in_clear = |x: &[i64]| plans.iter().for_each(|plan| close(plan, x, &plan.eval(x).unwrap()));
        // one and two peaks, all others at every distance; 9 is where sums of small errors were greatest
        let distances = (0..=17 * 4096).step_by(29 * (len / 16).max(1));
        // tables end at 511/32
        let ends = [9 * 4096, 511 * 128 - 1, 511 * 128, 16 * 4096 - 1, 16 * 4096, 100 * 4096];
        for distance in distances.chain(ends) {
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
    for equal in plans(&RowLayout::ragged(1024, &lengths).unwrap(), SufModes::default()) {
        let x = vec![-77; equal.layout().active()];
        close(&equal, &x, &equal.eval(&x).unwrap());
    }
    for causal in plans(&RowLayout::causal(200, 128, 0), SufModes::default()) {
        let x = logits(causal.layout().active(), 3);
        close(&causal, &x, &causal.eval(&x).unwrap());
    }
}

#[test]
fn packing_halves_what_causal_rows_cost() {
    let modes = SufModes::default();
    let causal = plans(&RowLayout::causal(64, 64, 0), modes).map(|plan| plan.traffic().0);
    let square = plans(&RowLayout::causal(64, 64, 64), modes).map(|plan| plan.traffic());
    for (causal, (square, _)) in causal.into_iter().zip(square) {
        assert!(causal < square * 11 / 20, "{causal} of {square}");
    }
    // six levels of the tournament, two functions of four rounds or one of nine and one of four, a product, a shift
    assert_eq!(square.map(|(_, rounds)| rounds), [4, 9].map(|exponential| 6 * 2 + exponential + 4 + 1 + 2));
    for nothing in plans(&RowLayout::ragged(4, &[0, 0]).unwrap(), modes) {
        assert!(nothing.eval(&[]).unwrap().is_empty());
        check(&nothing, &[]);
    }
}

fn key_bytes(plan: &SecureSoftmaxPlan) -> u64 {
    plan.deals().iter().map(|(gate, count)| gate.key_bits_per_element() * *count as u64).sum::<u64>() / 8
}

#[test]
fn exponentials_by_table_have_fewer_bytes_of_keys_and_five_rounds_more() {
    let logits = SignedRange::new(-(1 << 18), 1 << 18).unwrap();
    let layout = RowLayout::ragged(128, &[128; 4]).unwrap();
    let plans = FORMS.map(|new| new(layout.clone(), logits, SufModes::default()).unwrap());
    let [splines, tables] = plans.each_ref().map(key_bytes);
    // 17 thresholds on 21 bits and a shift by 32 bits, or the gates of a table with cells of 13 bits
    assert!(splines - tables > layout.active() as u64 * 700, "{splines} and {tables}");
    let [(fewer, first), (more, second)] = plans.each_ref().map(SecureSoftmaxPlan::traffic);
    assert_eq!(second, first + 5);
    assert!(fewer < more, "{fewer} and {more}");
}

#[test]
fn steps_with_few_elements_take_fewer_rounds_with_larger_keys() {
    let logits = SignedRange::new(-(1 << 18), 1 << 18).unwrap();
    // Rows of 128 have seven rounds of comparisons, and the last four have at most one for 16 elements; a row of 8 has
    // none with so few. A reciprocal takes two rounds less.
    for (cols, last) in [(8, 0), (16, 1), (128, 4), (1024, 7)] {
        let layout = RowLayout::ragged(cols, &[cols; 4]).unwrap();
        for new in FORMS {
            let plan = new(layout.clone(), logits, SufModes::default()).unwrap();
            let fewer = plan.clone().in_fewer_rounds().unwrap();
            let [(sent, rounds), (fewer_sent, fewer_rounds)] = [&plan, &fewer].map(SecureSoftmaxPlan::traffic);
            assert_eq!(fewer_rounds, rounds - 2 - last, "{cols}");
            assert!(fewer_sent < sent, "{cols}");
            // payloads of two words for each of 21 bits of a comparison, and of three and of one for a reciprocal
            let more = key_bytes(&fewer).saturating_sub(key_bytes(&plan));
            assert!(more <= layout.active() as u64 / 8 * 512 + 4 * 1024, "{cols}: {more}");
        }
    }
}

#[test]
fn parties_with_different_exponentials_are_told() {
    let q = runtime::cpu().unwrap();
    let plans = plans(&RowLayout::ragged(3, &[3]).unwrap(), SufModes::default());
    let [[zero, _], [_, one]] =
        plans.each_ref().map(|plan| Dealer::insecure_from_seed(6).deal_all(&q, &plan.deals()).unwrap());
    let bundles = [zero, one];
    let errors =
        both(bundles, |mut session, party, bundles| session.softmax(&q, &plans[party], bundles, &[0; 3]).unwrap_err());
    for error in errors {
        assert!(matches!(error, PfssError::Channel(_)), "{error}");
    }
}

#[test]
fn parties_with_other_layouts_of_the_same_counts_are_told() {
    let q = runtime::cpu().unwrap();
    let [first, second] =
        [[2, 3], [3, 2]].map(|lengths| plans(&RowLayout::ragged(3, &lengths).unwrap(), SufModes::default()));
    for plans in first.into_iter().zip(second).map(<[SecureSoftmaxPlan; 2]>::from) {
        let deals = plans[0].deals();
        assert_eq!(deals, plans[1].deals());
        let bundles = Dealer::insecure_from_seed(6).deal_all(&q, &deals).unwrap();
        let errors = both(bundles, |mut session, party, bundles| {
            session.softmax(&q, &plans[party], bundles, &[0; 5]).unwrap_err()
        });
        for error in errors {
            assert!(matches!(error, PfssError::Channel(ChannelError::Step { .. })), "{error}");
        }
    }
}

#[test]
fn plans_and_bundles_that_do_not_fit_are_refused() {
    let range = SignedRange::new(i64::MIN / 2 - 1, i64::MAX / 2).unwrap();
    let layout = RowLayout::ragged(4, &[2, 3]).unwrap();
    let long = RowLayout::ragged(2000, &[3, 1025]).unwrap();
    for new in FORMS {
        let refused = new(layout.clone(), range, SufModes::default()).unwrap_err();
        assert!(matches!(refused, PfssError::Range(RangeError::Overflow { bits: 64, .. })));
        let refused = new(long.clone(), SignedRange::new(-1, 1).unwrap(), SufModes::default()).unwrap_err();
        assert_eq!(refused, PfssError::Suf(SufError::Cap { what: "elements of a row", max: 1024, got: 1025 }));
    }

    let q = runtime::cpu().unwrap();
    let [plan, table] = plans(&layout, SufModes::default());
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
    // keys for splines do not fit a table: there are two functions of two gates, or one of six and one of two
    let [bundles, _] = deal();
    let refused = session.softmax(&q, &table, bundles, &[0; 5]).unwrap_err();
    assert_eq!(refused, PfssError::Length { what: "bundles", expected: 12, got: 8 });
}
