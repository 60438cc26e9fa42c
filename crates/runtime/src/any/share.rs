use backend_api::{BackendError, ops::share::ShareOps};
use core_types::params::share::{BitParams, BitTerm, WordParams, WordTerm};

use super::{AnyMut, AnyQueue, AnyRef, dispatch};

impl ShareOps for AnyQueue {
    fn combine_bits(
        &self,
        params: &BitParams,
        terms: &[BitTerm],
        x: AnyRef<'_, u64>,
        rows: AnyRef<'_, u32>,
        sums: AnyMut<'_, u32>,
    ) -> Result<(), BackendError> {
        dispatch!(self.combine_bits(params, terms; x: AnyRef, rows: AnyRef, sums: AnyMut))
    }

    fn combine_words(
        &self,
        params: &WordParams,
        terms: &[WordTerm],
        x: AnyRef<'_, u64>,
        padded: AnyRef<'_, u64>,
        rows: AnyRef<'_, u64>,
        opened: AnyRef<'_, u32>,
        sums: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.combine_words(params, terms; x: AnyRef, padded: AnyRef, rows: AnyRef, opened: AnyRef, sums: AnyMut))
    }
}
