//! The function-secret-sharing op set on the processor.

mod all;
mod batch;
mod cipher;
mod cmp;
mod dcf;
mod dealer;
mod seed;
mod tables;
mod walk;

use backend_api::{
    BackendError,
    ops::fss::{
        CmpAllShape, CmpEvalAll, CmpEvalWindow, CmpGen, CmpGenShape, CmpKeys, CmpShape, DcfEvalWindow, DcfGen,
        DcfGenShape, DcfKeys, DcfShape, ExpandSeed, GROUP, PackBits, PackShape, UnpackBits,
    },
};
use core_types::pack::{packed_word, unpacked_element};

use self::batch::{At, CmpAllBatch, CmpBatch, CmpSecrets, DcfBatch, DcfSecrets, DcfSections};
use crate::checked::FssOps;
use crate::{CpuQueue, columns::cut_columns, simd::dispatch_aes};

/// Keys per job, some 50 us of work at the cheapest shape.
///
/// It is a multiple of [`GROUP`].
const KEYS_PER_JOB: usize = 1024;

/// Words of a row in one job of a streaming op.
const WORDS_PER_JOB: usize = 1 << 14;

impl CpuQueue {
    /// Evaluates a batch whose views have the lengths of its shape.
    fn eval_cmp(&self, batch: &CmpBatch<'_>, shares: &mut [u32]) {
        let jobs = cut_columns(shares, batch.shape.row / GROUP, KEYS_PER_JOB / GROUP);
        self.for_jobs(jobs, |job, mut rows| {
            dispatch_aes(self.simd(), cmp::Eval { batch, first: job * KEYS_PER_JOB, rows: &mut rows });
        });
    }

    /// Evaluates a batch whose views have the lengths of its shape.
    fn eval_dcf(&self, batch: &DcfBatch<'_>, shares: &mut [u64]) {
        let jobs = cut_columns(shares, batch.shape.count, KEYS_PER_JOB);
        self.for_jobs(jobs, |job, mut rows| {
            dispatch_aes(self.simd(), dcf::Eval { batch, first: job * KEYS_PER_JOB, rows: &mut rows });
        });
    }
}

impl FssOps for CpuQueue {
    fn cmp_eval_window(&self, op: CmpEvalWindow<'_, Self>, shape: CmpShape) -> Result<(), BackendError> {
        let CmpEvalWindow { params, keys: CmpKeys { roots, corrections, leaves }, x_hat, offsets, shares } = op;
        let at = At { x_hat, offsets };
        self.eval_cmp(&CmpBatch { params, shape, roots, corrections, leaves, at }, shares);
        Ok(())
    }

    fn cmp_eval_all(&self, op: CmpEvalAll<'_, Self>, shape: CmpAllShape) -> Result<(), BackendError> {
        let CmpEvalAll { params, keys: CmpKeys { roots, corrections, leaves }, units } = op;
        let batch = CmpAllBatch { params, shape, roots, corrections, leaves };
        let jobs = cut_columns(units, shape.keys, KEYS_PER_JOB);
        self.for_jobs(jobs, |job, mut rows| {
            let first = shape.first + job * KEYS_PER_JOB;
            dispatch_aes(self.simd(), all::EvalAll { batch: &batch, first, rows: &mut rows });
        });
        Ok(())
    }

    fn cmp_gen(&self, op: CmpGen<'_, Self>, shape: CmpGenShape) -> Result<(), BackendError> {
        let CmpGen { params, alphas, roots, corrections, leaves } = op;
        let secrets = CmpSecrets { params, shape, alphas, roots };
        let corrections = cut_columns(corrections, shape.row, KEYS_PER_JOB);
        let jobs = corrections.into_iter().zip(cut_columns(leaves, shape.row, KEYS_PER_JOB)).collect();
        self.for_jobs(jobs, |job, (mut corrections, mut leaves)| {
            let (first, corrections, leaves) = (job * KEYS_PER_JOB, &mut corrections[..], &mut leaves[..]);
            dispatch_aes(self.simd(), cmp::Gen { secrets: &secrets, first, corrections, leaves });
        });
        Ok(())
    }

    fn dcf_eval_window(&self, op: DcfEvalWindow<'_, Self>, shape: DcfShape) -> Result<(), BackendError> {
        let DcfEvalWindow { params, keys: DcfKeys { roots, corrections, values, last }, x_hat, offsets, shares } = op;
        let at = At { x_hat, offsets };
        self.eval_dcf(&DcfBatch { params, shape, roots, corrections, values, last, at }, shares);
        Ok(())
    }

    fn dcf_gen(&self, op: DcfGen<'_, Self>, shape: DcfGenShape) -> Result<(), BackendError> {
        let DcfGen { params, alphas, betas, roots, corrections, values, last } = op;
        let secrets = DcfSecrets { params, shape, alphas, betas, roots };
        let corrections = cut_columns(corrections, shape.row, KEYS_PER_JOB);
        let values = cut_columns(values, shape.row, KEYS_PER_JOB);
        let last = cut_columns(last, shape.row, KEYS_PER_JOB);
        let jobs = corrections.into_iter().zip(values).zip(last);
        let jobs = jobs.map(|((corrections, values), last)| DcfSections { corrections, values, last }).collect();
        self.for_jobs(jobs, |job, mut sections| {
            let first = job * KEYS_PER_JOB;
            dispatch_aes(self.simd(), dcf::Gen { secrets: &secrets, first, sections: &mut sections });
        });
        Ok(())
    }

    fn expand_seed(&self, op: ExpandSeed<'_, Self>) -> Result<(), BackendError> {
        let ExpandSeed { params, words } = op;
        let jobs = cut_columns(words, 2 * params.blocks as usize, WORDS_PER_JOB);
        self.for_jobs(jobs, |job, mut rows| {
            dispatch_aes(self.simd(), seed::Expand { params, first: job * WORDS_PER_JOB / 2, rows: &mut rows });
        });
        Ok(())
    }

    fn pack_bits(&self, op: PackBits<'_, Self>, shape: PackShape) -> Result<(), BackendError> {
        let PackBits { params, elements, words } = op;
        let (width, count) = (shape.width, params.count);
        self.for_chunks(words, WORDS_PER_JOB, |job, words| {
            for (i, word) in words.iter_mut().enumerate() {
                let index = (job * WORDS_PER_JOB + i) as u32; // no more words than elements, which `u32` counts
                *word = packed_word(index, count, width, |element| elements[element as usize]);
            }
        });
        Ok(())
    }

    fn unpack_bits(&self, op: UnpackBits<'_, Self>, shape: PackShape) -> Result<(), BackendError> {
        let UnpackBits { words, elements, .. } = op;
        let width = shape.width;
        self.for_chunks(elements, WORDS_PER_JOB, |job, elements| {
            for (i, element) in elements.iter_mut().enumerate() {
                let index = (job * WORDS_PER_JOB + i) as u64;
                *element = unpacked_element(index, width, |word| words[word as usize]);
            }
        });
        Ok(())
    }
}
