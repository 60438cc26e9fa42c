//! Which device an op runs on: opening, mixed passes, fallback of single ops, refusals.

use backend_api::BackendError;
use nn_dispatch::{
    AdamOptions, AdamState, Affine, BackendDispatcher, Counters, DispatchError, LayerNormGradients, MatmulGradients,
    Product, Saved, Selection, SoftmaxMask, TensorOpsAPI,
};
use nn_ops::NnError;
use runtime::{Choice, CudaLibrary};

use crate::common::{CLOSE, close, each, on, values, wide};

/// Operands of passes over `[4, 6]`, with the gradient of the result.
fn operands() -> [Vec<f32>; 2] {
    [values(1, 24), values(2, 24)]
}

fn norm(d: &BackendDispatcher) -> Saved {
    let [x, _] = operands();
    d.layer_norm((&x).into(), Affine::default(), [4, 6], 1e-5, &mut [0.0; 24]).unwrap()
}

fn norm_backward(d: &BackendDispatcher, saved: &Saved) -> Result<Vec<f32>, DispatchError> {
    let ([x, g], mut dx) = (operands(), vec![f32::NAN; 24]);
    let gradients = LayerNormGradients { x: &mut dx, gamma: None, beta: None };
    d.layer_norm_backward(saved, (&x).into(), None, (&g).into(), gradients)?;
    Ok(dx)
}

fn loss(d: &BackendDispatcher) -> Saved {
    let [x, t] = operands();
    d.cross_entropy((&x).into(), (&t).into(), [4, 6]).unwrap().1
}

fn loss_backward(d: &BackendDispatcher, saved: &Saved) -> Result<Vec<f32>, DispatchError> {
    let mut dlogits = vec![f32::NAN; 24];
    d.cross_entropy_backward(saved, 1.0, &mut dlogits)?;
    Ok(dlogits)
}

fn rows(d: &BackendDispatcher) -> Saved {
    let [table, _] = operands();
    d.embedding((&table).into(), [4, 6], &[3, 0, 3, 1], &mut [0.0; 24]).unwrap()
}

fn rows_backward(d: &BackendDispatcher, saved: &Saved) -> Result<Vec<f32>, DispatchError> {
    let ([_, g], mut dtable) = (operands(), vec![0.0; 24]);
    d.embedding_backward(saved, (&g).into(), &mut dtable)?;
    Ok(dtable)
}

fn softmax(d: &BackendDispatcher) -> Saved {
    let [x, _] = operands();
    d.softmax((&x).into(), &[4, 6], 1, SoftmaxMask::None, &mut [0.0; 24]).unwrap()
}

/// The result of the forward pass is computed again: a backward pass reads it from its call on the CPU.
fn softmax_backward(d: &BackendDispatcher, saved: &Saved) -> Result<Vec<f32>, DispatchError> {
    let ([x, g], mut y, mut dx) = (operands(), vec![0.0; 24], vec![f32::NAN; 24]);
    on(Choice::Cpu).softmax((&x).into(), &[4, 6], 1, SoftmaxMask::None, &mut y)?;
    d.softmax_backward(saved, (&y).into(), (&g).into(), &mut dx)?;
    Ok(dx)
}

type Forward = fn(&BackendDispatcher) -> Saved;
type Backward = fn(&BackendDispatcher, &Saved) -> Result<Vec<f32>, DispatchError>;

/// Passes that save statistics, a gradient, indices and a result.
const PASSES: [(&str, Forward, Backward); 4] = [
    ("layer_norm_backward", norm, norm_backward),
    ("cross_entropy_backward", loss, loss_backward),
    ("embedding_backward", rows, rows_backward),
    ("softmax_backward", softmax, softmax_backward),
];

#[test]
fn backward_passes_on_another_device_are_refused_unless_allowed_and_then_counted() {
    for [from, to] in [[Choice::Cpu, Choice::Sim], [Choice::Sim, Choice::Cpu], [Choice::Cpu, Choice::Cpu]] {
        let (first, second) = (on(from), on(to));
        let lenient = BackendDispatcher::with(Selection { allow_mixed: true, ..Selection::new(to) }).unwrap();
        for (count, (op, forward, backward)) in (1..).zip(PASSES) {
            let saved = forward(&first);
            let own = backward(&first, &saved).unwrap();
            let (forward, backward_tag) = (saved.tag(), second.status().tag);
            assert_eq!((forward, forward.device), (first.status().tag, from));
            let refused = backward(&second, &saved).unwrap_err();
            assert_eq!(refused, DispatchError::Mixed { op, forward, backward: backward_tag });
            let text = refused.to_string();
            assert!(text.contains(&forward.to_string()) && text.contains(&backward_tag.to_string()), "{text}");
            assert_eq!(second.counters().mixed, 0);

            close(op, &backward(&lenient, &saved).unwrap(), &wide(&own), CLOSE);
            assert_eq!(lenient.counters().mixed, count);
        }
        assert_eq!(first.counters().mixed, 0);
    }
}

