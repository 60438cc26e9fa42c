//! Shares of a run in device memory, found by the words that stand for them.

use core::iter;
use std::{
    rc::Rc,
    sync::{Arc, Weak},
};

use backend_api::ops::{fss::FssOps, tensor::TensorOps};
use pfss::{DeviceShares, Party, PfssError, Ring};
use zeroize::Zeroizing;

use super::{Local, Place, Run, Stored, Words, of_another_run};
use crate::InferenceError;

/// One party's shares of a run in device memory.
///
/// Shares are dropped, and their memory is wiped, when no words stand for them any more.
pub(crate) struct DeviceWords<'q, Q: FssOps> {
    q: &'q Q,
    party: Party,
    /// The ring of words that come from the host.
    ring: Ring,
    run: Arc<Run>,
    live: Vec<(Weak<Place>, Rc<DeviceShares<'q, Q>>)>,
}

impl<'q, Q: FssOps + TensorOps> DeviceWords<'q, Q> {
    /// The device memory of a new run, or `None` if `q` reads the memory of the host.
    pub(crate) fn new(q: &'q Q, party: Party, ring: Ring) -> Option<Self> {
        q.host_view::<u64>(&[]).is_none().then(|| Self { q, party, ring, run: Arc::default(), live: Vec::new() })
    }

    /// Words of the host, copied to the device when a step needs them.
    pub(crate) fn given(&self, words: Vec<u64>) -> Words {
        self.run.source(Local::Given(Arc::new(words.into())))
    }

    /// `len` zeros, written when a step needs them.
    pub(crate) fn zeros(&self, len: usize) -> Words {
        self.run.source(Local::Zeros(len))
    }

    /// Words that stand for these shares.
    pub(crate) fn insert(&mut self, shares: DeviceShares<'q, Q>) -> Words {
        let place = Arc::new(Place::filled(&self.run, shares.len()));
        self.keep(&place, Rc::new(shares));
        Words(Stored::Placed(place))
    }

    /// Runs the recorded steps whose results are still needed, and drops shares that are not.
    ///
    /// A step that fails runs again in the next call.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for an operand of another run, and [`InferenceError::Pfss`].
    pub(crate) fn run_recorded(&mut self) -> Result<(), InferenceError> {
        let mut steps = self.run.take().into_iter();
        while let Some(step) = steps.next() {
            if let Some(place) = step.upgrade()
                && let Err(error) = self.get_placed(&place)
            {
                self.run.put_back(iter::once(step).chain(steps));
                return Err(error);
            }
        }
        self.drop_unused();
        Ok(())
    }

