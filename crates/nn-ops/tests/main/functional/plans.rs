//! Plans on operands and results of any layout, against plain loops in f64.

use backend_api::{Queue as _, Record as _};
use half::f16;
use nn_ops::{
    Activation, CrossEntropyPlan, CrossEntropyResults, Dropout, ElementwisePlan, Functional, Indices, Layout, Map,
    Mask, NnError, NormAffine, NormGradients, NormPlan, NormResults, NormSaved, Overflow, ReducePlan, Reduction,
    SoftmaxPlan, SumPlan, Tensor, TensorMut, TensorRef, arg_max, narrow, widen,
};
use runtime::{AnyQueue, Choice};

use super::{
    layouts::{ELEMENTS, Order, SHAPE, index, values},
    on_each_device,
};
use crate::common::{DeviceTensor, open};

/// The content of results before they are written.
const UNTOUCHED: f32 = -77.0;

type Ref<'a> = TensorRef<'a, AnyQueue, f32>;
type Mut<'a> = TensorMut<'a, AnyQueue, f32>;

/// A plan from an operand to a result of the same shape.
type PlanRun<'r> = &'r dyn Fn(Ref<'_>, Mut<'_>) -> Result<(), NnError>;

/// The operand in the order of its indices.
fn logical(order: Order) -> Vec<f64> {
    let values = values();
    (0..60).map(|i| f64::from(values[order.place(index(i))])).collect()
}

fn assert_close(name: &str, got: impl IntoIterator<Item = f32>, expected: &[f64]) {
    let got: Vec<f32> = got.into_iter().collect();
    let close = |(&got, &want): (&f32, &f64)| (f64::from(got) - want).abs() <= 3e-5 * (1.0 + want.abs());
    assert!(got.len() == expected.len() && got.iter().zip(expected).all(close), "{name}: {got:?}, not {expected:?}");
}

/// Runs a plan from one layout to another. The elements around the result stay.
fn check(q: &AnyQueue, name: &str, [from, to]: [Order; 2], run: PlanRun<'_>, expected: &[f64]) {
    let x = Tensor::from_values(q, &[ELEMENTS], &values()).unwrap();
    let mut y: DeviceTensor = q.filled(&[ELEMENTS], UNTOUCHED).unwrap();
    run(from.view(&x).unwrap(), to.target(&mut y).unwrap()).unwrap();
    let mut y = y.values(q).unwrap();
    let got: Vec<f32> = (0..60).map(|i| std::mem::replace(&mut y[to.place(index(i))], UNTOUCHED)).collect();
    assert!(y.iter().all(|&y| y == UNTOUCHED), "{name} from {from:?} to {to:?} writes outside of its result");
    assert_close(&format!("{name} from {from:?} to {to:?}"), got, expected);
}

/// The softmax of the elements that are kept, along an axis.
fn softmax(x: &[f64], axis: usize, keeps: impl Fn(usize) -> bool) -> Vec<f64> {
    let same_row = |i: usize, j: usize| (0..3).all(|a| a == axis || index(i)[a] == index(j)[a]);
    let sum = |i: usize| (0..60).filter(|&j| same_row(i, j) && keeps(j)).map(|j| x[j].exp()).sum::<f64>();
    (0..60).map(|i| if keeps(i) { x[i].exp() / sum(i) } else { 0.0 }).collect()
}

/// Pairs of the layouts of an operand and a result.
fn pairs() -> impl Iterator<Item = [Order; 2]> {
    let results = [Order::Narrowed, Order::Permuted, Order::Transposed, Order::Reversed];
    Order::ALL.into_iter().zip(results.into_iter().cycle()).map(|(from, to)| [from, to])
}

