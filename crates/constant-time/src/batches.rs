//! Super-batches and the executor above them.

use anyhow::Result;
use cpu_backend::CpuQueue;
use pfss::{
    Gate, KeyBundle, MaskedKeys, PfssError, Shares, SignedRange, Task,
    batch::{
        BarrierPolicy, BatchConfig, Class, Fit, GateChain, Handle, Job, LayerLimits, Need, Pace, PhaseExecutor,
        PhaseTask, Port, Streams, SuperBatch, Ticket, finalize_lockstep,
    },
};

use crate::{
    Check, deal,
    gates::{suf, suf_modes},
    lockstep::opened,
    plain::{COUNT, RING, expect, plaintexts},
    sessions::{both, split},
    tasks::{self, GateCase},
};

/// Parts of 32 elements, at most two of them on the device at once.
fn streamed() -> BatchConfig {
    BatchConfig { fit: Fit::Split, part: 32, slots: 2, ..BatchConfig::default() }
}

pub(crate) fn checks() -> Vec<Check> {
    vec![
        Check::clean("super-batch: every gate", |q| every_gate(q, false)),
        Check::clean("super-batch: every gate, streamed in parts", |q| every_gate(q, true)),
        Check::clean("super-batch: in lockstep", in_lockstep),
        Check::clean("executor: gates one after the other, and a product", tasks),
        Check::clean("executor: what a barrier drains", barrier),
    ]
}

/// The gates of a batch, and the descriptors that follow them.
fn gates() -> Result<(Vec<GateCase>, Vec<Gate>)> {
    Ok((tasks::all()?, suf_modes().into_iter().map(suf).collect::<Result<_>>()?))
}