    /// The shares that `words` stand for.
    ///
    /// Recorded steps have run. Only words of the host and zeros are still to be written.
    ///
    /// # Errors
    /// [`InferenceError::LayerValue`] for words of another run or in host memory, and
    /// [`InferenceError::Pfss`].
    pub(crate) fn get(&mut self, words: &Words) -> Result<Rc<DeviceShares<'q, Q>>, InferenceError> {
        match &words.0 {
            Stored::Placed(place) => self.get_placed(place),
            Stored::Host(_) => Err(of_another_run("on this device")),
        }
    }

    /// The words in host memory, if they come from there and are not on the device.
    pub(crate) fn on_host(&self, words: &Words) -> Option<Arc<Zeroizing<Vec<u64>>>> {
        self.own(words)?.on_host()
    }

    /// The place of words of this run.
    fn own<'w>(&self, words: &'w Words) -> Option<&'w Arc<Place>> {
        match &words.0 {
            Stored::Placed(place) => Some(place).filter(|place| Arc::ptr_eq(place.run(), &self.run)),
            Stored::Host(_) => None,
        }
    }

    /// The shares of a place, if they are on the device.
    fn find(&mut self, place: &Arc<Place>) -> Option<&mut Rc<DeviceShares<'q, Q>>> {
        let mut live = self.live.iter_mut();
        live.find(|(of, _)| core::ptr::eq(of.as_ptr(), Arc::as_ptr(place))).map(|(_, shares)| shares)
    }

    /// The shares of a place, from its step if that has not run.
    fn get_placed(&mut self, place: &Arc<Place>) -> Result<Rc<DeviceShares<'q, Q>>, InferenceError> {
        let refused = || of_another_run("on this device");
        if !Arc::ptr_eq(place.run(), &self.run) {
            return Err(refused());
        }
        if let Some(shares) = self.find(place) {
            return Ok(Rc::clone(shares));
        }
        let local = place.take().ok_or_else(refused)?;
        match self.run(&local) {
            Ok(shares) => {
                drop(local); // and with it operands that nothing else needs
                self.keep(place, Rc::clone(&shares));
                Ok(shares)
            }
            Err(error) => {
                place.put_back(local);
                Err(error)
            }
        }
    }

    /// Adds shares, and drops those that no words stand for.
    fn keep(&mut self, place: &Arc<Place>, shares: Rc<DeviceShares<'q, Q>>) {
        self.drop_unused();
        self.live.push((Arc::downgrade(place), shares));
    }

    /// Drops the shares that no words stand for.
    fn drop_unused(&mut self) {
        self.live.retain(|(place, _)| place.strong_count() > 0);
    }

    /// Changes an operand in place if no other words stand for it, or writes other shares.
    ///
    /// After an error the operand is unchanged.
    fn changed(
        &mut self,
        x: &Words,
        in_place: impl FnOnce(&mut DeviceShares<'q, Q>) -> Result<(), PfssError>,
        elsewhere: impl FnOnce(&DeviceShares<'q, Q>) -> Result<DeviceShares<'q, Q>, PfssError>,
    ) -> Result<Rc<DeviceShares<'q, Q>>, InferenceError> {
        let shares = self.get(x)?;
        let Some(place) = x.unshared() else { return Ok(Rc::new(elsewhere(&shares)?)) };
        drop(shares);
        let shares = self.find(place).ok_or_else(|| of_another_run("on this device"))?;
        match Rc::get_mut(shares) {
            Some(shares) => in_place(shares)?,
            None => return Ok(Rc::new(elsewhere(shares)?)),
        }
        Ok(Rc::clone(shares))
    }

    /// `alpha x + beta y` in the narrower of their rings, for rows `y`.
    fn linear(
        &mut self,
        x: &Words,
        factors: [u64; 2],
        y: Option<&Words>,
    ) -> Result<Rc<DeviceShares<'q, Q>>, InferenceError> {
        // A share of the other party's words, which are never in a narrower ring, changes nothing.
        if factors[0] == 1 && y.and_then(|y| self.own(y)).is_some_and(|y| y.is_zeros()) {
            return self.get(x);
        }
        let ring = self.get(x)?.ring();
        let y = y.map(|y| self.get(y)).transpose()?;
        let (ring, y) = (y.as_ref().map_or(ring, |y| narrower(ring, y.ring())), y.as_deref());
        self.changed(x, |x| x.linear_in_place(ring, factors, y), |x| x.linear_in(ring, factors, y))
    }

    /// Runs a local step in device memory.
    ///
    /// Its operands are unchanged after an error, so that it can run again.
    fn run(&mut self, local: &Local) -> Result<Rc<DeviceShares<'q, Q>>, InferenceError> {
        let (q, party, ring) = (self.q, self.party, self.ring);
        Ok(Rc::new(match local {
            // Words that come from the host.
            Local::Given(words) => DeviceShares::upload(q, party, ring, words)?,
            Local::Zeros(len) => DeviceShares::zeros(q, party, ring, *len)?,
            // Sums.
            Local::Sum([x, y]) => {
                // in the place of either operand
                let [x, y] = if x.unshared().is_some() { [x, y] } else { [y, x] };
                return self.linear(x, [1, 1], Some(y));
            }
            // in the place of either operand
            Local::Difference([x, y]) if x.unshared().is_none() && y.unshared().is_some() && x.len() == y.len() => {
                return self.linear(y, [u64::MAX, 1], Some(x));
            }
            Local::Difference([x, y]) => return self.linear(x, [1, u64::MAX], Some(y)),
            Local::RowSums(x, width) => self.get(x)?.row_sums(*width)?,
            Local::WithRow(x, row) => return self.linear(x, [1, 1], Some(row)),
            Local::WithConstants(x, constants) => {
                // The last row may be a part of the constants.
                if x.len().is_multiple_of(constants.len()) {
                    return self.changed(
                        x,
                        |x| x.add_public_rows_in_place(constants),
                        |x| x.add_public_rows(constants),
                    );
                }
                let constants: Vec<u64> = constants.iter().copied().cycle().take(x.len()).collect();
                self.get(x)?.add_public(&constants)?
            }
            Local::Scaled(x, factor) => return self.linear(x, [*factor, 0], None),
            // Words at other places.
            Local::Repeated(x, times) => self.get(x)?.repeated(*times)?,
            Local::Tiled(row, times) => {
                let row = self.get(row)?;
                let mut tiled = DeviceShares::zeros(q, party, row.ring(), row.len() * times)?;
                tiled.linear_in_place(row.ring(), [1, 1], Some(&row))?;
                tiled
            }
            Local::Joined([x, y]) => {
                let [x, y] = [self.get(x)?, self.get(y)?];
                let ring = narrower(x.ring(), y.ring());
                DeviceShares::concat(&[&*in_ring(x, ring)?, &*in_ring(y, ring)?])?
            }
            Local::Slice(x, range) => self.get(x)?.slice(range.clone())?,
            Local::Permuted(x, [shape, order]) => self.get(x)?.permuted(shape, order)?,
            Local::Gathered(x, places) => self.get(x)?.gathered(places)?,
        }))
    }
}