#[test]
fn elements_and_rows_are_those_of_loops_in_every_layout() {
    on_each_device(|q| {
        let elements = ElementwisePlan::new(&SHAPE).unwrap();
        let kept: Vec<bool> = (0..60).map(|i| i % 3 != 1).collect();
        let mut turned = vec![false; 60];
        (0..60).for_each(|i| turned[Order::Transposed.place(index(i))] = kept[i]);
        let turned = Tensor::from_values(q, &[3, 5, 4], &turned).unwrap();
        let mask = turned.transposed().unwrap();
        for pair in pairs() {
            let x = logical(pair[0]);
            let each = |f: fn(f64) -> f64| x.iter().map(|&x| f(x)).collect::<Vec<_>>();
            let run = |name, run: PlanRun<'_>, expected: &[f64]| check(q, name, pair, run, expected);

            // Elements.
            run("activate", &|x, y| elements.activate(q, Activation::Tanh, x, y), &each(f64::tanh));
            let slope: fn(f64) -> f64 = |x| if x > 0.0 { x } else { 0.0 };
            run("activate_backward", &|x, y| elements.activate_backward(q, Activation::Relu, x, x, y), &each(slope));
            run("map", &|x, y| elements.map(q, Map::Abs, x, y), &each(f64::abs));
            run("axpby", &|x, y| elements.axpby(q, 0.5, x, 0.0, y), &each(|x| 0.5 * x));
            run("fill", &|_, y| elements.fill(q, 2.5, y), &[2.5; 60]);
            let chosen: Vec<f64> = x.iter().zip(&kept).map(|(&x, &kept)| if kept { x } else { 9.0 }).collect();
            let nine = q.tensor([9.0f32]).unwrap();
            let other = nine.at().broadcast(&SHAPE).unwrap();
            run("select", &|x, y| elements.select(q, mask, [x.shorten(), other.shorten()], y), &chosen);
            let at = Dropout::new(0.5, 7).unwrap().at(1);
            let ones: DeviceTensor = q.filled(&SHAPE, 1.0).unwrap();
            let factors = q.dropout(&ones, at, 2).unwrap().values(q).unwrap();
            let dropped: Vec<f64> = x.iter().zip(factors).map(|(x, factor)| x * f64::from(factor)).collect();
            run("dropout", &|x, y| elements.dropout(q, at, 2, x, y), &dropped);
            let halves = |x: Ref<'_>, y: Mut<'_>| {
                let mut half = Tensor::<_, f16>::alloc(q, &[5, 4, 3])?;
                narrow(q, Overflow::Refuse, x, half.at_mut().permuted(&[2, 1, 0])?)?;
                widen(q, half.permuted(&[2, 1, 0])?, y)
            };
            run("narrow, widen", &halves, &x); // multiples of 1 / 16
            let table = |x: Ref<'_>, y: Mut<'_>| Indices::new(q, 3, &[2, 0, 2])?.gather(q, x, y);
            run("gather", &table, &[&x[40..], &x[..20], &x[40..]].concat());

            // Softmax, with and without a mask, and the gradients.
            for axis in 0..3 {
                let plan = SoftmaxPlan::new(&SHAPE, axis).unwrap();
                let y = softmax(&x, axis, |_| true);
                run("softmax", &|x, y| plan.softmax(q, x, Mask::None, y), &y);
                let logs: Vec<f64> = y.iter().map(|y| y.ln()).collect();
                run("log_softmax", &|x, y| plan.log_softmax(q, x, Mask::None, y), &logs);
                let masked = softmax(&x, axis, |i| kept[i]);
                run("masked", &|x, y| plan.softmax(q, x, Mask::Keep(mask), y), &masked);
                let row = |i: usize, f: &dyn Fn(f64) -> f64| {
                    let same = |j: &usize| (0..3).all(|a| a == axis || index(i)[a] == index(*j)[a]);
                    (0..60).filter(same).map(|j| f(x[j])).sum::<f64>()
                };
                // x is both the result and its gradient.
                let of_x: Vec<f64> = (0..60).map(|i| x[i] * (x[i] - row(i, &|x| x * x))).collect();
                run("softmax_backward", &|x, y| plan.softmax_backward(q, x, x, y), &of_x);
                let of_x: Vec<f64> = (0..60).map(|i| x[i] - x[i].exp() * row(i, &|x| x)).collect();
                run("log_softmax_backward", &|x, y| plan.log_softmax_backward(q, x, x, y), &of_x);
            }
        }
    });
}

