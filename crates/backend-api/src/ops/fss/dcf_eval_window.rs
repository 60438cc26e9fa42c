//! Comparison keys with payload at public offsets from one masked input.

use core_types::params::fss::DcfWindowParams;

use super::{DcfKeys, DcfShape};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// One party's additive shares modulo 2^width of β·1\[y_j < α\] for each key.
    ///
    /// α and β are the secrets of the key. The points y_j, and the promise on them, are as in
    /// [`CmpEvalWindow`](super::CmpEvalWindow).
    ///
    /// With b = ceil(L / 2), it takes (1 + b) (2 (bits - window) + m window) + b m AES blocks.
    pub struct DcfEvalWindow<'a, Q> as "dcf_eval_window" {
        /// Party, widths and number of keys and points.
        params: plain &'a DcfWindowParams,
        /// The keys of one party.
        keys: views DcfKeys<'a, Q>,
        /// `u64[count]`, public.
        x_hat: read u64,
        /// `u64[m]`, public.
        offsets: read u64,
        /// `u64[m][L][count]`.
        shares: write u64,
    }
}

impl<Q: Queue> DcfEvalWindow<'_, Q> {
    /// Checks parameters and views, and returns the sizes that the parameters state.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<DcfShape, BackendError> {
        let shape = DcfShape::new(Self::NAME, self.params)?;
        self.expect(shape.lengths())?;
        Ok(shape)
    }
}
