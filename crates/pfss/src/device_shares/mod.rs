//! Shares that stay in device memory between gates.
//!
//! A layer's biases and residuals are sums in a ring, which one op computes. The host gets a share
//! of each input, bit and word to be opened, which it masks and sends: it has the keys, and packs
//! its messages. The words of the result stay:
//!
//! 1. The share of the input is copied back, and sent under the share of `r`.
//! 2. The opened `x_hat` is copied in with the key trees. Shares of the comparisons' bits are
//!    copied back, and sent under the dealer's masks. For a `lut` these are the sums over the
//!    table, copied back in parts.
//! 3. The opened bits are copied in with the words of the keys, up to 8 MiB of words at a time.
//!    The sums of the result stay.
//!
//! Keys, messages, transcript and results are the same as with shares in host memory, bit for bit:
//! each party chooses the form for itself. A gate runs the same steps in both forms, and only the
//! place of its last sums differs. A queue that reads the host's memory gets no copy of keys.
//!
//! So a round takes one copy each way, and more for parts. A caller without a
//! session masks on the device instead.
//!
//! Memory that holds shares or keys is wiped when it is dropped. Masked inputs on a device take the
//! place of the masks, and are sent: they are not wiped. Neither are zeros and public words.
//!
//! `linear.rs` has the op of sums, `arithmetic.rs` sums of shares and the masking, `public.rs` public
//! words, `rows.rs` sums over rows, `arrange.rs` copies to other places, `run.rs` the methods of a
//! session, `foreign.rs` memory of the caller.

pub(crate) mod arithmetic;
pub(crate) mod arrange;
mod foreign;
pub(crate) mod linear;
mod public;
mod rows;
pub(crate) mod run;

pub use foreign::{PendingOnDevice, StepOnDevice};

use core::fmt;

use backend_api::{BufferRef as _, Ref, ops::fss::FssOps};
use core_types::Ring;

use crate::{Party, PfssError, secret::staging::StagedSecret};

/// One party's additive shares in device memory, or in host memory for a processor's queue.
///
/// They are the inputs and results of gates that a [`Session`](crate::Session) runs by
/// [`run_on_device`](crate::Session::run_on_device) and its siblings, with [sums](Self::add) of
/// shares between them. Both parties need not use them: the messages of
/// [`Session::run`](crate::Session::run) are the same.
///
/// The memory is overwritten with zeros when the shares are dropped, but for masked inputs and
/// zeros. `Debug` shows public facts only.
///
/// ```
/// use pfss::{
///     Dealer, DeviceShares, Gate, KeyBundle, MemoryChannel, PfssError, Ring, Session, SignedRange, Task,
///     memory_pair,
/// };
///
/// // Both parties' shares of x = [-2, 3], and keys of a ReLU and of a shift by one bit.
/// let (q, ring) = (runtime::cpu()?, Ring::new(64).ok_or("a ring has 1 to 64 bits")?);
/// let x = [[7, 9], [(-2i64 as u64).wrapping_sub(7), 3u64.wrapping_sub(9)]];
/// let mut dealer = Dealer::from_os()?;
/// let [relu, server_relu] = dealer.deal(&q, &Gate::relu(64)?, 2)?;
/// let [shift, server_shift] = dealer.deal(&q, &Gate::gap_ars(64, 1)?, 2)?;
/// let cert = SignedRange::new(0, 100)?.gap_cert(64)?;
///
/// // floor((max(x, 0) + 10) / 2), with no share in host memory before the end
/// let layer = |channel: MemoryChannel, [relu, shift]: [KeyBundle; 2], x| -> Result<Vec<u64>, PfssError> {
///     let mut session = Session::new(channel);
///     let x = DeviceShares::upload(&q, session.party(), ring, x)?;
///     let positive = session.run_on_device(Task::Relu, relu, &x)?;
///     let biased = positive.add_public(&[10, 10])?;
///     session.run_on_device(Task::GapArs(cert), shift, &biased)?.download()
/// };
/// let (to_one, to_zero) = memory_pair(std::time::Duration::from_secs(10));
/// let [mine, theirs] = std::thread::scope(|scope| {
///     let server = scope.spawn(|| layer(to_zero, [server_relu, server_shift], &x[1]));
///     let mine = layer(to_one, [relu, shift], &x[0]);
///     [Ok(mine), server.join()].map(|result| result.map_err(|_| "the thread ends"))
/// });
/// let (mine, theirs) = (mine??, theirs??);
/// assert_eq!([0, 1].map(|i| mine[i].wrapping_add(theirs[i])), [5, 6]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DeviceShares<'q, Q: FssOps> {
    q: &'q Q,
    party: Party,
    ring: Ring,
    words: StagedSecret<'q, Q, u64>,
}

