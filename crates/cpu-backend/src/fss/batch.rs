//! Inputs of a kernel: the batch as a whole and the keys that it owns.

use backend_api::ops::fss::{CmpAllShape, CmpGenShape, CmpShape, DcfGenShape, DcfShape, GROUP};
use core_types::{
    Label,
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams},
};

use super::walk::group_words;

/// The points at which the keys of a batch are evaluated.
///
/// They are masked inputs, one for each key, less each of the offsets.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) x_hat: &'a [u64],
    pub(super) offsets: &'a [u64],
}

impl At<'_> {
    /// Point `j` of key `e`.
    pub(super) fn of(&self, j: usize, e: usize) -> u64 {
        self.x_hat[e].wrapping_sub(self.offsets[j])
    }

    /// Point `j` of the group of keys from `start` on; any words past the last key.
    #[inline(always)]
    pub(super) fn group(&self, j: usize, start: usize) -> [u64; GROUP] {
        group_words(self.x_hat, start).map(|x| x.wrapping_sub(self.offsets[j]))
    }
}

/// The inputs of `cmp_eval_window`.
pub(super) struct CmpBatch<'a> {
    pub(super) params: &'a CmpWindowParams,
    pub(super) shape: CmpShape,
    pub(super) roots: &'a [Label],
    pub(super) corrections: &'a [u128],
    pub(super) leaves: &'a [u128],
    pub(super) at: At<'a>,
}

impl<'a> CmpBatch<'a> {
    /// The leaf corrections of the left and of the right side, from key `start` on.
    #[inline(always)]
    pub(super) fn leaves(&self, start: usize) -> [&'a [u128]; 2] {
        let (left, right) = self.leaves.split_at(self.shape.row);
        [&left[start..], &right[start..]]
    }
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
    pub(super) params: &'a CmpGenParams,
    pub(super) shape: CmpGenShape,
    pub(super) alphas: &'a [u64],
    pub(super) roots: &'a [Label],
}

/// The inputs of `dcf_eval_window`.
pub(super) struct DcfBatch<'a> {
    pub(super) params: &'a DcfWindowParams,
    pub(super) shape: DcfShape,
    pub(super) roots: &'a [Label],
    pub(super) corrections: &'a [u128],
    pub(super) values: &'a [u64],
    pub(super) last: &'a [u64],
    pub(super) at: At<'a>,
}

/// The inputs of `dcf_gen`.
pub(super) struct DcfSecrets<'a> {
    pub(super) params: &'a DcfGenParams,
    pub(super) shape: DcfGenShape,
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