/// Mean, and reciprocal root of the mean square of the differences to it.
fn moments(row: &[f64], mean: f64, eps: f64) -> f64 {
    1.0 / (row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64 + eps).sqrt()
}

#[test]
fn norms_and_their_gradients_are_those_of_loops_in_every_layout() {
    const EPS: f64 = 1e-3;
    on_each_device(|q| {
        let plan = NormPlan::new(&SHAPE, EPS as f32).unwrap();
        // Factors are a column, addends a repeated number.
        let gamma = [0.5, -1.0, 2.0, 0.25, 3.0];
        let pairs_of_factors: Vec<f32> = gamma.iter().flat_map(|&factor| [factor as f32, UNTOUCHED]).collect();
        let columns = Tensor::from_values(q, &[5, 2], &pairs_of_factors).unwrap();
        let one = q.tensor([0.75f32]).unwrap();
        let affine =
            NormAffine { gamma: Some(columns.indexed(1, 0).unwrap()), beta: Some(one.at().broadcast(&[5]).unwrap()) };
        for pair in pairs() {
            let x = logical(pair[0]);
            let run = |name, run: PlanRun<'_>, expected: &[f64]| check(q, name, pair, run, expected);
            let rows: Vec<&[f64]> = x.chunks(5).collect();
            let mean = |row: &[f64]| row.iter().sum::<f64>() / 5.0;
            let layer: Vec<[f64; 2]> = rows.iter().map(|row| [mean(row), moments(row, mean(row), EPS)]).collect();
            let by_row = |f: &dyn Fn(usize, usize) -> f64| (0..60).map(|i| f(i / 5, i % 5)).collect::<Vec<_>>();
            let hat = |r: usize, c: usize| (rows[r][c] - layer[r][0]) * layer[r][1];

            // Layer norm, with statistics in columns.
            let mut stats: DeviceTensor = q.filled(&[12, 2], UNTOUCHED).unwrap();
            let expected = by_row(&|r, c| hat(r, c) * gamma[c] + 0.75);
            let of_rows = std::cell::RefCell::new(&mut stats);
            let norm = |x: Ref<'_>, y: Mut<'_>| {
                let mut stats = of_rows.borrow_mut();
                plan.layer_norm(q, x, affine, NormResults { y: y.shorten(), stats: stats.at_mut().transposed()? })
            };
            run("layer_norm", &norm, &expected);
            assert_close("stats", stats.values(q).unwrap(), &layer.concat());

            // The norm of x + x, and the sum in another layout.
            let mut doubled: DeviceTensor = q.filled(&[5, 4, 3], UNTOUCHED).unwrap();
            let of_sum = std::cell::RefCell::new(&mut doubled);
            let summed = |x: Ref<'_>, y: Mut<'_>| {
                let (mut sum, mut stats) = (of_sum.borrow_mut(), Tensor::alloc(q, &[2, 12])?);
                let results = NormResults { y: y.shorten(), stats: stats.at_mut() };
                let sum = sum.at_mut().permuted(&[2, 1, 0])?;
                plan.add_layer_norm(q, [x.shorten(), x.shorten()], affine, sum, results)
            };
            let twice: Vec<f64> =
                layer.iter().map(|&[_, root]| 2.0 / (4.0 / root.powi(2) - 3.0 * EPS).sqrt()).collect();
            let of_twice = by_row(&|r, c| (rows[r][c] - layer[r][0]) * twice[r] * gamma[c] + 0.75);
            run("add_layer_norm", &summed, &of_twice);
            let sum = |at: usize| 2.0 * x[at % 3 * 20 + at / 3 % 4 * 5 + at / 12];
            assert_close("sum", doubled.values(q).unwrap(), &(0..60).map(sum).collect::<Vec<_>>());

            // Its gradients, with x as the gradient of the result.
            let [mut sums, mut addends]: [DeviceTensor; 2] = [(); 2].map(|()| q.filled(&[5, 2], UNTOUCHED).unwrap());
            let of_columns = std::cell::RefCell::new((&mut sums, &mut addends));
            let slopes = |r: usize, c: usize| rows[r][c] * gamma[c];
            let of_x = by_row(&|r, c| {
                let mean = (0..5).map(|k| slopes(r, k)).sum::<f64>() / 5.0;
                let along = (0..5).map(|k| slopes(r, k) * hat(r, k)).sum::<f64>() / 5.0;
                layer[r][1] * (slopes(r, c) - mean - hat(r, c) * along)
            });
            let backward = |x: Ref<'_>, dx: Mut<'_>| {
                let gamma = affine.gamma.map(|gamma| gamma.shorten());
                let saved = NormSaved { x: x.shorten(), gamma, stats: stats.transposed()?.shorten() };
                let mut held = of_columns.borrow_mut();
                let (sums, addends) = &mut *held;
                let [dgamma, dbeta] = [sums.at_mut().indexed(1, 1)?, addends.at_mut().indexed(1, 1)?];
                let gradients = NormGradients { x: dx.shorten(), gamma: Some(dgamma), beta: Some(dbeta) };
                plan.layer_norm_backward(q, saved, x, gradients)
            };
            run("layer_norm_backward", &backward, &of_x);
            let of_gamma = |c: usize| [f64::from(UNTOUCHED), (0..12).map(|r| rows[r][c] * hat(r, c)).sum()];
            assert_close("dgamma", sums.values(q).unwrap(), &(0..5).flat_map(of_gamma).collect::<Vec<_>>());
            let of_beta = |c: usize| [f64::from(UNTOUCHED), rows.iter().map(|row| row[c]).sum()];
            assert_close("dbeta", addends.values(q).unwrap(), &(0..5).flat_map(of_beta).collect::<Vec<_>>());

            // RMS norm.
            let roots: Vec<f64> = rows.iter().map(|row| moments(row, 0.0, EPS)).collect();
            let mut wide: DeviceTensor = q.filled(&[12, 2], UNTOUCHED).unwrap();
            let of_rows = std::cell::RefCell::new(&mut wide);
            let norm = |x: Ref<'_>, y: Mut<'_>| {
                let mut stats = of_rows.borrow_mut();
                plan.rms_norm(q, x, affine.gamma, NormResults { y: y.shorten(), stats: stats.at_mut().indexed(1, 0)? })
            };
            run("rms_norm", &norm, &by_row(&|r, c| rows[r][c] * roots[r] * gamma[c]));
            let backward = |x: Ref<'_>, dx: Mut<'_>| {
                let (stats, gamma) = (wide.indexed(1, 0)?, affine.gamma.map(|gamma| gamma.shorten()));
                let saved = NormSaved { x: x.shorten(), gamma, stats: stats.shorten() };
                plan.rms_norm_backward(q, saved, x, dx, None)
            };
            let of_x = by_row(&|r, c| {
                let along = (0..5).map(|k| slopes(r, k) * rows[r][k]).sum::<f64>() / 5.0;
                roots[r] * (slopes(r, c) - rows[r][c] * roots[r].powi(2) * along)
            });
            run("rms_norm_backward", &backward, &of_x);
        }
    });
}

