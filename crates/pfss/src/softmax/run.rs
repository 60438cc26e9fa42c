//! Dealing and evaluating a softmax, gate after gate.

use backend_api::ops::{fss::FssOps, tensor::TensorOps};

use super::{HALF, SecureSoftmaxPlan, distances, exponential::Exponential, moves::Moves, rows::Rows};
use crate::{
    Channel, Dealer, DeviceShares, Gate, KeyBundle, PfssError, Session, Task,
    error::check_len,
    functions::{
        memory::{DeviceMemory, HostMemory, Words},
        run::in_turn,
    },
};

impl Dealer {
    /// Keys for each of several gates, in their order, for party 0 and party 1.
    ///
    /// # Errors
    /// As [`deal`](Self::deal).
    pub fn deal_all<Q: FssOps>(&mut self, q: &Q, deals: &[(Gate, usize)]) -> Result<[Vec<KeyBundle>; 2], PfssError> {
        let mut all = [Vec::with_capacity(deals.len()), Vec::with_capacity(deals.len())];
        for (gate, count) in deals {
            for (bundles, bundle) in all.iter_mut().zip(self.deal(q, gate, *count)?) {
                bundles.push(bundle);
            }
        }
        Ok(all)
    }
}

impl<C: Channel> Session<C> {
    /// Shares of the softmax of each row, packed, from shares of packed logits.
    ///
    /// The bundles are dealt for [`SecureSoftmaxPlan::deals`], in that order;
    /// [`SecureSoftmaxPlan::traffic`] gives the cost.
    ///
    /// Probabilities have 12 fraction bits and, once opened, equal [`SecureSoftmaxPlan::eval`] of
    /// the logits.
    ///
    /// # Errors
    /// [`PfssError::Length`] for another number of logits or bundles, [`PfssError::Program`] or
    /// [`PfssError::Length`] for bundles of other gates or counts, all before anything is sent;
    /// [`ChannelError::Step`](crate::ChannelError::Step) if the peer has another layout of the same
    /// counts; and as [`relu`](Self::relu).
    pub fn softmax<Q: FssOps>(
        &mut self,
        q: &Q,
        plan: &SecureSoftmaxPlan,
        bundles: Vec<KeyBundle>,
        x: &[u64],
    ) -> Result<Vec<u64>, PfssError> {
        plan.check_len(x.len())?;
        // The bundles are checked against the plan before anything is sent.
        let deals = plan.deals();
        check_len("bundles", deals.len(), bundles.len())?;
        for ((gate, count), bundle) in deals.iter().zip(&bundles) {
            if bundle.gate() != gate {
                return Err(PfssError::Program);
            }
            bundle.check_use(gate.kind(), *count)?;
        }
        self.softmax_from(q, plan, in_turn(bundles), x)
    }

    /// [`softmax`](Self::softmax) with keys that are read when their gate runs.
    ///
    /// `next` returns the bundles of [`SecureSoftmaxPlan::deals`] in that order. One of them is in
    /// memory at a time, but for the two look-ups of exponentials by table.
    ///
    /// # Errors
    /// The errors of `next`, and as [`softmax`](Self::softmax). Each bundle is checked when its
    /// gate runs.
    pub fn softmax_from<Q: FssOps, E: From<PfssError>>(
        &mut self,
        q: &Q,
        plan: &SecureSoftmaxPlan,
        next: impl FnMut() -> Result<KeyBundle, E>,
        x: &[u64],
    ) -> Result<Vec<u64>, E> {
        plan.check_len(x.len())?;
        let mut y = self.softmax_at(&HostMemory(q), plan, next, &Words::new(x.to_vec()))?;
        Ok(core::mem::take(&mut *y))
    }

