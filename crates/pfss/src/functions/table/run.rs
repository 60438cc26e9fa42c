//! Dealing and evaluating a function by table, gate after gate.

use backend_api::ops::fss::FssOps;

use super::TableGates;
use crate::{
    Channel, Dealer, DeviceShares, KeyBundle, Party, Pending, PfssError, Session, Shares, Step, Task,
    functions::{
        memory::{DeviceMemory, HostMemory, Memory, Words},
        run::in_turn,
    },
    run_lockstep,
};

/// One party's keys for a function by table.
///
/// It is made from one bundle for each of [`TableGates::gates`], in that order.
#[derive(Debug)]
pub struct TableBundles([KeyBundle; 6]);

impl TryFrom<Vec<KeyBundle>> for TableBundles {
    type Error = PfssError;

    /// Takes the bundles in the order of [`TableGates::gates`].
    ///
    /// # Errors
    /// [`PfssError::Length`] for any number but six.
    fn try_from(bundles: Vec<KeyBundle>) -> Result<Self, PfssError> {
        let refused = |got: usize| PfssError::Length { what: "bundles", expected: 6, got };
        bundles.try_into().map(Self).map_err(|bundles: Vec<KeyBundle>| refused(bundles.len()))
    }
}

/// The bundles in the order of [`TableGates::gates`].
impl From<TableBundles> for Vec<KeyBundle> {
    fn from(bundles: TableBundles) -> Self {
        bundles.0.into()
    }
}

impl Dealer {
    /// Keys for `count` evaluations of a function by table, for party 0 and party 1.
    ///
    /// # Errors
    /// As [`deal`](Self::deal).
    pub fn deal_table_function<Q: FssOps>(
        &mut self,
        q: &Q,
        gates: &TableGates,
        count: usize,
    ) -> Result<[TableBundles; 2], PfssError> {
        let deals = gates.gates().map(|gate| (gate.clone(), count));
        let [zero, one] = self.deal_all(q, &deals)?;
        Ok([TableBundles::try_from(zero)?, TableBundles::try_from(one)?])
    }
}

impl TableGates {
    /// Checks that the bundles are for `count` evaluations by these gates.
    fn check(&self, bundles: &TableBundles, count: usize) -> Result<(), PfssError> {
        for (gate, bundle) in self.gates().into_iter().zip(&bundles.0) {
            if bundle.gate() != gate {
                return Err(PfssError::Program);
            }
            bundle.check_mask(gate.inputs() * count)?;
        }
        Ok(())
    }

    /// The look-ups of constants and of slopes.
    fn lookups(&self) -> [Task<'_>; 2] {
        self.tables.each_ref().map(|table| Task::Lut(table))
    }
}

impl<C: Channel> Session<C> {
    /// Shares of a function of `x` by table. The rounds are given by [`TableGates::cost`].
    ///
    /// Inputs must lie in the range that the gates are for. Nothing checks this, as they are
    /// secret.
    ///
    /// # Errors
    /// [`PfssError::Program`] for keys of another function, [`PfssError::Length`] for keys for
    /// another number of inputs, both before anything is sent, and as [`relu`](Self::relu). A
    /// bundle that was used before is noticed where it would be used.
    pub fn table_function<Q: FssOps>(
        &mut self,
        q: &Q,
        gates: &TableGates,
        bundles: TableBundles,
        x: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        gates.check(&bundles, x.len())?;
        bundles.0.iter().try_for_each(|bundle| self.admit(&bundle.header))?;
        self.table_function_from(q, gates, in_turn(bundles.0), x)
    }

    /// [`table_function`](Self::table_function) with keys that are read when their gate runs.
    ///
    /// `next` returns the bundles of [`TableGates::gates`] in that order. One of them is in memory
    /// at a time, but for the two look-ups, which share their messages.
    ///
    /// # Errors
    /// The errors of `next`, and as [`table_function`](Self::table_function). Each bundle is
    /// checked when its gate runs.
    pub fn table_function_from<Q: FssOps, E: From<PfssError>>(
        &mut self,
        q: &Q,
        gates: &TableGates,
        next: impl FnMut() -> Result<KeyBundle, E>,
        x: &[u64],
    ) -> Result<Vec<u64>, E> {
        let mut y = self.table_function_at(&HostMemory(q), gates, next, &Words::new(x.to_vec()))?;
        Ok(core::mem::take(&mut *y))
    }

