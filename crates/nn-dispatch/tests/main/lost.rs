//! A device that is lost between a forward pass and its backward pass.

use backend_api::BackendError;
use nn_dispatch::{BackendDispatcher, DispatchError, MatmulGradients, Product, Saved, Selection, TensorOpsAPI};
use nn_ops::NnError;
use runtime::Choice;

use crate::common::{CLOSE, close, on, values, wide};

const PRODUCT: Product = Product::new(3, 4, 5);

/// A result that no op writes.
const BEFORE: f32 = 7.0;

/// A dispatcher on a simulated machine with this fault; the process has one such machine.
fn with_fault(fault: &str) -> BackendDispatcher {
    let mut selection = Selection::new(Choice::Sim);
    selection.settings.simulated = Some(fault.parse().unwrap());
    BackendDispatcher::with(selection).unwrap()
}

fn operands() -> [Vec<f32>; 3] {
    [values(1, 12), values(2, 20), values(3, 15)]
}

fn forward(d: &BackendDispatcher) -> Saved {
    let [a, b, _] = operands();
    d.matmul((&a).into(), (&b).into(), PRODUCT, &mut [0.0; 15]).unwrap()
}

/// Both gradients, and the error if they were not computed.
fn backward(d: &BackendDispatcher, saved: &Saved) -> ([Vec<f32>; 2], Result<(), DispatchError>) {
    let [a, b, g] = operands();
    let (mut of_a, mut of_b) = (vec![BEFORE; 12], vec![BEFORE; 20]);
    let gradients = MatmulGradients { a: Some(&mut of_a), b: Some(&mut of_b) };
    let outcome = d.matmul_backward(saved, (&a).into(), (&b).into(), (&g).into(), gradients);
    ([of_a, of_b], outcome)
}

/// Loses the device after the forward pass, at launch `launch` of the process, and opens it again.
fn lose(launch: u32) {
    let mut d = with_fault(&format!("fail=700@launch:{launch}"));
    let (saved, other) = (forward(&d), forward(&d));
    let before = d.status().tag;

    // The backward pass fails by name, and later ops do as well.
    let (gradients, outcome) = backward(&d, &saved);
    let error = outcome.unwrap_err();
    let DispatchError::Op(NnError::Backend(BackendError::DeviceLost { cause, .. })) = &error else { panic!("{error}") };
    assert!(cause.contains("700") && error.to_string().contains("linalg_gemm"), "{error}");
    assert!(gradients.iter().flatten().all(|&gradient| gradient == BEFORE), "{gradients:?}");
    let (gradients, outcome) = backward(&d, &other);
    assert_eq!(outcome, Err(error.clone()));
    assert!(gradients.iter().flatten().all(|&gradient| gradient == BEFORE), "{gradients:?}");
    let ([a, b, _], mut c) = (operands(), [BEFORE; 15]);
    assert_eq!(d.matmul((&a).into(), (&b).into(), PRODUCT, &mut c).unwrap_err(), error);
    assert_eq!((c, d.counters().fallbacks), ([BEFORE; 15], 0));

    // The saved results hold the memory of the lost device: it cannot be opened, and ops fail as before.
    let refused = d.reopen().unwrap_err();
    assert!(matches!(refused, DispatchError::Open(_)) && refused.to_string().contains("700"), "{refused}");
    assert_eq!(d.matmul((&a).into(), (&b).into(), PRODUCT, &mut c).unwrap_err(), error);
    let (gradients, outcome) = backward(&d, &saved);
    assert_eq!(outcome, Err(error));
    assert!(gradients.iter().flatten().all(|&gradient| gradient == BEFORE), "{gradients:?}");
    assert_eq!((c, d.counters().fallbacks), ([BEFORE; 15], 0));

    // Without them it is opened again and computes. Results of earlier generations are refused.
    drop((saved, other));
    d.reopen().unwrap();
    let after = d.status().tag;
    assert!(before.device == after.device && before.generation < after.generation);
    let old = forward(&d);
    d.reopen().unwrap();
    let (gradients, outcome) = backward(&d, &old);
    let (op, backward_tag) = ("matmul_backward", d.status().tag);
    assert_eq!(outcome, Err(DispatchError::Mixed { op, forward: after, backward: backward_tag }));
    assert!(gradients.iter().flatten().all(|&gradient| gradient == BEFORE), "{gradients:?}");
    let cpu = on(Choice::Cpu);
    let ([gradients, expected], outcomes): ([[Vec<f32>; 2]; 2], [_; 2]) = {
        let [(got, first), (expected, second)] = [&d, &cpu].map(|d| backward(d, &forward(d)));
        ([got, expected], [first, second])
    };
    assert_eq!(outcomes, [Ok(()), Ok(())]);
    for (got, expected) in gradients.iter().zip(&expected) {
        close("gradient", got, &wide(expected), CLOSE);
    }
}

// Launch 1 is the self-test of the opened device, and launches 2 and 3 are the two forward passes.

#[test]
fn a_device_lost_before_the_first_gradient_leaves_the_slices_unchanged() {
    test_process::alone(|| lose(4));
}

#[test]
fn a_device_lost_between_two_gradients_leaves_both_slices_unchanged() {
    test_process::alone(|| lose(5));
}
