//! Dealing and evaluating a function: its descriptor, then its shift.

use backend_api::ops::fss::FssOps;

use super::FixedGates;
use crate::{Channel, Dealer, DeviceShares, KeyBundle, PfssError, Session, Task, run_lockstep};

/// One party's keys for a function.
#[derive(Debug)]
pub struct FixedBundles {
    /// Keys of the descriptor.
    pub suf: KeyBundle,
    /// Keys of the shift, if there is one.
    pub shift: Option<KeyBundle>,
}

impl Dealer {
    /// Keys for `count` evaluations of a function, for party 0 and party 1.
    ///
    /// # Errors
    /// As [`deal`](Self::deal).
    pub fn deal_function<Q: FssOps>(
        &mut self,
        q: &Q,
        gates: &FixedGates,
        count: usize,
    ) -> Result<[FixedBundles; 2], PfssError> {
        let [zero, one] = self.deal(q, &gates.suf, count)?;
        let [shift_zero, shift_one] = match gates.shift.gate() {
            Some(gate) => self.deal(q, gate, count)?.map(Some),
            None => [None, None],
        };
        Ok([FixedBundles { suf: zero, shift: shift_zero }, FixedBundles { suf: one, shift: shift_one }])
    }
}

impl FixedGates {
    /// Checks that the bundles are for these gates.
    ///
    /// A shift is only right for the function whose range it was proven for.
    fn check(&self, bundles: &FixedBundles) -> Result<(), PfssError> {
        if *bundles.suf.gate() != self.suf || bundles.shift.as_ref().map(KeyBundle::gate) != self.shift.gate() {
            return Err(PfssError::Program);
        }
        Ok(())
    }
}

impl<C: Channel> Session<C> {
    /// Shares of a function of `x`. The rounds are given by [`FixedGates::cost`].
    ///
    /// Inputs must lie in [`FixedFn::inputs`](super::FixedFn::inputs). Nothing checks this, as they
    /// are secret.
    ///
    /// # Errors
    /// [`PfssError::Program`] for keys of another function, and as [`relu`](Self::relu).
    pub fn function<Q: FssOps>(
        &mut self,
        q: &Q,
        gates: &FixedGates,
        bundles: FixedBundles,
        x: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        gates.check(&bundles)?;
        let word = self.run(q, Task::Suf, bundles.suf, x)?.words;
        self.shift(q, &gates.shift, bundles.shift, &word)
    }

    /// [`function`](Self::function) of shares in device memory, where the result stays.
    ///
    /// # Errors
    /// [`PfssError::Program`] for keys of another function, and as
    /// [`run_on_device`](Self::run_on_device).
    pub fn function_on_device<'q, Q: FssOps>(
        &mut self,
        gates: &FixedGates,
        bundles: FixedBundles,
        x: &DeviceShares<'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        gates.check(&bundles)?;
        let word = self.run_on_device(Task::Suf, bundles.suf, x)?;
        self.shift_on_device(&gates.shift, bundles.shift, &word)
    }

    /// [`function`](Self::function) with keys that are read when their gate runs.
    ///
    /// `next` returns the bundles in the order of [`FixedBundles`]. One of them is in memory at a
    /// time.
    ///
    /// # Errors
    /// The errors of `next`, and as [`function`](Self::function). The keys of the shift are checked
    /// when it runs.
    pub fn function_from<Q: FssOps, E: From<PfssError>>(
        &mut self,
        q: &Q,
        gates: &FixedGates,
        mut next: impl FnMut() -> Result<KeyBundle, E>,
        x: &[u64],
    ) -> Result<Vec<u64>, E> {
        let suf = next()?;
        if *suf.gate() != gates.suf {
            return Err(PfssError::Program.into());
        }
        let word = self.run(q, Task::Suf, suf, x)?.words;
        let shift = gates.shift.gate().map(|_| next()).transpose()?;
        Ok(self.shift(q, &gates.shift, shift, &word)?)
    }
}

/// Evaluates a function for both parties, as [`run_lockstep`] runs a task.
///
/// # Errors
/// As [`Session::function`] and [`run_lockstep`].
pub fn run_function_lockstep<Q: FssOps>(
    q: &Q,
    gates: &FixedGates,
    bundles: [FixedBundles; 2],
    x: [&[u64]; 2],
) -> Result<[Vec<u64>; 2], PfssError> {
    bundles.iter().try_for_each(|bundles| gates.check(bundles))?;
    let [zero, one] = bundles;
    let words = run_lockstep(q, Task::Suf, [zero.suf, one.suf], x)?.map(|shares| shares.words);
    match (gates.shift.task(), zero.shift, one.shift) {
        (Some(task), Some(zero), Some(one)) => {
            let shifted = run_lockstep(q, task, [zero, one], [&words[0], &words[1]])?;
            Ok(shifted.map(|shares| shares.words))
        }
        _ => Ok(words),
    }
}