#[test]
fn moments_on_another_device_are_refused_unless_allowed_and_then_counted() {
    let (first, second) = (on(Choice::Sim), on(Choice::Cpu));
    let lenient = BackendDispatcher::with(Selection { allow_mixed: true, ..Selection::new(Choice::Cpu) }).unwrap();
    let [mut w, g] = operands();
    let mut state = AdamState::new(24, AdamOptions::default()).unwrap();
    first.adam_step(&mut w, (&g).into(), &mut state).unwrap();
    let before = w.clone();
    let refused = second.adam_step(&mut w, (&g).into(), &mut state).unwrap_err();
    assert!(matches!(refused, DispatchError::Mixed { op: "adam_step", .. }), "{refused}");
    assert_eq!((&w, state.steps()), (&before, 1));
    lenient.adam_step(&mut w, (&g).into(), &mut state).unwrap();
    assert_eq!((lenient.counters().mixed, state.steps()), (1, 2));

    // The same two steps on one device.
    let ([mut expected, _], mut alone) = (operands(), AdamState::new(24, AdamOptions::default()).unwrap());
    for _ in 0..2 {
        second.adam_step(&mut expected, (&g).into(), &mut alone).unwrap();
    }
    close("weights", &w, &wide(&expected), CLOSE);
}

#[test]
fn a_device_that_is_opened_again_refuses_results_from_before() {
    for device in [Choice::Cpu, Choice::Sim] {
        let mut d = on(device);
        let saved = norm(&d);
        norm_backward(&d, &saved).unwrap();
        d.reopen().unwrap();
        let refused = norm_backward(&d, &saved).unwrap_err();
        let (forward, backward) = (saved.tag(), d.status().tag);
        assert_eq!(refused, DispatchError::Mixed { op: "layer_norm_backward", forward, backward });
        assert!(forward.device == backward.device && forward.generation < backward.generation);
        norm_backward(&d, &norm(&d)).unwrap();
    }
}

/// A simulated device with 128 KiB for buffers.
fn small(per_op_fallback: bool, allow_mixed: bool) -> BackendDispatcher {
    let mut selection = Selection { per_op_fallback, allow_mixed, ..Selection::new(Choice::Sim) };
    selection.settings.mem_limit_bytes = Some(128 << 10);
    BackendDispatcher::with(selection).unwrap()
}

#[test]
fn an_op_beyond_the_memory_of_a_device_runs_on_the_cpu_only_on_request() {
    const LEN: usize = 128 * 128;
    let (a, b, g) = (values(1, LEN), values(2, LEN), values(3, LEN));
    let product = Product::new(128, 128, 128);
    let mut c = vec![f32::NAN; LEN];
    let refused = small(false, false).matmul((&a).into(), (&b).into(), product, &mut c).unwrap_err();
    assert!(matches!(refused, DispatchError::Op(NnError::Backend(BackendError::BudgetExceeded { .. }))), "{refused}");
    assert!(c.iter().all(|c| c.is_nan()), "a refused product changed its result");

    let (d, cpu) = (small(true, false), on(Choice::Cpu));
    norm_backward(&d, &norm(&d)).unwrap();
    assert_eq!(d.counters(), Counters { dispatches: 2, ..Counters::default() });
    let saved = d.matmul((&a).into(), (&b).into(), product, &mut c).unwrap();
    assert_eq!((saved.tag().device, d.status().tag.device), (Choice::Cpu, Choice::Sim));
    let mut expected = vec![f32::NAN; LEN];
    let on_cpu = cpu.matmul((&a).into(), (&b).into(), product, &mut expected).unwrap();
    assert_eq!(c, expected);
    assert_eq!(d.counters(), Counters { dispatches: 3, fallbacks: 1, ..Counters::default() });

    // Its backward pass stays on the CPU, which is not mixed.
    let [mut da, mut own] = [vec![f32::NAN; LEN], vec![f32::NAN; LEN]];
    let gradients = MatmulGradients { a: Some(&mut da), b: None };
    d.matmul_backward(&saved, (&a).into(), (&b).into(), (&g).into(), gradients).unwrap();
    let gradients = MatmulGradients { a: Some(&mut own), b: None };
    cpu.matmul_backward(&on_cpu, (&a).into(), (&b).into(), (&g).into(), gradients).unwrap();
    assert_eq!(da, own);
    assert_eq!(d.counters(), Counters { dispatches: 4, fallbacks: 2, ..Counters::default() });
}

/// Elements of a tensor: a device of [`small`] holds two such tensors, and not three.
const TWO_FIT: usize = 12_000;

#[test]
fn steps_beyond_the_memory_of_a_device_run_on_the_cpu_with_their_moments() {
    let (d, cpu, g) = (small(true, false), on(Choice::Cpu), values(2, TWO_FIT));
    let [mut w, mut expected] = [values(1, TWO_FIT), values(1, TWO_FIT)];
    let [mut state, mut alone] = [(); 2].map(|()| AdamState::new(TWO_FIT, AdamOptions::default()).unwrap());
    for step in 1..=2 {
        // The moments of the first step fit the device, and its gradient does not.
        d.adam_step(&mut w, (&g).into(), &mut state).unwrap();
        cpu.adam_step(&mut expected, (&g).into(), &mut alone).unwrap();
        assert_eq!((&w, state.steps()), (&expected, step));
        assert_eq!(d.counters(), Counters { dispatches: step, fallbacks: step, ..Counters::default() });
    }
}

