//! Device speed of a plain copy, maps, softmax, norms and square matrix products.

use backend_api::{
    Buffer, Queue, Real,
    ops::linalg::{Activate, ElementwiseOps},
};
use core_types::params::elementwise::Activation;
use half::bf16;
use nn_ops::{
    GemmPlan, Layout, Mask, NormAffine, NormPlan, NormResults, Optimizer, OptimizerConfig, ParameterArena,
    ParameterSpec, ParameterTable, SoftmaxPlan, TensorMut, TensorRef,
};
use runtime::{AnyBuf, AnyQueue};

use super::{COPY, DeviceError, DeviceLine, Extent, RunSize, words};

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let (elements, rows, columns, squares): (usize, usize, usize, &[usize]) = match extent {
        Extent::Full => (1 << 28, 65_536, 1024, &[128, 256, 512, 1024, 2048, 4096, 8192]),
        Extent::Small => (1 << 12, 8, 64, &[64]),
    };
    let mut all = vec![
        copy(elements),
        map(&format!("nn.identity/{elements}"), Activation::Identity, elements),
        map(&format!("nn.gelu/{elements}"), Activation::GeluTanh, elements),
        adam_w(elements),
        softmax(rows, columns),
        layer_norm(rows, columns),
        add_layer_norm(rows, columns),
        rms_norm(rows, columns),
    ];
    for &n in squares {
        all.push(square::<f32>(n));
        all.push(square::<bf16>(n));
    }
    all
}

/// Values in -4..4.
fn input<T: Real>(q: &AnyQueue, count: usize) -> Result<AnyBuf<T>, DeviceError> {
    let value = |word: u64| T::from_f32((word >> 40) as f32 / (1 << 21) as f32 - 4.0);
    let values: Vec<T> = words(count, 1).into_iter().map(value).collect();
    Ok(q.upload(&values)?)
}

/// The size of a line that reads and writes floats, in separate buffers.
fn traffic(count: usize) -> RunSize {
    let bytes = 8.0 * count as f64;
    RunSize { unit: "byte", work: bytes, bytes, resident: bytes }
}

fn copy(count: usize) -> DeviceLine {
    DeviceLine::new(COPY, traffic(count), move |q| {
        let x = input::<f32>(q, count)?;
        let mut y = q.zeros(count)?;
        Ok(Box::new(move |q| Ok(q.copy(x.view(), y.view_mut())?)))
    })
}

fn map(id: &str, f: Activation, count: usize) -> DeviceLine {
    DeviceLine::new(id, traffic(count), move |q| {
        let x = input::<f32>(q, count)?;
        let mut y = q.zeros(count)?;
        Ok(Box::new(move |q| Ok(q.activate(Activate { f, x: x.view(), y: y.view_mut() })?)))
    })
}

/// Reads a gradient, and reads and writes a weight and its two moments.
fn adam_w(count: usize) -> DeviceLine {
    let bytes = 28.0 * count as f64;
    let size = RunSize { unit: "weight", work: count as f64, bytes, resident: 16.0 * count as f64 };
    DeviceLine::new(format!("nn.adam_w/{count}"), size, move |q| {
        let table = ParameterTable::new(&[ParameterSpec::new("w", &[count])])?;
        let (mut w, g) = (ParameterArena::zeros(q, &table)?, input::<f32>(q, table.len())?);
        let mut optimizer = Optimizer::new(q, OptimizerConfig::adam_w(1e-3), &table)?;
        Ok(Box::new(move |q| Ok(optimizer.step(q, g.view(), w.view_mut(), None)?)))
    })
}

fn softmax(rows: usize, columns: usize) -> DeviceLine {
    DeviceLine::new(format!("nn.softmax/{rows}x{columns}"), traffic(rows * columns), move |q| {
        let (shape, plan) = ([rows, columns], SoftmaxPlan::new(&[rows, columns], 1)?);
        let x = input::<f32>(q, rows * columns)?;
        let mut y = q.zeros(rows * columns)?;
        Ok(Box::new(move |q| {
            let (x, y) = (TensorRef::contiguous(x.view(), &shape)?, TensorMut::contiguous(y.view_mut(), &shape)?);
            Ok(plan.softmax(q, x, Mask::None, y)?)
        }))
    })
}

