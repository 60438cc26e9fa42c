//! Tensors of any layout give the bits that row-major tensors of the same elements give.

use half::f16;
use nn_ops::{
    Activation, AttentionOptions, Binary, Dropout, ElementwisePlan, Functional, GemmPlan, Indices, Layout,
    LinearBackwardPlan, LinearGradients, LinearSaved, Map, Mask, NnError, NormAffine, NormPlan, Operand, Optimizer,
    OptimizerConfig, Overflow, ParameterSpec, ParameterTable, Reduction, SoftmaxPlan, SumPlan, Tensor, TensorMut,
    TensorRef, binary_in_place, linear_backward, matmul_backward_lhs, matmul_backward_rhs,
};
use runtime::AnyQueue;

use super::on_each_device;
use crate::common::DeviceTensor;

/// The shape of every operand.
pub(super) const SHAPE: [usize; 3] = [3, 4, 5];

/// Elements of the tensor that contains the operands.
pub(super) const ELEMENTS: usize = 3 * 6 * 9;

/// How the elements of an operand lie in a row-major tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Permuted,
    Reversed,
    Transposed,
    Narrowed,
    Broadcast,
}

impl Order {
    pub(super) const ALL: [Self; 5] =
        [Self::Permuted, Self::Reversed, Self::Transposed, Self::Narrowed, Self::Broadcast];

    /// The operand as a view.
    pub(super) fn view(self, x: &DeviceTensor) -> Result<TensorRef<'_, AnyQueue, f32>, NnError> {
        let first = |shape: &[usize]| x.narrowed(0, 0..shape.iter().product())?.reshaped(shape);
        match self {
            Self::Permuted => first(&[4, 5, 3])?.permuted(&[2, 0, 1]),
            Self::Reversed => first(&[5, 4, 3])?.permuted(&[2, 1, 0]),
            Self::Transposed => first(&[3, 5, 4])?.transposed(),
            Self::Narrowed => first(&[3, 6, 9])?.narrowed(1, 1..5)?.narrowed(2, 3..8),
            Self::Broadcast => first(&[4, 1])?.broadcast(&SHAPE),
        }
    }

    /// A result as a view. A broadcast one would overlap.
    pub(super) fn target(self, y: &mut DeviceTensor) -> Result<TensorMut<'_, AnyQueue, f32>, NnError> {
        let (first, strides) = match self {
            Self::Permuted => (0, [1, 15, 3]),
            Self::Reversed => (0, [1, 3, 12]),
            Self::Transposed => (0, [20, 1, 4]),
            Self::Narrowed => (12, [54, 9, 1]),
            Self::Broadcast => (0, [0, 1, 0]),
        };
        let layout = Layout::strided(&SHAPE, &strides)?;
        TensorMut::new(y.at_mut().narrowed(0, first..first + layout.span())?.into_view(), layout)
    }

    /// Where element `[i, j, k]` of the operand lies.
    pub(super) fn place(self, [i, j, k]: [usize; 3]) -> usize {
        match self {
            Self::Permuted => (j * 5 + k) * 3 + i,
            Self::Reversed => (k * 4 + j) * 3 + i,
            Self::Transposed => (i * 5 + k) * 4 + j,
            Self::Narrowed => (i * 6 + j + 1) * 9 + k + 3,
            Self::Broadcast => j,
        }
    }
}

