//! Launches of the products in tiles of 128 x 128 on one matrix, for which ops need 96 tiles. The results are compared
//! with sums that are exact.

use backend_api::{Buffer, Queue, Real};
use conformance::Failure;
use core_types::params::{
    elementwise::Activation,
    gemm::{BATCH_AXES, GemmParams, GemmShare, MatrixStrides},
};
use cuda_backend::CudaQueue;
use half::{bf16, f16};

use super::trials::Trial;

/// Rows and columns of a product, and the terms of its sums: four stages of terms, and two.
const SHAPES: [[u64; 3]; 2] = [[8, 16, 104], [72, 72, 40]];

/// The kernels by layout, each with whether the columns of A and of B are contiguous, and not their rows.
macro_rules! layouts {
    ($begin:literal, $end:literal) => {
        [
            (concat!($begin, "nn", $end), [false, false]),
            (concat!($begin, "nt", $end), [false, true]),
            (concat!($begin, "tn", $end), [true, false]),
            (concat!($begin, "tt", $end), [true, true]),
        ]
    };
}

pub(super) fn trials() -> Vec<Trial> {
    let of_words = layouts!("linalg_gemm_simt128_", "").map(of_kernel::<f32>);
    let of_halves = layouts!("linalg_gemm_mma128_", "_f16").map(of_kernel::<f16>);
    let of_brains = layouts!("linalg_gemm_mma128_", "_bf16").map(of_kernel::<bf16>);
    [of_words, of_halves, of_brains].into_iter().flatten().flatten().collect()
}

/// A launch for each shape, with a column more if columns of B are contiguous: their number is arbitrary then.
fn of_kernel<T: Real>((name, turned): (&'static str, [bool; 2])) -> [Trial; 2] {
    SHAPES.map(|[m, n, k]| {
        let n = n + u64::from(turned[1]);
        Trial::new(format!("{m}x{n}x{k} by {name}"), move |q| product::<T>(q, name, [m, n, k], turned))
    })
}

fn product<T: Real>(
    q: &CudaQueue,
    name: &'static str,
    [m, n, k]: [u64; 3],
    [a_turned, b_turned]: [bool; 2],
) -> Result<(), Failure> {
    let strides = |[rows, cols]: [u64; 2], turned: bool| {
        let (row, col) = if turned { (1, rows) } else { (cols, 1) };
        MatrixStrides { batch: [0; BATCH_AXES], row, col }
    };
    let p = GemmParams {
        batch: [1; BATCH_AXES],
        m,
        n,
        k,
        a: strides([m, k], a_turned),
        b: strides([k, n], b_turned),
        c: strides([m, n], false),
        accumulate: 0,
        activation: Activation::Identity,
        alpha: 1.0,
        reserved: 0,
    };
    let (a, b) = (factor(m * k, 3), factor(k * n, 5));
    let at = |s: MatrixStrides, row: u64, col: u64| (row * s.row + col * s.col) as usize;
    let sum = |i: u64| (0..k).map(|l| a[at(p.a, i / n, l)] * b[at(p.b, l, i % n)]).sum::<f32>();
    let expected: Vec<f32> = (0..m * n).map(|i| T::from_f32(sum(i)).to_f32()).collect();

    let typed = |words: &[f32]| words.iter().map(|&x| T::from_f32(x)).collect::<Vec<_>>();
    let (a, b) = (q.upload(&typed(&a))?, q.upload(&typed(&b))?);
    let mut c = q.upload(&vec![T::from_f32(9.0); expected.len()])?;
    let share = GemmShare { first_result: 0, part: k.next_multiple_of(32) as u32 };
    let launch = q.kernel(name)?.grid([1, 1, 1]).value("p", &p).value("share", &share);
    let launch = launch.input("a", a.view()).input("b", b.view()).input_if::<T>("bias", None);
    // SAFETY: the strides of `p` stay inside the matrices, and one part of k needs no room for sums.
    unsafe { launch.output("c", &c.view_mut()).output_if::<f32>("work", None).launch() }?;
    let got: Vec<f32> = q.download(&c)?.iter().map(|x| x.to_f32()).collect();
    Failure::unless_equal(&expected, &got)
}

/// Multiples of 1/8 from -1 to 7/8: sums of their products are exact in f32.
fn factor(len: u64, seed: u64) -> Vec<f32> {
    let word = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed).wrapping_mul(seed) >> 60;
    (0..len).map(|i| word(i) as f32 / 8.0 - 1.0).collect()
}
