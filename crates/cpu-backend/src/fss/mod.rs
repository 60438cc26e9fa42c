//! The function-secret-sharing op set on the processor.

mod all;
mod batch;
mod cmp;
mod columns;
mod ctr;
mod dcf;
mod dealer;
mod lanes;
mod scalar;
#[cfg(test)]
mod tests;
mod walk;

use backend_api::{
    BackendError,
    ops::fss::{CmpAllShape, CmpShape, DcfShape, FssOps, GROUP, PackShape, check_lengths},
};
use core_types::{
    Label,
    pack::{packed_word, unpacked_element},
    params::fss::{AesCtrParams, CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams, PackParams},
};

pub(crate) use self::columns::columns;
use self::{
    batch::{Asked, CmpAllBatch, CmpBatch, CmpSecrets, DcfBatch, DcfSecrets, DcfSections},
    lanes::dispatch,
};
use crate::{AesPath, CpuQueue};

/// Keys that one job takes: some 50 us of work at the cheapest shape, and a multiple of [`GROUP`].
const KEYS_PER_JOB: usize = 1024;

/// Words that one job of the streaming ops takes.
const WORDS_PER_JOB: usize = 1 << 14;

impl CpuQueue {
    /// Evaluates a batch whose views have the lengths of its shape.
    fn eval_cmp(&self, path: AesPath, batch: &CmpBatch<'_>, shares: &mut [u32]) {
        let jobs = columns(shares, batch.shape.row / GROUP, KEYS_PER_JOB / GROUP);
        self.for_jobs(jobs, |job, mut rows| {
            dispatch(path, cmp::Eval { batch, first: job * KEYS_PER_JOB, rows: &mut rows });
        });
    }

    /// Evaluates a batch whose views have the lengths of its shape.
    fn eval_dcf(&self, path: AesPath, batch: &DcfBatch<'_>, shares: &mut [u64]) {
        let jobs = columns(shares, batch.shape.count, KEYS_PER_JOB);
        self.for_jobs(jobs, |job, mut rows| {
            dispatch(path, dcf::Eval { batch, first: job * KEYS_PER_JOB, rows: &mut rows });
        });
    }
}

impl FssOps for CpuQueue {
    fn cmp_eval(
        &self,
        params: &CmpParams,
        roots: &[Label],
        corrections: &[u128],
        leaves: &[u128],
        points: &[u64],
        shares: &mut [u32],
    ) -> Result<(), BackendError> {
        let path = self.aes("cmp_eval")?;
        let shape = CmpShape::new("cmp_eval", params)?;
        let got = [roots.len(), corrections.len(), leaves.len(), points.len(), shares.len()];
        check_lengths(shape.eval_lengths(), got)?;
        let asked = Asked::Points(points);
        let batch = CmpBatch { params, window: params.bits, shape, roots, corrections, leaves, asked };
        self.eval_cmp(path, &batch, shares);
        Ok(())
    }

    fn cmp_eval_window(
        &self,
        params: &CmpWindowParams,
        roots: &[Label],
        corrections: &[u128],
        leaves: &[u128],
        x_hat: &[u64],
        offsets: &[u64],
        shares: &mut [u32],
    ) -> Result<(), BackendError> {
        let path = self.aes("cmp_eval_window")?;
        let shape = CmpShape::within("cmp_eval_window", params)?;
        let got = [roots.len(), corrections.len(), leaves.len(), x_hat.len(), offsets.len(), shares.len()];
        check_lengths(shape.window_lengths(), got)?;
        let (asked, window, params) = (Asked::Behind { x_hat, offsets }, params.window, &params.anywhere());
        self.eval_cmp(path, &CmpBatch { params, window, shape, roots, corrections, leaves, asked }, shares);
        Ok(())
    }

    fn cmp_eval_all(
        &self,
        params: &CmpAllParams,
        roots: &[Label],
        corrections: &[u128],
        leaves: &[u128],
        units: &mut [u128],
    ) -> Result<(), BackendError> {
        let path = self.aes("cmp_eval_all")?;
        let shape = CmpAllShape::new("cmp_eval_all", params)?;
        check_lengths(shape.eval_lengths(), [roots.len(), corrections.len(), leaves.len(), units.len()])?;
        let batch = CmpAllBatch { params, shape, roots, corrections, leaves };
        let jobs = columns(units, shape.keys, KEYS_PER_JOB);
        self.for_jobs(jobs, |job, mut rows| {
            let first = shape.first + job * KEYS_PER_JOB;
            dispatch(path, all::EvalAll { batch: &batch, first, rows: &mut rows });
        });
        Ok(())
    }

