//! What a kernel is given: the batch as a whole and the keys that it owns.

use backend_api::ops::fss::{CmpAllShape, CmpShape, DcfShape, GROUP};
use core_types::{
    Label,
    params::fss::{CmpAllParams, CmpParams, DcfParams},
};

use super::walk::group_words;

/// Where the keys of a batch are evaluated.
#[derive(Clone, Copy)]
pub(super) enum Asked<'a> {
    /// Anywhere: rows of one point for each key.
    Points(&'a [u64]),
    /// At masked inputs, one for each key, less each of the offsets, which lie in one window.
    Behind { x_hat: &'a [u64], offsets: &'a [u64] },
}

impl Asked<'_> {
    /// Point `j` of key `e` of `count`.
    pub(super) fn of(&self, j: usize, e: usize, count: usize) -> u64 {
        match self {
            Self::Points(points) => points[j * count + e],
            Self::Behind { x_hat, offsets } => x_hat[e].wrapping_sub(offsets[j]),
        }
    }

    /// Point `j` of a group of keys of `count`, the first of which is `start`; any words past the last key.
    #[inline(always)]
    pub(super) fn group(&self, j: usize, start: usize, count: usize) -> [u64; GROUP] {
        match self {
            Self::Points(points) => group_words(&points[j * count..][..count], start),
            Self::Behind { x_hat, offsets } => group_words(x_hat, start).map(|x| x.wrapping_sub(offsets[j])),
        }
    }
}

/// The inputs of `cmp_eval` and `cmp_eval_window`.
pub(super) struct CmpBatch<'a> {
    pub(super) params: &'a CmpParams,
    /// The width of the window of the points; all bits for points anywhere.
    pub(super) window: u32,
    pub(super) shape: CmpShape,
    pub(super) roots: &'a [Label],
    pub(super) corrections: &'a [u128],
    pub(super) leaves: &'a [u128],
    pub(super) asked: Asked<'a>,
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
    pub(super) params: &'a CmpParams,
    pub(super) shape: CmpShape,
    pub(super) alphas: &'a [u64],
    pub(super) roots: &'a [Label],
}

/// The inputs of `dcf_eval` and `dcf_eval_window`.
pub(super) struct DcfBatch<'a> {
    pub(super) params: &'a DcfParams,
    /// The width of the window of the points; all bits for points anywhere.
    pub(super) window: u32,
    pub(super) shape: DcfShape,
    pub(super) roots: &'a [Label],
    pub(super) corrections: &'a [u128],
    pub(super) values: &'a [u64],
    pub(super) last: &'a [u64],
    pub(super) asked: Asked<'a>,
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
