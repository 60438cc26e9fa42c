//! The greatest differences between the processor and the simulated device.
//!
//! Each backend is within a bound of f64, so that two results differ by at most twice the bound. `docs/cpu-and-cuda.md`
//! has the bounds, and the differences that this test prints.
#![allow(clippy::print_stdout, reason = "the test prints the differences that it measures")]

use nn_dispatch::{Affine, BackendDispatcher, Product, SoftmaxMask, TensorOpsAPI};
use nn_ops::{AttentionOptions, Functional, Tensor};
use runtime::Choice;

use crate::common::{on, values};

/// Seeds of the operands, and of a query, a key and a value.
const SEEDS: [u64; 3] = [1, 2, 3];

/// Sides of the matrices.
const SIZES: [usize; 2] = [33, 64];

/// Elements of a row of the attention.
const DIM: usize = 32;

/// A bound of the difference of two results, from the place of a result and the result.
type Bound<'a> = &'a dyn Fn(usize, f32) -> f64;

/// The results of the ops on one device.
struct OpResults {
    product: Vec<f32>,
    shares: Vec<f32>,
    normed: Vec<f32>,
    attended: Vec<f32>,
}

impl OpResults {
    /// Runs the ops on square matrices, and attention on one head of `n` queries and keys.
    fn of(d: &BackendDispatcher, n: usize) -> Self {
        let [a, b, _] = SEEDS.map(|seed| values(seed, n * n));
        let [mut product, mut shares, mut normed] = [(); 3].map(|()| vec![f32::NAN; n * n]);
        d.matmul((&a).into(), (&b).into(), Product::new(n, n, n), &mut product).unwrap();
        d.softmax((&a).into(), &[n, n], 1, SoftmaxMask::None, &mut shares).unwrap();
        d.layer_norm((&a).into(), Affine::default(), [n, n], 1e-5, &mut normed).unwrap();
        let queue = d.queue();
        let [q, k, v] = SEEDS.map(|seed| Tensor::from_values(queue, &[1, n, 1, DIM], &values(seed, n * DIM)).unwrap());
        let (attended, _) = Functional::attention(queue, &q, &k, &v, AttentionOptions::default()).unwrap();
        Self { product, shares, normed, attended: attended.values(queue).unwrap() }
    }
}

/// The greatest difference; each is within its bound.
fn greatest(op: &str, n: usize, cpu: &[f32], device: &[f32], bound: Bound<'_>) -> f64 {
    assert_eq!(cpu.len(), device.len(), "{op} of {n}");
    let mut most = 0.0f64;
    for (at, (&x, &y)) in cpu.iter().zip(device).enumerate() {
        let difference = (f64::from(x) - f64::from(y)).abs();
        assert!(difference <= bound(at, x), "{op} of {n}, element {at}: {x:e} on the processor, {y:e} on the device");
        most = most.max(difference);
    }
    most
}

#[test]
fn the_processor_and_the_simulated_device_differ_by_at_most_twice_the_bounds() {
    let [cpu, device] = [Choice::Cpu, Choice::Sim].map(on);
    assert_eq!([&cpu, &device].map(|d| d.status().tag.device), [Choice::Cpu, Choice::Sim]);
    println!("size | greatest differences: matmul, softmax, layer_norm, attention");
    for n in SIZES {
        let [a, b, _] = SEEDS.map(|seed| values(seed, n * n));
        // Of the sum of the terms' magnitudes.
        let product = |at: usize, _: f32| {
            let terms = (0..n).map(|t| f64::from(a[at / n * n + t] * b[t * n + at % n]).abs());
            2e-6 * terms.sum::<f64>()
        };
        let (left, right) = (OpResults::of(&cpu, n), OpResults::of(&device, n));
        let differences = [
            greatest("matmul", n, &left.product, &right.product, &product),
            greatest("softmax", n, &left.shares, &right.shares, &|_, share| 1e-5 * f64::from(share)),
            greatest("layer_norm", n, &left.normed, &right.normed, &|_, _| 8e-5),
            greatest("attention", n, &left.attended, &right.attended, &|_, _| 2e-5),
        ];
        println!("{n} | {}", differences.map(|difference| format!("{difference:.1e}")).join(", "));
        // Results that nothing has written would be equal, too.
        let sums = left.shares.chunks(n).map(|row| row.iter().sum::<f32>());
        assert!(sums.into_iter().all(|sum| (sum - 1.0).abs() < 1e-5), "softmax of {n}");
        for results in [&left.product, &left.normed, &left.attended] {
            assert!(results.iter().any(|&x| x > 0.0) && results.iter().any(|&x| x < 0.0), "results of {n}");
        }
    }
}
