//! Local arithmetic on shares on the processor.

mod bits;
mod words;

use backend_api::{
    BackendError,
    ops::share::{BitShape, CombineBits, CombineWords, WordShape},
};

use self::{
    bits::BitSums,
    words::{WordSums, WordSumsSink},
};
use crate::checked::ShareOps;
use crate::{CpuQueue, fss::columns, simd::dispatch};

/// Elements that one job takes, a multiple of 32.
const ELEMENTS_PER_JOB: usize = 1 << 13;

impl ShareOps for CpuQueue {
    fn combine_bits(&self, op: CombineBits<'_, Self>, shape: BitShape) -> Result<(), BackendError> {
        let CombineBits { params, terms, x, rows, sums } = op;
        let (params, per_job) = (&params, ELEMENTS_PER_JOB / 32);
        self.for_jobs(columns(sums, shape.words, per_job), |job, mut sums| {
            let first = job * per_job;
            dispatch(self.simd(), BitSums { params, shape, terms, x, rows, first, sums: &mut sums });
        });
        Ok(())
    }

    fn combine_words(&self, op: CombineWords<'_, Self>, shape: WordShape) -> Result<(), BackendError> {
        let CombineWords { params, terms, x, padded, rows, opened, sums } = op;
        let of = WordSums { params, shape, terms, x, padded, rows, opened };
        if params.interleaved == 0 {
            self.for_jobs(columns(sums, shape.count, ELEMENTS_PER_JOB), |job, mut sums| {
                dispatch(self.simd(), of.part(job * ELEMENTS_PER_JOB, WordSumsSink::Rows(&mut sums)));
            });
        } else {
            self.for_chunks(sums, (ELEMENTS_PER_JOB * shape.sums).max(1), |job, sums| {
                dispatch(self.simd(), of.part(job * ELEMENTS_PER_JOB, WordSumsSink::Interleaved(sums)));
            });
        }
        Ok(())
    }
}
