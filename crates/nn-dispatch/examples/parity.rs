//! Compares the device path with the CPU path and both with a tiled baseline, for square matrices.
//!
//! ```sh
//! RSI_ML_BACKEND=gpu cargo run --release -p nn-dispatch --example parity
//! TREFOIL_BACKEND=sim cargo run --release -p nn-dispatch --example parity -- 33 64
//! ```
//!
//! The arguments are sizes; the default is 128 to 1024. It prints the greatest absolute difference between the two
//! paths on fixed seeds, and times of matrix products. Attention, which the dispatcher does not have, is `nn-ops`'s on the
//! dispatcher's queue, of one head of 64. Times of the simulated device mean nothing.
#![allow(clippy::print_stdout, reason = "the output of the example")]

use std::{env, error::Error, hint::black_box, time::Instant};

use nn_dispatch::{Affine, BackendDispatcher, DispatchError, Product, Selection, SoftmaxMask, TensorOpsAPI};
use nn_ops::{AttentionOptions, Functional, Tensor};
use rayon::prelude::*;
use runtime::Choice;

/// Side of a tile, the greatest that RSI-ML chooses by itself.
const TILE: usize = 64;

/// Elements of a query, a key and a value.
const DIM: usize = 64;

/// Least number of calls; the fastest counts.
const CALLS: usize = 5;

/// Least time of all calls of one line, in seconds.
const SECONDS: f64 = 0.2;

fn main() -> Result<(), Box<dyn Error>> {
    let sizes = env::args().skip(1).map(|size| size.parse()).collect::<Result<Vec<usize>, _>>()?;
    let sizes = if sizes.is_empty() { vec![128, 256, 512, 1024] } else { sizes };
    let (cpu, device) = (BackendDispatcher::with(Selection::new(Choice::Cpu))?, BackendDispatcher::from_env()?);
    println!("cpu path: {}\ndevice path: {}\n", cpu.status(), device.status());
    println!(
        "size | matmul: cpu, device, tiled rayon (ms) | greatest differences: matmul, softmax, layer_norm, attention"
    );
    for &n in &sizes {
        let (a, b) = (values(1, n * n), values(2, n * n));
        let mut c = vec![0.0; n * n];
        let on_cpu = fastest(|| multiply(&cpu, &a, &b, n, &mut c))?;
        let on_device = fastest(|| multiply(&device, &a, &b, n, &mut c))?;
        let baseline = fastest(|| {
            tiled(&a, &b, n, &mut c);
            Ok(())
        })?;
        let [matmul, softmax, norm, attention] = differences(&cpu, &device, &a, &b, n)?;
        let [on_cpu, on_device, baseline] = [on_cpu, on_device, baseline].map(|seconds| seconds * 1e3);
        let differences = format!("{matmul:.1e}, {softmax:.1e}, {norm:.1e}, {attention:.1e}");
        println!("{n} | {on_cpu:.3}, {on_device:.3}, {baseline:.3} | {differences}");
    }
    Ok(())
}

fn multiply(d: &BackendDispatcher, a: &[f32], b: &[f32], n: usize, c: &mut [f32]) -> Result<(), DispatchError> {
    d.matmul(a.into(), b.into(), Product::new(n, n, n), c).map(drop)
}

/// The greatest absolute differences between the two paths: of a product, a softmax, a layer norm and an attention.
fn differences(
    cpu: &BackendDispatcher,
    device: &BackendDispatcher,
    a: &[f32],
    b: &[f32],
    n: usize,
) -> Result<[f32; 4], DispatchError> {
    let results = |d: &BackendDispatcher| -> Result<[Vec<f32>; 4], DispatchError> {
        let [mut product, mut shares, mut normed] = [vec![0.0; n * n], vec![0.0; n * n], vec![0.0; n * n]];
        multiply(d, a, b, n, &mut product)?;
        d.softmax(a.into(), &[n, n], 1, SoftmaxMask::None, &mut shares)?;
        d.layer_norm(a.into(), Affine::default(), [n, n], 1e-5, &mut normed)?;
        let operand = |seed| Tensor::from_values(d.queue(), &[1, n, 1, DIM], &values(seed, n * DIM));
        let (query, key, value) = (operand(1)?, operand(2)?, operand(3)?);
        let options = AttentionOptions::default();
        let (attended, _) = Functional::attention(d.queue(), &query, &key, &value, options)?;
        Ok([product, shares, normed, attended.values(d.queue())?])
    };
    let (left, right) = (results(cpu)?, results(device)?);
    // NaN on one path is the greatest difference.
    let greater = |most: f32, next: f32| if next > most || next.is_nan() { next } else { most };
    let greatest = |i: usize| left[i].iter().zip(&right[i]).map(|(x, y)| (x - y).abs()).fold(0.0, greater);
    Ok([0, 1, 2, 3].map(greatest))
}

/// A product by rows in parallel and by tiles of the inner and outer axis, as RSI-ML computes it.
fn tiled(a: &[f32], b: &[f32], n: usize, c: &mut [f32]) {
    c.par_chunks_mut(n).zip(a.par_chunks(n)).for_each(|(sums, row)| {
        sums.fill(0.0);
        for inner in (0..n).step_by(TILE) {
            for outer in (0..n).step_by(TILE) {
                let columns = outer..(outer + TILE).min(n);
                for k in inner..(inner + TILE).min(n) {
                    let factors = &b[k * n..][columns.clone()];
                    sums[columns.clone()].iter_mut().zip(factors).for_each(|(sum, factor)| *sum += row[k] * factor);
                }
            }
        }
    });
    black_box(c);
}

/// Seconds of the fastest call.
fn fastest(mut call: impl FnMut() -> Result<(), DispatchError>) -> Result<f64, DispatchError> {
    let (begin, mut least, mut calls) = (Instant::now(), f64::INFINITY, 0);
    while calls < CALLS || begin.elapsed().as_secs_f64() < SECONDS {
        let start = Instant::now();
        call()?;
        least = least.min(start.elapsed().as_secs_f64());
        calls += 1;
    }
    Ok(least)
}

/// Values within -1..1.
fn values(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}
