//! Arguments at the bounds of plans, which are accepted, and past them, which are refused by name.

use nn_ops::{
    Activation, Annealing, CorrectionOptions, CorrectionParams, CorrectionPlan, Dropout, GemmPlan, GruVariant,
    GruWeights, Layout, LinearBackwardPlan, LinearGradients, LinearSaved, LossScale, NnError, OptimizerConfig,
    RssmPlan, RssmSpec, Rule, Schedule, SvdOptions, SvdPlan, SvdPower, Tensor, WeightDecay, linear_backward,
};

fn refused<T>(made: Result<T, NnError>) -> String {
    made.map(drop).unwrap_err().to_string()
}

fn layout(shape: &[usize]) -> Layout {
    Layout::contiguous(shape).unwrap()
}

#[test]
fn layouts_reach_up_to_the_address_space_and_have_six_axes() {
    let addressed = "`layout`: the shape has more elements than can be addressed";
    assert_eq!(layout(&[isize::MAX as usize]).numel(), isize::MAX as usize);
    assert_eq!(refused(Layout::contiguous(&[isize::MAX as usize + 1])), addressed);
    assert_eq!(Layout::strided(&[2, 2], &[usize::MAX - 2, 1]).unwrap().span(), usize::MAX);
    assert_eq!(refused(Layout::strided(&[2, 2], &[usize::MAX - 1, 1])), addressed);
    assert_eq!(refused(Layout::strided(&[2, 2], &[usize::MAX, 1])), addressed);
    let strides = "`layout` cannot use a tensor with strides [3]: expected one stride for each axis";
    assert_eq!(refused(Layout::strided(&[2, 3], &[3])), strides);
    assert_eq!(layout(&[1]).broadcast(&[2; 6]).unwrap().strides(), [0; 6]);
    assert_eq!(refused(layout(&[1]).broadcast(&[1; 7])), "expected at most 6 axes, got 7");
    assert_eq!(layout(&[2, 3]).transposed().unwrap().strides(), [1, 3]);
    assert_eq!(refused(layout(&[3]).transposed()), "`transpose` needs 2 axes or more, got 1");
}

#[test]
fn products_need_matrices_whose_axes_match() {
    let plan = |a: &[usize], b: &[usize], c: &[usize]| GemmPlan::new(&layout(a), &layout(b), &layout(c));
    let adding = |a: &[usize], b: &[usize], c: &[usize]| GemmPlan::accumulating(&layout(a), &layout(b), &layout(c));
    assert!(plan(&[2, 3], &[3, 4], &[2, 4]).is_ok());
    let vectors: [[&[usize]; 3]; 3] = [[&[3], &[3, 4], &[2, 4]], [&[2, 3], &[3], &[2, 4]], [&[2, 3], &[3, 4], &[2]]];
    for [a, b, c] in vectors {
        assert_eq!(refused(plan(a, b, c)), "`matmul` needs 2 axes or more, got 1");
    }
    assert_eq!(refused(plan(&[2, 3], &[4, 4], &[2, 4])), "`matmul` expected b of shape [3, 4], got [4, 4]");
    for c in [[3, 4], [2, 3]] {
        assert_eq!(refused(plan(&[2, 3], &[3, 4], &c)), format!("`matmul` expected c of shape [2, 4], got {c:?}"));
    }
    let apart = "`matmul` cannot broadcast shapes [5, 2, 3] and [6, 3, 4]";
    assert_eq!(refused(plan(&[5, 2, 3], &[6, 3, 4], &[6, 2, 4])), apart);
    // Only an accumulating product adds a batch to one matrix.
    let shared = "`matmul` expected c of shape [5, 2, 4], got [2, 4]";
    assert_eq!(refused(plan(&[5, 2, 3], &[3, 4], &[2, 4])), shared);
    assert!(adding(&[5, 2, 3], &[3, 4], &[2, 4]).is_ok());

    let backward = |x: &[usize], w: &[usize]| LinearBackwardPlan::new(&layout(x), &layout(w));
    assert!(backward(&[2, 3], &[3, 4]).is_ok());
    assert_eq!(refused(backward(&[2, 3], &[2, 4])), "`linear_backward` expected w of shape [3, 4], got [2, 4]");
    assert_eq!(refused(backward(&[2, 3, 1], &[3, 4])), "`linear_backward` expected x with 2 axes, got 3");
    assert_eq!(refused(backward(&[2, 3], &[3])), "`linear_backward` expected w with 2 axes, got 1");
    let q = runtime::cpu().unwrap();
    let [x, w, y, g, mut dw] =
        [[2, 3], [3, 4], [2, 4], [2, 3], [3, 4]].map(|shape| Tensor::<_, f32>::alloc(&q, &shape).unwrap());
    let pass = LinearSaved { x: x.at(), w: w.at(), f: Activation::Identity, saved: y.at() };
    let gradients = LinearGradients { x: None, w: dw.at_mut(), bias: None };
    let made = linear_backward(&q, pass, g.at(), gradients);
    assert_eq!(refused(made), "`linear_backward` expected g of shape [2, 4], got [2, 3]");
}

