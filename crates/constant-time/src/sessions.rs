//! Sessions of the parties, each with secret keys and secret input shares.

use std::{thread, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use cpu_backend::CpuQueue;
use pfss::{
    AutoTrunc, BoolShares, Channel, ChannelError, DeviceShares, Gate, Interval, KeyBundle, MemoryChannel, Party,
    PfssError, Predicate, RangeClaim, Ring, Session, Shares, SignedRange, Task,
    functions::{Accuracy, TableFn, gelu},
    memory_pair,
    softmax::{RowLayout, SecureSoftmaxPlan},
    suf::SufModes,
};

use crate::{
    Check, deal,
    gates::{suf, suf_modes},
    memcheck,
    plain::{COUNT, RING, expect, plaintexts},
    tasks::{self, GateCase},
};

/// A channel that declares public whatever passes through it.
pub(crate) struct Watched(MemoryChannel);

impl Channel for Watched {
    fn party(&self) -> Party {
        self.0.party()
    }

    fn send(&mut self, message: &[u8]) -> Result<(), ChannelError> {
        memcheck::publish(message);
        self.0.send(message)
    }

    fn recv(&mut self, len: usize) -> Result<Vec<u8>, ChannelError> {
        self.0.recv(len)
    }

    fn opened_words(&self, words: &[u64]) {
        memcheck::publish(words);
    }

    fn opened_bits(&self, bits: &[u32]) {
        memcheck::publish(bits);
    }
}

pub(crate) fn checks() -> Result<Vec<Check>> {
    let mut checks = runs()?;
    checks.extend(predicates()?);
    checks.push(Check::clean("session: gates by methods of their own", own_methods));
    checks.push(Check::clean("session: gates on shares in device memory", on_device));
    checks.push(Check::clean("session: shares rearranged in device memory", rearranged));
    checks.extend(others()?);
    for modes in suf_modes() {
        let gate = suf(modes)?;
        checks.push(Check::clean(format!("session: {}", deal::describe(&gate)), move |q| descriptor(q, &gate)));
    }
    checks.push(Check::clean("session: gelu", function));
    checks.push(Check::clean("session: function by table", table_function));
    checks.push(Check::clean("session: softmax", softmax));
    Ok(checks)
}

/// The gates that [`Session::run`] evaluates.
fn runs() -> Result<Vec<Check>> {
    let check = |case: GateCase| {
        Check::clean(format!("session: {}", case.title), move |q| {
            let shares = play(deal::bundles(q, &case.gate)?, |session, keys, x| session.run(q, case.task, keys, x))?;
            case.expect(shares)
        })
    };
    Ok(tasks::all()?.into_iter().map(check).collect())
}

/// Predicates with additive and with XOR shares.
fn predicates() -> Result<Vec<Check>> {
    let check = |predicates: &'static [Predicate], gate: Gate| {
        let title = format!("session: {}", gate.kind());
        Check::clean(title, move |q| {
            let run = |task: Task<'static>| -> Result<[Shares; 2]> {
                play(deal::bundles(q, &gate)?, |session, keys, x| session.run(q, task, keys, x))
            };
            run(Task::Predicates(predicates))?;
            let shares = run(Task::PredicateBits(predicates))?.map(|shares| shares.bools);
            let [BoolShares::Xor(a), BoolShares::Xor(b)] = shares else {
                bail!("expected XOR shares, got additive ones")
            };
            memcheck::publish(a.words());
            memcheck::publish(b.words());
            ensure!(a.reveal(&b)?.len() == predicates.len() * COUNT, "a bit for each predicate and element");
            Ok(())
        })
    };
    Ok(vec![
        check(
            &[Predicate::Lt { beta: 12_345 }, Predicate::Interval(Interval { start: 7, end: None }), Predicate::Wrap],
            Gate::full_predicates(33)?.with_masks(3)?,
        ),
        check(
            &[Predicate::NonNegative, Predicate::Msb { c: 5 }, Predicate::Borrow],
            Gate::sign_predicates(64)?.with_masks(3)?,
        ),
        check(&[Predicate::LowLt { gamma: 77 }, Predicate::Carry], Gate::low_predicates(64, 12)?.with_masks(2)?),
    ])
}

/// Gates with methods of their own.
fn others() -> Result<Vec<Check>> {
    const INTERVALS: [Interval; 2] = [Interval { start: 3, end: Some(90_000) }, Interval { start: 90_000, end: None }];
    let powers = Gate::interval_powers(64, 2)?;
    let (relu, product) = (Gate::relu_within(64, 22)?, Gate::product(64)?);
    Ok(vec![
        Check::clean("session: interval powers", move |q| {
            play(deal::bundles(q, &powers)?, |session, keys, x| session.interval_powers(q, &INTERVALS, keys, x))?;
            Ok(())
        }),
        Check::clean("session: maximum", move |q| {
            let ranges = [SignedRange::new(-(1 << 19), 1 << 19)?; 2];
            let shares = play(deal::bundles(q, &relu)?, |session, keys, x| {
                let reversed: Vec<u64> = x.iter().rev().copied().collect();
                session.max(q, ranges, keys, [x, &reversed])
            })?;
            let x = plaintexts();
            let expected: Vec<u64> = x.iter().zip(x.iter().rev()).map(|(a, b)| a.max(b).cast_unsigned()).collect();
            expect(RING, &shares, &expected)
        }),
        Check::clean("session: product", move |q| {
            let shares = play(deal::bundles(q, &product)?, |session, keys, x| session.product(q, keys, [x, x]))?;
            expect(RING, &shares, &plaintexts().map(|x| (x * x).cast_unsigned()))
        }),
    ])
}