#[test]
fn backward_passes_beyond_the_memory_of_a_device_are_mixed_and_counted_when_they_have_run() {
    let (x, g) = (values(1, TWO_FIT), values(2, TWO_FIT));
    let backward = |d: &BackendDispatcher, saved: &Saved| {
        let mut dx = vec![f32::NAN; TWO_FIT];
        d.gelu_backward(saved, (&x).into(), (&g).into(), &mut dx).map(|()| dx)
    };
    let cpu = on(Choice::Cpu);
    let on_cpu = cpu.gelu((&x).into(), &mut vec![0.0; TWO_FIT]).unwrap();
    let expected = backward(&cpu, &on_cpu).unwrap();

    // After a forward pass on the device.
    let strict = small(true, false);
    let saved = strict.gelu((&x).into(), &mut vec![0.0; TWO_FIT]).unwrap();
    assert!(matches!(backward(&strict, &saved), Err(DispatchError::Mixed { .. })));
    let lenient = small(true, true);
    let saved = lenient.gelu((&x).into(), &mut vec![0.0; TWO_FIT]).unwrap();
    assert_eq!(backward(&lenient, &saved).unwrap(), expected);
    assert_eq!(lenient.counters(), Counters { dispatches: 2, fallbacks: 1, mixed: 1, ..Counters::default() });

    // After one elsewhere: a pass that fails is not counted, and one that falls back counts once.
    let failing = small(false, true);
    assert!(matches!(backward(&failing, &on_cpu), Err(DispatchError::Op(NnError::Backend(_)))));
    assert_eq!(failing.counters().mixed, 0);
    let falling = small(true, true);
    assert_eq!(backward(&falling, &on_cpu).unwrap(), expected);
    assert_eq!(falling.counters(), Counters { dispatches: 1, fallbacks: 1, mixed: 1, ..Counters::default() });
}

#[test]
fn a_gpu_that_cannot_be_opened_changes_no_result() {
    // The process has the simulated driver, which is never taken for a GPU.
    let (_, cpu) = (on(Choice::Sim), on(Choice::Cpu));
    let mut selection = Selection::new(Choice::Gpu);
    selection.settings.cuda_library = CudaLibrary::None;
    let fallen = BackendDispatcher::with(selection).unwrap();
    assert_eq!(fallen.status().backend.active, Choice::Cpu);
    assert!(fallen.status().backend.fallback.is_some(), "{}", fallen.status());
    for (_, forward, backward) in PASSES {
        assert_eq!(backward(&fallen, &forward(&fallen)), backward(&cpu, &forward(&cpu)));
    }
}

#[test]
fn saved_results_of_another_op_and_tensors_of_other_lengths_are_refused() {
    each(|d| {
        let refused = norm_backward(d, &softmax(d)).unwrap_err();
        let (op, expected, got) = ("layer_norm_backward", "layer_norm", "softmax");
        assert_eq!(refused, DispatchError::OtherPass { op, expected, got });
        let [x, _] = operands();
        let saved = d.gelu((&x).into(), &mut [0.0; 24]).unwrap();
        let refused = d.relu_backward(&saved, (&x).into(), (&x).into(), &mut [0.0; 24]).unwrap_err();
        assert_eq!(refused.to_string(), "`relu_backward` expected the saved result of `relu`, got one of `gelu`");

        let before = d.counters();
        let mut c = [7.0; 8];
        let refused = d.matmul((&x).into(), (&x).into(), Product::new(4, 6, 2), &mut c).unwrap_err();
        assert_eq!(refused, DispatchError::Op(NnError::Length { op: "matmul", tensor: "b", expected: 12, got: 24 }));
        let mask = SoftmaxMask::Additive((&x).into());
        let refused = d.softmax((&x).into(), &[4, 6], 0, SoftmaxMask::Causal { offset: 0 }, &mut [0.0; 24]);
        assert!(matches!(refused, Err(DispatchError::Op(NnError::Parameter { op: "softmax", .. }))));
        let refused = d.softmax((&[0.0f32; 4]).into(), &[2, 2], 1, mask, &mut [0.0; 4]).unwrap_err();
        assert_eq!(refused, DispatchError::Op(NnError::Length { op: "softmax", tensor: "mask", expected: 4, got: 24 }));
        for got in [23, 25] {
            let length = |tensor| DispatchError::Op(NnError::Length { op: "softmax", tensor, expected: 24, got });
            let other = vec![0.0f32; got];
            let refused = d.softmax((&other).into(), &[4, 6], 1, SoftmaxMask::None, &mut [0.0; 24]).unwrap_err();
            assert_eq!(refused, length("x"));
            let refused = d.softmax((&x).into(), &[4, 6], 1, SoftmaxMask::None, &mut vec![0.0; got]).unwrap_err();
            assert_eq!(refused, length("y"));
        }
        assert_eq!(c, [7.0; 8]);
        assert_eq!(d.counters().fallbacks, before.fallbacks);
    });
}
