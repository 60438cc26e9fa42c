//! A tensor of a wrong shape is refused before an operand of another layout is packed.

use backend_api::{Counted as _, Queue as _};
use half::f16;
use nn_ops::{
    Activation, AttentionOptions, Binary, BinaryPlan, CrossEntropyPlan, CrossEntropyResults, Dropout, ElementwisePlan,
    Functional as _, GemmPlan, Indices, LinearBackwardPlan, LinearGradients, Map, Mask, NnError, NormAffine,
    NormGradients, NormPlan, NormResults, NormSaved, Overflow, ReducePlan, Reduction, ResidualPlan, SoftmaxPlan,
    SumPlan, SvdOptions, Tensor, arg_max, binary_in_place, narrow, widen,
};
use runtime::AnyQueue;

use super::on_each_device;
use crate::common::DeviceTensor;

/// The shape of the plans. Operands of it are transposed and have to be packed.
const SHAPE: [usize; 2] = [2, 3];

/// Expects `run` to refuse the tensor of this name without an allocation and without a submission.
fn refuses(q: &AnyQueue, name: &str, run: impl FnOnce() -> Result<(), NnError>) {
    let held = q.budget().live_bytes();
    assert_eq!(q.budget().peak_bytes(), held, "an allocation has to raise the peak");
    let before = q.submissions();
    let (op, refused) = match run() {
        Err(NnError::ShapeMismatch { op, tensor, .. } | NnError::InvalidStride { op, tensor, .. }) => (op, tensor),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(refused, name, "{op}");
    assert_eq!(q.submissions(), before, "{op}, {name}");
    assert_eq!(q.budget().peak_bytes(), held, "{op}, {name}");
}

/// A tensor of [`SHAPE`] when transposed, which is also one of a wrong shape.
fn turned(q: &AnyQueue) -> DeviceTensor {
    Tensor::from_values(q, &[3, 2], &[0.5; 6]).unwrap()
}

#[test]
fn element_plans_refuse_wrong_shapes_before_packing() {
    on_each_device(|q| {
        let plan = ElementwisePlan::new(&SHAPE).unwrap();
        let (held, mut bad, mut row_major) = (turned(q), turned(q), turned(q).into_shape(&SHAPE).unwrap());
        let flags = Tensor::from_values(q, &[3, 2], &[true; 6]).unwrap();
        let mut halves = Tensor::from_values(q, &[3, 2], &[f16::ONE; 6]).unwrap();
        let (x, mask, wrong) = (held.transposed().unwrap(), flags.transposed().unwrap(), held.at());
        let (at, relu) = (Dropout::new(0.5, 7).unwrap().at(1), Activation::Relu);

        refuses(q, "y", || plan.activate(q, relu, x, bad.at_mut()));
        refuses(q, "g", || plan.activate_backward(q, relu, x, wrong, row_major.at_mut()));
        refuses(q, "dx", || plan.activate_backward(q, relu, x, x, bad.at_mut()));
        refuses(q, "y", || plan.axpby(q, 1.0, x, 0.0, bad.at_mut()));
        refuses(q, "y", || plan.axpby(q, 1.0, x, 1.0, bad.at_mut()));
        refuses(q, "x", || plan.axpby(q, 1.0, wrong, 1.0, bad.at_mut().transposed()?));
        refuses(q, "x", || plan.map_in_place(q, Map::Abs, bad.at_mut()));
        refuses(q, "x", || plan.activate_in_place(q, relu, bad.at_mut()));
        refuses(q, "x", || plan.dropout_in_place(q, at, 2, bad.at_mut()));
        refuses(q, "y", || plan.map(q, Map::Abs, x, bad.at_mut()));
        refuses(q, "y", || plan.dropout(q, at, 2, x, bad.at_mut()));
        refuses(q, "a", || plan.select(q, mask, [wrong, x], row_major.at_mut()));
        refuses(q, "b", || plan.select(q, mask, [x, wrong], row_major.at_mut()));
        refuses(q, "y", || plan.select(q, mask, [x, x], bad.at_mut()));
        refuses(q, "a", || plan.select_in_place(q, mask, bad.at_mut(), x));
        refuses(q, "b", || plan.select_in_place(q, mask, bad.at_mut().transposed()?, wrong));
        let product = BinaryPlan::new(row_major.layout(), x.layout(), row_major.layout()).unwrap();
        refuses(q, "y", || product.run_in_place(q, Binary::Mul, bad.at_mut(), x));
        refuses(q, "b", || product.run_in_place(q, Binary::Mul, bad.at_mut().transposed()?, wrong));
        refuses(q, "y", || narrow(q, Overflow::Refuse, x, halves.at_mut()));
        let half = halves.transposed().unwrap();
        refuses(q, "y", || widen(q, half, bad.at_mut()));

        let indices = Indices::new(q, 2, &[1, 0, 1]).unwrap();
        refuses(q, "y", || indices.gather(q, x, bad.at_mut()));
        let g = held.reshaped(&[2, 3]).unwrap().transposed().unwrap();
        refuses(q, "table", || indices.scatter_add(q, g, bad.at_mut()));
        refuses(q, "g", || indices.scatter_add(q, x, bad.at_mut().transposed()?));
    });
}

#[test]
fn row_plans_refuse_wrong_shapes_before_packing() {
    on_each_device(|q| {
        let (held, mut bad, mut row_major) = (turned(q), turned(q), turned(q).into_shape(&SHAPE).unwrap());
        let flags = Tensor::from_values(q, &[3, 2], &[true; 6]).unwrap();
        let (x, mask, wrong) = (held.transposed().unwrap(), Mask::Keep(flags.transposed().unwrap()), held.at());

        let plan = SoftmaxPlan::new(&SHAPE, 1).unwrap();
        refuses(q, "x", || plan.softmax(q, wrong, mask, row_major.at_mut()));
        refuses(q, "y", || plan.softmax(q, x, mask, bad.at_mut()));
        refuses(q, "x", || plan.log_softmax(q, wrong, mask, row_major.at_mut()));
        refuses(q, "y", || plan.log_softmax(q, x, mask, bad.at_mut()));
        refuses(q, "x", || plan.softmax_in_place(q, bad.at_mut(), mask));
        refuses(q, "x", || plan.log_softmax_in_place(q, bad.at_mut(), mask));
        refuses(q, "g", || plan.softmax_backward(q, x, wrong, row_major.at_mut()));
        refuses(q, "dx", || plan.softmax_backward(q, x, x, bad.at_mut()));
        refuses(q, "g", || plan.log_softmax_backward(q, x, wrong, row_major.at_mut()));
        refuses(q, "dx", || plan.log_softmax_backward(q, x, x, bad.at_mut()));

        refuses(q, "y", || SumPlan::new(&SHAPE, 0)?.run(q, x, bad.at_mut()));
        let cube = held.reshaped(&[1, 3, 2]).unwrap();
        let sums = SumPlan::accumulating(&[1, 2, 3], 0).unwrap();
        refuses(q, "y", || sums.run(q, cube.transposed()?, bad.at_mut()));
        refuses(q, "x", || sums.run(q, cube, bad.at_mut().transposed()?));
        refuses(q, "y", || ReducePlan::new(&SHAPE, &[0], Reduction::Max)?.run(q, x, bad.at_mut()));
        let cube = held.reshaped(&[3, 2, 1]).unwrap();
        refuses(q, "y", || ReducePlan::new(&[3, 2, 1], &[0, 2], Reduction::Sum)?.run(q, cube, bad.at_mut()));
        let mut places = Tensor::from_values(q, &[3], &[0u32; 3]).unwrap();
        refuses(q, "y", || arg_max(q, x, 1, places.at_mut()));

        let plan = CrossEntropyPlan::new(2, 3).unwrap();
        let (mut losses, mut short): (DeviceTensor, DeviceTensor) =
            (q.filled(&[2], 0.0).unwrap(), q.filled(&[3], 0.0).unwrap());
        let targets = Tensor::from_values(q, &[2, 2], &[0u32; 4]).unwrap();
        let (class, three) = (targets.indexed(1, 0).unwrap(), Tensor::from_values(q, &[3], &[0u32; 3]).unwrap());
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: row_major.at_mut() };
        refuses(q, "targets", || plan.cross_entropy(q, 1.0, x, three.at(), results));
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: bad.at_mut() };
        refuses(q, "dlogits", || plan.cross_entropy(q, 1.0, x, class, results));
        let results = CrossEntropyResults { losses: short.at_mut(), dlogits: bad.at_mut().transposed().unwrap() };
        refuses(q, "losses", || plan.cross_entropy(q, 1.0, x, class, results));
        let results = CrossEntropyResults { losses: losses.at_mut(), dlogits: row_major.at_mut() };
        refuses(q, "probs", || plan.cross_entropy_probs(q, 1.0, x, wrong, results));
        let results = CrossEntropyResults { losses: short.at_mut(), dlogits: bad.at_mut().transposed().unwrap() };
        refuses(q, "losses", || plan.cross_entropy_probs(q, 1.0, x, x, results));
    });
}

