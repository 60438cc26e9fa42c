//! Dealing and evaluating a function: its descriptor, then its shift.

use backend_api::ops::fss::FssOps;

use super::{
    FixedGates,
    memory::{DeviceMemory, HostMemory, Memory, Words},
};
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

impl FixedBundles {
    /// The bundles in the order in which their gates run.
    fn in_order(self) -> impl FnMut() -> Result<KeyBundle, PfssError> {
        in_turn([Some(self.suf), self.shift].into_iter().flatten())
    }
}

/// A source of bundles for gates that read their keys when they run.
pub(crate) fn in_turn(bundles: impl IntoIterator<Item = KeyBundle>) -> impl FnMut() -> Result<KeyBundle, PfssError> {
    let mut bundles = bundles.into_iter();
    move || bundles.next().ok_or(PfssError::Length { what: "bundles left", expected: 1, got: 0 })
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
        self.function_from(q, gates, bundles.in_order(), x)
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
        self.function_on_device_from(gates, bundles.in_order(), x)
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
        next: impl FnMut() -> Result<KeyBundle, E>,
        x: &[u64],
    ) -> Result<Vec<u64>, E> {
        let mut y = self.function_at(&HostMemory(q), gates, next, &Words::new(x.to_vec()))?;
        Ok(core::mem::take(&mut *y))
    }

    /// [`function_from`](Self::function_from) of shares in device memory, where the result stays.
    ///
    /// The messages, the spending of keys and the words of the result are the same, so that the
    /// other party may call either.
    ///
    /// # Errors
    /// [`PfssError::NotOnDevice`], [`PfssError::WiderRing`] or [`PfssError::WrongParty`] as of
    /// [`run_on_device`](Self::run_on_device), before the first bundle is read, and as
    /// [`function_from`](Self::function_from).
    pub fn function_on_device_from<'q, Q: FssOps, E: From<PfssError>>(
        &mut self,
        gates: &FixedGates,
        next: impl FnMut() -> Result<KeyBundle, E>,
        x: &DeviceShares<'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, E> {
        Task::Suf.check_on_device(&gates.suf)?;
        x.check_ring_within(gates.suf.ring())?;
        self.check_owner(x.party())?;
        self.function_at(&DeviceMemory(x.queue()), gates, next, x)
    }

    /// A function of shares in `memory`.
    pub(crate) fn function_at<M: Memory, E: From<PfssError>>(
        &mut self,
        memory: &M,
        gates: &FixedGates,
        mut next: impl FnMut() -> Result<KeyBundle, E>,
        x: &M::Shares,
    ) -> Result<M::Shares, E> {
        let suf = next()?;
        if *suf.gate() != gates.suf {
            return Err(PfssError::Program.into());
        }
        let word = memory.run(self, Task::Suf, suf, x)?;
        let shift = gates.shift.gate().map(|_| next()).transpose()?;
        match gates.shift.keyed(shift)? {
            Some((task, bundle)) => Ok(memory.run_in_place(self, task, bundle, word)?),
            None => Ok(word),
        }
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
