//! Dealing and evaluating a softmax, gate after gate.

use core::ops::Range;

use backend_api::ops::fss::FssOps;

use super::{HALF, SecureSoftmaxPlan, exponential::Exponential};
use crate::{Channel, Dealer, Gate, KeyBundle, PfssError, Session, Task, error::check_len};

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
        let mut bundles = bundles.into_iter();
        let left = || bundles.next().ok_or(PfssError::Length { what: "bundles left", expected: 1, got: 0 });
        self.softmax_from(q, plan, left, x)
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
        mut next: impl FnMut() -> Result<KeyBundle, E>,
        x: &[u64],
    ) -> Result<Vec<u64>, E> {
        plan.check_len(x.len())?;
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
        let ring = plan.relu.ring();
        let maxima = self.row_maxima(q, plan, &mut keys, x)?;
        let mut distances = Vec::with_capacity(x.len());
        for (range, &max) in plan.layout.ranges().zip(&maxima) {
            distances.extend(x[range].iter().map(|&x| ring.sub(max, x)));
        }
        // Exponentials, and the reciprocal of the sum of each row that has elements.
        let exps = match &plan.exp {
            Exponential::Spline(_, gates) => self.function_from(q, gates, &mut keys, &distances)?,
            Exponential::Table(_, gates) => self.table_function_from(q, gates, &mut keys, &distances)?,
        };
        // Layouts may differ with the same gates and counts: the next message compares them.
        self.record_digest(&plan.layout.digest(), plan.layout.rows());
        let live = || plan.layout.ranges().filter(|range| !range.is_empty());
        let sum = |range: Range<usize>| exps[range].iter().fold(0u64, |sum, &e| sum.wrapping_add(e));
        let sums: Vec<u64> = live().map(sum).collect();
        let inverses = self.function_from(q, &plan.inverse_gates, &mut keys, &sums)?;
        // Products with the reciprocal, in the ring of the shift, which rounds them to 12 fraction bits.
        let factors: Vec<u64> =
            live().zip(&inverses).flat_map(|(range, &inverse)| core::iter::repeat_n(inverse, range.len())).collect();
        let mut products = self.product(q, keys()?, [&exps, &factors])?;
        let half = self.party().public(HALF.cast_unsigned());
        products.iter_mut().for_each(|product| *product = product.wrapping_add(half));
        Ok(self.run(q, Task::GapArs(plan.shift.1), keys()?, &products)?.words)
    }

    /// Shares of each row's maximum in the ring of the comparisons, 0 for an empty row.
    ///
    /// They are found in a tournament: neighbours are compared, and an odd one out moves on to the
    /// next round.
    fn row_maxima<Q: FssOps, E: From<PfssError>>(
        &mut self,
        q: &Q,
        plan: &SecureSoftmaxPlan,
        keys: &mut impl FnMut() -> Result<KeyBundle, E>,
        x: &[u64],
    ) -> Result<Vec<u64>, E> {
        let mut rows: Vec<Vec<u64>> = plan.layout.ranges().map(|range| x[range].to_vec()).collect();
        for &count in &plan.tournament {
            let pairs = || rows.iter().flat_map(|row| row.as_chunks::<2>().0);
            let (a, b): (Vec<u64>, Vec<u64>) = pairs().map(|&[a, b]| (a, b)).unzip();
            let winners = match plan.last_relu(count) {
                None => self.max(q, [plan.logits; 2], keys()?, [&a, &b])?,
                Some(_) => self.max_by(q, Task::Suf, keys()?, [&a, &b])?,
            };
            let mut winners = winners.into_iter();
            for row in &mut rows {
                let odd = row.as_chunks::<2>().1.first().copied();
                let met = row.len() / 2;
                *row = winners.by_ref().take(met).chain(odd).collect();
            }
        }
        Ok(rows.into_iter().map(|row| row.first().copied().unwrap_or_default()).collect())
    }
}
