//! Local arithmetic on shares. Terms are public and go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, BufferMut as _, BufferRef as _, Queue as _,
    ops::{
        fss::check_lengths,
        share::{BitShape, ShareOps, WordShape},
    },
};
use core_types::params::share::{BitParams, BitTerm, WordParams, WordTerm};

use crate::{
    CudaMut, CudaQueue, CudaRef,
    launch::share::{self, WordRows},
};

/// Refuses more terms than a kernel counts.
fn check_terms(op: &'static str, terms: usize) -> Result<(), BackendError> {
    match u32::try_from(terms) {
        Ok(_) => Ok(()),
        Err(_) => Err(BackendError::Unsupported { op, why: "there are less than 2^32 terms" }),
    }
}

impl ShareOps for CudaQueue {
    fn combine_bits(
        &self,
        params: &BitParams,
        terms: &[BitTerm],
        x: CudaRef<'_, u64>,
        rows: CudaRef<'_, u32>,
        sums: CudaMut<'_, u32>,
    ) -> Result<(), BackendError> {
        let shape = BitShape::new(params, terms, rows.len())?;
        check_lengths(shape.lengths(), [x.len(), sums.len()])?;
        check_terms("combine_bits", terms.len())?;
        let terms = self.upload(terms)?;
        share::combine_bits(self, params, terms.view(), x, rows, &sums)
    }

    fn combine_words(
        &self,
        params: &WordParams,
        terms: &[WordTerm],
        x: CudaRef<'_, u64>,
        padded: CudaRef<'_, u64>,
        rows: CudaRef<'_, u64>,
        opened: CudaRef<'_, u32>,
        sums: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        let shape = WordShape::new(params, terms)?;
        check_lengths(shape.lengths(), [x.len(), padded.len(), rows.len(), opened.len(), sums.len()])?;
        check_terms("combine_words", terms.len())?;
        let terms = self.upload(terms)?;
        share::combine_words(self, params, &shape, terms.view(), WordRows { x, padded, rows, opened }, &sums)
    }
}
