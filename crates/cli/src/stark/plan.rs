//! `trefoil stark plan`.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, anyhow, ensure};
use backend_api::Queue as _;
use clap::Args;
use runtime::AnyQueue;
use stark::{
    KnownStatement, MemoryParts, MemoryPlan, PcsConfig, ProveError, ProverError, Residency, memory_plan,
    memory_plan_of_rank, memory_plan_on,
};

use super::{
    check::check,
    machine::available_bytes,
    options::{config::ConfigArgs, devices::DevicesArgs, known::AirArgs, residency::ResidencyArgs},
};
use crate::{exit::UsageError, output::print};

/// Compute the memory of a proof on each device, without making it.
///
/// Runs on the host alone: no variable of the environment is read. Single ops need some more: a few
/// kilobytes on a GPU, and up to some hundred for each thread of a processor.
#[derive(Args, Debug)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    air: AirArgs,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    residency: ResidencyArgs,
    #[command(flatten)]
    devices: DevicesArgs,
}

/// Refuses a proof that does not fit the budget of one of the `queues`.
///
/// The queues are on some of `devices`. `made_there` is whether the trace is generated on the
/// device too, which takes more where coefficients are not kept there.
pub(super) fn expect_room(
    statement: &KnownStatement,
    config: PcsConfig,
    residency: ResidencyArgs,
    queues: &[AnyQueue],
    devices: usize,
    made_there: bool,
) -> Result<()> {
    let statement = statement.build()?;
    for q in queues {
        let plan = match residency.chosen() {
            Some(residency) => memory_plan(&config, &statement, residency)?,
            None => memory_plan_on(q, &config, &statement, devices)?,
        };
        expect_memory(q, &plan, queues.len(), made_there)?;
    }
    Ok(())
}

/// Refuses a proof with this plan that does not fit the budget of `q`, one of `here` queues.
fn expect_memory(q: &AnyQueue, plan: &MemoryPlan, here: usize, made_there: bool) -> Result<()> {
    let making = if made_there { plan.making_bytes() } else { 0 };
    let bytes = plan.bytes_on(q).saturating_add(making);
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let needs = || {
        format!(
            "the proof needs {} MiB; use more `--blocks`, more `--devices` or fewer rows (`trefoil stark plan` lists \
             the parts)",
            mebibytes(bytes)
        )
    };
    drop(q.budget().reserve(bytes).with_context(needs)?);
    // The budget of a processor may exceed the memory of the machine.
    if let (AnyQueue::Cpu(_), Some(available)) = (q, available_bytes()) {
        let all = bytes.saturating_mul(here as u64).saturating_add(plan.host_bytes());
        let short = || anyhow!("the machine has {} MiB available", mebibytes(available));
        ensure!(all <= available, short().context(needs()));
    }
    Ok(())
}

/// The memory of a proof on each of its devices.
///
/// `by` names the source of their number in errors.
pub(super) fn planned(
    statement: &KnownStatement,
    config: PcsConfig,
    residency: ResidencyArgs,
    devices: usize,
    by: &str,
) -> Result<MemoryPlan> {
    let statement = statement.build()?;
    let planned = if devices > 1 {
        memory_plan_of_rank(&config, &statement, devices)
    } else {
        memory_plan(&config, &statement, residency.chosen().unwrap_or_default())
    };
    match planned {
        Err(ProveError::Prover(error @ ProverError::Blocks { .. })) => {
            Err(UsageError(format!("`--blocks`: {error}")).into())
        }
        Err(ProveError::Prover(error @ ProverError::Ranks { .. })) => Err(UsageError(format!("{by}: {error}")).into()),
        planned => Ok(planned?),
    }
}

/// Runs the command.
pub(crate) fn run(args: &PlanArgs) -> Result<()> {
    let (statement, config, devices) = (args.air.outline()?, args.config.config(), args.devices.count());
    check(&statement, config)?;
    let plan = planned(&statement, config, args.residency, devices, "`--devices`")?;
    let parts = plan.parts();
    let all = parts.bytes();
    let MemoryParts { coefficients, values, trees, look_ups, quotients, fri, twiddles, rest } = parts;
    let lines = [
        (coefficients, "coefficients"),
        (values, "committed values"),
        (trees, "nodes of the trees"),
        (look_ups, "rows and fractions of look-ups"),
        (quotients, "quotients"),
        (fri, "layers of FRI"),
        (twiddles, "twiddle factors"),
        (rest, "everything else"),
        (all, "whole proof"),
    ];
    let mut text = String::new();
    for (bytes, what) in lines {
        writeln!(text, "{:>14.3} MB  {what}", bytes as f64 / 1e6)?;
    }
    if devices == 1 && args.residency.chosen().is_none() {
        // A processor keeps all values too, with truncated trees.
        let plan = memory_plan(&config, &statement.build()?, Residency::Truncated)?;
        writeln!(text, "{:>14.3} MB  whole proof on a processor", plan.parts().bytes() as f64 / 1e6)?;
    }
    if plan.making_bytes() > 0 {
        writeln!(text, "{:>14.3} MB  more while a trace is made on the device", plan.making_bytes() as f64 / 1e6)?;
    }
    if plan.host_bytes() > 0 {
        writeln!(text, "{:>14.3} MB  coefficients in host memory", plan.host_bytes() as f64 / 1e6)?;
    }
    print(&text)
}
