//! Length and range checks of the ops.

use backend_api::BackendError;
use core_types::{
    MAX_PAYLOAD_WORDS, Ring,
    cmp::{cmp_leaves, cmp_levels},
    params::fss::{CmpParams, DcfParams, padded},
};

/// Compares a view's length with what its parameters state.
pub(super) fn length(expected: usize, got: usize) -> Result<(), BackendError> {
    if expected == got { Ok(()) } else { Err(BackendError::Length { expected, got }) }
}

/// The number of elements of an array; the greatest number if it does not fit, which no view has.
pub(super) fn product<const D: usize>(dimensions: [usize; D]) -> usize {
    if dimensions.contains(&0) { 0 } else { dimensions.into_iter().fold(1, usize::saturating_mul) }
}

/// The ring of `bits` bits.
pub(super) fn ring(op: &'static str, bits: u32) -> Result<Ring, BackendError> {
    Ring::new(bits).ok_or(BackendError::Unsupported { op, why: "widths are 1 to 64 bits" })
}

fn party(op: &'static str, party: u32) -> Result<(), BackendError> {
    if party <= 1 { Ok(()) } else { Err(BackendError::Unsupported { op, why: "parties are 0 and 1" }) }
}

/// Sizes of a batch of CMP keys.
#[derive(Clone, Copy)]
pub(super) struct CmpShape {
    /// Keys to a row.
    pub(super) row: usize,
    pub(super) count: usize,
    pub(super) points: usize,
    pub(super) levels: usize,
    pub(super) leaves: usize,
}

impl CmpShape {
    pub(super) fn new(op: &'static str, params: &CmpParams) -> Result<Self, BackendError> {
        ring(op, params.bits)?;
        party(op, params.party)?;
        Ok(Self {
            row: padded(params.count),
            count: params.count as usize,
            points: params.points as usize,
            levels: cmp_levels(params.bits) as usize,
            leaves: cmp_leaves(params.bits) as usize,
        })
    }
}

/// Sizes of a batch of DCF keys.
#[derive(Clone, Copy)]
pub(super) struct DcfShape {
    /// Keys to a row.
    pub(super) row: usize,
    pub(super) count: usize,
    pub(super) points: usize,
    pub(super) levels: usize,
    /// Payload words.
    pub(super) words: usize,
    pub(super) width: Ring,
}

impl DcfShape {
    pub(super) fn new(op: &'static str, params: &DcfParams) -> Result<Self, BackendError> {
        ring(op, params.bits)?;
        party(op, params.party)?;
        let words = params.words as usize;
        if words == 0 || words > MAX_PAYLOAD_WORDS {
            return Err(BackendError::Unsupported { op, why: "payloads are 1 to 8 words" });
        }
        Ok(Self {
            row: padded(params.count),
            count: params.count as usize,
            points: params.points as usize,
            levels: params.bits as usize,
            words,
            width: ring(op, params.width)?,
        })
    }
}