/// [`Session::run`] under another name, and by the choice of a shift.
fn own_methods(q: &CpuQueue) -> Result<()> {
    let range = SignedRange::new(-(1 << 20), 1 << 20)?;
    let shift = AutoTrunc::choose(64, 12, RangeClaim::Proof(range))?;
    let shares = play(deal::bundles(q, &Gate::relu(64)?)?, |session, keys, x| session.relu(q, keys, x))?;
    expect(RING, &shares, &plaintexts().map(|x| x.max(0).cast_unsigned()))?;
    let gap = deal::bundles(q, &Gate::gap_ars(64, 12)?)?;
    let shares = play(gap, |session, keys, x| session.shift(q, &shift, Some(keys), x))?;
    expect(RING, &shares, &plaintexts().map(|x| (x >> 12).cast_unsigned()))
}

/// `3 (max(x, 0) + 5) x - x`, with all shares in device memory.
fn on_device(q: &CpuQueue) -> Result<()> {
    let ([zero, one], [zero_product, one_product]) =
        (deal::bundles(q, &Gate::relu(64)?)?, deal::bundles(q, &Gate::product(64)?)?);
    let keys = ((zero, zero_product), (one, one_product));
    let shares = both(keys.0, keys.1, split(&plaintexts()), |session, (relu, product), x| {
        let x = DeviceShares::upload(q, session.party(), RING, x)?;
        let biased = session.run_on_device(Task::Relu, relu, &x)?.add_public(&[5; COUNT])?;
        let product = session.product_on_device(product, [&biased, &x])?.scale(3)?;
        product.add(&x)?.sub(&x)?.sub(&x)?.download()
    })?;
    expect(RING, &shares, &plaintexts().map(|x| (3 * (x.max(0) + 5) * x - x).cast_unsigned()))
}

/// Shares moved and summed at public places, without a gate: 3 rows of 11.
fn rearranged(q: &CpuQueue) -> Result<()> {
    const WIDTH: usize = COUNT / 3;
    // The rows in reverse order, from their last element on, and one zero.
    let places: Vec<Option<u32>> = (0..COUNT as u32).rev().map(Some).chain([None]).collect();
    let narrow = Ring::new(40).context("a ring has 1 to 64 bits")?;
    let shares = both((), (), split(&plaintexts()), |session, (), x| {
        let x = DeviceShares::upload(q, session.party(), RING, x)?;
        let sums = x.permuted(&[3, WIDTH], &[1, 0])?.repeated(2)?.row_sums(6)?;
        let sums = x.add_rows(&sums)?.add_public_rows(&[4; WIDTH])?;
        let mut rows = sums.linear_in(RING, [2, 3], Some(&sums))?;
        rows.linear_in_place(RING, [1, 4u64.wrapping_neg()], Some(&sums))?;
        rows.add_public_rows_in_place(&[1; WIDTH])?;
        let all =
            DeviceShares::concat(&[&DeviceShares::zeros(q, session.party(), RING, 2)?, &rows.gathered(&places)?])?;
        all.slice(1..COUNT + 3)?.in_ring(narrow)?.download()
    })?;
    let x = plaintexts();
    let row = |e: usize| x[e] + 2 * (0..3).map(|row| x[row * WIDTH + e % WIDTH]).sum::<i64>() + 5;
    let rows = (0..COUNT).rev().map(|e| row(e).cast_unsigned());
    let expected: Vec<u64> = [0].into_iter().chain(rows).chain([0]).collect();
    expect(narrow, &shares, &expected)
}

fn descriptor(q: &CpuQueue, gate: &Gate) -> Result<()> {
    let shares = play(deal::bundles(q, gate)?, |session, keys, x| {
        let shares = session.run(q, Task::Suf, keys, x)?;
        core::hint::black_box(matches!(shares.bools, BoolShares::Xor(_)));
        Ok(shares.words)
    })?;
    let Some(program) = gate.program() else { return Ok(()) };
    let ring = gate.ring();
    expect(ring, &shares, &plaintexts().map(|x| program.desc().eval(ring.reduce(x.cast_unsigned())).words[0]))
}

fn function(q: &CpuQueue) -> Result<()> {
    let function = gelu(Accuracy::CUBIC_16)?;
    let gates = function.gates(SufModes::default())?;
    let [zero, one] = deal::dealer().deal_function(q, &gates, COUNT)?;
    // inputs within four units of 2^12
    let x: [i64; COUNT] = core::array::from_fn(|e| e as i64 * 900 - 14_000);
    let shares = both(zero, one, split(&x), |session, keys, x| session.function(q, &gates, keys, x))?;
    let expected = x.map(|x| function.eval(x).cast_unsigned());
    expect(RING, &shares, &expected)?;

    let [zero, one] = deal::dealer().deal_function(q, &gates, COUNT)?;
    let shares = both(zero, one, split(&x), |session, keys, x| {
        let x = DeviceShares::upload(q, session.party(), RING, x)?;
        session.function_on_device(&gates, keys, &x)?.download()
    })?;
    expect(RING, &shares, &expected)
}