/// The bits of the results of every operator, x in the place of each operand.
fn results(q: &AnyQueue, x: &impl Operand<AnyQueue, f32>) -> Result<Vec<(&'static str, Vec<u32>)>, NnError> {
    let mut all = Vec::new();
    let mut add = |name, results: &[&DeviceTensor]| -> Result<(), NnError> {
        for result in results {
            all.push((name, result.values(q)?.into_iter().map(f32::to_bits).collect()));
        }
        Ok(())
    };
    let whole = x.operand();
    let row = q.tensor([0.5f32, -1.0, 2.0, 0.25, 3.0])?;
    let mask = Tensor::from_values(q, &SHAPE, &[true, false, true, true, false, false].repeat(10))?;

    // Elements.
    add("packed", &[&q.packed(x)?])?;
    add("activate", &[&q.activate(Activation::GeluErf, x)?])?;
    add("activate_backward", &[&q.activate_backward(Activation::Silu, x, x)?])?;
    add("map", &[&q.map(Map::Exp, x)?])?;
    add("binary", &[&q.mul(x, x)?, &q.sub(x, &row)?, &q.div(&row, x)?, &q.add(&row, x)?])?;
    add("binary_scalar", &[&q.binary_scalar(Binary::Max, x, 0.25)?])?;
    add("scaled", &[&q.scaled(x, 0.3)?])?;
    add("dropout", &[&q.dropout(x, Dropout::new(0.5, 7)?.at(1), 2)?])?;
    add("select", &[&q.select(&mask, x, &row)?, &q.select(&mask, &row, x)?])?;
    // Rows, along each axis.
    for axis in 0..3 {
        add("softmax", &[&q.softmax(x, axis)?, &q.log_softmax(x, axis)?])?;
        add("softmax_backward", &[&q.softmax_backward(x, x, axis)?, &q.log_softmax_backward(x, x, axis)?])?;
        add("reduce", &[&q.reduce(Reduction::Mean, x, &[axis])?])?;
        let indices = q.arg_max(x, axis)?.values(q)?.into_iter().map(|index| index as f32).collect::<Vec<_>>();
        add("arg_max", &[&Tensor::from_values(q, &[indices.len()], &indices)?])?;
    }
    for mask in [Mask::Additive(whole), Mask::Additive(whole.indexed(0, 1)?), Mask::Causal { offset: 1 }] {
        add("masked", &[&q.masked_softmax(x, 2, mask)?, &q.masked_log_softmax(x, 2, mask)?])?;
    }
    let (column, last) = (whole.indexed(1, 2)?.indexed(0, 1)?, Some(row.at()));
    let ((y, stats), (z, roots)) = (q.layer_norm(x, Some(column), last, 1e-5)?, q.rms_norm(x, Some(column), 1e-5)?);
    add("norms", &[&y, &stats, &z, &roots])?;
    let (sum, normed, of_sum) = q.add_layer_norm(x, x, None, Some(column), 1e-5)?;
    add("add_layer_norm", &[&sum, &normed, &of_sum])?;
    add("layer_norm_backward", &q.layer_norm_backward(x, Some(column), &stats, x)?.each_ref())?;
    add("rms_norm_backward", &q.rms_norm_backward(x, Some(column), &roots, x)?.each_ref())?;
    add("reduce", &[&q.reduce(Reduction::Sum, x, &[0, 2])?, &q.reduce(Reduction::Min, x, &[1, 2])?])?;

    // Losses and products, with x as each factor.
    let matrix = whole.indexed(0, 2)?;
    let (losses, of_logits) = q.cross_entropy(&matrix, &q.tensor([0u32, 4, 1, 3])?, 0.5)?;
    let (of_probs, slopes) = q.cross_entropy_probs(&matrix, &q.softmax(&matrix, 1)?, 0.5)?;
    add("cross_entropy", &[&losses, &of_logits, &of_probs, &slopes])?;
    let turned = whole.transposed()?;
    add("matmul", &[&q.matmul(x, &turned)?, &q.matmul(&turned, x)?, &q.matmul(&matrix, &turned)?])?;
    add("matmul_scaled", &[&q.matmul_scaled(x, &turned, 0.3)?, &q.matmul_scaled(&turned, &matrix, 0.3)?])?;
    let w = matrix.transposed()?;
    add("linear", &[&q.linear(x, &w, None, Activation::Relu)?, &q.linear(&matrix, &w, None, Activation::Tanh)?])?;
    add("linear_backward", &q.linear_backward(x, &w, &q.matmul(x, &w)?)?.each_ref())?;
    // Attention of 4 heads to 2, with one batch broadcast to 2.
    let (heads, options) =
        (whole.broadcast(&[2, 3, 4, 5])?, AttentionOptions { causal: Some(0), ..Default::default() });
    let keys = heads.narrowed(2, 1..3)?;
    let attended = q.attention(&heads, &keys, &keys, options)?;
    add("attention", &[&attended.0, &attended.1])?;
    let gradients = q.attention_backward(&heads, &keys, &keys, options, &attended, &heads)?;
    add("attention_backward", &gradients.each_ref())?;
    // Movement and conversion.
    add("gather", &[&q.gather(x, &[2, 0, 2])?])?;
    add("concat", &[&q.concat(1, &[whole, whole.narrowed(1, 1..3)?])?])?;
    let narrow = q.narrow::<f16>(x, Overflow::Infinite)?;
    add("narrow", &[&q.widen(&narrow)?, &q.widen(&q.softmax(&narrow.permuted(&[2, 0, 1])?, 0)?)?])?;
    Ok(all)
}

