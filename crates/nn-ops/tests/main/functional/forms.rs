//! Values, views that are passed on, and arguments that are refused.

use nn_ops::{
    Activation, AttentionOptions, Binary, Dropout, Functional, GemmPlan, Indices, Map, Mask, NnError, Operand,
    Reduction, Tensor, TensorMut, axpby, binary_in_place, copy, fill,
    io::{Tensor as Saved, Tensors},
    map_in_place, select, select_in_place,
};
use runtime::AnyQueue;

use super::on_each_device;

/// Means of the rows of `x` and of a tensor made here, one after the other.
///
/// The queue's type is not known, and `x` lives longer than the other tensor.
fn means<Q: Functional>(q: &Q, x: &impl Operand<Q, f32>) -> Result<Tensor<Q, f32>, NnError> {
    let own = q.filled(x.operand().layout().shape(), 7.0)?;
    q.reduce(Reduction::Mean, &q.concat(0, &[x.operand(), own.at()])?, &[1])
}

#[test]
fn results_are_those_of_arithmetic() {
    on_each_device(|q| {
        let x = q.tensor([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).unwrap();
        let values = |y: Result<Tensor<AnyQueue, f32>, NnError>| y.unwrap().values(q).unwrap();
        let turned = x.transposed().unwrap();
        assert_eq!(values(means(q, &x)), [2.0, 5.0, 7.0, 7.0]);
        assert_eq!(values(means(q, &turned)), [2.5, 3.5, 4.5, 7.0, 7.0, 7.0]);
        assert_eq!(values(q.add(&x, &q.tensor([[10.0f32], [20.0]]).unwrap())), [11.0, 12.0, 13.0, 24.0, 25.0, 26.0]);
        assert_eq!(values(q.binary_scalar(Binary::Sub, &turned, 1.0)), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(values(q.binary_scalar(Binary::Div, &q.tensor(6.0f32).unwrap(), 4.0)), [1.5]);
        assert_eq!(values(q.scaled(&x.narrowed(1, 1..3).unwrap(), 0.5)), [1.0, 1.5, 2.5, 3.0]);
        assert_eq!(values(q.matmul(&x, &turned)), [14.0, 32.0, 32.0, 77.0]);
        for (a, b) in [(x.at(), turned), (x.at(), turned.narrowed(1, 0..1).unwrap())] {
            let plain = values(q.matmul(&a, &b));
            let expected: Vec<f32> = plain.iter().map(|value| value / 4.0).collect();
            assert_eq!(values(q.matmul_scaled(&a, &b, 0.25)), expected);
        }
        let bias = q.tensor([100.0f32, -100.0]).unwrap();
        assert_eq!(values(q.linear(&x, &turned, Some(bias.at()), Activation::Relu)), [114.0, 0.0, 132.0, 0.0]);
        let [dx, dw, db] = q.linear_backward(&x, &turned, &q.filled(&[2, 2], 1.0).unwrap()).unwrap();
        assert_eq!(dx.values(q).unwrap(), [5.0, 7.0, 9.0, 5.0, 7.0, 9.0]);
        assert_eq!(dw.values(q).unwrap(), [5.0, 5.0, 7.0, 7.0, 9.0, 9.0]);
        assert_eq!(db.values(q).unwrap(), [2.0, 2.0]);
        assert_eq!(values(q.gather(&turned, &[2, 2, 0])), [3.0, 6.0, 3.0, 6.0, 1.0, 4.0]);
        let kept = q.tensor([[true, false, true]; 2]).unwrap();
        assert_eq!(values(q.select(&kept, &x, &q.tensor(0.0f32).unwrap())), [1.0, 0.0, 3.0, 4.0, 0.0, 6.0]);
        assert_eq!(q.arg_max(&turned, 0).unwrap().values(q).unwrap(), [2, 2]);
    });
}

#[test]
fn attention_of_equal_scores_is_the_mean_of_earlier_values() {
    on_each_device(|q| {
        let rows = |values: [f32; 4]| Tensor::from_values(q, &[1, 2, 1, 2], &values).unwrap();
        let expect = |y: &Tensor<AnyQueue, f32>, shape: &[usize], expected: &[f32]| {
            assert_eq!(y.layout().shape(), shape);
            let y = y.values(q).unwrap();
            assert!(y.iter().zip(expected).all(|(got, want)| (got - want).abs() < 1e-6), "{y:?}, not {expected:?}");
        };
        let options = AttentionOptions { causal: Some(0), ..AttentionOptions::default() };
        let (query, key, value) = (rows([0.0; 4]), rows([1.0, 2.0, -1.0, 0.5]), rows([1.0, 2.0, 3.0, 4.0]));
        let attended = q.attention(&query, &key, &value, options).unwrap();
        expect(&attended.0, &[1, 2, 1, 2], &[1.0, 2.0, 2.0, 3.0]);
        expect(&attended.1, &[1, 1, 2], &[0.0, std::f32::consts::LN_2]);
        let [_, dk, dv] = q.attention_backward(&query, &key, &value, options, &attended, &rows([1.0; 4])).unwrap();
        expect(&dk, &[1, 2, 1, 2], &[0.0; 4]); // all queries are 0
        expect(&dv, &[1, 2, 1, 2], &[1.5, 1.5, 0.5, 0.5]);
    });
}

/// A function that writes its result over its operand.
type InPlace<'a> = &'a dyn Fn(&mut Tensor<AnyQueue, f32>) -> Result<(), NnError>;

#[test]
fn results_in_place_have_the_bits_of_new_tensors() {
    on_each_device(|q| {
        let x = q.tensor([[1.0f32, -2.0, 3.0, 0.5], [4.0, 5.0, -6.0, 0.25]]).unwrap();
        let row = q.tensor([0.5f32, 0.0, f32::NEG_INFINITY, -1.0]).unwrap();
        let bits =
            |y: &Tensor<AnyQueue, f32>| -> Vec<u32> { y.values(q).unwrap().into_iter().map(f32::to_bits).collect() };
        let expect = |run: InPlace<'_>, expected: Result<Tensor<AnyQueue, f32>, NnError>| {
            let mut own = q.packed(&x).unwrap();
            run(&mut own).unwrap();
            assert_eq!(bits(&own), bits(&expected.unwrap()));
        };
        for axis in 0..2 {
            expect(&|x| q.softmax_in_place(x, axis), q.softmax(&x, axis));
            expect(&|x| q.log_softmax_in_place(x, axis), q.log_softmax(&x, axis));
        }
        for mask in [Mask::Additive(row.at()), Mask::Causal { offset: 1 }] {
            expect(&|x| q.masked_softmax_in_place(x, 1, mask), q.masked_softmax(&x, 1, mask));
            expect(&|x| q.masked_log_softmax_in_place(x, 1, mask), q.masked_log_softmax(&x, 1, mask));
        }
        let columns = q.tensor([[2.0f32, 0.0], [0.5, 0.0], [1.0, 0.0], [-3.0, 0.0]]).unwrap();
        let (gamma, beta) = (columns.indexed(1, 0).unwrap(), row.at());
        let (layer, rms) = (q.layer_norm(&x, Some(gamma), Some(beta), 1e-5), q.rms_norm(&x, Some(gamma), 1e-5));
        expect(&|x| q.layer_norm_in_place(x, Some(gamma), Some(beta), 1e-5), layer.map(|(y, _)| y));
        expect(&|x| q.rms_norm_in_place(x, Some(gamma), 1e-5), rms.map(|(y, _)| y));
        let at = Dropout::new(0.5, 7).unwrap().at(1);
        expect(&|x| q.dropout_in_place(x, at, 2), q.dropout(&x, at, 2));
        let kept = q.tensor([[true, false, false, true], [false, true, true, false]]).unwrap();
        expect(&|x| q.select_in_place(&kept, x, &row), q.select(&kept, &x, &row));
        let refused = q.select_in_place(&kept, &mut q.filled::<f32>(&[3, 2], 1.0).unwrap(), &row).unwrap_err();
        assert_eq!(refused.to_string(), "`select_in_place` expected a of shape [2, 4], got [3, 2]");
    });
}

#[test]
fn additive_masks_broadcast_and_a_mask_that_does_not_is_refused() {
    on_each_device(|q| {
        let x = q.tensor([[[0.0f32; 4]; 3]; 2]).unwrap();
        let least = f32::NEG_INFINITY;
        let padding = q.tensor([[[0.0f32, 0.0, 0.0, least]], [[0.0, least, least, least]]]).unwrap();
        let y = q.masked_softmax(&x, 2, Mask::Additive(padding.at())).unwrap().values(q).unwrap();
        let third = 1.0f32 / 3.0;
        let rows = [[third, third, third, 0.0], [1.0, 0.0, 0.0, 0.0]];
        let expected: Vec<f32> = rows.iter().flat_map(|row| row.repeat(3)).collect();
        assert!(y.iter().zip(&expected).all(|(got, want)| (got - want).abs() < 1e-6), "{y:?}");
        let other = q.tensor([0.0f32; 3]).unwrap();
        let refused = q.masked_softmax(&x, 2, Mask::Additive(other.at())).unwrap_err();
        assert_eq!(refused.to_string(), "`broadcast` cannot broadcast shapes [3] and [2, 3, 4]");
    });
}

#[test]
fn results_are_written_through_turned_and_sliced_views() {
    on_each_device(|q| {
        let x = q.tensor([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).unwrap();
        let mut y: Tensor<AnyQueue, f32> = q.filled(&[3, 2, 2], 0.0).unwrap();
        copy(q, x.at(), y.at_mut().indexed(1, 1).unwrap().transposed().unwrap()).unwrap();
        assert_eq!(y.values(q).unwrap(), [0.0, 0.0, 1.0, 4.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 3.0, 6.0]);
        let turned: TensorMut<'_, _, f32> = y.at_mut().reshaped(&[6, 2]).unwrap().permuted(&[1, 0]).unwrap();
        fill(q, 9.0, turned.indexed(0, 1).unwrap().narrowed(0, 0..2).unwrap()).unwrap();
        assert_eq!(y.values(q).unwrap(), [0.0, 9.0, 1.0, 9.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0, 3.0, 6.0]);
        assert!(matches!(y.at_mut().transposed().unwrap().reshaped(&[12]), Err(NnError::InvalidStride { .. })));
    });
}

#[test]
fn elements_are_changed_through_turned_and_sliced_views() {
    on_each_device(|q| {
        let mut y = q.tensor([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]).unwrap();
        // A view is passed on twice.
        let mut column = y.at_mut().indexed(1, 1).unwrap();
        map_in_place(q, Map::Neg, column.reborrow()).unwrap();
        binary_in_place(q, Binary::Mul, column, q.tensor([10.0f32, 100.0]).unwrap().at()).unwrap();
        assert_eq!(y.values(q).unwrap(), [1.0, -20.0, 3.0, 4.0, -500.0, 6.0]);
        let columns = y.at_mut().transposed().unwrap().narrowed(0, 0..2).unwrap();
        axpby(q, 1.0, q.tensor([[1.0f32, 2.0], [3.0, 4.0]]).unwrap().at(), 2.0, columns).unwrap();
        assert_eq!(y.values(q).unwrap(), [3.0, -37.0, 3.0, 10.0, -996.0, 6.0]);
        let mask = q.tensor([[true, false], [false, true], [true, true]]).unwrap();
        select_in_place(q, mask.at(), y.at_mut().transposed().unwrap(), q.filled(&[3, 2], 9.0).unwrap().at()).unwrap();
        assert_eq!(y.values(q).unwrap(), [3.0, 9.0, 3.0, 9.0, -996.0, 6.0]);
        // Columns 2, 0 and 2 of the rows are increased by 1, 2 and 3.
        let g = q.tensor([[1.0f32, 1.0], [2.0, 2.0], [3.0, 3.0]]).unwrap();
        let table = y.at_mut().transposed().unwrap();
        Indices::new(q, 3, &[2, 0, 2]).unwrap().scatter_add(q, g.at(), table).unwrap();
        assert_eq!(y.values(q).unwrap(), [5.0, 9.0, 7.0, 11.0, -996.0, 10.0]);
        // A product is added to every second column.
        let mut y: Tensor<AnyQueue, f32> = q.filled(&[2, 4], 1.0).unwrap();
        let (a, b) = (q.tensor([[1.0f32, 2.0], [3.0, 4.0]]).unwrap(), q.tensor([[1.0f32, 0.0], [0.0, 10.0]]).unwrap());
        let c = y.at_mut().reshaped(&[2, 2, 2]).unwrap().indexed(2, 1).unwrap();
        GemmPlan::accumulating(a.layout(), b.layout(), c.layout()).unwrap().run(q, a.at(), b.at(), c).unwrap();
        assert_eq!(y.values(q).unwrap(), [1.0, 2.0, 1.0, 21.0, 1.0, 4.0, 1.0, 41.0]);
    });
}

#[test]
fn a_gather_is_that_of_uploaded_indices() {
    on_each_device(|q| {
        let table = q.tensor([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]).unwrap();
        let mut rows = Tensor::alloc(q, &[4, 2]).unwrap();
        let indices = [2, 0, 0, 1];
        Indices::new(q, 3, &indices).unwrap().gather(q, table.at(), rows.at_mut()).unwrap();
        assert_eq!(q.gather(&table, &indices).unwrap().values(q).unwrap(), rows.values(q).unwrap());
    });
}

#[test]
fn arguments_that_do_not_fit_are_refused_by_name() {
    on_each_device(|q| {
        let [x, w, vector] = [&[2, 3][..], &[4, 3], &[3]].map(|shape| q.filled::<f32>(shape, 1.0).unwrap());
        let error = |y: Result<Tensor<AnyQueue, f32>, NnError>| y.unwrap_err().to_string();
        let linear = |x: &Tensor<AnyQueue, f32>, w: &Tensor<AnyQueue, f32>| q.linear(x, w, None, Activation::Identity);
        assert_eq!(error(q.add(&x, &w)), "`binary` cannot broadcast shapes [2, 3] and [4, 3]");
        assert_eq!(error(q.matmul(&x, &w)), "`matmul` expected b of shape [3, 3], got [4, 3]");
        assert_eq!(error(q.matmul(&x, &vector)), "`matmul` needs 2 axes or more, got 1");
        assert_eq!(error(linear(&x, &w)), "`linear` expected w of shape [3, 3], got [4, 3]");
        assert_eq!(error(linear(&x, &vector)), "`linear` expected w with 2 axes, got 1");
        assert_eq!(error(linear(&vector, &w)), "`linear` needs 2 axes or more, got 1");
        let backward = q.linear_backward(&x, &w.transposed().unwrap(), &x).unwrap_err();
        assert_eq!(backward.to_string(), "`linear_backward` expected g of shape [2, 4], got [2, 3]");
        assert_eq!(error(q.softmax(&x, 2)), "`softmax` expected an axis below 2, got 2");
        assert_eq!(q.arg_max(&x, 2).unwrap_err(), NnError::Axis { op: "arg_max", rank: 2, axis: 2 });
        assert_eq!(error(q.concat(2, &[x.at()])), "`concat` expected an axis below 2, got 2");
        assert_eq!(error(q.gather(&x, &[2])), "`indices` expected indices below 2, got 2 at place 0");
        let targets = q.tensor([0u32, 1]).unwrap();
        let logits = q.cross_entropy(&vector, &targets, 1.0).unwrap_err();
        assert_eq!(logits.to_string(), "`cross_entropy` expected logits with 2 axes, got 1");
        let heads = q.filled::<f32>(&[1, 2, 2, 3], 1.0).unwrap();
        let attend = |k: &Tensor<AnyQueue, f32>, v: &Tensor<AnyQueue, f32>, options| q.attention(&heads, k, v, options);
        let refused = |k, v, options| attend(k, v, options).unwrap_err().to_string();
        let (plain, other) = (AttentionOptions::default(), q.filled::<f32>(&[1, 3, 2, 3], 1.0).unwrap());
        assert_eq!(refused(&x, &heads, plain), "`attention` expected k with 4 axes, got 2");
        let expected = "`attention` expected v of shape [1, 2, 2, 3], got [1, 3, 2, 3]";
        assert_eq!(refused(&heads, &other, plain), expected);
        let dropped = AttentionOptions { dropout: Some(Dropout::new(0.5, 7).unwrap().at(1)), ..plain };
        let expected = "`attention`: number of dropouts must be 0 (`AttentionPlan` has dropout), got 1";
        assert_eq!(refused(&heads, &heads, dropped), expected);
        let kept = q.tensor([[true; 2]; 3]).unwrap();
        assert_eq!(error(q.select(&kept, &x, &x)), "`broadcast` cannot broadcast shapes [2, 3] and [3, 2]");
        let masked = q.masked_softmax(&x, 1, Mask::Keep(kept.at()));
        assert_eq!(error(masked), "`broadcast` cannot broadcast shapes [3, 2] and [2, 3]");
        // The plan broadcasts nothing, but reads masks in any order.
        let (turned, mut y) = (kept.transposed().unwrap(), q.filled::<f32>(&[2, 3], 0.0).unwrap());
        let repeated = select(q, kept.at(), [x.at(), x.at()], y.at_mut()).unwrap_err();
        assert_eq!(repeated.to_string(), "`select` expected a of shape [3, 2], got [2, 3]");
        select(q, turned, [x.at(), x.at()], y.at_mut()).unwrap();
        assert_eq!(y.values(q).unwrap(), [1.0; 6]);
    });
}

#[test]
fn masks_and_indices_are_read_in_any_layout() {
    on_each_device(|q| {
        let kept = q.tensor([[true, false, true], [false, false, true]]).unwrap();
        let turned = kept.transposed().unwrap();
        let packed = q.packed(&turned).unwrap();
        assert_eq!(packed.values(q).unwrap(), [true, false, false, false, true, true]);
        let numbers = q.tensor([[1u32, 2], [0, 7]]).unwrap();
        let both = q.concat(1, &[numbers.at(), numbers.transposed().unwrap()]).unwrap();
        assert_eq!(both.values(q).unwrap(), [1, 2, 1, 0, 0, 7, 2, 7]);
        let mut rows = q.tensor([[[false; 2]; 3]; 2]).unwrap();
        copy(q, turned, rows.at_mut()).unwrap();
        assert_eq!(rows.values(q).unwrap(), packed.values(q).unwrap().repeat(2));

        // Operators pack them.
        let x = q.tensor([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]]).unwrap();
        let values = |y: Result<Tensor<AnyQueue, f32>, NnError>| y.unwrap().values(q).unwrap();
        let zero = q.tensor(0.0f32).unwrap();
        assert_eq!(values(q.select(&turned, &x, &zero)), [1.0, 0.0, 0.0, 0.0, 5.0, 6.0]);
        let mut chosen = q.packed(&x).unwrap();
        q.select_in_place(&turned, &mut chosen, &zero).unwrap();
        assert_eq!(chosen.values(q).unwrap(), [1.0, 0.0, 0.0, 0.0, 5.0, 6.0]);
        let softmax = |mask| values(q.masked_softmax(&x, 1, mask));
        assert_eq!(softmax(Mask::Keep(turned)), softmax(Mask::Keep(packed.at())));
        let column = turned.narrowed(1, 0..1).unwrap();
        assert_eq!(softmax(Mask::Keep(column))[2..4], [0.0; 2]);
        let logits = q.tensor([[0.5f32, 1.0, -1.0], [2.0, 0.0, 1.0]]).unwrap();
        let of_column = q.cross_entropy(&logits, &numbers.indexed(1, 0).unwrap(), 1.0).unwrap().0;
        let of_row = q.cross_entropy(&logits, &q.tensor([1u32, 0]).unwrap(), 1.0).unwrap().0;
        assert_eq!(of_column.values(q).unwrap(), of_row.values(q).unwrap());
    });
}

#[test]
fn tensors_of_a_file_are_uploaded_by_name() {
    on_each_device(|q| {
        let saved = |shape: &[usize]| Saved { shape: shape.to_vec(), data: vec![0.5, 1.5] };
        let file = Tensors::from([("a".to_owned(), saved(&[2])), ("b".to_owned(), saved(&[2, 1]))]);
        let named = q.named_tensors(&file).unwrap();
        assert_eq!(named["b"].layout().shape(), [2, 1]);
        assert_eq!(named["a"].values(q).unwrap(), [0.5, 1.5]);
        let wrong = Tensors::from([("c".to_owned(), saved(&[3]))]);
        let refused = q.named_tensors(&wrong).unwrap_err();
        assert_eq!(refused.to_string(), "tensor `c`: `tensor` expected a tensor of 3 elements, got 2");
    });
}