/// The work of one party: tasks, each with its keys.
type Jobs<K> = Vec<(Task<'static>, K)>;

/// Both parties' work on all gates.
fn deal_jobs(q: &CpuQueue, (cases, descriptors): &(Vec<GateCase>, Vec<Gate>)) -> Result<[Jobs<KeyBundle>; 2]> {
    let descriptors = descriptors.iter().map(|gate| (Task::Suf, gate));
    let all = cases.iter().map(|case| (case.task, &case.gate)).chain(descriptors);
    let mut dealer = deal::dealer();
    let [mut zero, mut one] = [Vec::new(), Vec::new()];
    for (task, gate) in all {
        let [keys_zero, keys_one] = dealer.deal(q, gate, COUNT)?;
        zero.push((task, keys_zero));
        one.push((task, keys_one));
    }
    Ok([zero, one])
}

fn enqueue(batch: &mut SuperBatch<'_, CpuQueue>, jobs: Jobs<(MaskedKeys, Vec<u64>)>) -> Result<Vec<Handle>, PfssError> {
    let job = |(task, (keys, x_hat)): (Task<'static>, (MaskedKeys, Vec<u64>))| {
        batch.enqueue(Job::new(task, keys, x_hat).with_rows(vec![COUNT - 1, 1])?)
    };
    jobs.into_iter().map(job).collect()
}

fn take(batch: &mut SuperBatch<'_, CpuQueue>, handles: Vec<Handle>) -> Result<Vec<Shares>, PfssError> {
    let shares = |handle: Handle| -> Result<Shares, PfssError> {
        core::hint::black_box((batch.row(handle, 1)?, batch.shares(handle)?));
        Ok(batch.take(handle)?)
    };
    handles.into_iter().map(shares).collect()
}

fn compare((cases, _): &(Vec<GateCase>, Vec<Gate>), [zero, one]: [Vec<Shares>; 2]) -> Result<()> {
    cases.iter().zip(zero.into_iter().zip(one)).try_for_each(|(case, (zero, one))| case.expect([zero, one]))
}

fn every_gate(q: &CpuQueue, in_parts: bool) -> Result<()> {
    let gates = gates()?;
    let [zero, one] = deal_jobs(q, &gates)?;
    let shares = both(zero, one, split(&plaintexts()), |session, jobs, x| {
        let (tasks, bundles): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let masked = session.open_masked(q, bundles.into_iter().map(|bundle| (bundle, x)).collect())?;
        let streams = Streams::fork(q)?;
        let mut batch = match in_parts {
            true => SuperBatch::new(q, Some(&streams), streamed())?,
            false => SuperBatch::new(q, None, BatchConfig::default())?,
        };
        let handles = enqueue(&mut batch, tasks.into_iter().zip(masked).collect())?;
        batch.flush()?;
        session.finalize(&mut batch)?;
        take(&mut batch, handles)
    })?;
    compare(&gates, shares)
}

fn in_lockstep(q: &CpuQueue) -> Result<()> {
    let gates = gates()?;
    let [zero, one] = deal_jobs(q, &gates)?;
    let [x_zero, x_one] = split(&plaintexts());
    let [mut zero_jobs, mut one_jobs] = [Vec::new(), Vec::new()];
    for ((task, zero), (_, one)) in zero.into_iter().zip(one) {
        let ((from_zero, zero), (from_one, one)) = (zero.mask(&x_zero)?, one.mask(&x_one)?);
        let ring = zero.gate().ring();
        let x_hat: Vec<u64> = from_zero.iter().zip(&from_one).map(|(&a, &b)| ring.add(a, b)).collect();
        opened(&[], &x_hat);
        zero_jobs.push((task, (zero, x_hat.clone())));
        one_jobs.push((task, (one, x_hat)));
    }
    let batch = || SuperBatch::new(q, None, BatchConfig::default());
    let (mut first, mut second) = (batch()?, batch()?);
    let handles = [enqueue(&mut first, zero_jobs)?, enqueue(&mut second, one_jobs)?];
    first.flush()?;
    second.flush()?;
    finalize_lockstep([&mut first, &mut second], opened)?;
    let [of_first, of_second] = handles;
    compare(&gates, [take(&mut first, of_first)?, take(&mut second, of_second)?])
}

/// Both parties' shares of the ReLU of the inputs, from a batch.
pub(crate) fn relu(q: &CpuQueue) -> Result<[Vec<u64>; 2]> {
    let [zero, one] = deal::bundles(q, &Gate::relu(64)?)?;
    both(zero, one, split(&plaintexts()), |session, keys, x| {
        let masked = session.open_masked(q, vec![(keys, x)])?.remove(0);
        let mut batch = SuperBatch::new(q, None, BatchConfig::default())?;
        let handles = enqueue(&mut batch, vec![(Task::Relu, masked)])?;
        batch.flush()?;
        session.finalize(&mut batch)?;
        Ok(batch.take(handles[0])?.words)
    })
}

/// The square of shares.
struct Square {
    bundle: Option<KeyBundle>,
    x: Vec<u64>,
    opening: Option<(Ticket, MaskedKeys)>,
    gate: Option<Ticket>,
    words: Vec<u64>,
}

impl<'a> PhaseTask<'a> for Square {
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError> {
        if let Some(bundle) = self.bundle.take() {
            self.opening = Some(port.open_factors(bundle, [&self.x, &self.x])?);
        }
        if let Some((ticket, keys)) = self.opening.take() {
            let Some(opened) = port.opened(ticket)? else {
                self.opening = Some((ticket, keys));
                return Ok(Need::Open);
            };
            self.gate = Some(port.submit(Class::Coeff, Job::new(Task::Product, keys, opened))?);
        }
        let Some(ticket) = self.gate else { return Ok(Need::None) };
        let Some(shares) = port.shares(ticket)? else { return Ok(Need::Coeff) };
        (self.gate, self.words) = (None, shares.words);
        Ok(Need::None)
    }

    fn is_done(&self) -> bool {
        self.bundle.is_none() && self.opening.is_none() && self.gate.is_none()
    }
}

fn executor(q: &CpuQueue) -> Result<PhaseExecutor<'_, CpuQueue>, PfssError> {
    PhaseExecutor::new(q, None, streamed(), LayerLimits::default(), Pace::default())
}

