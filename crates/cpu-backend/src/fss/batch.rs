//! What a kernel is given: the batch as a whole and the keys that it owns.

use backend_api::ops::fss::{CmpAllShape, CmpShape, DcfShape};
use core_types::{
    Label,
    params::fss::{CmpAllParams, CmpParams, DcfParams},
};

/// The inputs of `cmp_eval`.
pub(super) struct CmpBatch<'a> {
    pub(super) params: &'a CmpParams,
    pub(super) shape: CmpShape,
    pub(super) roots: &'a [Label],
    pub(super) corrections: &'a [u128],
    pub(super) leaves: &'a [u128],
    pub(super) points: &'a [u64],
}

/// The inputs of `cmp_eval_all`.
pub(super) struct CmpAllBatch<'a> {
    pub(super) params: &'a CmpAllParams,
    pub(super) shape: CmpAllShape,
    pub(super) roots: &'a [Label],
    pub(super) corrections: &'a [u128],
    pub(super) leaves: &'a [u128],
}

/// The inputs of `cmp_gen`.
pub(super) struct CmpSecrets<'a> {
    pub(super) params: &'a CmpParams,
    pub(super) shape: CmpShape,
    pub(super) alphas: &'a [u64],
    pub(super) roots: &'a [Label],
}

/// The inputs of `dcf_eval`.
pub(super) struct DcfBatch<'a> {
    pub(super) params: &'a DcfParams,
    pub(super) shape: DcfShape,
    pub(super) roots: &'a [Label],
    pub(super) corrections: &'a [u128],
    pub(super) values: &'a [u64],
    pub(super) last: &'a [u64],
    pub(super) points: &'a [u64],
}

/// The inputs of `dcf_gen`.
pub(super) struct DcfSecrets<'a> {
    pub(super) params: &'a DcfParams,
    pub(super) shape: DcfShape,
    pub(super) alphas: &'a [u64],
    pub(super) betas: &'a [u64],
    pub(super) roots: &'a [Label],
}

/// Some columns of the sections that `dcf_gen` makes, row by row.
pub(super) struct DcfSections<'a> {
    pub(super) corrections: Vec<&'a mut [u128]>,
    pub(super) values: Vec<&'a mut [u64]>,
    pub(super) last: Vec<&'a mut [u64]>,
}
