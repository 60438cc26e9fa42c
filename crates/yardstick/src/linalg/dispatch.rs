//! Square products of host slices by the dispatcher of `nn-dispatch`, and by their op alone.
//!
//! Both read and write vectors of the same kind in place, on one thread, so that the difference of
//! their times is the cost of a dispatch.

use core::num::NonZeroUsize;

use cpu_backend::{CpuQueue, SimdLevel};
use nn_dispatch::{BackendDispatcher, Product, Selection, TensorOpsAPI};
use nn_ops::{GemmPlan, Layout, TensorMut, TensorRef};
use runtime::{AnyQueue, Choice, Settings};

use crate::{Goal, Line, RunSize, host::values};

/// The most seconds that a dispatch may add to its op.
const MOST_SECONDS: f64 = 2e-6;

pub(super) fn contests() -> Vec<Line> {
    let mut all = Vec::new();
    for n in [8, 64, 128, 512] {
        let line = dispatched(n).ours("trefoil, dispatched", SimdLevel::Avx512);
        let line = line.variant("trefoil, the op alone", alone(n)).in_nanoseconds();
        all.push(line.goal(Goal::Beyond { peer: 1, seconds: MOST_SECONDS }, ""));
    }
    all
}

fn id(n: usize) -> String {
    format!("nn.dispatch/{n}")
}

/// The size of one call.
fn size(n: usize) -> RunSize {
    RunSize::computing("call", 1.0, (3 * size_of::<f32>() * n * n) as f64)
}

/// A product by a dispatcher that has its own queue of one thread.
fn dispatched(n: usize) -> Line {
    Line::new(&id(n), size(n), move |_| {
        let settings =
            Settings { nn_backend: Some(Choice::Cpu), threads: Some(NonZeroUsize::MIN), ..Settings::default() };
        let dispatcher = BackendDispatcher::with(Selection { settings, ..Selection::default() })?;
        let (a, b, mut c) = (values::<f32>(n * n, 1.0), values::<f32>(n * n, 1.0), vec![0.0f32; n * n]);
        Ok(Box::new(move |_| {
            Ok(dispatcher.matmul((&a).into(), (&b).into(), Product::new(n, n, n), &mut c).map(drop)?)
        }))
    })
}

/// The op of the product, planned beforehand, on the processor's queue as in a dispatch.
fn alone(n: usize) -> Line {
    Line::new(&id(n), size(n), move |q| {
        let AnyQueue::Cpu(q) = q.clone() else { return Err("expected a queue of the processor".into()) };
        let layout = Layout::contiguous(&[1, n, n])?;
        let plan = GemmPlan::new(&layout, &layout, &layout)?;
        let (a, b, mut c) = (values::<f32>(n * n, 1.0), values::<f32>(n * n, 1.0), vec![0.0f32; n * n]);
        Ok(Box::new(move |_| {
            let (a, b) = (TensorRef::<CpuQueue, f32>::new(&a, layout)?, TensorRef::<CpuQueue, f32>::new(&b, layout)?);
            Ok(plan.run(&q, a, b, TensorMut::<CpuQueue, f32>::new(&mut c, layout)?)?)
        }))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Effort, line::one_thread};

    #[test]
    fn a_product_takes_time_by_dispatch_and_alone() {
        let (q, effort) = (one_thread(SimdLevel::Avx512), Effort { rounds: 1, batch: Duration::ZERO });
        for line in [dispatched(8), alone(8)] {
            assert!(line.measure(&q, effort).unwrap().median_s > 0.0);
        }
    }
}