/// The ring of fewer bits.
fn narrower(x: Ring, y: Ring) -> Ring {
    if x.bits() < y.bits() { x } else { y }
}

/// The same shares in a ring of no more bits.
fn in_ring<'q, Q: FssOps + TensorOps>(
    shares: Rc<DeviceShares<'q, Q>>,
    ring: Ring,
) -> Result<Rc<DeviceShares<'q, Q>>, InferenceError> {
    if shares.ring() == ring { Ok(shares) } else { Ok(Rc::new(shares.in_ring(ring)?)) }
}

#[cfg(test)]
mod tests {
    use backend_api::Queue as _;
    use runtime::{AnyQueue, Choice, Domain, Settings};

    use super::*;
    use crate::fixed_point::RING;

    fn queue(choice: Choice) -> AnyQueue {
        runtime::open_with(&Settings::default(), Some(Domain::Pfss), Some(choice)).unwrap().0
    }

    /// Every local step, on words of 12 elements and a row of 4.
    fn steps(x: &Words, row: &Words) -> Vec<Words> {
        let permuted = x.permuted([2, 3, 2], [2, 0, 1]);
        let places = [Some(3), None, Some(0), Some(0), Some(1)];
        vec![
            x.add(&permuted),
            x.sub(&permuted),
            x.row_sums(3),
            x.repeated(3),
            row.tiled(5),
            x.slice(3..9),
            x.followed_by(row),
            x.gathered(4, 5, places.into_iter()),
            x.slices(12, 3..9),
            x.slices(4, 1..3),
            x.slices(1, 0..1),
            x.clone().with_row(row, RING),
            x.clone().with_constants(&[7]),
            x.clone().with_constants(&[1 << 63, 5]),
            x.slice(0..5).with_constants(&[3, 9]),
            x.clone().scaled(u64::MAX - 2),
            x.clone().scaled(1),
            x.add(x).sub(&row.tiled(3)).row_sums(12).repeated(2),
        ]
    }

