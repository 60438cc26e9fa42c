//! Square matrix products and the fused encoder layer, one thread.

use std::{hint::black_box, num::NonZeroUsize};

use backend_api::{Buffer, Queue};
use cpu_backend::{CpuConfig, CpuQueue};
use nn_ops::{Activation, GemmPlan, Layout, TensorMut, TensorRef, linear};
use yardstick::{fma_peak, plain_gemm};

use crate::bench::{Contender, Contest, Goal, Show};

pub(super) fn contests() -> Vec<(String, Box<dyn FnOnce() -> Contest>)> {
    let mut all: Vec<(String, Box<dyn FnOnce() -> Contest>)> = Vec::new();
    for n in [128, 256, 512, 1024] {
        all.push((format!("nn.matmul/{n}"), Box::new(move || square(n))));
    }
    all.push(("nn.encode_state".to_owned(), Box::new(encode_state)));
    all
}

/// One thread on the strongest path.
#[expect(clippy::expect_used, reason = "a bench without its queue cannot go on")]
fn queue() -> CpuQueue {
    CpuQueue::open(CpuConfig { threads: NonZeroUsize::new(1), ..CpuConfig::default() }).expect("one thread is enough")
}

/// Values in -1..1.
fn input(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn square(n: usize) -> Contest {
    let q = queue();
    let (a, b) = (q.upload(&input(n * n)).expect("memory"), q.upload(&input(n * n)).expect("memory"));
    let mut c = q.zeros::<f32>(n * n).expect("memory");
    let layout = Layout::contiguous(&[n, n]).expect("a square");
    let plan = GemmPlan::new(&layout, &layout, &layout).expect("squares fit");
    let mut run = move || {
        let (a, b) = (TensorRef::new(a.view(), layout)?, TensorRef::new(b.view(), layout)?);
        plan.run(&q, a, b, TensorMut::new(c.view_mut(), layout)?)
    };
    let ours = Contender::new("trefoil", move || run().expect("the tensors fit the plan"));
    Contest {
        id: format!("nn.matmul/{n}"),
        unit: "flop",
        work: 2.0 * (n as f64).powi(3),
        show: Show::Rate,
        contenders: vec![ours, peer(n), peak(2 * (n as u64).pow(3))],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 0.95 }, "")],
    }
}

/// Crate `gemm`, called directly.
fn peer(n: usize) -> Contender {
    let (a, b, mut c) = (input(n * n), input(n * n), vec![0.0f32; n * n]);
    Contender::new("gemm", move || plain_gemm(n, &a, &b, &mut c))
}

/// The same number of operations in registers, with the widest vectors that the processor has.
fn peak(flops: u64) -> Contender {
    Contender::new("multiply-adds at peak", move || {
        black_box(fma_peak(flops));
    })
}

#[expect(clippy::expect_used, reason = "a bench without its memory cannot go on")]
fn encode_state() -> Contest {
    const ROWS: usize = 32;
    const INPUTS: usize = 64;
    const OUTPUTS: usize = 128;
    let q = queue();
    let x = q.upload(&input(ROWS * INPUTS)).expect("memory");
    let w = q.upload(&input(INPUTS * OUTPUTS)).expect("memory");
    let bias = q.upload(&input(OUTPUTS)).expect("memory");
    let mut y = q.zeros::<f32>(ROWS * OUTPUTS).expect("memory");
    let mut run = move || {
        let x = TensorRef::contiguous(x.view(), &[ROWS, INPUTS])?;
        let w = TensorRef::contiguous(w.view(), &[INPUTS, OUTPUTS])?;
        let bias = TensorRef::contiguous(bias.view(), &[OUTPUTS])?;
        linear(&q, x, w, Some(bias), Activation::Relu, TensorMut::contiguous(y.view_mut(), &[ROWS, OUTPUTS])?)
    };
    let flops = 2 * ROWS * INPUTS * OUTPUTS;
    Contest {
        id: "nn.encode_state".to_owned(),
        unit: "flop",
        work: flops as f64,
        show: Show::Rate,
        contenders: vec![Contender::new("trefoil", move || run().expect("the shapes fit")), peak(flops as u64)],
        goals: vec![(Goal::Ratio { peer: 1, ratio: 1.0 / 1.2 }, "")],
    }
}
