//! Both parties in one process, without a channel, and a gate step by step.

use anyhow::{Result, bail};
use backend_api::Queue as _;
use cpu_backend::CpuQueue;
use pfss::{
    DeviceShares, Gate, KeyBundle, Pending, PendingOnDevice, PfssError, Step, StepOnDevice, Task, run_lockstep_watched,
};

use crate::{
    Check, deal,
    gates::{suf, suf_modes},
    memcheck,
    plain::{COUNT, RING, expect, plaintexts},
    sessions::split,
    tasks::{self, GateCase},
};

pub(crate) fn checks() -> Result<Vec<Check>> {
    let check = |case: GateCase| {
        Check::clean(format!("lockstep: {}", case.title), move |q| {
            let [zero, one] = split(&plaintexts());
            let bundles = deal::bundles(q, &case.gate)?;
            case.expect(run_lockstep_watched(q, case.task, bundles, [&zero, &one], opened)?)
        })
    };
    let mut checks: Vec<Check> = tasks::all()?.into_iter().map(check).collect();
    for modes in suf_modes() {
        let gate = suf(modes)?;
        checks.push(Check::clean(format!("lockstep: {}", deal::describe(&gate)), move |q| {
            let [zero, one] = split(&plaintexts());
            run_lockstep_watched(q, Task::Suf, deal::bundles(q, &gate)?, [&zero, &one], opened)?;
            Ok(())
        }));
    }
    checks.push(Check::clean("step by step: relu", steps));
    checks.push(Check::clean("step by step: relu in device memory", steps_on_device));
    Ok(checks)
}

/// Declares public what was opened.
pub(crate) fn opened(bits: &[u32], words: &[u64]) {
    memcheck::publish(bits);
    memcheck::publish(words);
}

fn steps(q: &CpuQueue) -> Result<()> {
    let [zero, one] = deal::bundles(q, &Gate::relu(64)?)?;
    let [x_zero, x_one] = split(&plaintexts());
    let ((from_zero, zero), (from_one, one)) = (zero.mask(&x_zero)?, one.mask(&x_one)?);
    let x_hat: Vec<u64> = from_zero.iter().zip(&from_one).map(|(&a, &b)| RING.add(a, b)).collect();
    opened(&[], &x_hat);
    let (zero, one) = (pending(zero.eval(q, Task::Relu, &x_hat)?)?, pending(one.eval(q, Task::Relu, &x_hat)?)?);
    opened(zero.masked_bits(), zero.masked_words());
    opened(one.masked_bits(), one.masked_words());
    let (from_zero, from_one) = (zero.masked_bits().to_vec(), one.masked_bits().to_vec());
    let steps = [zero.finish(q, &from_one)?, one.finish(q, &from_zero)?];
    let [Step::Done(zero), Step::Done(one)] = steps else { bail!("expected the end of the gate, got an opening") };
    expect(RING, &[zero.words, one.words], &plaintexts().map(|x| x.max(0).cast_unsigned()))
}

/// [`steps`] on shares in device memory, which the caller's copies fill and read.
fn steps_on_device(q: &CpuQueue) -> Result<()> {
    let mask = |bundle: KeyBundle, x: &[u64]| {
        let write = |to: &mut [u64]| Ok::<_, PfssError>(q.write_secret(x, to)?);
        let x = DeviceShares::written_by(q, bundle.party(), RING, COUNT, write)?;
        let (masked, keys) = bundle.mask_on_device(&x)?;
        let masked = masked.read_by(|masked| Ok::<_, PfssError>(q.read_secret(masked)?))?;
        Ok::<_, PfssError>((masked, keys))
    };
    let [zero, one] = deal::bundles(q, &Gate::relu(64)?)?;
    let [x_zero, x_one] = split(&plaintexts());
    let ((from_zero, zero), (from_one, one)) = (mask(zero, &x_zero)?, mask(one, &x_one)?);
    let x_hat: Vec<u64> = from_zero.iter().zip(&from_one).map(|(&a, &b)| RING.add(a, b)).collect();
    opened(&[], &x_hat);
    let zero = pending_on_device(zero.eval_on_device(q, Task::Relu, &x_hat)?)?;
    let one = pending_on_device(one.eval_on_device(q, Task::Relu, &x_hat)?)?;
    opened(zero.masked_bits(), zero.masked_words());
    opened(one.masked_bits(), one.masked_words());
    let (from_zero, from_one) = (zero.masked_bits().to_vec(), one.masked_bits().to_vec());
    let shares = [zero.finish(q, &from_one, &[])?.download()?, one.finish(q, &from_zero, &[])?.download()?];
    expect(RING, &shares, &plaintexts().map(|x| x.max(0).cast_unsigned()))
}

/// The opening of a step that is not the last.
fn pending_on_device(step: StepOnDevice<'_, CpuQueue>) -> Result<PendingOnDevice> {
    match step {
        StepOnDevice::Open(pending) => Ok(pending),
        StepOnDevice::Done(_) => bail!("expected an opening, got the end of the gate"),
    }
}

/// The opening of a step that is not the last.
fn pending(step: Step) -> Result<Pending> {
    match step {
        Step::Open(pending) => Ok(pending),
        Step::Done(_) => bail!("expected an opening, got the end of the gate"),
    }
}
