//! Dealing and evaluating a function by table, gate after gate.

use backend_api::ops::fss::FssOps;
use zeroize::Zeroizing;

use super::TableGates;
use crate::{
    Channel, Dealer, KeyBundle, Party, Pending, PfssError, Session, Shares, Step, Task,
    channel::check_message,
    protocol::wire::{finish_opening, opening_to_bytes},
    run_lockstep,
};

/// Shares of intermediate results.
type Words = Zeroizing<Vec<u64>>;

/// One party's keys for a function by table.
///
/// It is made from one bundle for each of [`TableGates::gates`], in that order.
#[derive(Debug)]
pub struct TableBundles {
    truncation: KeyBundle,
    index: KeyBundle,
    constants: KeyBundle,
    slopes: KeyBundle,
    product: KeyBundle,
    shift: KeyBundle,
}

impl TryFrom<Vec<KeyBundle>> for TableBundles {
    type Error = PfssError;

    /// Takes the bundles in the order of [`TableGates::gates`].
    ///
    /// # Errors
    /// [`PfssError::Length`] for any number but six.
    fn try_from(bundles: Vec<KeyBundle>) -> Result<Self, PfssError> {
        let refused = |got: usize| PfssError::Length { what: "bundles", expected: Self::COUNT, got };
        let all = <[KeyBundle; Self::COUNT]>::try_from(bundles).map_err(|bundles| refused(bundles.len()))?;
        let [truncation, index, constants, slopes, product, shift] = all;
        Ok(Self { truncation, index, constants, slopes, product, shift })
    }
}

/// The bundles in the order of [`TableGates::gates`].
impl From<TableBundles> for Vec<KeyBundle> {
    fn from(bundles: TableBundles) -> Self {
        let TableBundles { truncation, index, constants, slopes, product, shift } = bundles;
        vec![truncation, index, constants, slopes, product, shift]
    }
}

impl TableBundles {
    /// Their number.
    const COUNT: usize = 6;

    /// The bundles in the order of [`TableGates::gates`].
    fn all(&self) -> [&KeyBundle; 6] {
        [&self.truncation, &self.index, &self.constants, &self.slopes, &self.product, &self.shift]
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
        for (gate, bundle) in self.gates().into_iter().zip(bundles.all()) {
            if bundle.gate() != gate {
                return Err(PfssError::Program);
            }
            bundle.check_mask(gate.inputs() * count)?;
        }
        Ok(())
    }

    /// The inputs, counted from the first input of a cell.
    fn counted_from_origin(&self, party: Party, x: &[u64]) -> Words {
        let origin = party.public(self.origin);
        Words::new(x.iter().map(|x| x.wrapping_sub(origin)).collect())
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
        bundles.all().into_iter().try_for_each(|bundle| self.admit(&bundle.header))?;
        let bundles: Vec<KeyBundle> = bundles.into();
        let mut bundles = bundles.into_iter();
        let left = || bundles.next().ok_or(PfssError::Length { what: "bundles left", expected: 1, got: 0 });
        self.table_function_from(q, gates, left, x)
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
        mut next: impl FnMut() -> Result<KeyBundle, E>,
        x: &[u64],
    ) -> Result<Vec<u64>, E> {
        let mut planned = gates.gates().into_iter();
        let mut keys = || -> Result<KeyBundle, E> {
            let bundle = next()?;
            match planned.next() {
                Some(gate) if bundle.gate() == gate => {
                    bundle.check_mask(gate.inputs() * x.len())?;
                    Ok(bundle)
                }
                _ => Err(PfssError::Program.into()),
            }
        };
        // The line of each input.
        let counted = gates.counted_from_origin(self.party(), x);
        let cells = Words::new(self.run(q, Task::TruncateReduce, keys()?, &counted)?.words);
        let lines = Words::new(self.run(q, Task::Suf, keys()?, &cells)?.words);
        let lookups = [keys()?, keys()?];
        let [constants, slopes] = self.look_up_both(q, gates.lookups(), lookups, &lines)?;
        // Its value, which has half a unit of the result in it.
        let rise = Words::new(self.product(q, keys()?, [&slopes, x])?);
        let values = sums(&constants, &rise);
        Ok(self.run(q, Task::GapArs(gates.shift.1), keys()?, &values)?.words)
    }