fn tasks(q: &CpuQueue) -> Result<()> {
    let shift = Task::GapArs(SignedRange::new(-(1 << 20), 1 << 20)?.gap_cert(64)?);
    let mut dealer = deal::dealer();
    let gates = [Gate::relu(64)?, Gate::gap_ars(64, 12)?, suf(suf_modes()[0])?, Gate::product(64)?];
    let [mut zero, mut one] = [Vec::new(), Vec::new()];
    for gate in &gates {
        let [keys_zero, keys_one] = dealer.deal(q, gate, COUNT)?;
        zero.push(keys_zero);
        one.push(keys_one);
    }
    let shares = both(zero, one, split(&plaintexts()), |session, keys, x| {
        let [relu, gap, select, product] =
            <[KeyBundle; 4]>::try_from(keys).unwrap_or_else(|_| unreachable!("four gates"));
        let mut scaled =
            GateChain::on(x.to_vec()).then(Class::Coeff, Task::Relu, relu)?.then(Class::Trunc, shift, gap)?;
        let mut piecewise = GateChain::on(x.to_vec()).then(Class::Coeff, Task::Suf, select)?;
        let mut square = Square { bundle: Some(product), x: x.to_vec(), opening: None, gate: None, words: Vec::new() };
        executor(q)?.run(session, &mut [&mut scaled, &mut piecewise, &mut square])?;
        Ok([scaled.into_words().unwrap_or_default(), piecewise.into_words().unwrap_or_default(), square.words])
    })?;
    let [[scaled_zero, piecewise_zero, square_zero], [scaled_one, piecewise_one, square_one]] = shares;
    expect(RING, &[scaled_zero, scaled_one], &plaintexts().map(|x| (x.max(0) >> 12).cast_unsigned()))?;
    expect(RING, &[square_zero, square_one], &plaintexts().map(|x| (x * x).cast_unsigned()))?;
    let (ring, Some(program)) = (gates[2].ring(), gates[2].program()) else { return Ok(()) };
    let plain = plaintexts().map(|x| program.desc().eval(ring.reduce(x.cast_unsigned())).words[0]);
    expect(ring, &[piecewise_zero, piecewise_one], &plain)
}

/// A gate that only a barrier flushes: nothing waits for it.
struct Later<'a> {
    job: Option<Job<'a>>,
    ticket: Option<Ticket>,
    words: Option<Vec<u64>>,
}

impl<'a> PhaseTask<'a> for Later<'a> {
    fn step(&mut self, port: &mut Port<'a>) -> Result<Need, PfssError> {
        match (self.job.take(), self.ticket) {
            (Some(job), _) => self.ticket = Some(port.submit(Class::Trunc, job)?),
            (None, Some(ticket)) => self.words = port.shares(ticket)?.map(|shares| shares.words),
            (None, None) => {}
        }
        Ok(Need::None)
    }

    fn is_done(&self) -> bool {
        self.job.is_none() && self.ticket.is_none_or(|_| self.words.is_some())
    }
}

fn barrier(q: &CpuQueue) -> Result<()> {
    let [zero, one] = deal::bundles(q, &Gate::relu(64)?)?;
    let shares = both(zero, one, split(&plaintexts()), |session, keys, x| {
        let (keys, x_hat) = session.open_masked(q, vec![(keys, x)])?.remove(0);
        let mut executor = executor(q)?;
        let mut submitted = Later { job: Some(Job::new(Task::Relu, keys, x_hat)), ticket: None, words: Some(vec![]) };
        executor.run(session, &mut [&mut submitted])?;
        executor.barrier(session, BarrierPolicy::ALL)?;
        let mut fetched = Later { job: None, ticket: submitted.ticket, words: None };
        executor.run(session, &mut [&mut fetched])?;
        executor.finalize_layer(session)?;
        Ok(fetched.words.unwrap_or_default())
    })?;
    expect(RING, &shares, &plaintexts().map(|x| x.max(0).cast_unsigned()))
}