/// The elements of the tensor that contains the operands.
pub(super) fn values() -> Vec<f32> {
    (0..ELEMENTS).map(|i| ((i * 37 % 101) as f32 - 50.0) / 16.0).collect()
}

/// Indices of an element of [`SHAPE`].
pub(super) fn index(i: usize) -> [usize; 3] {
    [i / 20, i / 5 % 4, i % 5]
}

#[test]
fn every_layout_gives_the_bits_of_a_packed_operand() {
    let values = values();
    on_each_device(|q| {
        let x = Tensor::from_values(q, &[ELEMENTS], &values).unwrap();
        for order in Order::ALL {
            let view = order.view(&x).unwrap();
            assert_eq!(view.layout().shape(), SHAPE, "{order:?}");
            assert!(!view.layout().is_contiguous(), "{order:?}");
            let elements: Vec<f32> = (0..60).map(|i| values[order.place(index(i))]).collect();
            let packed = Tensor::from_values(q, &SHAPE, &elements).unwrap();
            let (got, expected) = (results(q, &view).unwrap(), results(q, &packed).unwrap());
            assert_eq!(got.len(), expected.len());
            for ((name, got), (_, expected)) in got.iter().zip(&expected) {
                assert_eq!(got, expected, "{name} of {order:?}");
            }
        }
    });
}

/// A tensor that an operator reads and writes.
type Updated<'a> = TensorMut<'a, AnyQueue, f32>;

/// A constructor of a plan for the gradients of a layer.
type GradientPlan = fn(&Layout, &Layout) -> Result<LinearBackwardPlan, NnError>;

/// Runs an operator on a result of each layout, and on a row-major one of the same elements.
///
/// The results have the same bits, and the elements around them stay.
fn same_bits(q: &AnyQueue, name: &str, run: impl Fn(Updated<'_>) -> Result<(), NnError>) {
    let values = values();
    for order in Order::ALL.into_iter().filter(|&order| order != Order::Broadcast) {
        let elements: Vec<f32> = (0..60).map(|i| values[order.place(index(i))]).collect();
        let mut packed = Tensor::from_values(q, &SHAPE, &elements).unwrap();
        run(packed.at_mut()).unwrap();
        let packed = packed.values(q).unwrap();
        assert_ne!(packed, elements, "{name}");
        let mut expected = values.clone();
        packed.into_iter().enumerate().for_each(|(i, element)| expected[order.place(index(i))] = element);
        let mut given = Tensor::from_values(q, &[ELEMENTS], &values).unwrap();
        let target = order.target(&mut given).unwrap();
        assert!(!target.layout().is_contiguous(), "{order:?}");
        run(target).unwrap();
        let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(given.values(q).unwrap()), bits(expected), "{name} of {order:?}");
    }
}

