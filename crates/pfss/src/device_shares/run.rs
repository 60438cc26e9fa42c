//! Gates of a session on shares in device memory.

use std::sync::Arc;

use backend_api::ops::fss::FssOps;

use super::DeviceShares;
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
    /// The host gets a share of each input, bit and word to be opened, which it masks and sends.
    /// The words of the result stay.
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
        let (plan, keys, x_hat) = self.open_on_device(task, bundle, x)?;
        self.evaluate_on_device(x.queue(), &plan, keys, x_hat, None)
    }

    /// [`run_on_device`](Self::run_on_device) that takes the shares.
    ///
    /// The result is in their place if it has the same number of words.
    pub(crate) fn run_in_place_on_device<'q, Q: FssOps>(
        &mut self,
        task: Task<'_>,
        bundle: KeyBundle,
        x: DeviceShares<'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        let (plan, keys, x_hat) = self.open_on_device(task, bundle, &x)?;
        let DeviceShares { q, mut words, .. } = x;
        words.set_public(false);
        self.evaluate_on_device(q, &plan, keys, x_hat, Some(words))
    }

    /// Opens the inputs of a task on shares in device memory.
    fn open_on_device<Q: FssOps>(
        &mut self,
        task: Task<'_>,
        bundle: KeyBundle,
        x: &DeviceShares<'_, Q>,
    ) -> Result<(Arc<TaskPlan>, MaskedKeys, Vec<u64>), PfssError> {
        task.check_on_device(bundle.gate())?;
        x.check_ring_within(bundle.gate().ring())?;
        self.check_owner(x.party())?;
        // The host has the masks, and packs its messages.
        self.open_inputs(x.queue(), task, bundle, x.len(), |keys| Ok(keys.add_masks(x.to_host()?)))
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
        self.check_owner(x.party())?;
        let (q, inputs, mut factors) = (x.queue(), x.len() + y.len(), None);
        let (plan, keys, x_hat) = self.open_inputs(q, Task::Product, bundle, inputs, |keys| {
            // Both factors take one copy.
            let both = factors.insert(x.followed_by(keys.gate().ring(), &[y])?);
            Ok(keys.add_masks(both.to_host()?))
        })?;
        self.evaluate_on_device(q, &plan, keys, x_hat, factors.map(|both| both.words))
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
        self.evaluate_on_device(q, &plan, keys, x_hat.to_vec(), None)
    }

    /// Walks the key trees, and opens words and bits in at most one round.
    ///
    /// `room` is secret memory that the result may take, or a sum of a product.
    fn evaluate_on_device<'q, Q: FssOps>(
        &mut self,
        q: &'q Q,
        plan: &TaskPlan,
        keys: MaskedKeys,
        x_hat: Vec<u64>,
        mut room: Option<StagedSecret<'q, Q, u64>>,
    ) -> Result<DeviceShares<'q, Q>, PfssError> {
        let (party, ring) = (keys.party(), keys.gate().out_ring());
        let words = self.closing(|session| match plan.eval_on_device(q, keys, x_hat, &mut room)? {
            DeviceStep::Done(words) => Ok(words),
            DeviceStep::Open(pending) => {
                let (bits, words) = session.exchange_opening(q, &pending)?;
                pending.finish_on_device(q, (&bits, &words), room)
            }
        })?;
        Ok(DeviceShares::new(q, party, ring, words))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use runtime::AnyQueue;

    use super::*;
    use crate::{Dealer, Gate, GateKind, memory_pair, testing::queues};

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

    /// Words of 64 KiB and more: copied without a seed, and from the middle of a seed's rows.
    #[test]
    fn slices_with_and_without_a_seed_give_the_words_of_shares_in_host_memory() {
        let [host, device] = queues();
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
