use core_types::params::fss::CmpParams;

use super::{CmpKeys, CmpShape};
use crate::{
    BackendError, Queue,
    ops::{Op, op},
};

op! {
    /// One party's XOR shares of 1\[α <= y\] for the secret α of each key and every point y.
    pub struct CmpEval<'a, Q> as "cmp_eval" {
        /// Party, widths and number of keys and points.
        params: plain &'a CmpParams,
        /// The keys of one party.
        keys: views CmpKeys<'a, Q>,
        /// `u64[m][count]`.
        points: read u64,
        /// `u32[m][P / 32]`.
        shares: write u32,
    }
}

impl<Q: Queue> CmpEval<'_, Q> {
    /// The sizes that the parameters state; refuses what is no op.
    ///
    /// # Errors
    /// See [`FssOps`](super::FssOps).
    pub fn check(&self) -> Result<CmpShape, BackendError> {
        let shape = CmpShape::new(Self::NAME, self.params)?;
        self.expect(shape.eval_lengths())?;
        Ok(shape)
    }
}