    #[test]
    fn words_that_share_their_memory_are_not_changed_by_steps_in_place() {
        let q = queue(Choice::Sim);
        let mut device = DeviceWords::new(&q, Party::Zero, RING).unwrap();
        let (a, b) = (vec![1u64, 2, 3, 4], vec![10u64, 20, 30, 40]);
        // Sums with zeros stand for the memory of `x`.
        let (x, z, y) = (device.given(a.clone()), device.zeros(4), device.given(b.clone()));
        let s = x.clone().with_row(&z, RING);
        let s2 = x.add(&device.zeros(4));
        let s3 = x.sub(&device.zeros(4));
        let e = s.sub(&s2);
        let f = s3.clone().scaled(3);
        let g = s2.clone().with_constants(&[5, 6]);
        drop((s2, s3));
        device.run_recorded().unwrap();
        let h = y.sub(&f);
        let i = x.add(&g);
        drop(g);
        device.run_recorded().unwrap();
        let get = |device: &mut DeviceWords<'_, AnyQueue>, w: &Words| device.get(w).unwrap().download().unwrap();
        assert_eq!(get(&mut device, &x), a);
        assert_eq!(get(&mut device, &s), a);
        assert_eq!(get(&mut device, &e), [0; 4]);
        assert_eq!(get(&mut device, &f), [3, 6, 9, 12]);
        assert_eq!(get(&mut device, &h), [7, 14, 21, 28]);
        assert_eq!(get(&mut device, &i), [7, 10, 11, 14]);
        assert_eq!(get(&mut device, &y), b);
        // One of two that share memory is dropped, and the other changed in place.
        drop((x, s, e, f, h, i));
        let x = device.given(a.clone());
        let s = x.add(&device.zeros(4));
        drop(x);
        let t = s.scaled(2);
        let u = y.sub(&t);
        let v = t.sub(&u);
        drop((t, u));
        device.run_recorded().unwrap();
        assert_eq!(get(&mut device, &v), [-6, -12, -18, -24].map(i64::cast_unsigned));
        assert_eq!(get(&mut device, &y), b);
    }

