//! Device speed of truncated decompositions.
//!
//! Work counts the four products with the matrix, as on the processor.

use nn_ops::{SvdOptions, SvdPlan, SvdPower, Tensor};

use super::{DeviceLine, Extent, RunSize};

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    match extent {
        Extent::Full => vec![truncated([1024, 256], 32), truncated([4096, 1024], 32)],
        Extent::Small => vec![truncated([66, 65], 1)],
    }
}

/// A truncated decomposition of this rank, with one power iteration.
fn truncated([m, n]: [usize; 2], rank: usize) -> DeviceLine {
    let options = SvdOptions { power: SvdPower::Given(1), ..SvdOptions::default() };
    let flops = 8.0 * (m * n * (rank + options.oversample)) as f64;
    let size = RunSize { unit: "flop", work: flops, bytes: 0.0, resident: (4 * m * n) as f64 };
    DeviceLine::new(format!("nn.svd/{m}x{n}"), size, move |q| {
        let plan = SvdPlan::new(m, n, rank, options)?;
        let values: Vec<f32> = (0..m * n).map(|i| (i * 7919 % 1009) as f32 / 1009.0 - 0.5).collect();
        let a = Tensor::from_values(q, &[m, n], &values)?;
        let (mut factors, mut workspace) = (plan.factors(q)?, plan.workspace(q)?);
        Ok(Box::new(move |q| Ok(plan.run(q, a.at(), &mut factors, &mut workspace)?)))
    })
}
