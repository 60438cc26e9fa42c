//! Matrix products and the fused encoder layer.

use backend_api::Real;
use half::{bf16, f16};
use nn_ops::{Activation, GemmPlan, LinearOperands, linear};

use crate::{
    Contender, Goal, Line,
    host::{against_peak, tensor, values},
    line::RunSize,
    peers::plain_gemm,
};

pub(super) fn contests() -> Vec<Line> {
    use TransposedOperand::{Left, Neither, Right};
    let square = |n: usize| {
        let line = product::<f32>(&format!("nn.matmul/{n}"), [n; 3], Neither).peer(move || peer(n));
        against_peak(line).goal(Goal::Ratio { peer: 1, ratio: 0.95 }, "")
    };
    let mut all = Vec::new();
    for n in [128, 256, 512, 1024] {
        all.push(square(n));
    }
    let alone = vec![
        product::<f32>("nn.matmul/1x512x256", [1, 512, 256], Neither),
        product::<f32>("nn.matmul/32x256x512", [32, 256, 512], Neither),
        product::<f32>("nn.matmul_nt/512", [512; 3], Right),
        product::<f32>("nn.matmul_tn/512", [512; 3], Left),
        product::<bf16>("nn.matmul_bf16/128", [128; 3], Neither),
        product::<bf16>("nn.matmul_bf16/256", [256; 3], Neither),
        product::<bf16>("nn.matmul_bf16/512", [512; 3], Neither),
        product::<bf16>("nn.matmul_bf16/1024", [1024; 3], Neither),
        product::<bf16>("nn.matmul_nt_bf16/256", [256; 3], Right),
        product::<f16>("nn.matmul_f16/512", [512; 3], Neither),
    ];
    for line in alone {
        all.push(against_peak(line));
    }
    let encode = |id, rows| against_peak(encode(id, rows)).goal(Goal::Ratio { peer: 1, ratio: 1.0 / 1.2 }, "");
    all.extend([encode("nn.encode_state", 32), encode("nn.encode_state/4096", 4096)]);
    all
}

/// The operand that is read along the other axis.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TransposedOperand {
    Neither,
    Left,
    Right,
}

/// A square product on a device.
pub(super) fn square<T: Real>(n: usize) -> Line {
    product::<T>(&format!("nn.matmul.{}/{n}", T::DTYPE.name()), [n; 3], TransposedOperand::Neither)
}

/// A product of `[m, k]` and `[k, n]`.
fn product<T: Real>(id: &str, [m, k, n]: [usize; 3], transposed: TransposedOperand) -> Line {
    let resident = (size_of::<T>() * (m * k + k * n + m * n)) as f64;
    Line::new(id, RunSize::computing("flop", 2.0 * (m * k * n) as f64, resident), move |q| {
        let (left, right) = (transposed == TransposedOperand::Left, transposed == TransposedOperand::Right);
        let (a_shape, b_shape) = (if left { [k, m] } else { [m, k] }, if right { [n, k] } else { [k, n] });
        let (a, b) = (tensor::<T>(q, &a_shape, 1.0)?, tensor::<T>(q, &b_shape, 1.0)?);
        let mut c = tensor::<T>(q, &[m, n], 1.0)?;
        let a_layout = if left { a.layout().transposed()? } else { *a.layout() };
        let b_layout = if right { b.layout().transposed()? } else { *b.layout() };
        let plan = GemmPlan::new(&a_layout, &b_layout, c.layout())?;
        Ok(Box::new(move |q| {
            let a = if left { a.at().transposed()? } else { a.at() };
            let b = if right { b.at().transposed()? } else { b.at() };
            Ok(plan.run(q, a, b, c.at_mut())?)
        }))
    })
}

/// Crate `gemm`, called directly.
fn peer(n: usize) -> Contender {
    let (a, b, mut c) = (values::<f32>(n * n, 1.0), values::<f32>(n * n, 1.0), vec![0.0f32; n * n]);
    Contender::new("gemm", move || plain_gemm(n, &a, &b, &mut c))
}

fn encode(id: &str, rows: usize) -> Line {
    const INPUTS: usize = 64;
    const OUTPUTS: usize = 128;
    let flops = 2 * rows * INPUTS * OUTPUTS;
    Line::new(id, RunSize::computing("flop", flops as f64, 0.0), move |q| {
        let (x, w) = (tensor::<f32>(q, &[rows, INPUTS], 1.0)?, tensor(q, &[INPUTS, OUTPUTS], 1.0)?);
        let (bias, mut y) = (tensor(q, &[OUTPUTS], 1.0)?, tensor(q, &[rows, OUTPUTS], 1.0)?);
        Ok(Box::new(move |q| {
            let operands = LinearOperands { x: x.at(), w: w.at(), bias: Some(bias.at()) };
            Ok(linear(q, operands, Activation::Relu, y.at_mut())?)
        }))
    })
}