#[test]
fn decompositions_have_sides_below_2_to_the_31_and_64_iterations() {
    let plan = |m: usize, n: usize, power| SvdPlan::new(m, n, 1, SvdOptions { power, ..SvdOptions::default() });
    assert!(plan((1 << 31) - 1, 2, SvdPower::Auto).is_ok() && plan(2, (1 << 31) - 1, SvdPower::Auto).is_ok());
    assert_eq!(plan(2, 1 << 31, SvdPower::Auto).err(), Some(NnError::Overflow { op: "svd" }));
    assert!(plan(200, 200, SvdPower::Given(64)).is_ok());
    let iterations = "`svd`: the number of power iterations must be at most 64, got 65";
    assert_eq!(refused(plan(200, 200, SvdPower::Given(65))), iterations);
    let empty = Some(NnError::EmptyReduction { op: "svd" });
    assert_eq!([plan(0, 2, SvdPower::Auto).err(), plan(2, 0, SvdPower::Auto).err()], [empty.clone(), empty]);
}

#[test]
fn corrections_masks_and_norms_are_accepted_at_their_bounds() {
    let factors = CorrectionParams { limit: 0.0, ..CorrectionOptions::default().factors };
    let most = CorrectionOptions { similar: 32, decay: 1.0, coefficients: 5, factors };
    assert!(CorrectionPlan::new(2, 5, most).is_ok());
    assert!([0.0, 1.0].iter().all(|&p| Dropout::new(p, 1).is_ok()));
    let q = runtime::cpu().unwrap();
    let weights = GruWeights::random(&q, 1, [2, 3], GruVariant::ResetBefore, 1).unwrap();
    let normed = |norm| RssmPlan::new(&weights, RssmSpec { batch: 1, steps: 1, norm, ..RssmSpec::default() });
    assert!(normed(None).is_ok() && normed(Some(f32::MIN_POSITIVE)).is_ok());
    for eps in [0.0, -1.0] {
        let expected = format!("`rssm_rollout`: eps must be positive and finite, got {eps}");
        assert_eq!(refused(normed(Some(eps))), expected);
    }
    assert!(normed(Some(f32::INFINITY)).is_err() && normed(Some(f32::NAN)).is_err());
    let members = u32::MAX as usize / 4 + 1;
    let units = GruWeights::random(&q, members, [0, 0], GruVariant::ResetBefore, 1).err();
    assert_eq!(units, Some(NnError::Overflow { op: "gru_weights" }));
}

#[test]
fn optimizers_are_accepted_at_their_bounds() {
    let adam = OptimizerConfig::adam(0.0);
    let scale = LossScale { initial: f32::MIN_POSITIVE, growth: 1.0, backoff: f32::MIN_POSITIVE, interval: 1 };
    let with = |annealing| OptimizerConfig { schedule: Schedule { annealing, ..adam.schedule }, ..adam };
    for config in [
        OptimizerConfig::sgd(0.0, 0.0),
        OptimizerConfig { rule: Rule::Adam { beta1: 0.0, beta2: 0.0, eps: 1e-40 }, ..adam },
        with(Annealing::Linear { steps: 1, least: 0.0 }),
        with(Annealing::Cosine { steps: 1, least: 0.0 }),
        with(Annealing::Steps { every: 1, factor: 0.0 }),
        with(Annealing::Steps { every: 1, factor: 1.0 }),
        OptimizerConfig { decay: WeightDecay::Coupled(0.0), clip: Some(1e-300), loss_scale: Some(scale), ..adam },
    ] {
        assert_eq!(config.check(), Ok(()), "{config:?}");
    }
    let scaled = |loss_scale| refused(OptimizerConfig { loss_scale: Some(loss_scale), ..adam }.check());
    let domains = [
        (LossScale { initial: f32::INFINITY, ..scale }, "loss scale must be a normal number above 0, got inf"),
        (LossScale { growth: f32::INFINITY, ..scale }, "growth must be at least 1 and finite, got inf"),
        (LossScale { backoff: 0.0, ..scale }, "backoff must be greater than 0 and less than 1, got 0"),
    ];
    for (scale, expected) in domains {
        assert_eq!(scaled(scale), format!("`optimizer`: {expected}"));
    }
}