#[test]
fn reductions_and_losses_are_those_of_loops_in_every_layout() {
    on_each_device(|q| {
        let device = Tensor::from_values(q, &[ELEMENTS], &values()).unwrap();
        for order in Order::ALL {
            let (x, view) = (logical(order), order.view(&device).unwrap());

            // Sums over an axis between others, and over two that are not neighbours; the place of the greatest.
            let mut y: DeviceTensor = q.filled(&[5, 3], UNTOUCHED).unwrap();
            SumPlan::new(&SHAPE, 1).unwrap().run(q, view, y.at_mut().transposed().unwrap()).unwrap();
            let sum = |i: usize| (0..4).map(|j| x[i % 3 * 20 + j * 5 + i / 3]).sum::<f64>();
            assert_close("sum", y.values(q).unwrap(), &(0..15).map(sum).collect::<Vec<_>>());
            let mut y: DeviceTensor = q.filled(&[4, 2], UNTOUCHED).unwrap();
            let plan = ReducePlan::new(&SHAPE, &[0, 2], Reduction::Mean).unwrap();
            plan.run(q, view, y.at_mut().indexed(1, 1).unwrap()).unwrap();
            let mean = |j: usize| (0..15).map(|i| x[i / 5 * 20 + j * 5 + i % 5]).sum::<f64>() / 15.0;
            let means: Vec<f64> = (0..4).flat_map(|j| [f64::from(UNTOUCHED), mean(j)]).collect();
            assert_close("mean", y.values(q).unwrap(), &means);
            let mut places = Tensor::from_values(q, &[4, 3], &[9u32; 12]).unwrap();
            arg_max(q, view, 2, places.at_mut().transposed().unwrap()).unwrap();
            let greatest = |i: usize| {
                let row = &x[i % 3 * 20 + i / 3 * 5..][..5];
                (0..5u32).fold(0, |best, k| if row[k as usize] > row[best as usize] { k } else { best })
            };
            assert_eq!(places.values(q).unwrap(), (0..12).map(greatest).collect::<Vec<_>>(), "{order:?}");

            // Losses of the rows of a matrix, with targets and losses in columns.
            let logits = view.indexed(0, 1).unwrap();
            let targets = Tensor::from_values(q, &[4, 2], &[0u32, 9, 4, 9, 1, 9, 3, 9]).unwrap();
            let classes = [0, 4, 1, 3];
            let mut losses: DeviceTensor = q.filled(&[4, 2], UNTOUCHED).unwrap();
            let mut gradient: DeviceTensor = q.filled(&[5, 4], UNTOUCHED).unwrap();
            let shares = softmax(&x, 2, |_| true)[20..40].to_vec();
            let results = CrossEntropyResults {
                losses: losses.at_mut().indexed(1, 0).unwrap(),
                dlogits: gradient.at_mut().transposed().unwrap(),
            };
            let plan = CrossEntropyPlan::new(4, 5).unwrap();
            plan.cross_entropy(q, 0.5, logits, targets.indexed(1, 0).unwrap(), results).unwrap();
            let loss = |r: usize| [-shares[r * 5 + classes[r]].ln(), f64::from(UNTOUCHED)];
            assert_close("losses", losses.values(q).unwrap(), &(0..4).flat_map(loss).collect::<Vec<_>>());
            let slope = |i: usize| 0.5 * (shares[i % 4 * 5 + i / 4] - f64::from(u8::from(classes[i % 4] == i / 4)));
            assert_close("dlogits", gradient.values(q).unwrap(), &(0..20).map(slope).collect::<Vec<_>>());
            let fifths: DeviceTensor = q.filled(&[1], 0.2).unwrap();
            let (probs, mut row) = (fifths.at().broadcast(&[4, 5]).unwrap(), Tensor::alloc(q, &[4]).unwrap());
            let results =
                CrossEntropyResults { losses: row.at_mut(), dlogits: gradient.at_mut().transposed().unwrap() };
            CrossEntropyPlan::for_probs(4, 5).unwrap().cross_entropy_probs(q, 0.5, logits, probs, results).unwrap();
            let loss = |r: usize| -(0..5).map(|c| 0.2 * shares[r * 5 + c].ln()).sum::<f64>();
            assert_close("losses", row.values(q).unwrap(), &(0..4).map(loss).collect::<Vec<_>>());
            let slope = |i: usize| 0.5 * (shares[i % 4 * 5 + i / 4] - 0.2);
            assert_close("dlogits", gradient.values(q).unwrap(), &(0..20).map(slope).collect::<Vec<_>>());
        }
    });
}

