use core_types::params::fss::DcfParams;

use super::{DcfKeys, DcfShape};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// One party's additive shares modulo 2^width of β·1\[y < α\] for the secrets α, β of each key and every point y.
    pub struct DcfEval<'a, Q> as "dcf_eval" {
        /// Party, widths and number of keys and points.
        params: plain &'a DcfParams,
        /// The keys of one party.
        keys: views DcfKeys<'a, Q>,
        /// `u64[m][count]`.
        points: read u64,
        /// `u64[m][L][count]`.
        shares: write u64,
    }
}

impl<Q: Queue> DcfEval<'_, Q> {
    /// The sizes that the parameters state; refuses what is no op.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<DcfShape, BackendError> {
        let shape = DcfShape::new(Self::NAME, self.params)?;
        self.expect(shape.eval_lengths())?;
        Ok(shape)
    }
}
