//! Matrix products and the fused encoder layer, one thread.

use std::hint::black_box;

use crate::peers::{fma_peak, plain_gemm};
use backend_api::Real;
use half::{bf16, f16};
use nn_ops::{Activation, GemmPlan, Layout, LinearOperands, linear};

use crate::{Contender, Contest, Goal, Show, host};

pub(super) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all: Vec<(String, Box<dyn FnOnce() -> Contest>)> = Vec::new();
    for n in [128, 256, 512, 1024] {
        all.push((format!("nn.matmul/{n}"), Box::new(move || square(n))));
    }
    let mut beside_peak = |id: &str, shape: [usize; 3], ours: fn([usize; 3]) -> Contender| {
        let id = id.to_owned();
        all.push((id.clone(), Box::new(move || against_peak(id, shape, ours))));
    };
    beside_peak("nn.matmul/1x512x256", [1, 512, 256], |shape| product::<f32>(shape, TransposedOperand::Plain));
    beside_peak("nn.matmul/32x256x512", [32, 256, 512], |shape| product::<f32>(shape, TransposedOperand::Plain));
    beside_peak("nn.matmul_nt/512", [512; 3], |shape| product::<f32>(shape, TransposedOperand::RightTransposed));
    beside_peak("nn.matmul_tn/512", [512; 3], |shape| product::<f32>(shape, TransposedOperand::LeftTransposed));
    beside_peak("nn.matmul_bf16/128", [128; 3], |shape| product::<bf16>(shape, TransposedOperand::Plain));
    beside_peak("nn.matmul_bf16/256", [256; 3], |shape| product::<bf16>(shape, TransposedOperand::Plain));
    beside_peak("nn.matmul_bf16/512", [512; 3], |shape| product::<bf16>(shape, TransposedOperand::Plain));
    beside_peak("nn.matmul_bf16/1024", [1024; 3], |shape| product::<bf16>(shape, TransposedOperand::Plain));
    beside_peak("nn.matmul_nt_bf16/256", [256; 3], |shape| product::<bf16>(shape, TransposedOperand::RightTransposed));
    beside_peak("nn.matmul_f16/512", [512; 3], |shape| product::<f16>(shape, TransposedOperand::Plain));
    for (id, rows) in [("nn.encode_state", 32), ("nn.encode_state/4096", 4096)] {
        all.push((id.to_owned(), Box::new(move || encode(id, rows))));
    }
    all
}

/// Which operands are read along the other axis.
#[derive(Clone, Copy)]
enum TransposedOperand {
    Plain,
    LeftTransposed,
    RightTransposed,
}

/// A product of `[m, k]` and `[k, n]`.
fn product<T: Real>([m, k, n]: [usize; 3], operands: TransposedOperand) -> Contender {
    host::ours(move |q| {
        let (left, right) = match operands {
            TransposedOperand::Plain => ([m, k], [k, n]),
            TransposedOperand::LeftTransposed => ([k, m], [k, n]),
            TransposedOperand::RightTransposed => ([m, k], [n, k]),
        };
        let (a, b) = (host::tensor::<T>(&q, &left, 1.0)?, host::tensor::<T>(&q, &right, 1.0)?);
        let mut c = host::tensor::<T>(&q, &[m, n], 1.0)?;
        let turned = |layout: &Layout, turn: bool| if turn { layout.transposed() } else { Ok(*layout) };
        let left = turned(a.layout(), matches!(operands, TransposedOperand::LeftTransposed))?;
        let right = turned(b.layout(), matches!(operands, TransposedOperand::RightTransposed))?;
        let plan = GemmPlan::new(&left, &right, c.layout())?;
        Ok(Box::new(move || {
            let a = if left == *a.layout() { a.at() } else { a.at().transposed()? };
            let b = if right == *b.layout() { b.at() } else { b.at().transposed()? };
            plan.run(&q, a, b, c.at_mut())
        }))
    })
}

fn square(n: usize) -> Contest {
    let work = 2 * n.pow(3);
    Contest {
        id: format!("nn.matmul/{n}"),
        unit: "flop",
        work: work as f64,
        show: Show::Rate,
        contenders: vec![product::<f32>([n; 3], TransposedOperand::Plain), peer(n), peak(work)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.95 }, "")],
    }
}

/// A product, compared with the same number of operations in registers.
fn against_peak(id: String, shape: [usize; 3], ours: fn([usize; 3]) -> Contender) -> Contest {
    let work = 2 * shape.iter().product::<usize>();
    let contenders = vec![ours(shape), peak(work)];
    Contest { id, unit: "flop", work: work as f64, show: Show::Rate, contenders, goals: Vec::new() }
}

/// Crate `gemm`, called directly.
fn peer(n: usize) -> Contender {
    let (a, b, mut c) = (host::values::<f32>(n * n, 1.0), host::values::<f32>(n * n, 1.0), vec![0.0f32; n * n]);
    Contender::new("gemm", move || plain_gemm(n, &a, &b, &mut c))
}

/// The same number of f32 operations in registers.
///
/// It uses the widest vectors that the processor has.
fn peak(flops: usize) -> Contender {
    Contender::new("multiply-adds at peak", move || {
        black_box(fma_peak(flops as u64));
    })
}

fn encode(id: &str, rows: usize) -> Contest {
    const INPUTS: usize = 64;
    const OUTPUTS: usize = 128;
    let ours = host::ours(|q| {
        let (x, w) = (host::tensor::<f32>(&q, &[rows, INPUTS], 1.0)?, host::tensor(&q, &[INPUTS, OUTPUTS], 1.0)?);
        let (bias, mut y) = (host::tensor(&q, &[OUTPUTS], 1.0)?, host::tensor(&q, &[rows, OUTPUTS], 1.0)?);
        Ok(Box::new(move || {
            let operands = LinearOperands { x: x.at(), w: w.at(), bias: Some(bias.at()) };
            linear(&q, operands, Activation::Relu, y.at_mut())
        }))
    });
    let flops = 2 * rows * INPUTS * OUTPUTS;
    Contest {
        id: id.to_owned(),
        unit: "flop",
        work: flops as f64,
        show: Show::Rate,
        contenders: vec![ours, peak(flops)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 1.0 / 1.2 }, "")],
    }
}