#[test]
fn tensors_without_elements_are_taken_in_every_layout() {
    on_each_device(|q| {
        let (empty, mut none): (DeviceTensor, DeviceTensor) =
            (q.filled(&[3, 0], 1.0).unwrap(), q.filled(&[3, 0], 1.0).unwrap());
        let (x, shape) = (empty.transposed().unwrap(), [0, 3]);
        SoftmaxPlan::new(&shape, 1).unwrap().softmax(q, x, Mask::None, none.at_mut().transposed().unwrap()).unwrap();
        let y = none.at_mut().transposed().unwrap();
        ElementwisePlan::new(&shape).unwrap().activate(q, Activation::Relu, x, y).unwrap();
        let mut stats = Tensor::alloc(q, &[2, 0]).unwrap();
        let results = NormResults { y: none.at_mut().transposed().unwrap(), stats: stats.at_mut() };
        NormPlan::new(&shape, 1e-5).unwrap().layer_norm(q, x, NormAffine::default(), results).unwrap();
        let mut sums: DeviceTensor = q.filled(&[3, 2], UNTOUCHED).unwrap();
        ReducePlan::new(&shape, &[0], Reduction::Sum).unwrap().run(q, x, sums.at_mut().indexed(1, 0).unwrap()).unwrap();
        assert_eq!(sums.values(q).unwrap(), [0.0, UNTOUCHED, 0.0, UNTOUCHED, 0.0, UNTOUCHED]);
    });
}