    fn cmp_gen(
        &self,
        params: &CmpParams,
        alphas: &[u64],
        roots: &[Label],
        corrections: &mut [u128],
        leaves: &mut [u128],
    ) -> Result<(), BackendError> {
        let path = self.aes("cmp_gen")?;
        let shape = CmpShape::new("cmp_gen", params)?;
        check_lengths(shape.gen_lengths(), [alphas.len(), roots.len(), corrections.len(), leaves.len()])?;
        let secrets = CmpSecrets { params, shape, alphas, roots };
        let corrections = columns(corrections, shape.row, KEYS_PER_JOB);
        let jobs = corrections.into_iter().zip(columns(leaves, shape.row, KEYS_PER_JOB)).collect();
        self.for_jobs(jobs, |job, (mut corrections, mut leaves)| {
            let (first, corrections, leaves) = (job * KEYS_PER_JOB, &mut corrections[..], &mut leaves[..]);
            dispatch(path, cmp::Gen { secrets: &secrets, first, corrections, leaves });
        });
        Ok(())
    }

    fn dcf_eval(
        &self,
        params: &DcfParams,
        roots: &[Label],
        corrections: &[u128],
        values: &[u64],
        last: &[u64],
        points: &[u64],
        shares: &mut [u64],
    ) -> Result<(), BackendError> {
        let path = self.aes("dcf_eval")?;
        let shape = DcfShape::new("dcf_eval", params)?;
        let got = [roots.len(), corrections.len(), values.len(), last.len(), points.len(), shares.len()];
        check_lengths(shape.eval_lengths(), got)?;
        let asked = Asked::Points(points);
        let batch = DcfBatch { params, window: params.bits, shape, roots, corrections, values, last, asked };
        self.eval_dcf(path, &batch, shares);
        Ok(())
    }

    fn dcf_eval_window(
        &self,
        params: &DcfWindowParams,
        roots: &[Label],
        corrections: &[u128],
        values: &[u64],
        last: &[u64],
        x_hat: &[u64],
        offsets: &[u64],
        shares: &mut [u64],
    ) -> Result<(), BackendError> {
        let path = self.aes("dcf_eval_window")?;
        let shape = DcfShape::within("dcf_eval_window", params)?;
        let sections = [roots.len(), corrections.len(), values.len(), last.len()];
        let [expected @ .., inputs, points, made] = shape.window_lengths();
        check_lengths(expected, sections)?;
        check_lengths([inputs, points, made], [x_hat.len(), offsets.len(), shares.len()])?;
        let (asked, window, params) = (Asked::Behind { x_hat, offsets }, params.window, &params.anywhere());
        self.eval_dcf(path, &DcfBatch { params, window, shape, roots, corrections, values, last, asked }, shares);
        Ok(())
    }

    fn dcf_gen(
        &self,
        params: &DcfParams,
        alphas: &[u64],
        betas: &[u64],
        roots: &[Label],
        corrections: &mut [u128],
        values: &mut [u64],
        last: &mut [u64],
    ) -> Result<(), BackendError> {
        let path = self.aes("dcf_gen")?;
        let shape = DcfShape::new("dcf_gen", params)?;
        let got = [alphas.len(), betas.len(), roots.len(), corrections.len(), values.len(), last.len()];
        check_lengths(shape.gen_lengths(), got)?;
        let secrets = DcfSecrets { params, shape, alphas, betas, roots };
        let corrections = columns(corrections, shape.row, KEYS_PER_JOB);
        let values = columns(values, shape.row, KEYS_PER_JOB);
        let last = columns(last, shape.row, KEYS_PER_JOB);
        let jobs = corrections.into_iter().zip(values).zip(last);
        let jobs = jobs.map(|((corrections, values), last)| DcfSections { corrections, values, last }).collect();
        self.for_jobs(jobs, |job, mut sections| {
            let first = job * KEYS_PER_JOB;
            dispatch(path, dcf::Gen { secrets: &secrets, first, sections: &mut sections });
        });
        Ok(())
    }

    fn aes_ctr_fill(&self, params: &AesCtrParams, words: &mut [u64]) -> Result<(), BackendError> {
        let path = self.aes("aes_ctr_fill")?;
        self.for_chunks(words, WORDS_PER_JOB, |job, words| {
            let first = params.first.wrapping_add((job * WORDS_PER_JOB / 2) as u128);
            dispatch(path, ctr::Fill { key: &params.key, first, words });
        });
        Ok(())
    }

    fn pack_bits(&self, params: &PackParams, elements: &[u64], words: &mut [u64]) -> Result<(), BackendError> {
        let shape = PackShape::new("pack_bits", params)?;
        check_lengths([shape.count, shape.words], [elements.len(), words.len()])?;
        let (width, count) = (shape.width, params.count);
        self.for_chunks(words, WORDS_PER_JOB, |job, words| {
            for (i, word) in words.iter_mut().enumerate() {
                let index = (job * WORDS_PER_JOB + i) as u32; // no more words than elements, which `u32` counts
                *word = packed_word(index, count, width, |element| elements[element as usize]);
            }
        });
        Ok(())
    }

    fn unpack_bits(&self, params: &PackParams, words: &[u64], elements: &mut [u64]) -> Result<(), BackendError> {
        let shape = PackShape::new("unpack_bits", params)?;
        check_lengths([shape.words, shape.count], [words.len(), elements.len()])?;
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
