//! Local arithmetic on shares on the processor.

mod bits;
mod linear;
mod matmul;
mod table;
mod words;

use backend_api::{
    BackendError,
    ops::share::{BitShape, CombineBits, CombineWords, LinearWords, MatmulWords, TableSums, WordShape},
};

use self::{
    bits::BitSums,
    linear::LinearSums,
    matmul::MatrixFactors,
    table::{Entries, TableSumsOperands},
    words::{WordSums, WordSumsSink},
};
use crate::checked::ShareOps;
use crate::{CpuQueue, columns::cut_columns, simd::dispatch};

/// Elements that one job takes, a multiple of 32.
const ELEMENTS_PER_JOB: usize = 1 << 13;
/// Rows of matrices that one job takes: a panel of columns is copied once for them.
const ROWS_PER_JOB: usize = 64;
/// Columns of matrices that one job takes, a multiple of every tile's.
const COLUMNS_PER_JOB: usize = 128;
/// Points of the elements that one job takes.
const POINTS_PER_JOB: usize = 1 << 21;

impl ShareOps for CpuQueue {
    fn combine_bits(&self, op: CombineBits<'_, Self>, shape: BitShape) -> Result<(), BackendError> {
        let CombineBits { params, terms, x, rows, sums, .. } = op;
        let (params, per_job) = (&params, ELEMENTS_PER_JOB / 32);
        self.for_jobs(cut_columns(sums, shape.words, per_job), |job, mut sums| {
            let first = job * per_job;
            dispatch(self.simd(), BitSums { params, shape, terms, x, rows, first, sums: &mut sums });
        });
        Ok(())
    }

    fn combine_words(&self, op: CombineWords<'_, Self>, shape: WordShape) -> Result<(), BackendError> {
        let CombineWords { params, terms, x, padded, rows, opened, sums, .. } = op;
        let of = WordSums { params, shape, terms, x, padded, rows, opened };
        if params.interleaved == 0 {
            self.for_jobs(cut_columns(sums, shape.count, ELEMENTS_PER_JOB), |job, mut sums| {
                dispatch(self.simd(), of.part(job * ELEMENTS_PER_JOB, WordSumsSink::Rows(&mut sums)));
            });
        } else {
            self.for_chunks(sums, (ELEMENTS_PER_JOB * shape.sums).max(1), |job, sums| {
                dispatch(self.simd(), of.part(job * ELEMENTS_PER_JOB, WordSumsSink::Interleaved(sums)));
            });
        }
        Ok(())
    }

    fn linear_words(&self, op: LinearWords<'_, Self>) -> Result<(), BackendError> {
        let LinearWords { params, x, row, out } = op;
        self.for_chunks(out, ELEMENTS_PER_JOB, |job, out| {
            let first = job * ELEMENTS_PER_JOB;
            dispatch(self.simd(), LinearSums { params, x: x.map(|x| &x[first..]), row, first, out });
        });
        Ok(())
    }

    fn matmul_words(&self, op: MatmulWords<'_, Self>) -> Result<(), BackendError> {
        let MatmulWords { params, x, y, out } = op;
        if out.is_empty() {
            return Ok(());
        }
        let (of, cols) = (MatrixFactors::new(params, x, y), params.cols as usize);
        let bands = out.chunks_mut(ROWS_PER_JOB * cols);
        let jobs = bands.flat_map(|band| cut_columns(band, cols, COLUMNS_PER_JOB)).collect::<Vec<_>>();
        let jobs_per_band = cols.div_ceil(COLUMNS_PER_JOB);
        self.for_jobs(jobs, |job, mut out| {
            let (row, col) = (job / jobs_per_band * ROWS_PER_JOB, job % jobs_per_band * COLUMNS_PER_JOB);
            dispatch(self.simd(), of.part(row, col, &mut out));
        });
        Ok(())
    }

    fn table_sums(&self, op: TableSums<'_, Self>) -> Result<(), BackendError> {
        let TableSums { params, units, x, table, sums, ones } = op;
        if ones.is_empty() {
            return Ok(());
        }
        let _scratch = self.reserve_scratch::<u64>(1, Entries::total(params))?;
        let entries = Entries::new(params, table);
        let of = TableSumsOperands { params, units, x, entries: &entries };
        // A narrow table takes as long as one of 64 entries.
        let per_job = POINTS_PER_JOB >> params.bits.max(6);
        let rows = cut_columns(sums, params.count as usize, per_job);
        let jobs = rows.into_iter().zip(ones.chunks_mut(per_job)).collect::<Vec<_>>();
        self.for_jobs(jobs, |job, (mut sums, ones)| {
            dispatch(self.simd(), of.part(job * per_job, &mut sums, ones));
        });
        Ok(())
    }
}