#[test]
fn results_that_are_read_have_any_layout_and_do_not_overlap() {
    on_each_device(|q| {
        let mut x = q.tensor([[1.0f32, -2.0, 3.0, -4.0], [5.0, -6.0, 7.0, -8.0]]).unwrap();
        let refused = |result: Result<(), NnError>| match result {
            Err(NnError::InvalidStride { op, tensor, why, .. }) => (op, tensor, why),
            other => panic!("{other:?}"),
        };
        // Elements that share a place are refused before there is a result.
        for strides in [[0, 1], [1, 1], [2, 1]] {
            let layout = Layout::strided(&[2, 4], &strides).unwrap();
            let overlapping = TensorMut::<AnyQueue, f32>::new(x.at_mut().into_view(), layout).map(drop);
            assert_eq!(refused(overlapping), ("tensor", "a result", "its elements overlap"));
        }
        // Functions of one element run on any order, with gaps and without.
        let (turned, part) = (ElementwisePlan::new(&[4, 2]).unwrap(), ElementwisePlan::new(&[2, 2]).unwrap());
        turned.map_in_place(q, Map::Neg, x.at_mut().transposed().unwrap()).unwrap();
        assert_eq!(x.values(q).unwrap(), [-1.0, 2.0, -3.0, 4.0, -5.0, 6.0, -7.0, 8.0]);
        turned.activate_in_place(q, Activation::Relu, x.at_mut().transposed().unwrap()).unwrap();
        assert_eq!(x.values(q).unwrap(), [0.0, 2.0, 0.0, 4.0, 0.0, 6.0, 0.0, 8.0]);
        part.map_in_place(q, Map::Neg, x.at_mut().narrowed(1, 1..3).unwrap()).unwrap();
        assert_eq!(x.values(q).unwrap(), [0.0, -2.0, 0.0, 4.0, 0.0, -6.0, 0.0, 8.0]);
        part.activate_in_place(q, Activation::Relu, x.at_mut().narrowed(1, 0..2).unwrap()).unwrap();
        assert_eq!(x.values(q).unwrap(), [0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 8.0]);
        // Others have the row-major index of an element, whatever its place.
        let rows = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let count: DeviceTensor = Tensor::from_values(q, &[4, 2], &rows).unwrap();
        turned.axpby(q, 1.0, count.at(), 0.5, x.at_mut().transposed().unwrap()).unwrap();
        assert_eq!(x.values(q).unwrap(), [1.0, 3.0, 5.0, 9.0, 2.0, 4.0, 6.0, 12.0]);
        let sums = SumPlan::accumulating(&[1, 4, 2], 0).unwrap();
        sums.run(q, count.reshaped(&[1, 4, 2]).unwrap(), x.at_mut().transposed().unwrap()).unwrap();
        assert_eq!(x.values(q).unwrap(), [2.0, 6.0, 10.0, 16.0, 4.0, 8.0, 12.0, 20.0]);
        let at = Dropout::new(0.5, 7).unwrap().at(1);
        let ones: DeviceTensor = q.filled(&[4, 2], 1.0).unwrap();
        let factors = q.dropout(&ones, at, 2).unwrap().values(q).unwrap();
        let before = x.values(q).unwrap();
        turned.dropout_in_place(q, at, 2, x.at_mut().transposed().unwrap()).unwrap();
        let dropped: Vec<f32> = (0..8).map(|i| before[i] * factors[i % 4 * 2 + i / 4]).collect();
        assert_eq!(x.values(q).unwrap(), dropped);
        let mut x = q.tensor([[1.0f32, 0.0, 2.0], [1.0, 0.0, 2.0]]).unwrap();
        let softmax = SoftmaxPlan::new(&[3, 2], 1).unwrap();
        softmax.softmax_in_place(q, x.at_mut().transposed().unwrap(), Mask::None).unwrap();
        assert_eq!(x.values(q).unwrap(), [0.5; 6]);
    });
}

