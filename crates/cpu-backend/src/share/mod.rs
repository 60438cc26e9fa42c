//! Local arithmetic on shares on the processor.

mod bits;
#[cfg(test)]
mod tests;
mod words;

use backend_api::{
    BackendError,
    ops::{
        fss::check_lengths,
        share::{BitShape, ShareOps, WordShape},
    },
};
use core_types::params::share::{BitParams, BitTerm, WordParams, WordTerm};

use self::{
    bits::BitSums,
    words::{Sink, WordSums},
};
use crate::{CpuQueue, fss::columns, linalg::lanes::dispatch};

/// Elements that one job takes, a multiple of 32.
const ELEMENTS_PER_JOB: usize = 1 << 13;

impl ShareOps for CpuQueue {
    fn combine_bits(
        &self,
        params: &BitParams,
        terms: &[BitTerm],
        x: &[u64],
        rows: &[u32],
        sums: &mut [u32],
    ) -> Result<(), BackendError> {
        let shape = BitShape::new(params, terms, rows.len())?;
        check_lengths(shape.lengths(), [x.len(), sums.len()])?;
        let per_job = ELEMENTS_PER_JOB / 32;
        self.for_jobs(columns(sums, shape.words, per_job), |job, mut sums| {
            let first = job * per_job;
            dispatch(self.simd(), BitSums { params, shape, terms, x, rows, first, sums: &mut sums });
        });
        Ok(())
    }

    fn combine_words(
        &self,
        params: &WordParams,
        terms: &[WordTerm],
        x: &[u64],
        padded: &[u64],
        rows: &[u64],
        opened: &[u32],
        sums: &mut [u64],
    ) -> Result<(), BackendError> {
        let shape = WordShape::new(params, terms)?;
        check_lengths(shape.lengths(), [x.len(), padded.len(), rows.len(), opened.len(), sums.len()])?;
        let of = WordSums { params, shape, terms, x, padded, rows, opened };
        if params.interleaved == 0 {
            self.for_jobs(columns(sums, shape.count, ELEMENTS_PER_JOB), |job, mut sums| {
                dispatch(self.simd(), of.part(job * ELEMENTS_PER_JOB, Sink::Rows(&mut sums)));
            });
        } else {
            self.for_chunks(sums, (ELEMENTS_PER_JOB * shape.sums).max(1), |job, sums| {
                dispatch(self.simd(), of.part(job * ELEMENTS_PER_JOB, Sink::Interleaved(sums)));
            });
        }
        Ok(())
    }
}