fn layer_norm(rows: usize, columns: usize) -> DeviceLine {
    DeviceLine::new(format!("nn.layer_norm/{rows}x{columns}"), traffic(rows * columns), move |q| {
        let (shape, plan) = ([rows, columns], NormPlan::new(&[rows, columns], 1e-5)?);
        let x = input::<f32>(q, rows * columns)?;
        let (gamma, beta) = (input::<f32>(q, columns)?, input::<f32>(q, columns)?);
        let (mut y, mut stats) = (q.zeros(rows * columns)?, plan.layer_stats(q)?);
        Ok(Box::new(move |q| {
            let (x, y) = (TensorRef::contiguous(x.view(), &shape)?, TensorMut::contiguous(y.view_mut(), &shape)?);
            let gamma = TensorRef::contiguous(gamma.view(), &[columns])?;
            let beta = TensorRef::contiguous(beta.view(), &[columns])?;
            let stats = TensorMut::contiguous(stats.view_mut(), &[2, rows])?;
            let affine = NormAffine { gamma: Some(gamma), beta: Some(beta) };
            Ok(plan.layer_norm(q, x, affine, NormResults { y, stats })?)
        }))
    })
}

/// Reads two tensors and writes their sum and its norm.
fn add_layer_norm(rows: usize, columns: usize) -> DeviceLine {
    let bytes = 16.0 * (rows * columns) as f64;
    let size = RunSize { unit: "byte", work: bytes, bytes, resident: bytes };
    DeviceLine::new(format!("nn.add_layer_norm/{rows}x{columns}"), size, move |q| {
        let (shape, plan) = ([rows, columns], NormPlan::new(&[rows, columns], 1e-5)?);
        let (x, r) = (input::<f32>(q, rows * columns)?, input::<f32>(q, rows * columns)?);
        let (gamma, beta) = (input::<f32>(q, columns)?, input::<f32>(q, columns)?);
        let (mut sum, mut y) = (q.zeros(rows * columns)?, q.zeros(rows * columns)?);
        let mut stats = plan.layer_stats(q)?;
        Ok(Box::new(move |q| {
            let addends = [TensorRef::contiguous(x.view(), &shape)?, TensorRef::contiguous(r.view(), &shape)?];
            let gamma = TensorRef::contiguous(gamma.view(), &[columns])?;
            let beta = TensorRef::contiguous(beta.view(), &[columns])?;
            let sum = TensorMut::contiguous(sum.view_mut(), &shape)?;
            let (y, stats) =
                (TensorMut::contiguous(y.view_mut(), &shape)?, TensorMut::contiguous(stats.view_mut(), &[2, rows])?);
            let affine = NormAffine { gamma: Some(gamma), beta: Some(beta) };
            Ok(plan.add_layer_norm(q, addends, affine, sum, NormResults { y, stats })?)
        }))
    })
}

fn rms_norm(rows: usize, columns: usize) -> DeviceLine {
    DeviceLine::new(format!("nn.rms_norm/{rows}x{columns}"), traffic(rows * columns), move |q| {
        let (shape, plan) = ([rows, columns], NormPlan::new(&[rows, columns], 1e-5)?);
        let x = input::<f32>(q, rows * columns)?;
        let gamma = input::<f32>(q, columns)?;
        let (mut y, mut rstd) = (q.zeros(rows * columns)?, plan.rms_stats(q)?);
        Ok(Box::new(move |q| {
            let (x, y) = (TensorRef::contiguous(x.view(), &shape)?, TensorMut::contiguous(y.view_mut(), &shape)?);
            let gamma = TensorRef::contiguous(gamma.view(), &[columns])?;
            let stats = TensorMut::contiguous(rstd.view_mut(), &[rows])?;
            Ok(plan.rms_norm(q, x, Some(gamma), NormResults { y, stats })?)
        }))
    })
}

fn square<T: Real>(n: usize) -> DeviceLine {
    let name = T::DTYPE.name();
    let resident = 3.0 * (size_of::<T>() * n * n) as f64;
    let size = RunSize { unit: "flop", work: 2.0 * (n as f64).powi(3), bytes: 0.0, resident };
    DeviceLine::new(format!("nn.matmul.{name}/{n}"), size, move |q| {
        let layout = Layout::contiguous(&[n, n])?;
        let plan = GemmPlan::new(&layout, &layout, &layout)?;
        let (a, b) = (input::<T>(q, n * n)?, input::<T>(q, n * n)?);
        let mut c = q.zeros::<T>(n * n)?;
        Ok(Box::new(move |q| {
            let (a, b) = (TensorRef::new(a.view(), layout)?, TensorRef::new(b.view(), layout)?);
            Ok(plan.run(q, a, b, TensorMut::new(c.view_mut(), layout)?)?)
        }))
    })
}