/// Runs a softmax of the columns of x that writes to y or, in place, to x: directly, and in replays.
fn expect_recorded(
    in_place: bool,
    run: impl Fn(&AnyQueue, &mut DeviceTensor, &mut DeviceTensor) -> Result<(), NnError>,
) {
    let q = open(Choice::Sim);
    let rows = |first: f32| (0..12).map(|i| first + (i * 5 % 7) as f32 / 4.0).collect::<Vec<_>>();
    let mut x = Tensor::from_values(&q, &[4, 3], &rows(0.0)).unwrap();
    let mut y: DeviceTensor = q.filled(&[4, 3], UNTOUCHED).unwrap();
    // A call after the first allocates from what that one freed.
    run(&q, &mut x, &mut y).unwrap();
    q.finish().unwrap();
    let peak = q.budget().peak_bytes();
    (0..10).for_each(|_| run(&q, &mut x, &mut y).unwrap());
    q.finish().unwrap();
    assert_eq!(q.budget().peak_bytes(), peak);
    // Each replay reads the elements of that moment.
    let graph = q.record(|q| run(q, &mut x, &mut y)).unwrap().expect("a softmax does not wait");
    for first in [1.0, -2.0] {
        let other: Vec<f32> = rows(first).into_iter().rev().collect();
        q.write(&other, x.at_mut().into_view()).unwrap();
        q.replay(&graph).unwrap();
        let column = |i: usize| other.iter().skip(i % 3).step_by(3).map(|&x| f64::from(x).exp()).sum::<f64>();
        let expected: Vec<f64> = (0..12).map(|i| f64::from(other[i]).exp() / column(i)).collect();
        assert_close("replayed", if in_place { &x } else { &y }.values(&q).unwrap(), &expected);
    }
}

#[test]
fn packed_calls_are_recorded_and_take_no_new_memory() {
    let plan = SoftmaxPlan::new(&[3, 4], 1).unwrap();
    expect_recorded(false, |q, x, y| plan.softmax(q, x.transposed()?, Mask::None, y.at_mut().transposed()?));
}

#[test]
fn packed_updates_are_recorded_and_take_no_new_memory() {
    let plan = SoftmaxPlan::new(&[3, 4], 1).unwrap();
    expect_recorded(true, |q, x, _| plan.softmax_in_place(q, x.at_mut().transposed()?, Mask::None));
}