    #[test]
    fn local_steps_on_a_device_are_those_on_the_host() {
        let q = queue(Choice::Sim);
        let given: Vec<u64> = (0..16u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let (x, row) = given.split_at(12);
        let on_host = steps(&x.to_vec().into(), &row.to_vec().into());
        let mut device = DeviceWords::new(&q, Party::Zero, RING).unwrap();
        let [x, row] = [x, row].map(|words| device.given(words.to_vec()));
        let placed = steps(&x, &row);
        device.run_recorded().unwrap();
        assert!(device.run.take().is_empty());
        assert_eq!(placed.len(), on_host.len());
        for (index, (placed, expected)) in placed.iter().zip(&on_host).enumerate() {
            assert_eq!(placed.len(), expected.len(), "step {index}");
            // a second time the result is there
            for _ in 0..2 {
                let got = device.get(placed).unwrap().download().unwrap();
                assert_eq!(got, expected.on_host().unwrap(), "step {index}");
            }
            assert!(placed.on_host().is_err());
        }
        // Unused results are dropped, as are the operands of their steps.
        let zeros = device.zeros(3);
        assert_eq!(device.get(&zeros).unwrap().download().unwrap(), [0; 3]);
        drop((placed, zeros));
        device.drop_unused();
        assert_eq!(device.live.len(), 2);
        drop((x, row));
        device.drop_unused();
        assert_eq!((device.live.len(), q.budget().live_bytes()), (0, 0));
    }

    #[test]
    fn operands_in_two_rings_meet_in_the_narrower() {
        let (q, ring) = (queue(Choice::Sim), Ring::new(9).unwrap());
        let mut device = DeviceWords::new(&q, Party::One, RING).unwrap();
        let narrow = DeviceShares::upload(&q, Party::One, ring, &[500, 1]).unwrap();
        let (narrow, wide) = (device.insert(narrow), device.given(vec![20, 1 << 40]));
        for (sum, expected) in [(wide.add(&narrow), [8, 1]), (narrow.sub(&wide), [480, 1])] {
            let sum = device.get(&sum).unwrap();
            assert_eq!((sum.ring(), sum.download().unwrap()), (ring, expected.to_vec()));
        }
        let refused = in_ring(device.get(&narrow).unwrap(), RING).unwrap_err();
        assert!(matches!(refused, InferenceError::Pfss(PfssError::WiderRing { most: 9, got: 64 })), "{refused}");
    }

    #[test]
    fn words_of_another_run_and_of_the_host_are_refused() {
        let q = queue(Choice::Sim);
        let [mut first, mut second] = [0, 1].map(|_| DeviceWords::new(&q, Party::Zero, RING).unwrap());
        let (words, own) = (first.given(vec![1, 2]), second.given(vec![3, 4]));
        first.get(&words).unwrap();
        let expected = "value: expected a value of the same run, on this device, got a value of another run";
        let host = Words::from(vec![1, 2]);
        for refused in [&words, &words.clone().scaled(2), &host] {
            assert_eq!(second.get(refused).unwrap_err().to_string(), expected);
        }
        // An operand of a step, recorded in either run.
        for sum in [own.add(&words), own.add(&host), own.clone().with_row(&host, RING), host.with_row(&own, RING)] {
            assert_eq!(second.run_recorded().unwrap_err().to_string(), expected);
            assert_eq!(second.get(&sum).unwrap_err().to_string(), expected);
        }
        assert_eq!(second.get(&words.add(&own)).unwrap_err().to_string(), expected);
        first.run_recorded().unwrap();
        let refused = words.on_host().unwrap_err().to_string();
        assert_eq!(
            refused,
            "value: expected a value of the same run, words in host memory, got a value of another run"
        );
        assert!(DeviceWords::new(&queue(Choice::Cpu), Party::Zero, RING).is_none());
    }

    /// A step that ran its operands by recursion, or dropped them so, would overflow this stack.
    fn on_a_small_stack(test: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(512 << 10).spawn_scoped(scope, test).unwrap();
            thread.join().unwrap();
        });
    }

    #[test]
    fn ten_thousand_sums_in_a_row_run_and_are_dropped() {
        let q = queue(Choice::Sim);
        on_a_small_stack(|| {
            let mut device = DeviceWords::new(&q, Party::One, RING).unwrap();
            let x = device.given(vec![3, 1 << 60]);
            let sums = || (0..10_000).fold(x.clone(), |sum, _| sum.add(&x));
            let sum = sums();
            device.run_recorded().unwrap();
            let expected = [30_003, (1u64 << 60).wrapping_mul(10_001)];
            assert_eq!(device.get(&sum).unwrap().download().unwrap(), expected);
            assert_eq!(device.live.len(), 2, "operands of the last sum are dropped");
            // Sums that no call needs.
            drop(sums());
            device.run_recorded().unwrap();
            assert_eq!(device.live.len(), 2);
            // Sums that outlive their engine.
            let unused = sums();
            drop(device);
            drop((sum, unused));
        });
    }

    #[test]
    fn a_step_that_fails_for_lack_of_memory_runs_again() {
        const LEN: usize = 1 << 12;
        let settings = Settings { mem_limit_bytes: Some(6 * 8 * LEN as u64), ..Settings::default() };
        let q = runtime::open_with(&settings, Some(Domain::Pfss), Some(Choice::Sim)).unwrap().0;
        let mut device = DeviceWords::new(&q, Party::Zero, RING).unwrap();
        let x = device.given(vec![5; LEN]);
        let (doubled, sum) = (x.clone().scaled(2), x.clone().scaled(2).add(&x));
        let last = sum.sub(&doubled);
        // At first there is no room for `x`, and then for one more result at a time.
        for (live, room) in [0, 1, 1, 1].into_iter().enumerate() {
            let held = (6 - room - device.live.len()) * LEN;
            let held = DeviceShares::zeros(&q, Party::Zero, RING, held).unwrap();
            let refused = device.run_recorded().unwrap_err();
            assert!(matches!(refused, InferenceError::Pfss(PfssError::Backend(_))), "{live}: {refused}");
            assert_eq!(device.live.len(), live);
            drop(held);
        }
        device.run_recorded().unwrap();
        assert_eq!(device.get(&last).unwrap().download().unwrap(), [5; LEN]);
    }
}
