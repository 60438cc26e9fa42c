//! The twiddles that one rank needs.

use core::{fmt, ops::Range};

use backend_api::{Buffer, BufferRef, Ref, ops::circle::CircleOps};
use core_types::field::Twiddle;

use crate::{FftError, Shard, TwiddleTree};

/// Twiddles, and their inverses, of the layers that a rank runs on its own positions.
///
/// They cover a domain and every smaller one, with `1/G` of the twiddles of a [`TwiddleTree`] for
/// each of `G` ranks.
pub struct ShardTwiddles<Q: CircleOps> {
    shard: Shard,
    forward: Q::Buf<Twiddle>,
    inverse: Q::Buf<Twiddle>,
}

impl<Q: CircleOps> ShardTwiddles<Q> {
    /// Computes the twiddles of a rank. Meanwhile all ranks' twiddles are in memory.
    ///
    /// # Errors
    /// [`FftError::Backend`] if memory is short or the device failed.
    pub fn new(q: &Q, shard: Shard) -> Result<Self, FftError> {
        let tree = TwiddleTree::new(q, shard.domain())?;
        let [forward, inverse] = [tree.forward(shard.domain())?, tree.inverse(shard.domain())?];
        Ok(Self { shard, forward: own(q, &shard, forward)?, inverse: own(q, &shard, inverse)? })
    }

    /// The shard with the biggest domain that the twiddles serve.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.shard
    }

    /// The twiddles of a shard's layers.
    ///
    /// They have the order of a [`TwiddleTree`] of the shard's number of positions.
    pub(super) fn forward(&self, shard: &Shard) -> Result<Ref<'_, Q, Twiddle>, FftError> {
        Ok(self.forward.slice(self.tail(shard)?)?)
    }

    /// Their inverses.
    pub(super) fn inverse(&self, shard: &Shard) -> Result<Ref<'_, Q, Twiddle>, FftError> {
        Ok(self.inverse.slice(self.tail(shard)?)?)
    }

    /// The range of the twiddles that serve `shard`.
    ///
    /// The positions of a rank on a smaller domain have the twiddles of its positions on a bigger
    /// one, except for the bigger domain's lowest layers.
    fn tail(&self, shard: &Shard) -> Result<Range<usize>, FftError> {
        if (shard.rank(), shard.ranks()) != (self.shard.rank(), self.shard.ranks()) {
            return Err(FftError::Shard { expected: shard.to_string(), got: self.shard.to_string() });
        }
        if shard.domain() > self.shard.domain() {
            let [expected, got] = [shard, &self.shard].map(|shard| shard.domain().log_size());
            return Err(FftError::TwiddlesTooSmall { expected, got });
        }
        let end = self.shard.len() / 2;
        Ok(end - shard.len() / 2..end)
    }
}

/// The part of each layer that serves a rank's positions.
fn own<Q: CircleOps>(q: &Q, shard: &Shard, all: Ref<'_, Q, Twiddle>) -> Result<Q::Buf<Twiddle>, FftError> {
    let mut own = q.alloc::<Twiddle>(shard.len() / 2)?;
    // Layer `j` of `N` points has `N / 2^(j+2)` twiddles after the `N / 2 - N / 2^(j+1)` of the layers before.
    let first = |len: usize, layer: u32| len / 2 - (len >> (layer + 1));
    for layer in 0..shard.log_len() - 1 {
        let count = shard.len() >> (layer + 2);
        let from = first(shard.domain().len(), layer) + shard.rank() * count;
        let to = first(shard.len(), layer);
        q.copy(all.slice(from..from + count)?, own.slice_mut(to..to + count)?)?;
    }
    // The one that pads.
    q.copy(all.slice(all.len() - 1..all.len())?, own.slice_mut(shard.len() / 2 - 1..shard.len() / 2)?)?;
    Ok(own)
}

impl<Q: CircleOps> fmt::Debug for ShardTwiddles<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardTwiddles").field("shard", &self.shard).finish_non_exhaustive()
    }
}
