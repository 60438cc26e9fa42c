//! Operands of any layout give the bits that row-major operands of the same elements give.

use half::f16;
use nn_ops::{
    Activation, AttentionOptions, Binary, Dropout, Functional, Layout, Map, Mask, NnError, Operand, Overflow,
    Reduction, Tensor, TensorMut, TensorRef,
};
use runtime::AnyQueue;

use super::on_each_device;

pub(super) type Device = Tensor<AnyQueue, f32>;

/// The shape of every operand.
pub(super) const SHAPE: [usize; 3] = [3, 4, 5];

/// Elements of the tensor that contains the operands.
pub(super) const ELEMENTS: usize = 3 * 6 * 9;

/// How the elements of an operand lie in a row-major tensor.
#[derive(Clone, Copy, Debug)]
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
    pub(super) fn view(self, x: &Device) -> Result<TensorRef<'_, AnyQueue, f32>, NnError> {
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
    pub(super) fn target(self, y: &mut Device) -> Result<TensorMut<'_, AnyQueue, f32>, NnError> {
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
    let mut add = |name, results: &[&Device]| -> Result<(), NnError> {
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

#[test]
fn every_layout_gives_the_bits_of_a_packed_operand() {
    let values: Vec<f32> = (0..ELEMENTS).map(|i| ((i * 37 % 101) as f32 - 50.0) / 16.0).collect();
    on_each_device(|q| {
        let x = Tensor::from_values(q, &[ELEMENTS], &values).unwrap();
        for order in Order::ALL {
            let view = order.view(&x).unwrap();
            assert_eq!(view.layout().shape(), SHAPE, "{order:?}");
            assert!(!view.layout().is_contiguous(), "{order:?}");
            let index = |i: usize| [i / 20, i / 5 % 4, i % 5];
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
