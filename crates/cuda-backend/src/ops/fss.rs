//! The function-secret-sharing op set.
//!
//! By default AES runs by look-ups in shared memory, in a table that each of the 32 banks holds whole and a lane reads in its
//! own bank alone. No two look-ups of a warp collide, so time does not depend on the indices; their addresses do, and the
//! indices come from labels that are secrets of this party or of the dealer. That concerns tenants of the same GPU, to
//! whom the op set promises nothing then. Under [`AesKernel::Bitsliced`](crate::AesKernel::Bitsliced) the ops of a party,
//! `cmp_eval`, `dcf_eval`, their forms for clustered points and `cmp_eval_all`, look nothing up; those of the dealer do.

use backend_api::{
    BackendError, BufferMut, BufferRef, Queue as _,
    ops::fss::{CmpAllShape, CmpShape, DcfShape, FssOps, PackShape, check_lengths},
};
use core_types::{
    Label,
    params::fss::{AesCtrParams, CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams, PackParams},
};

use crate::{
    CudaMut, CudaQueue, CudaRef,
    launch::fss::{self, Cluster, CmpKeys, DcfKeys, DcfSections},
};

/// Width at which packed and unpacked elements are the same words.
const WHOLE_WORDS: u32 = 64;

impl FssOps for CudaQueue {
    fn cmp_eval(
        &self,
        params: &CmpParams,
        roots: CudaRef<'_, Label>,
        corrections: CudaRef<'_, u128>,
        leaves: CudaRef<'_, u128>,
        points: CudaRef<'_, u64>,
        shares: CudaMut<'_, u32>,
    ) -> Result<(), BackendError> {
        let shape = CmpShape::new("cmp_eval", params)?;
        let got = [roots.len(), corrections.len(), leaves.len(), points.len(), shares.len()];
        check_lengths(shape.eval_lengths(), got)?;
        fss::cmp_eval(self, params, CmpKeys { roots, corrections, leaves }, points, &shares)
    }

    fn cmp_eval_window(
        &self,
        params: &CmpWindowParams,
        roots: CudaRef<'_, Label>,
        corrections: CudaRef<'_, u128>,
        leaves: CudaRef<'_, u128>,
        x_hat: CudaRef<'_, u64>,
        offsets: CudaRef<'_, u64>,
        shares: CudaMut<'_, u32>,
    ) -> Result<(), BackendError> {
        let shape = CmpShape::within("cmp_eval_window", params)?;
        let got = [roots.len(), corrections.len(), leaves.len(), x_hat.len(), offsets.len(), shares.len()];
        check_lengths(shape.window_lengths(), got)?;
        fss::cmp_eval_window(self, params, CmpKeys { roots, corrections, leaves }, Cluster { x_hat, offsets }, &shares)
    }

    fn cmp_eval_all(
        &self,
        params: &CmpAllParams,
        roots: CudaRef<'_, Label>,
        corrections: CudaRef<'_, u128>,
        leaves: CudaRef<'_, u128>,
        units: CudaMut<'_, u128>,
    ) -> Result<(), BackendError> {
        let shape = CmpAllShape::new("cmp_eval_all", params)?;
        check_lengths(shape.eval_lengths(), [roots.len(), corrections.len(), leaves.len(), units.len()])?;
        fss::cmp_eval_all(self, params, CmpKeys { roots, corrections, leaves }, &units)
    }

    fn cmp_gen(
        &self,
        params: &CmpParams,
        alphas: CudaRef<'_, u64>,
        roots: CudaRef<'_, Label>,
        corrections: CudaMut<'_, u128>,
        leaves: CudaMut<'_, u128>,
    ) -> Result<(), BackendError> {
        let shape = CmpShape::new("cmp_gen", params)?;
        check_lengths(shape.gen_lengths(), [alphas.len(), roots.len(), corrections.len(), leaves.len()])?;
        fss::cmp_gen(self, params, alphas, roots, &corrections, &leaves)
    }

    fn dcf_eval(
        &self,
        params: &DcfParams,
        roots: CudaRef<'_, Label>,
        corrections: CudaRef<'_, u128>,
        values: CudaRef<'_, u64>,
        last: CudaRef<'_, u64>,
        points: CudaRef<'_, u64>,
        shares: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        let shape = DcfShape::new("dcf_eval", params)?;
        let got = [roots.len(), corrections.len(), values.len(), last.len(), points.len(), shares.len()];
        check_lengths(shape.eval_lengths(), got)?;
        fss::dcf_eval(self, params, DcfKeys { roots, corrections, values, last }, points, &shares)
    }

    fn dcf_eval_window(
        &self,
        params: &DcfWindowParams,
        roots: CudaRef<'_, Label>,
        corrections: CudaRef<'_, u128>,
        values: CudaRef<'_, u64>,
        last: CudaRef<'_, u64>,
        x_hat: CudaRef<'_, u64>,
        offsets: CudaRef<'_, u64>,
        shares: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        let shape = DcfShape::within("dcf_eval_window", params)?;
        let sections = [roots.len(), corrections.len(), values.len(), last.len()];
        let [expected @ .., inputs, points, made] = shape.window_lengths();
        check_lengths(expected, sections)?;
        check_lengths([inputs, points, made], [x_hat.len(), offsets.len(), shares.len()])?;
        let keys = DcfKeys { roots, corrections, values, last };
        fss::dcf_eval_window(self, params, keys, Cluster { x_hat, offsets }, &shares)
    }

    fn dcf_gen(
        &self,
        params: &DcfParams,
        alphas: CudaRef<'_, u64>,
        betas: CudaRef<'_, u64>,
        roots: CudaRef<'_, Label>,
        corrections: CudaMut<'_, u128>,
        values: CudaMut<'_, u64>,
        last: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        let shape = DcfShape::new("dcf_gen", params)?;
        let got = [alphas.len(), betas.len(), roots.len(), corrections.len(), values.len(), last.len()];
        check_lengths(shape.gen_lengths(), got)?;
        fss::dcf_gen(self, params, alphas, betas, roots, &DcfSections { corrections, values, last })
    }

    fn aes_ctr_fill(&self, params: &AesCtrParams, words: CudaMut<'_, u64>) -> Result<(), BackendError> {
        fss::aes_ctr_fill(self, params, &words)
    }

    fn pack_bits(
        &self,
        params: &PackParams,
        elements: CudaRef<'_, u64>,
        words: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        let shape = PackShape::new("pack_bits", params)?;
        check_lengths([shape.count, shape.words], [elements.len(), words.len()])?;
        if params.bits == WHOLE_WORDS {
            return self.copy(elements, words);
        }
        fss::pack_bits(self, params, elements, &words)
    }

    fn unpack_bits(
        &self,
        params: &PackParams,
        words: CudaRef<'_, u64>,
        elements: CudaMut<'_, u64>,
    ) -> Result<(), BackendError> {
        let shape = PackShape::new("unpack_bits", params)?;
        check_lengths([shape.words, shape.count], [words.len(), elements.len()])?;
        if params.bits == WHOLE_WORDS {
            return self.copy(words, elements);
        }
        fss::unpack_bits(self, params, words, &elements)
    }
}