    /// [`softmax_from`](Self::softmax_from) of shares in device memory, where the result stays.
    ///
    /// The result has the ring of 64 bits. The messages, the spending of keys and the words of the
    /// result are the same, so that the other party may call either. The shares may be in a ring of
    /// fewer bits that has all bits of the comparisons. The host copies lists of public places to
    /// the device, in one copy, unless all rows have the same length, a power of two.
    ///
    /// # Errors
    /// [`PfssError::WrongParty`] for shares of the other party, [`PfssError::WiderRing`] for shares
    /// in a ring of fewer bits than the comparisons', [`PfssError::NotOnDevice`] for a plan by
    /// [`CoeffMode::StepDcf`](crate::suf::CoeffMode::StepDcf) or by
    /// [`PredProgram::StepDcf`](crate::suf::PredProgram::StepDcf), all before the first bundle is
    /// read, and as [`softmax_from`](Self::softmax_from).
    pub fn softmax_on_device_from<'q, Q: FssOps + TensorOps, E: From<PfssError>>(
        &mut self,
        plan: &SecureSoftmaxPlan,
        next: impl FnMut() -> Result<KeyBundle, E>,
        x: &DeviceShares<'q, Q>,
    ) -> Result<DeviceShares<'q, Q>, E> {
        plan.check_len(x.len())?;
        self.check_owner(x.party())?;
        plan.deals().iter().try_for_each(|(gate, _)| Task::Suf.check_on_device(gate))?;
        x.check_ring_within(plan.relu.ring())?;
        self.softmax_at(&DeviceMemory(x.queue()), plan, next, x)
    }

    /// The softmax of each row of shares in `memory`.
    fn softmax_at<M: Moves, E: From<PfssError>>(
        &mut self,
        memory: &M,
        plan: &SecureSoftmaxPlan,
        mut next: impl FnMut() -> Result<KeyBundle, E>,
        x: &M::Shares,
    ) -> Result<M::Shares, E> {
        let mut planned = plan.deals().into_iter();
        let mut keys = || -> Result<KeyBundle, E> {
            let bundle = next()?;
            match planned.next() {
                Some((gate, count)) if *bundle.gate() == gate => {
                    bundle.check_use(gate.kind(), count)?;
                    Ok(bundle)
                }
                _ => Err(PfssError::Program.into()),
            }
        };

        // Distances from the maxima are at least 0, in the ring that the exponentials take them in.
        let rows = Rows::live(memory, &plan.layout)?;
        let maxima = self.row_maxima(memory, (plan, &rows), &mut keys, x)?;
        let distances = memory.sub(rows.spread(memory, maxima.as_ref().unwrap_or(x))?, x)?;
        drop(maxima);
        // Exponentials, and the reciprocal of the sum of each row.
        let exps = match &plan.exp {
            Exponential::Spline(_, gates) => self.function_at(memory, gates, &mut keys, &distances)?,
            Exponential::Table(_, gates) => self.table_function_at(memory, gates, &mut keys, &distances)?,
        };
        drop(distances);
        // Layouts may differ with the same gates and counts: the next message compares them.
        self.record_digest(&plan.layout.digest(), plan.layout.rows());
        let sums = rows.sums(memory, &exps)?;
        let inverses = self.function_at(memory, &plan.inverse_gates, &mut keys, &sums)?;
        // Products with the reciprocal, in the ring of the shift, which rounds them to 12 fraction bits.
        let factors = rows.spread(memory, &inverses)?;
        let products = memory.product(self, keys()?, [&exps, &factors])?;
        drop((exps, factors));
        let products = memory.add_constant(self.party(), &products, HALF.cast_unsigned())?;
        Ok(memory.run_in_place(self, Task::GapArs(plan.shift.1), keys()?, products)?)
    }

    /// Shares of the maximum of each row that has elements; `None` if no row has two.
    ///
    /// They are found in a tournament: neighbours are compared, and an odd one out moves on to the
    /// next round. A maximum is `b + max(a - b, 0)`.
    fn row_maxima<M: Moves, E: From<PfssError>>(
        &mut self,
        memory: &M,
        (plan, rows): (&SecureSoftmaxPlan, &Rows<M>),
        keys: &mut impl FnMut() -> Result<KeyBundle, E>,
        x: &M::Shares,
    ) -> Result<Option<M::Shares>, E> {
        let within = Task::ReluWithin(distances(plan.logits)?);
        let mut left = None;
        for (round, &count) in plan.tournament.iter().enumerate() {
            let relu = if plan.last_relu(count).is_some() { Task::Suf } else { within };
            let all = left.as_ref().unwrap_or(x);
            let [a, b] = rows.pairs(memory, round, all)?;
            let difference = memory.sub(a, &b)?;
            let positive = memory.run_in_place(self, relu, keys()?, difference)?;
            left = Some(rows.advance(memory, round, memory.add(positive, &b)?, all)?);
        }
        Ok(left)
    }
}
