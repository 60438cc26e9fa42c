//! Local arithmetic on shares. Terms are public and go to the device with each call.

use backend_api::{
    BackendError, Buffer as _, Queue as _,
    ops::share::{BitShape, CombineBits, CombineWords, WordShape},
};

use crate::checked::ShareOps;
use crate::{CudaQueue, launch::share};

/// Refuses more terms than a kernel counts.
fn check_terms(op: &'static str, terms: usize) -> Result<(), BackendError> {
    match u32::try_from(terms) {
        Ok(_) => Ok(()),
        Err(_) => Err(BackendError::Unsupported { op, why: "expected fewer than 2^32 terms" }),
    }
}

impl ShareOps for CudaQueue {
    fn combine_bits(&self, op: CombineBits<'_, Self>, _: BitShape) -> Result<(), BackendError> {
        check_terms("combine_bits", op.terms.len())?;
        let terms = self.upload(op.terms)?;
        share::combine_bits(self, &op, terms.view())
    }

    fn combine_words(&self, op: CombineWords<'_, Self>, shape: WordShape) -> Result<(), BackendError> {
        check_terms("combine_words", op.terms.len())?;
        let terms = self.upload(op.terms)?;
        share::combine_words(self, &op, &shape, terms.view())
    }
}