fn table_function(q: &CpuQueue) -> Result<()> {
    let function = TableFn::gelu(12)?;
    let gates = function.gates()?;
    let [zero, one] = deal::dealer().deal_table_function(q, &gates, COUNT)?;
    // inputs within four units of 2^12
    let x: [i64; COUNT] = core::array::from_fn(|e| e as i64 * 900 - 14_000);
    let shares = both(zero, one, split(&x), |session, keys, x| session.table_function(q, &gates, keys, x))?;
    let expected = x.map(|x| function.eval(x).cast_unsigned());
    expect(RING, &shares, &expected)?;

    let [zero, one] = deal::dealer().deal_table_function(q, &gates, COUNT)?.map(Vec::from);
    let shares = both(zero, one, split(&x), |session, keys, x| {
        let x = DeviceShares::upload(q, session.party(), RING, x)?;
        session.table_function_on_device_from(&gates, in_turn(keys), &x)?.download()
    })?;
    expect(RING, &shares, &expected)
}

/// Bundles one after the other.
fn in_turn(bundles: Vec<KeyBundle>) -> impl FnMut() -> Result<KeyBundle, PfssError> {
    let mut bundles = bundles.into_iter();
    move || bundles.next().ok_or(PfssError::Length { what: "bundles left", expected: 1, got: 0 })
}

/// A softmax with its exponentials by spline and by table.
fn softmax(q: &CpuQueue) -> Result<()> {
    let layout = RowLayout::ragged(16, &[0, 1, 16, 3])?;
    let logits = SignedRange::new(-(1 << 20), 1 << 20)?;
    run_softmax(q, &SecureSoftmaxPlan::new(layout.clone(), logits, SufModes::default())?)?;
    run_softmax(q, &SecureSoftmaxPlan::by_table(layout, logits, SufModes::default())?)
}

fn run_softmax(q: &CpuQueue, plan: &SecureSoftmaxPlan) -> Result<()> {
    let x: [i64; 20] = core::array::from_fn(|e| (e as i64 * 7919) % 20_000 - 10_000);
    let [zero, one] = deal::dealer().deal_all(q, &plan.deals())?;
    let through_dense = |share: Vec<u64>| plan.layout().gather(&plan.layout().scatter(&share)?);
    let [x_zero, x_one] = split(&x).map(through_dense);
    let shares = both(zero, one, [x_zero?, x_one?], |session, keys, x| session.softmax(q, plan, keys, x))?;
    let expected: Vec<u64> = plan.eval(&x)?.into_iter().map(i64::cast_unsigned).collect();
    expect(RING, &shares, &expected)?;

    let [zero, one] = deal::dealer().deal_all(q, &plan.deals())?;
    let shares = both(zero, one, split(&x), |session, keys, x| {
        let x = DeviceShares::upload(q, session.party(), RING, x)?;
        session.softmax_on_device_from(plan, in_turn(keys), &x)?.download()
    })?;
    expect(RING, &shares, &expected)
}

/// Secret shares of `x`.
pub(crate) fn split(x: &[i64]) -> [Vec<u64>; 2] {
    let mut zero: Vec<u64> = (1..=x.len() as u64).map(|e| e.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut one: Vec<u64> = x.iter().zip(&zero).map(|(x, share)| x.cast_unsigned().wrapping_sub(*share)).collect();
    memcheck::hide(&mut zero);
    memcheck::hide(&mut one);
    [zero, one]
}

/// Plays both parties on shares of [`plaintexts`].
pub(crate) fn play<T: Send>(
    [zero, one]: [KeyBundle; 2],
    party: impl Fn(&mut Session<Watched>, KeyBundle, &[u64]) -> Result<T, PfssError> + Sync,
) -> Result<[T; 2]> {
    both(zero, one, split(&plaintexts()), party)
}

/// Plays both parties, each with its keys and shares.
pub(crate) fn both<K: Send, T: Send>(
    zero: K,
    one: K,
    [x_zero, x_one]: [Vec<u64>; 2],
    party: impl Fn(&mut Session<Watched>, K, &[u64]) -> Result<T, PfssError> + Sync,
) -> Result<[T; 2]> {
    let (channel_zero, channel_one) = memory_pair(Duration::from_secs(120));
    let party = &party;
    let (a, b) = thread::scope(|scope| {
        let a = scope.spawn(move || party(&mut Session::new(Watched(channel_zero)), zero, &x_zero));
        let b = party(&mut Session::new(Watched(channel_one)), one, &x_one);
        (a.join(), b)
    });
    let a = a.map_err(|_| anyhow::anyhow!("party 0 panicked"))?;
    Ok([a?, b?])
}