#[test]
fn norm_plans_refuse_wrong_shapes_before_packing() {
    on_each_device(|q| {
        let plan = NormPlan::new(&SHAPE, 1e-3).unwrap();
        let (held, mut bad, mut row_major) = (turned(q), turned(q), turned(q).into_shape(&SHAPE).unwrap());
        let [mut sum, mut y] = [(); 2].map(|()| turned(q));
        let (apart, mut of_rows) = (turned(q), Tensor::<_, f32>::alloc(q, &[2, 2]).unwrap());
        let (x, wrong, gamma) = (held.transposed().unwrap(), held.at(), Some(apart.indexed(1, 0).unwrap()));
        let short = apart.indexed(0, 0).unwrap();
        let affine = NormAffine { gamma, beta: gamma };

        // The last tensor of each call has a wrong shape, and every tensor before it has to be packed.
        let partly = NormAffine { gamma, beta: Some(short) };
        let results = NormResults { y: y.at_mut().transposed().unwrap(), stats: of_rows.at_mut() };
        refuses(q, "beta", || plan.layer_norm(q, x, partly, results));
        let results = NormResults { y: y.at_mut().transposed().unwrap(), stats: bad.at_mut() };
        refuses(q, "stats", || plan.layer_norm(q, x, affine, results));
        refuses(q, "x", || plan.layer_norm_in_place(q, bad.at_mut(), affine, of_rows.at_mut()));
        refuses(q, "stats", || plan.layer_norm_in_place(q, row_major.at_mut(), affine, bad.at_mut()));
        refuses(q, "stats", || plan.layer_norm_in_place(q, y.at_mut().transposed()?, affine, bad.at_mut()));
        let results = NormResults { y: y.at_mut().transposed().unwrap(), stats: of_rows.at_mut() };
        refuses(q, "r", || plan.add_layer_norm(q, [x, wrong], affine, sum.at_mut().transposed()?, results));
        let results = NormResults { y: y.at_mut().transposed().unwrap(), stats: bad.at_mut() };
        refuses(q, "stats", || plan.add_layer_norm(q, [x, x], affine, sum.at_mut().transposed()?, results));

        let results = NormResults { y: y.at_mut().transposed().unwrap(), stats: bad.at_mut() };
        refuses(q, "stats", || plan.rms_norm(q, x, gamma, results));
        let roots = apart.at().narrowed(0, 0..2).unwrap().indexed(1, 0).unwrap();
        let mut two: DeviceTensor = q.filled(&[2], 1.0).unwrap();
        refuses(q, "x", || plan.rms_norm_in_place(q, bad.at_mut(), gamma, two.at_mut()));
        refuses(q, "stats", || plan.rms_norm_in_place(q, row_major.at_mut(), gamma, bad.at_mut()));
        refuses(q, "stats", || plan.rms_norm_in_place(q, y.at_mut().transposed()?, gamma, bad.at_mut()));

        let stats = of_rows.transposed().unwrap();
        let saved = NormSaved { x, gamma, stats };
        let gradients = NormGradients { x: row_major.at_mut(), gamma: None, beta: None };
        refuses(q, "g", || plan.layer_norm_backward(q, saved, wrong, gradients));
        let saved = NormSaved { x, gamma, stats };
        let gradients = NormGradients { x: y.at_mut().transposed().unwrap(), gamma: None, beta: Some(two.at_mut()) };
        refuses(q, "dbeta", || plan.layer_norm_backward(q, saved, x, gradients));
        let saved = NormSaved { x, gamma, stats: roots };
        refuses(q, "dx", || plan.rms_norm_backward(q, saved, x, bad.at_mut(), None));
        let saved = NormSaved { x, gamma, stats: roots };
        refuses(q, "dgamma", || plan.rms_norm_backward(q, saved, x, y.at_mut().transposed()?, Some(two.at_mut())));
    });
}

