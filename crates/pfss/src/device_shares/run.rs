//! Gates of a session on shares in device memory.

use backend_api::{BufferRef as _, Ref, ops::fss::FssOps};
use core_types::Ring;

use super::{
    DeviceShares,
    arithmetic::{Mask, masked},
};
use crate::{
    AutoTrunc, Channel, KeyBundle, MaskedKeys, PfssError, Session, Task,
    gates::{plan::TaskPlan, shares::pending::DeviceStep},
    secret::staging::StagedSecret,
};

impl<C: Channel> Session<C> {
    /// [`run`](Self::run) on shares in device memory, where the result stays.
    ///
    /// The messages, the spending of keys and the words of the result are the same as by
    /// [`run`](Self::run), so that the other party may call either.
    ///
    /// The host gets the masked inputs, and shares of each bit and word to be opened, which it
    /// masks. The words of the result stay.
    ///
    /// The shares may be in a ring of more bits than the keys': shares modulo `2^64` are shares
    /// modulo `2^k` too. Bits above the ring of the keys are ignored.
    ///
    /// The result of a gate with [masked outputs](crate::Gate::with_masked_outputs) is `y + r_out`,
    /// to be downloaded for [`open_outputs`](Self::open_outputs).
    ///
    /// # Errors
    /// [`PfssError::NotOnDevice`] for tasks whose results are not words that a device sums:
    /// [`Task::PredicateBits`], and [`Task::Suf`] for descriptors with output bits or without
    /// output words, of [`CoeffMode::StepDcf`](crate::suf::CoeffMode::StepDcf), or with comparisons
    /// of [`PredProgram::StepDcf`](crate::suf::PredProgram::StepDcf). [`PfssError::WiderRing`] for
    /// keys of a ring of more bits than the shares', [`PfssError::WrongParty`] for shares of the
    /// other party, all before anything is sent or spent, and as [`run`](Self::run).
    pub fn run_on_device<'q, Q: FssOps>(
        &mut self,
        task: Task<'_>,
        bundle: KeyBundle,
        x: &DeviceShares<'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        task.check_on_device(bundle.gate())?;
        x.check_ring_within(bundle.gate().ring())?;
        self.run_masked(task, bundle, x, x.len(), |keys| {
            let (inputs, count) = (0..keys.gate().inputs(), keys.count());
            let rows = inputs.map(|row| x.view().slice(row * count..(row + 1) * count));
            Ok(add_masks(x.queue(), keys.gate().ring(), &[(&keys.0, &rows.collect::<Result<Vec<_>, _>>()?)])?
                .download()?)
        })
    }

    /// [`product`](Self::product) of shares in device memory, where the result stays.
    ///
    /// The factors may be in different rings.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`] or [`PfssError::OtherDevice`] for factors of different parties or
    /// on different devices, before anything is sent or spent, and as
    /// [`run_on_device`](Self::run_on_device).
    pub fn product_on_device<'q, Q: FssOps>(
        &mut self,
        bundle: KeyBundle,
        [x, y]: [&DeviceShares<'q, Q>; 2],
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        x.check_together(y)?;
        bundle.check_factors([x.len(), y.len()])?;
        [x, y].iter().try_for_each(|factor| factor.check_ring_within(bundle.gate().ring()))?;
        self.run_masked(Task::Product, bundle, x, x.len() + y.len(), |keys| {
            Ok(add_masks(x.queue(), keys.gate().ring(), &[(&keys.0, &[x.view(), y.view()])])?.download()?)
        })
    }

    /// [`shift`](Self::shift) of shares in device memory, where the result stays.
    ///
    /// The identity copies the shares there.
    ///
    /// # Errors
    /// As [`shift`](Self::shift) and [`run_on_device`](Self::run_on_device).
    pub fn shift_on_device<'q, Q: FssOps>(
        &mut self,
        shift: &AutoTrunc,
        bundle: Option<KeyBundle>,
        x: &DeviceShares<'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        match shift.keyed(bundle)? {
            Some((task, bundle)) => self.run_on_device(task, bundle, x),
            None => {
                self.check_owner(x.party())?;
                x.copied()
            }
        }
    }

    /// [`eval`](Self::eval) with the result left in the device memory of `q`.
    ///
    /// # Errors
    /// [`PfssError::NotOnDevice`] as for [`run_on_device`](Self::run_on_device), and as
    /// [`eval`](Self::eval).
    pub fn eval_on_device<'q, Q: FssOps>(
        &mut self,
        q: &'q Q,
        task: Task<'_>,
        keys: MaskedKeys,
        x_hat: &[u64],
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        task.check_on_device(keys.gate())?;
        let plan = self.record_open(task, &keys, x_hat.len())?;
        self.evaluate_on_device(q, &plan, keys, x_hat.to_vec())
    }

    /// Runs a task on shares in device memory. `mask` returns the `inputs` masked inputs.
    fn run_masked<'q, Q: FssOps>(
        &mut self,
        task: Task<'_>,
        bundle: KeyBundle,
        shares: &DeviceShares<'q, Q>,
        inputs: usize,
        mask: impl FnOnce(&MaskedKeys) -> Result<Vec<u64>, PfssError>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        task.check_on_device(bundle.gate())?;
        self.check_owner(shares.party())?;
        let (plan, keys, x_hat) = self.open_inputs(shares.queue(), task, bundle, inputs, mask)?;
        self.evaluate_on_device(shares.queue(), &plan, keys, x_hat)
    }

    /// Walks the key trees, and opens words and bits in at most one round.
    fn evaluate_on_device<'q, Q: FssOps>(
        &mut self,
        q: &'q Q,
        plan: &TaskPlan,
        keys: MaskedKeys,
        x_hat: Vec<u64>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        let (party, ring) = (keys.party(), keys.gate().out_ring());
        let words = self.closing(|session| match plan.eval_on_device(q, keys, x_hat)? {
            DeviceStep::Done(words) => Ok(words),
            DeviceStep::Open(pending) => {
                let (bits, words) = session.exchange_opening(q, &pending)?;
                pending.finish_on_device(q, &bits, &words)
            }
        })?;
        Ok(DeviceShares::new(q, party, ring, words))
    }
}

