use backend_api::{BackendError, ops::fss::FssOps};
use core_types::{
    Label,
    params::fss::{AesCtrParams, CmpAllParams, CmpParams, CmpWindowParams, DcfParams, DcfWindowParams, PackParams},
};

use super::{AnyMut, AnyQueue, AnyRef, dispatch};

impl FssOps for AnyQueue {
    fn cmp_eval(
        &self,
        params: &CmpParams,
        roots: AnyRef<'_, Label>,
        corrections: AnyRef<'_, u128>,
        leaves: AnyRef<'_, u128>,
        points: AnyRef<'_, u64>,
        shares: AnyMut<'_, u32>,
    ) -> Result<(), BackendError> {
        dispatch!(self.cmp_eval(params; roots: AnyRef, corrections: AnyRef, leaves: AnyRef, points: AnyRef, shares: AnyMut))
    }

    fn cmp_eval_window(
        &self,
        params: &CmpWindowParams,
        roots: AnyRef<'_, Label>,
        corrections: AnyRef<'_, u128>,
        leaves: AnyRef<'_, u128>,
        x_hat: AnyRef<'_, u64>,
        offsets: AnyRef<'_, u64>,
        shares: AnyMut<'_, u32>,
    ) -> Result<(), BackendError> {
        dispatch!(self.cmp_eval_window(params; roots: AnyRef, corrections: AnyRef, leaves: AnyRef, x_hat: AnyRef, offsets: AnyRef, shares: AnyMut))
    }

    fn cmp_eval_all(
        &self,
        params: &CmpAllParams,
        roots: AnyRef<'_, Label>,
        corrections: AnyRef<'_, u128>,
        leaves: AnyRef<'_, u128>,
        units: AnyMut<'_, u128>,
    ) -> Result<(), BackendError> {
        dispatch!(self.cmp_eval_all(params; roots: AnyRef, corrections: AnyRef, leaves: AnyRef, units: AnyMut))
    }

    fn cmp_gen(
        &self,
        params: &CmpParams,
        alphas: AnyRef<'_, u64>,
        roots: AnyRef<'_, Label>,
        corrections: AnyMut<'_, u128>,
        leaves: AnyMut<'_, u128>,
    ) -> Result<(), BackendError> {
        dispatch!(self.cmp_gen(params; alphas: AnyRef, roots: AnyRef, corrections: AnyMut, leaves: AnyMut))
    }

    fn dcf_eval(
        &self,
        params: &DcfParams,
        roots: AnyRef<'_, Label>,
        corrections: AnyRef<'_, u128>,
        values: AnyRef<'_, u64>,
        last: AnyRef<'_, u64>,
        points: AnyRef<'_, u64>,
        shares: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.dcf_eval(params; roots: AnyRef, corrections: AnyRef, values: AnyRef, last: AnyRef, points: AnyRef, shares: AnyMut))
    }

    fn dcf_eval_window(
        &self,
        params: &DcfWindowParams,
        roots: AnyRef<'_, Label>,
        corrections: AnyRef<'_, u128>,
        values: AnyRef<'_, u64>,
        last: AnyRef<'_, u64>,
        x_hat: AnyRef<'_, u64>,
        offsets: AnyRef<'_, u64>,
        shares: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.dcf_eval_window(params; roots: AnyRef, corrections: AnyRef, values: AnyRef, last: AnyRef, x_hat: AnyRef, offsets: AnyRef, shares: AnyMut))
    }

    fn dcf_gen(
        &self,
        params: &DcfParams,
        alphas: AnyRef<'_, u64>,
        betas: AnyRef<'_, u64>,
        roots: AnyRef<'_, Label>,
        corrections: AnyMut<'_, u128>,
        values: AnyMut<'_, u64>,
        last: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.dcf_gen(params; alphas: AnyRef, betas: AnyRef, roots: AnyRef, corrections: AnyMut, values: AnyMut, last: AnyMut))
    }

    fn aes_ctr_fill(&self, params: &AesCtrParams, words: AnyMut<'_, u64>) -> Result<(), BackendError> {
        dispatch!(self.aes_ctr_fill(params; words: AnyMut))
    }

    fn pack_bits(
        &self,
        params: &PackParams,
        elements: AnyRef<'_, u64>,
        words: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.pack_bits(params; elements: AnyRef, words: AnyMut))
    }

    fn unpack_bits(
        &self,
        params: &PackParams,
        words: AnyRef<'_, u64>,
        elements: AnyMut<'_, u64>,
    ) -> Result<(), BackendError> {
        dispatch!(self.unpack_bits(params; words: AnyRef, elements: AnyMut))
    }
}