#[test]
fn products_and_attention_refuse_wrong_shapes_before_packing() {
    on_each_device(|q| {
        let tensor = |shape: &[usize]| -> DeviceTensor {
            Tensor::from_values(q, shape, &vec![0.5; shape.iter().product()]).unwrap()
        };
        // Every second element: no axis has unit stride, which products and attention need.
        let [x, w, heads, other] = [&[4, 3, 2][..], &[3, 5, 2], &[1, 2, 2, 3, 2], &[1, 3, 2, 3, 2]].map(tensor);
        let (x, w) = (x.indexed(2, 0).unwrap(), w.indexed(2, 0).unwrap());
        let [heads, other] = [&heads, &other].map(|tensor| tensor.indexed(4, 0).unwrap());
        let (bias, saved) = (tensor(&[4]), (tensor(&[1, 2, 2, 3]), tensor(&[1, 2, 2])));
        let options = AttentionOptions::default();

        // Results that are added to and have to be packed.
        let factor = tensor(&[2, 2]);
        let mut apart = tensor(&[2, 2, 2]);
        let plan = GemmPlan::accumulating(factor.layout(), factor.layout(), apart.indexed(2, 0).unwrap().layout());
        let plan = plan.unwrap();
        refuses(q, "a", || plan.run(q, bias.at(), factor.at(), apart.at_mut().indexed(2, 0)?));
        refuses(q, "c", || plan.run(q, factor.at(), factor.at(), apart.at_mut().narrowed(2, 0..1)?));
        let mut of_x = tensor(&[2, 2]);
        let mut short = tensor(&[3]);
        let plan = LinearBackwardPlan::accumulating(factor.layout(), factor.layout()).unwrap();
        let gradients = LinearGradients {
            x: Some(of_x.at_mut().transposed().unwrap()),
            w: apart.at_mut().indexed(2, 1).unwrap(),
            bias: Some(short.at_mut()),
        };
        refuses(q, "db", || plan.run(q, factor.at(), factor.at(), factor.at(), gradients));
        // The factors of a residual are scaled before they are multiplied.
        let plan = ResidualPlan::new(4, 3, 2, SvdOptions::default()).unwrap();
        let (mut compressed, mut matrix) = (plan.compressed(q).unwrap(), tensor(&[3, 4]));
        refuses(q, "w", || plan.apply(q, 1.0, &mut compressed, matrix.at_mut()));
        refuses(q, "w", || plan.apply(q, 1.0, &mut compressed, matrix.at_mut().transposed()?));

        refuses(q, "bias", || q.linear(&x, &w, Some(bias.at()), Activation::Relu).map(drop));
        refuses(q, "g", || q.linear_backward(&x, &w, &x).map(drop));
        refuses(q, "v", || q.attention(&heads, &other, &heads, options).map(drop));
        refuses(q, "v", || q.attention_backward(&heads, &heads, &other, options, &saved, &heads).map(drop));
        refuses(q, "g", || q.attention_backward(&heads, &heads, &heads, options, &saved, &other).map(drop));
        let of_others = (tensor(&[1, 3, 2, 3]), tensor(&[1, 2, 2]));
        refuses(q, "y", || q.attention_backward(&heads, &heads, &heads, options, &of_others, &heads).map(drop));
        let of_others = (tensor(&[1, 2, 2, 3]), tensor(&[1, 2, 3]));
        refuses(q, "lse", || q.attention_backward(&heads, &heads, &heads, options, &of_others, &heads).map(drop));
    });
}

