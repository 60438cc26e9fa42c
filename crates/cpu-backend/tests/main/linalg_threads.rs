//! Results of matrix products and sums do not depend on the number of threads.

use backend_api::{
    Buffer, Queue,
    ops::linalg::{ElementwiseOps, Gemm, GemmOps, SumAxis},
};
use core_types::params::{
    elementwise::{Activation, SumParams},
    gemm::{BATCH_AXES, GemmParams},
};
use cpu_backend::CpuQueue;

use crate::{
    levels::{expect_equal, strongest},
    linalg::gemm_params,
};

fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 2003) as f32 / 1000.0 - 1.0).collect()
}

/// Bits of a product, with or without bias and activation, and of a column sum of it.
fn bits(q: &CpuQueue, p: &GemmParams, with_bias: bool) -> Vec<u32> {
    let batch = p.batch[BATCH_AXES - 1];
    let a = q.upload(&values((batch * p.m * p.k) as usize)).unwrap();
    let b = q.upload(&values((batch * p.k * p.n) as usize)).unwrap();
    let bias = q.upload(&values(p.n as usize)).unwrap();
    let mut c = q.zeros::<f32>((batch * p.m * p.n) as usize).unwrap();
    let bias = with_bias.then(|| bias.view());
    q.gemm(Gemm { params: p, a: a.view(), b: b.view(), bias, c: c.view_mut() }).unwrap();
    let mut sums = q.zeros::<f32>(p.n as usize).unwrap();
    let params = SumParams { outer: 1, len: batch * p.m, inner: p.n, accumulate: 0 };
    q.sum_axis(SumAxis { params: &params, x: c.view(), y: sums.view_mut() }).unwrap();
    [c, sums].iter().flat_map(|buf| q.download(buf).unwrap()).map(f32::to_bits).collect()
}

#[test]
fn bits_are_those_of_one_thread() {
    let queues = [1, 2, 3, 5].map(strongest);
    let sizes = [(1, 257, 513, 300), (1, 1, 2053, 1031), (1, 2053, 1, 1031), (9, 65, 130, 140), (3, 300, 301, 17)];
    for (batch, m, n, k) in sizes {
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            for with_bias in [false, true] {
                let (activation, alpha) =
                    if with_bias { (Activation::GeluTanh, -0.7) } else { (Activation::Identity, 1.0) };
                let p = GemmParams { activation, alpha, ..gemm_params(batch, [m, n, k], [ta, tb, false]) };
                expect_equal(&queues, &format!("{p:?}"), |q| bits(q, &p, with_bias));
            }
        }
    }
}