    /// [`table_function_from`](Self::table_function_from) of shares in device memory.
    ///
    /// The result stays there, in the ring of 64 bits. The messages, the spending of keys and the
    /// words of the result are the same, so that the other party may call either. The shares may be
    /// in a ring of fewer bits that has all bits that the gates read.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`] for shares of the other party, [`PfssError::WiderRing`] for shares
    /// in a ring of fewer bits than the gates read, both before the first bundle is read, and as
    /// [`table_function_from`](Self::table_function_from).
    pub fn table_function_on_device_from<'q, Q: FssOps, E: From<PfssError>>(
        &mut self,
        gates: &TableGates,
        next: impl FnMut() -> Result<KeyBundle, E>,
        x: &DeviceShares<'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, E> {
        self.check_owner(x.party())?;
        [&gates.truncation, &gates.product].iter().try_for_each(|gate| x.check_ring_within(gate.ring()))?;
        self.table_function_at(&DeviceMemory(x.queue()), gates, next, x)
    }

    /// A function by table of shares in `memory`.
    pub(crate) fn table_function_at<M: Memory, E: From<PfssError>>(
        &mut self,
        memory: &M,
        gates: &TableGates,
        mut next: impl FnMut() -> Result<KeyBundle, E>,
        x: &M::Shares,
    ) -> Result<M::Shares, E> {
        let mut planned = gates.gates().into_iter();
        let mut keys = || -> Result<KeyBundle, E> {
            let bundle = next()?;
            match planned.next() {
                Some(gate) if bundle.gate() == gate => {
                    bundle.check_mask(gate.inputs() * memory.count(x))?;
                    Ok(bundle)
                }
                _ => Err(PfssError::Program.into()),
            }
        };
        // The line of each input, which is counted from the first input of a cell.
        let counted = memory.add_constant(self.party(), x, gates.origin.wrapping_neg())?;
        let cells = memory.run_in_place(self, Task::TruncateReduce, keys()?, counted)?;
        let lines = memory.run_in_place(self, Task::Suf, keys()?, cells)?;
        let lookups = [keys()?, keys()?];
        let [constants, slopes] = self.look_up_both(memory, gates.lookups(), lookups, &lines)?;
        // Its value, which has half a unit of the result in it.
        let rise = memory.product(self, keys()?, [&slopes, x])?;
        let values = memory.add(constants, &rise)?;
        Ok(memory.run_in_place(self, Task::GapArs(gates.shift.1), keys()?, values)?)
    }

    /// Shares of the results of two look-ups at the same inputs, in the rounds of one.
    fn look_up_both<M: Memory>(
        &mut self,
        memory: &M,
        tasks: [Task<'_>; 2],
        bundles: [KeyBundle; 2],
        x: &M::Shares,
    ) -> Result<[M::Shares; 2], PfssError> {
        let (q, inputs) = (memory.queue(), memory.count(x));
        let keys = self.open_masked_by(q, bundles.into(), &[inputs; 2], |keys| memory.add_masks(keys, x))?;
        self.closing(|session| {
            // The first steps, and the facts that both parties must agree on.
            let (mut open, mut rings) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
            for (task, (keys, x_hat)) in tasks.into_iter().zip(keys) {
                rings.push(keys.gate().out_ring());
                let plan = session.record_open(task, &keys, x_hat.len())?;
                open.push(opening(plan.eval(q, keys, x_hat)?)?);
            }
            // One message for both openings.
            let theirs = session.exchange_openings(q, &open)?;
            let results =
                open.into_iter().zip(rings).zip(&theirs).map(|((pending, ring), (bits, words))| {
                    memory.finish(pending, session.party(), ring, (bits, words))
                });
            let results = results.collect::<Result<Vec<_>, _>>()?;
            <[_; 2]>::try_from(results).map_err(|results| PfssError::Length {
                what: "look-ups",
                expected: 2,
                got: results.len(),
            })
        })
    }
}

/// Evaluates a function by table for both parties, as [`run_lockstep`] runs a task.
///
/// # Errors
/// As [`Session::table_function`] and [`run_lockstep`].
pub fn run_table_lockstep<Q: FssOps>(
    q: &Q,
    gates: &TableGates,
    bundles: [TableBundles; 2],
    x: [&[u64]; 2],
) -> Result<[Vec<u64>; 2], PfssError> {
    bundles.iter().zip(x).try_for_each(|(bundles, x)| gates.check(bundles, x.len()))?;
    let [mut zero, mut one] = bundles.map(|bundles| in_turn(bundles.0));
    let mut keys = || Ok::<_, PfssError>([zero()?, one()?]);
    let words = |shares: [Shares; 2]| shares.map(|shares| Words::new(shares.words));
    // The line of each input, which is counted from the first input of a cell.
    let origin = Party::BOTH.map(|party| party.public(gates.origin));
    let counted = [0, 1].map(|party| Words::new(x[party].iter().map(|x| x.wrapping_sub(origin[party])).collect()));
    let cells = words(run_lockstep(q, Task::TruncateReduce, keys()?, [&counted[0], &counted[1]])?);
    let lines = words(run_lockstep(q, Task::Suf, keys()?, [&cells[0], &cells[1]])?);
    let ([constants, slopes], at) = (gates.lookups(), [&lines[0][..], &lines[1][..]]);
    let constants = words(run_lockstep(q, constants, keys()?, at)?);
    let slopes = words(run_lockstep(q, slopes, keys()?, at)?);
    // Its value.
    let factors = [0, 1].map(|party| Words::new([&slopes[party][..], x[party]].concat()));
    let rise = words(run_lockstep(q, Task::Product, keys()?, [&factors[0], &factors[1]])?);
    let sum = |(constant, rise): (&u64, &u64)| constant.wrapping_add(*rise);
    let values = [0, 1].map(|party| Words::new(constants[party].iter().zip(&*rise[party]).map(sum).collect()));
    let shift = Task::GapArs(gates.shift.1);
    Ok(run_lockstep(q, shift, keys()?, [&values[0], &values[1]])?.map(|shares| shares.words))
}

/// The step of a gate that opens something.
fn opening(step: Step) -> Result<Pending, PfssError> {
    match step {
        Step::Open(pending) => Ok(pending),
        Step::Done(_) => Err(PfssError::Length { what: "rounds left", expected: 1, got: 0 }),
    }
}