impl<'q, Q: FssOps> DeviceShares<'q, Q> {
    /// Copies the shares of `party`, words of `ring`, to the device memory of `q`.
    ///
    /// Bits above the ring are ignored.
    ///
    /// # Errors
    /// [`PfssError::Backend`].
    pub fn upload(q: &'q Q, party: Party, ring: Ring, shares: &[u64]) -> Result<Self, PfssError> {
        Ok(Self::new(q, party, ring, StagedSecret::upload(q, shares)?))
    }

    /// Shares that are in the device memory of `q` already.
    pub(crate) fn new(q: &'q Q, party: Party, ring: Ring, words: StagedSecret<'q, Q, u64>) -> Self {
        Self { q, party, ring, words }
    }

    /// Copies the shares to the host.
    ///
    /// The caller wipes the copy; no other host memory holds it.
    ///
    /// # Errors
    /// [`PfssError::Backend`].
    pub fn download(&self) -> Result<Vec<u64>, PfssError> {
        let mut shares = self.words.download()?;
        shares.iter_mut().for_each(|word| *word = self.ring.reduce(*word));
        Ok(shares)
    }

    /// The words in host memory, with bits above the ring. The caller wipes or masks them.
    pub(crate) fn to_host(&self) -> Result<Vec<u64>, PfssError> {
        Ok(self.words.download()?)
    }

    /// The queue of the device whose memory holds the shares.
    #[must_use]
    pub fn queue(&self) -> &'q Q {
        self.q
    }

    /// The party whose shares these are.
    #[must_use]
    pub fn party(&self) -> Party {
        self.party
    }

    /// The ring of the shares.
    #[must_use]
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Number of shares.
    #[must_use]
    pub fn len(&self) -> usize {
        self.view().len()
    }

    /// Whether the length is 0.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The words, as ops read them.
    pub(crate) fn view(&self) -> Ref<'_, Q, u64> {
        self.words.view()
    }

    /// Refuses shares of another party or ring, or on another device.
    pub(crate) fn check_alike(&self, other: &Self) -> Result<(), PfssError> {
        self.check_together(other)?;
        if other.ring != self.ring {
            return Err(PfssError::ShareRing { expected: self.ring.bits(), got: other.ring.bits() });
        }
        Ok(())
    }

    /// Refuses a ring of more bits than the shares'.
    pub(crate) fn check_ring_within(&self, ring: Ring) -> Result<(), PfssError> {
        let (most, got) = (self.ring.bits(), ring.bits());
        if got <= most { Ok(()) } else { Err(PfssError::WiderRing { most, got }) }
    }

    /// Refuses shares of another party, or on another device.
    pub(crate) fn check_together(&self, other: &Self) -> Result<(), PfssError> {
        if other.party != self.party {
            return Err(PfssError::WrongParty { expected: self.party, got: other.party });
        }
        // Each open device has one budget.
        if !core::ptr::eq(self.q.budget(), other.q.budget()) {
            return Err(PfssError::OtherDevice);
        }
        Ok(())
    }
}

impl<Q: FssOps> fmt::Debug for DeviceShares<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("DeviceShares");
        out.field("party", &self.party).field("ring", &self.ring).field("len", &self.len());
        out.finish_non_exhaustive()
    }
}
