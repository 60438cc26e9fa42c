//! The memory of shares between the gates of a function: the host's, or a device's.
//!
//! A function of several gates is written once, over the steps of [`Memory`]. Messages, transcript,
//! spending of keys and words are the same in both.

use backend_api::ops::fss::FssOps;
use core_types::Ring;
use zeroize::Zeroizing;

use crate::{Channel, DeviceShares, KeyBundle, MaskedKeys, Party, Pending, PfssError, Session, Step, Task};

/// A memory of shares: the gates and sums of functions there.
///
/// Sums have operands of equal lengths. Operands of different rings meet in the narrower.
pub(crate) trait Memory {
    /// The queue that gates run on.
    type Queue: FssOps;
    /// One party's shares in one ring.
    type Shares;

    fn queue(&self) -> &Self::Queue;

    /// Number of shares.
    fn count(&self, x: &Self::Shares) -> usize;

    /// [`Session::run`] with keys of a ring of no more bits than the shares'.
    fn run<C: Channel>(
        &self,
        session: &mut Session<C>,
        task: Task<'_>,
        bundle: KeyBundle,
        x: &Self::Shares,
    ) -> Result<Self::Shares, PfssError>;

    /// [`run`](Self::run) that takes the shares, maybe in their place.
    fn run_in_place<C: Channel>(
        &self,
        session: &mut Session<C>,
        task: Task<'_>,
        bundle: KeyBundle,
        x: Self::Shares,
    ) -> Result<Self::Shares, PfssError> {
        self.run(session, task, bundle, &x)
    }

    /// [`Session::product`] with keys of a ring of no more bits than the shares'.
    fn product<C: Channel>(
        &self,
        session: &mut Session<C>,
        bundle: KeyBundle,
        factors: [&Self::Shares; 2],
    ) -> Result<Self::Shares, PfssError>;

    /// The shares `x` plus the shares of the masks of each of `keys`, which have one ring.
    fn add_masks(&self, keys: &[MaskedKeys], x: &Self::Shares) -> Result<Vec<Vec<u64>>, PfssError>;

    /// This party's words of a gate with one opening, in the gate's `ring` of results.
    ///
    /// `theirs` is the peer's part of the opening, bits and words.
    fn finish(
        &self,
        pending: Pending,
        party: Party,
        ring: Ring,
        theirs: (&[u32], &[u64]),
    ) -> Result<Self::Shares, PfssError>;

    /// Shares of `x + c` for a public `c`.
    fn add_constant(&self, party: Party, x: &Self::Shares, c: u64) -> Result<Self::Shares, PfssError>;

    /// Shares of `x + y`, in the place of `x`.
    fn add(&self, x: Self::Shares, y: &Self::Shares) -> Result<Self::Shares, PfssError>;

    /// Shares of `x - y`, in the place of `x`.
    fn sub(&self, x: Self::Shares, y: &Self::Shares) -> Result<Self::Shares, PfssError>;
}

/// Shares in host memory: words of 64 bits. A gate reads the bits of its ring.
pub(crate) struct HostMemory<'q, Q>(pub(crate) &'q Q);

/// Words in host memory that are wiped.
pub(crate) type Words = Zeroizing<Vec<u64>>;