#[test]
fn elements_in_place_have_the_bits_of_row_major_ones_in_every_layout() {
    on_each_device(|q| {
        let plan = ElementwisePlan::new(&SHAPE).unwrap();
        let x = Tensor::from_values(q, &[ELEMENTS], &values().iter().map(|x| x + 0.5).collect::<Vec<_>>()).unwrap();
        let operand = || Order::Permuted.view(&x).unwrap();
        same_bits(q, "map_in_place", |y| plan.map_in_place(q, Map::Exp, y));
        same_bits(q, "activate_in_place", |y| plan.activate_in_place(q, Activation::GeluErf, y));
        same_bits(q, "axpby", |y| plan.axpby(q, 0.3, operand(), -0.7, y));
        same_bits(q, "binary_in_place", |y| binary_in_place(q, Binary::Mul, y, operand()));
        let row = q.tensor([0.5f32, -1.0, 2.0, 0.25, 3.0]).unwrap();
        same_bits(q, "binary_in_place by a row", |y| binary_in_place(q, Binary::Div, y, row.at()));
        let flags = Tensor::from_values(q, &[5, 4, 3], &[true, false, true, true, false, false].repeat(10)).unwrap();
        let mask = flags.permuted(&[2, 1, 0]).unwrap();
        same_bits(q, "select_in_place", |y| plan.select_in_place(q, mask, y, operand()));
        let at = Dropout::new(0.5, 7).unwrap().at(1);
        same_bits(q, "dropout_in_place", |y| plan.dropout_in_place(q, at, 2, y));
        let table = ParameterTable::new(&[ParameterSpec::new("w", &[1])]).unwrap();
        let optimizer = Optimizer::new(q, OptimizerConfig::sgd(0.1, 0.0), &table).unwrap();
        same_bits(q, "training_dropout_in_place", |y| plan.training_dropout_in_place(q, at, &optimizer, y));
        let indices = Indices::new(q, 3, &[2, 0, 2]).unwrap();
        same_bits(q, "scatter_add", |y| indices.scatter_add(q, operand(), y));
    });
}

#[test]
fn rows_in_place_have_the_bits_of_row_major_ones_in_every_layout() {
    on_each_device(|q| {
        let x = Tensor::from_values(q, &[ELEMENTS], &values().iter().map(|x| x + 0.5).collect::<Vec<_>>()).unwrap();
        let operand = || Order::Reversed.view(&x).unwrap();
        for axis in 0..3 {
            let plan = SoftmaxPlan::new(&SHAPE, axis).unwrap();
            same_bits(q, "softmax_in_place", |y| plan.softmax_in_place(q, y, Mask::None));
            same_bits(q, "log_softmax_in_place", |y| plan.log_softmax_in_place(q, y, Mask::None));
        }
        let plan = SoftmaxPlan::new(&SHAPE, 2).unwrap();
        same_bits(q, "masked", |y| plan.softmax_in_place(q, y, Mask::Additive(operand())));
        same_bits(q, "causal", |y| plan.log_softmax_in_place(q, y, Mask::Causal { offset: 1 }));

        // Norms write their statistics through a view, too.
        let plan = NormPlan::new(&SHAPE, 1e-3).unwrap();
        let gamma = Some(operand().indexed(1, 2).unwrap().indexed(0, 1).unwrap());
        let mut all = Vec::new();
        let rows = std::cell::RefCell::new(&mut all);
        same_bits(q, "layer_norm_in_place", |y| {
            let mut stats: DeviceTensor = q.filled(&[12, 2], 0.0)?;
            let affine = NormAffine { gamma, beta: gamma };
            plan.layer_norm_in_place(q, y, affine, stats.at_mut().transposed()?)?;
            rows.borrow_mut().push(stats.values(q)?);
            Ok(())
        });
        same_bits(q, "rms_norm_in_place", |y| {
            let mut stats: DeviceTensor = q.filled(&[12, 2], 0.0)?;
            plan.rms_norm_in_place(q, y, gamma, stats.at_mut().indexed(1, 0)?)?;
            rows.borrow_mut().push(stats.values(q)?);
            Ok(())
        });
        // The row-major form and the form of a view, for each of four layouts.
        assert_eq!(all.len(), 16);
        assert!(all.chunks(2).all(|pair| pair[0] == pair[1] && pair[0][0] != 0.0), "{all:?}");

        let plan = SumPlan::accumulating(&[2, 3, 4, 5], 0).unwrap();
        let terms = operand().broadcast(&[2, 3, 4, 5]).unwrap();
        same_bits(q, "sum_axis", |y| plan.run(q, terms, y));
        let plan = SumPlan::accumulating(&[3, 4, 5], 0).unwrap();
        same_bits(q, "sum_axis of a matrix", |y| plan.run(q, operand(), y.indexed(0, 1)?));
    });
}