    /// Shares of the results of two look-ups at the same inputs, in the rounds of one.
    fn look_up_both<Q: FssOps>(
        &mut self,
        q: &Q,
        [first_task, second_task]: [Task<'_>; 2],
        [first, second]: [KeyBundle; 2],
        x: &[u64],
    ) -> Result<[Words; 2], PfssError> {
        let keys = self.open_masked(q, vec![(first, x), (second, x)])?;
        self.closing(|session| {
            // The first steps, and the facts that both parties must agree on.
            let mut open = Vec::with_capacity(keys.len());
            for (task, (keys, x_hat)) in [first_task, second_task].into_iter().zip(keys) {
                session.record(&keys.0.header, &task.facts());
                open.push(opening(keys.eval(q, task, &x_hat)?)?);
            }
            // One message for both openings.
            let parts: Vec<Vec<u8>> =
                open.iter().map(|pending| opening_to_bytes(q, pending)).collect::<Result<_, _>>()?;
            let mine = parts.concat();
            let theirs = session.exchange(&mine)?;
            check_message(mine.len(), theirs.len())?;
            open.iter().for_each(|pending| session.opened(pending.masked_bits(), pending.masked_words()));
            let (mut results, mut rest) = ([Words::default(), Words::default()], &theirs[..]);
            for ((pending, part), result) in open.into_iter().zip(&parts).zip(&mut results) {
                let (theirs, others) = rest.split_at(part.len()); // of the same total length
                rest = others;
                *result = Words::new(results_of(finish_opening(q, pending, theirs)?)?);
            }
            Ok(results)
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
    let [zero, one] = bundles;
    let words = |shares: [Shares; 2]| shares.map(|shares| Words::new(shares.words));
    // The line of each input.
    let counted = Party::BOTH.map(|party| gates.counted_from_origin(party, x[party.index()]));
    let cells = [zero.truncation, one.truncation];
    let cells = words(run_lockstep(q, Task::TruncateReduce, cells, [&counted[0], &counted[1]])?);
    let lines = words(run_lockstep(q, Task::Suf, [zero.index, one.index], [&cells[0], &cells[1]])?);
    let ([constants, slopes], at) = (gates.lookups(), [&lines[0][..], &lines[1][..]]);
    let constants = words(run_lockstep(q, constants, [zero.constants, one.constants], at)?);
    let slopes = words(run_lockstep(q, slopes, [zero.slopes, one.slopes], at)?);
    // Its value.
    let factors = [0, 1].map(|party| Words::new([&slopes[party][..], x[party]].concat()));
    let rise = words(run_lockstep(q, Task::Product, [zero.product, one.product], [&factors[0], &factors[1]])?);
    let values = [0, 1].map(|party| sums(&constants[party], &rise[party]));
    let shift = Task::GapArs(gates.shift.1);
    Ok(run_lockstep(q, shift, [zero.shift, one.shift], [&values[0], &values[1]])?.map(|shares| shares.words))
}

/// The sums of two rows of words.
fn sums(a: &[u64], b: &[u64]) -> Words {
    Words::new(a.iter().zip(b).map(|(a, b)| a.wrapping_add(*b)).collect())
}

/// The step of a gate that opens something.
fn opening(step: Step) -> Result<Pending, PfssError> {
    match step {
        Step::Open(pending) => Ok(pending),
        Step::Done(_) => Err(PfssError::Length { what: "rounds left", expected: 1, got: 0 }),
    }
}

/// The words of a gate that has opened everything.
fn results_of(step: Step) -> Result<Vec<u64>, PfssError> {
    match step {
        Step::Done(shares) => Ok(shares.words),
        Step::Open(_) => Err(PfssError::Length { what: "rounds left", expected: 0, got: 1 }),
    }
}