impl<Q: FssOps> Memory for HostMemory<'_, Q> {
    type Queue = Q;
    type Shares = Words;

    fn queue(&self) -> &Q {
        self.0
    }

    fn count(&self, x: &Words) -> usize {
        x.len()
    }

    fn run<C: Channel>(
        &self,
        session: &mut Session<C>,
        task: Task<'_>,
        bundle: KeyBundle,
        x: &Words,
    ) -> Result<Words, PfssError> {
        Ok(Words::new(session.run(self.0, task, bundle, x)?.words))
    }

    fn product<C: Channel>(
        &self,
        session: &mut Session<C>,
        bundle: KeyBundle,
        [x, y]: [&Words; 2],
    ) -> Result<Words, PfssError> {
        Ok(Words::new(session.product(self.0, bundle, [x, y])?))
    }

    fn add_masks(&self, keys: &[MaskedKeys], x: &Words) -> Result<Vec<Vec<u64>>, PfssError> {
        Ok(keys.iter().map(|keys| keys.add_masks(x.to_vec())).collect())
    }

    fn finish(&self, pending: Pending, _: Party, _: Ring, (bits, words): (&[u32], &[u64])) -> Result<Words, PfssError> {
        match pending.finish_with(self.0, bits, words)? {
            Step::Done(shares) => Ok(Words::new(shares.words)),
            Step::Open(_) => Err(PfssError::Length { what: "rounds left", expected: 0, got: 1 }),
        }
    }

    fn add_constant(&self, party: Party, x: &Words, c: u64) -> Result<Words, PfssError> {
        let c = party.public(c);
        Ok(Words::new(x.iter().map(|x| x.wrapping_add(c)).collect()))
    }

    fn add(&self, mut x: Words, y: &Words) -> Result<Words, PfssError> {
        x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x = x.wrapping_add(*y));
        Ok(x)
    }

    fn sub(&self, mut x: Words, y: &Words) -> Result<Words, PfssError> {
        x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x = x.wrapping_sub(*y));
        Ok(x)
    }
}

/// Shares in the device memory of a queue.
pub(crate) struct DeviceMemory<'q, Q>(pub(crate) &'q Q);

impl<'q, Q: FssOps> Memory for DeviceMemory<'q, Q> {
    type Queue = Q;
    type Shares = DeviceShares<'q, Q>;

    fn queue(&self) -> &Q {
        self.0
    }

    fn count(&self, x: &Self::Shares) -> usize {
        x.len()
    }

    fn run<C: Channel>(
        &self,
        session: &mut Session<C>,
        task: Task<'_>,
        bundle: KeyBundle,
        x: &Self::Shares,
    ) -> Result<Self::Shares, PfssError> {
        session.run_on_device(task, bundle, x)
    }

    fn run_in_place<C: Channel>(
        &self,
        session: &mut Session<C>,
        task: Task<'_>,
        bundle: KeyBundle,
        x: Self::Shares,
    ) -> Result<Self::Shares, PfssError> {
        session.run_in_place_on_device(task, bundle, x)
    }

    fn product<C: Channel>(
        &self,
        session: &mut Session<C>,
        bundle: KeyBundle,
        factors: [&Self::Shares; 2],
    ) -> Result<Self::Shares, PfssError> {
        session.product_on_device(bundle, factors)
    }

    fn add_masks(&self, keys: &[MaskedKeys], x: &Self::Shares) -> Result<Vec<Vec<u64>>, PfssError> {
        let x = Words::new(x.to_host()?);
        Ok(keys.iter().map(|keys| keys.add_masks(x.to_vec())).collect())
    }

    fn finish(
        &self,
        pending: Pending,
        party: Party,
        ring: Ring,
        theirs: (&[u32], &[u64]),
    ) -> Result<Self::Shares, PfssError> {
        Ok(DeviceShares::new(self.0, party, ring, pending.finish_on_device(self.0, theirs, None)?))
    }

    fn add_constant(&self, _: Party, x: &Self::Shares, c: u64) -> Result<Self::Shares, PfssError> {
        x.add_constant(c)
    }

    fn add(&self, mut x: Self::Shares, y: &Self::Shares) -> Result<Self::Shares, PfssError> {
        x.linear_in_place(x.narrower_ring(y), [1, 1], Some(y))?;
        Ok(x)
    }

    fn sub(&self, mut x: Self::Shares, y: &Self::Shares) -> Result<Self::Shares, PfssError> {
        x.linear_in_place(x.narrower_ring(y), [1, u64::MAX], Some(y))?;
        Ok(x)
    }
}