impl<Q: FssOps> DeviceShares<'_, Q> {
    /// The shares plus this party's shares of the masks of each of `keys`, in host memory.
    ///
    /// They take one copy to the host. The keys have one ring, and one input for each element.
    pub(crate) fn add_masks(&self, keys: &[MaskedKeys]) -> Result<Vec<Vec<u64>>, PfssError> {
        let Some(first) = keys.first() else { return Ok(Vec::new()) };
        let row = [self.view()];
        let all: Vec<_> = keys.iter().map(|keys| (&keys.0, &row[..])).collect();
        let words = add_masks(self.queue(), first.gate().ring(), &all)?.download()?;
        Ok((0..keys.len()).map(|at| words[at * self.len()..(at + 1) * self.len()].to_vec()).collect())
    }
}

/// This party's shares of inputs in `ring` plus its shares of their masks.
///
/// All keys come with a view for each input of an element. A device expands many masks from their
/// seed.
pub(super) fn add_masks<'q, Q: FssOps>(
    q: &'q Q,
    ring: Ring,
    all: &[(&KeyBundle, &[Ref<'_, Q, u64>])],
) -> Result<StagedSecret<'q, Q, u64>, PfssError> {
    let mut expanded = Vec::with_capacity(all.len());
    for (bundle, inputs) in all {
        let words = inputs.len() * bundle.padded();
        expanded.push(match bundle.seeded_rows(q, size_of::<u64>() * words) {
            Some(rows) => {
                let mut expanded = StagedSecret::<_, u64>::alloc(q, words)?;
                rows.words(q, 0..inputs.len(), 0..bundle.padded(), expanded.view_mut())?;
                Some(expanded)
            }
            None => None,
        });
    }
    let mut with_masks = Vec::new();
    for ((bundle, inputs), expanded) in all.iter().zip(&expanded) {
        for (row, x) in inputs.iter().enumerate() {
            let mask = match expanded {
                Some(words) => Mask::Device(words.slice(row * bundle.padded()..(row + 1) * bundle.padded())?),
                None => Mask::Host(bundle.word_row(row)),
            };
            with_masks.push((q.shorten(*x), mask));
        }
    }
    masked(q, ring, &with_masks)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runtime::{AnyQueue, Choice, Domain, Settings};

    use super::*;
    use crate::{Dealer, Gate, GateKind, memory_pair};

    const COUNT: usize = 8224;

    /// The words of both parties, on a device or else in host memory.
    fn run(q: &AnyQueue, task: Task<'_>, keys: [KeyBundle; 2], on_device: bool) -> [Vec<u64>; 2] {
        let [zero, one] = keys;
        let party = |mut session: Session<_>, keys: KeyBundle| {
            let (ring, inputs) = (keys.gate().ring(), keys.gate().inputs() * COUNT);
            let x: Vec<u64> = (0..inputs as u64).map(|e| e.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            if !on_device {
                return session.run(q, task, keys, &x).unwrap().words;
            }
            let x = DeviceShares::upload(q, session.party(), ring, &x).unwrap();
            session.run_on_device(task, keys, &x).unwrap().download().unwrap()
        };
        let (to_one, to_zero) = memory_pair(Duration::from_secs(60));
        let first = || party(Session::new(to_one), zero);
        test_process::pair(first, || party(Session::new(to_zero), one)).into()
    }

    /// Masks of 64 KiB and more: copied without a seed, and from the middle of a seed's rows.
    #[test]
    fn slices_with_and_without_a_seed_give_the_words_of_shares_in_host_memory() {
        let open = |choice| runtime::open_with(&Settings::default(), Some(Domain::Pfss), Some(choice)).unwrap().0;
        let [host, device] = [Choice::Cpu, Choice::Sim].map(open);
        let gates = [
            (Gate::product(37).unwrap(), Task::Product),
            (Gate::truncate_reduce(40, 9).unwrap(), Task::TruncateReduce),
        ];
        for (gate, task) in gates {
            let slices = || {
                let bundles = Dealer::insecure_from_seed(8).deal(&host, &gate, 32 + COUNT).unwrap();
                bundles.map(|bundle| bundle.slice(32..32 + COUNT))
            };
            let read = || {
                slices().map(|slice| {
                    let read = KeyBundle::from_bytes(&slice.to_bytes()).unwrap().insecure_reusable();
                    assert!(read.seed.is_none() && read.keys.words.len() >= 8192);
                    read
                })
            };
            let is_seeded = |slice: &KeyBundle| slice.seed.is_some();
            assert_eq!(slices().each_ref().map(is_seeded), [gate.kind() != GateKind::Product, false]);
            let expected = run(&host, task, slices(), false);
            assert!(run(&device, task, slices(), true) == expected, "{} in memory", gate.kind());
            assert!(run(&device, task, read(), true) == expected, "{} from bytes", gate.kind());
        }
    }
}
