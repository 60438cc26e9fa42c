//! Rejected operands: layouts that a plan would have caught earlier.

use backend_api::{
    Buffer as _, Queue,
    ops::linalg::{Gemm, GemmOps},
};
use core_types::params::{
    elementwise::Activation,
    gemm::{GemmParams, MatrixStrides},
};

use super::strides::contiguous;
use crate::{Case, Conditioned, Failure, OpSpec};

pub(super) fn specs() -> Vec<OpSpec> {
    let cases = vec![
        Case::new("results that overlap", overlaps),
        Case::new("an epilogue after a sum", epilogues),
        Case::new("views that are too short", lengths),
    ];
    vec![OpSpec { op: "linalg.gemm refusals", cases }]
}

/// Three products of 2 x 4 and 4 x 5 matrices, all contiguous.
fn params() -> GemmParams {
    contiguous(3, [2, 5, 4], [false; 3])
}

/// The same with C of other strides.
fn laid_out(batch: u64, row: u64, col: u64) -> GemmParams {
    GemmParams { c: MatrixStrides { batch: [0, 0, 0, batch], row, col }, ..params() }
}

/// A, B and C of [`params`].
const LENS: [usize; 3] = [24, 60, 30];

/// Runs `p` on views of `lens` elements; C starts and, if the op refuses, ends as ones.
fn run(q: &Conditioned, what: &str, p: &GemmParams, lens: [usize; 3], bias: Option<usize>) -> Result<(), Failure> {
    let [a, b, c] = lens;
    let (a, b, mut dc) = (q.zeros::<f32>(a)?, q.zeros::<f32>(b)?, q.upload(&vec![1f32; c])?);
    let bias = bias.map(|len| q.zeros::<f32>(len)).transpose()?;
    let bias = bias.as_ref().map(|bias| bias.view());
    let outcome = q.gemm(Gemm { params: p, a: a.view(), b: b.view(), bias, c: dc.view_mut() });
    Failure::unless_refused(what, outcome)?;
    Failure::unless_close(&vec![1.0; c], &q.download(&dc)?, 0.0, 0.0)
}

fn overlaps(q: &Conditioned) -> Result<(), Failure> {
    // These strides are allowed where the product accumulates.
    run(q, "repeated results", &laid_out(0, 5, 1), LENS, None)?;
    for accumulate in [0, 1] {
        for (batch, row, col) in [(9, 5, 1), (4, 10, 1), (1, 5, 1), (10, 4, 1), (10, 0, 1), (10, 5, 0), (10, 1, 1)] {
            let what = format!("strides {batch}, {row} and {col}, accumulate {accumulate}");
            run(q, &what, &GemmParams { accumulate, ..laid_out(batch, row, col) }, LENS, None)?;
        }
    }
    Ok(())
}

fn epilogues(q: &Conditioned) -> Result<(), Failure> {
    let p = GemmParams { accumulate: 1, ..params() };
    run(q, "a bias after a sum", &p, LENS, Some(5))?;
    run(q, "an activation after a sum", &GemmParams { activation: Activation::Relu, ..p }, LENS, None)
}

fn lengths(q: &Conditioned) -> Result<(), Failure> {
    let p = params();
    for i in 0..LENS.len() {
        for len in [0, LENS[i] - 1] {
            let mut lens = LENS;
            lens[i] = len;
            run(q, &format!("view {i} of {len} elements"), &p, lens, None)?;
        }
    }
    for len in [0, 4, 6] {
        run(q, &format!("a bias of {len} elements"), &p, LENS, Some(len))?;
    }
    let mut far = p;
    far.a.row = u64::MAX;
    run(q, "strides that wrap", &far, LENS, None)
}