#[test]
fn products_are_added_to_every_layout_with_the_bits_of_row_major_ones() {
    on_each_device(|q| {
        let tensor = |shape: &[usize]| Tensor::from_values(q, shape, &values()[..shape.iter().product()]).unwrap();
        let (a, b) = (tensor(&[3, 4, 2]), tensor(&[2, 5]));
        same_bits(q, "matmul", |c| {
            let plan = GemmPlan::accumulating(a.layout(), b.layout(), c.layout())?.with_alpha(0.3);
            plan.run(q, a.at(), b.at(), c)
        });
        // A matrix receives the sum over the batch.
        same_bits(q, "matmul of a batch", |c| {
            let c = c.indexed(0, 1)?;
            GemmPlan::accumulating(a.layout(), b.layout(), c.layout())?.run(q, a.at(), b.at(), c)
        });
        let (left, right) = (tensor(&[4, 6]), tensor(&[5, 6]));
        let of_left = tensor(&[3, 4, 6]);
        same_bits(q, "matmul_backward_lhs", |da| matmul_backward_lhs(q, of_left.at(), right.at(), da));
        let of_right = tensor(&[3, 6, 5]);
        same_bits(q, "matmul_backward_rhs", |db| matmul_backward_rhs(q, left.transposed()?, of_right.at(), db));

        // Gradients of a layer, one at a time through a view, overwritten or added.
        let (x, w, d) = (tensor(&[6, 4]), tensor(&[4, 5]), tensor(&[6, 5]));
        let (short, square, of_short) = (x.narrowed(0, 0..4).unwrap(), tensor(&[5, 4]), d.narrowed(0, 0..4).unwrap());
        for plan in [LinearBackwardPlan::new as GradientPlan, LinearBackwardPlan::accumulating] {
            let of_layer = plan(x.layout(), w.layout()).unwrap();
            let of_turned = plan(of_short.layout(), square.layout()).unwrap();
            same_bits(q, "dx", |dx| {
                let mut dw: DeviceTensor = q.filled(&[5, 4], 0.0)?;
                let gradients = LinearGradients { x: Some(dx.indexed(0, 1)?.shorten()), w: dw.at_mut(), bias: None };
                of_turned.run(q, of_short, square.at(), short, gradients)
            });
            same_bits(q, "dw", |dw| {
                let gradients = LinearGradients { x: None, w: dw.indexed(0, 2)?, bias: None };
                of_layer.run(q, x.at(), w.at(), d.at(), gradients)
            });
            same_bits(q, "db", |db| {
                let mut dw: DeviceTensor = q.filled(&[4, 5], 0.0)?;
                let db = db.indexed(0, 1)?.indexed(0, 2)?;
                let gradients = LinearGradients { x: None, w: dw.at_mut(), bias: Some(db.shorten()) };
                of_layer.run(q, x.at(), w.at(), d.at(), gradients)
            });
        }
        same_bits(q, "linear_backward", |dw| {
            let pass = LinearSaved { x: x.at(), w: w.at(), f: Activation::Tanh, saved: d.at() };
            linear_backward(q, pass, d.at(), LinearGradients { x: None, w: dw.indexed(0, 0)?, bias: None })
        });
    });
}

#[test]
fn results_that_repeat_elements_are_refused() {
    on_each_device(|q| {
        let mut y = Tensor::from_values(q, &[ELEMENTS], &values()).unwrap();
        let refused = Order::Broadcast.target(&mut y).unwrap_err();
        assert_eq!(refused.to_string(), "`tensor` cannot use a result with strides [0, 1, 0]: its elements overlap");
        let matrix = Layout::contiguous(&[4, 4]).unwrap();
        for strides in [[0, 1], [1, 0], [0, 2], [2, 0], [0, 0], [1, 1]] {
            let repeated = Layout::strided(&[4, 4], &strides).unwrap();
            let refused = GemmPlan::accumulating(&matrix, &matrix, &repeated).unwrap_err();
            let expected = format!("`matmul` cannot use c with strides {strides:?}: its elements overlap");
            assert_eq!(refused.to_string(), expected);
        }
    });
}
