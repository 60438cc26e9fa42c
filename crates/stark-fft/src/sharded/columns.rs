//! A rank's part of columns.

use core::{fmt, marker::PhantomData};

use backend_api::{Buffer, Queue};
use core_types::field::M31;

use crate::{
    FftError, Group, HostColumns, Shard, Sharded,
    domain::column_count,
    shape::{ColumnSizes, check_sizes},
};

/// The part of one rank in columns of equal length that several ranks share.
///
/// Its parts of the columns follow each other.
pub struct ShardedColumns<Q: Queue, R> {
    pub(super) buf: Q::Buf<M31>,
    pub(super) shard: Shard,
    pub(super) count: u32,
    representation: PhantomData<R>,
}

impl<Q: Queue, R: Sharded> ShardedColumns<Q, R> {
    /// Copies the rank's part of whole columns to the device.
    ///
    /// # Errors
    /// [`FftError::Shape`] if the columns are on another domain than the shard's,
    /// [`FftError::SetShape`] if they are of several sizes, [`FftError::TooManyColumns`] beyond
    /// 2^32 - 1, [`FftError::Backend`] if memory is short.
    pub fn upload(q: &Q, shard: Shard, host: &HostColumns<R>) -> Result<Self, FftError> {
        let count = column_count(shard.domain(), host.count())?;
        check_sizes(ColumnSizes::One(Group::alone(shard.domain(), count)).groups(), host.shape().groups())?;
        let columns = host.as_slice().chunks(shard.domain().len());
        let part: Vec<M31> =
            columns.flat_map(|column| (0..shard.len()).map(|local| column[shard.place::<R>(local)])).collect();
        Ok(Self::labelled(shard, count, q.upload(&part)?))
    }

    /// The rank's part of columns that a buffer holds, one part after the other.
    ///
    /// # Errors
    /// [`FftError::PartialColumn`] if the parts are not whole, [`FftError::TooManyColumns`] beyond
    /// 2^32 - 1.
    pub fn from_buf(shard: Shard, buf: Q::Buf<M31>) -> Result<Self, FftError> {
        if !buf.len().is_multiple_of(shard.len()) {
            return Err(FftError::PartialColumn { column_len: shard.len(), got: buf.len() });
        }
        let count = column_count(shard.domain(), buf.len() / shard.len())?;
        Ok(Self::labelled(shard, count, buf))
    }

    /// Waits and copies the rank's part of all columns to the host.
    ///
    /// # Errors
    /// [`FftError::Backend`] if the device failed or computed a word outside the field.
    pub fn download(&self, q: &Q) -> Result<Vec<M31>, FftError> {
        Ok(q.download(&self.buf)?)
    }
}

impl<Q: Queue, R> ShardedColumns<Q, R> {
    /// Wraps a buffer whose length matches the shard and count.
    pub(super) fn labelled(shard: Shard, count: u32, buf: Q::Buf<M31>) -> Self {
        Self { buf, shard, count, representation: PhantomData }
    }

    /// The buffer that holds them.
    #[must_use]
    pub fn into_buf(self) -> Q::Buf<M31> {
        self.buf
    }

    /// Which part of each column it is.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.shard
    }

    /// Number of columns.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count as usize
    }
}

impl<Q: Queue, R> fmt::Debug for ShardedColumns<Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardedColumns").field("shard", &self.shard).field("count", &self.count).finish_non_exhaustive()
    }
}