#[test]
fn row_major_results_that_are_read_are_not_copied() {
    on_each_device(|q| {
        let (mut y, other, plan) = (turned(q), turned(q), ElementwisePlan::new(&[3, 2]).unwrap());
        let flags = Tensor::from_values(q, &[3, 2], &[true; 6]).unwrap();
        let (softmax, sums) = (SoftmaxPlan::new(&[3, 2], 1).unwrap(), SumPlan::accumulating(&[1, 3, 2], 0).unwrap());
        let (norm, mut roots) = (NormPlan::new(&[3, 2], 1e-3).unwrap(), Tensor::alloc(q, &[3]).unwrap());
        let indices = Indices::new(q, 3, &[1, 0, 1]).unwrap();
        let held = q.budget().live_bytes();
        assert_eq!(q.budget().peak_bytes(), held, "an allocation has to raise the peak");
        plan.map_in_place(q, Map::Abs, y.at_mut()).unwrap();
        plan.axpby(q, 1.0, other.at(), 0.5, y.at_mut()).unwrap();
        plan.dropout_in_place(q, Dropout::new(0.5, 7).unwrap().at(1), 2, y.at_mut()).unwrap();
        plan.select_in_place(q, flags.at(), y.at_mut(), other.at()).unwrap();
        binary_in_place(q, Binary::Mul, y.at_mut(), other.at()).unwrap();
        sums.run(q, other.reshaped(&[1, 3, 2]).unwrap(), y.at_mut()).unwrap();
        indices.scatter_add(q, other.at(), y.at_mut()).unwrap();
        assert_eq!(q.budget().peak_bytes(), held);
        // On the processor, softmax and norms have scratch for two rows; a copy of y has 24 bytes.
        softmax.softmax_in_place(q, y.at_mut(), Mask::None).unwrap();
        norm.rms_norm_in_place(q, y.at_mut(), None, roots.at_mut()).unwrap();
        assert!(q.budget().peak_bytes() <= held + 16);
        let softmax = SoftmaxPlan::new(&SHAPE, 1).unwrap();
        softmax.softmax_in_place(q, y.at_mut().transposed().unwrap(), Mask::None).unwrap();
        assert!(q.budget().peak_bytes() >= held + 24);
    });
}
