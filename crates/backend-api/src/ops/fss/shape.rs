//! What parameters say about the views of an op, checked the same way by every backend.

use core_types::{
    MAX_PAYLOAD_WORDS, Ring,
    cmp::{CMP_ALL_BITS, CMP_TABLE_BITS, cmp_blocks, cmp_leaves, cmp_levels},
    pack::packed_words,
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, PackParams, padded},
};

use crate::BackendError;

/// Keys that one word of output bits covers; rows are padded to a multiple of them.
pub const GROUP: usize = 32;

fn ring(op: &'static str, bits: u32) -> Result<Ring, BackendError> {
    Ring::new(bits).ok_or(BackendError::Unsupported { op, why: "expected a width of 1 to 64 bits" })
}

fn party(op: &'static str, party: u32) -> Result<(), BackendError> {
    if party <= 1 { Ok(()) } else { Err(BackendError::Unsupported { op, why: "expected party 0 or 1" }) }
}

/// Checks that 2^`window` points of `bits` bits form a window.
///
/// The trees end `least` levels early.
fn window(op: &'static str, window: u32, bits: u32, least: u32) -> Result<(), BackendError> {
    if (least.min(bits)..=bits).contains(&window) {
        Ok(())
    } else {
        let why = "expected a window at least as wide as a block of leaves and at most as wide as the points";
        Err(BackendError::Unsupported { op, why })
    }
}

/// Sizes of an evaluation of CMP keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmpShape {
    /// Keys to a row.
    pub row: usize,
    /// Keys.
    pub count: usize,
    /// Points per key.
    pub points: usize,
    /// Rows of correction words.
    pub levels: usize,
    /// Rows of one party's leaf words.
    pub leaves: usize,
}

impl CmpShape {
    /// The sizes that `params` state, for the op named `op`.
    pub(super) fn new(op: &'static str, params: &CmpWindowParams) -> Result<Self, BackendError> {
        ring(op, params.bits)?;
        party(op, params.party)?;
        window(op, params.window, params.bits, CMP_TABLE_BITS)?;
        Ok(Self {
            row: padded(params.count),
            count: params.count as usize,
            points: params.points as usize,
            levels: cmp_levels(params.bits) as usize,
            leaves: cmp_leaves(params.bits) as usize,
        })
    }
}

/// Sizes of a generation of CMP keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmpGenShape {
    /// Keys to a row.
    pub row: usize,
    /// Keys.
    pub count: usize,
    /// Rows of correction words.
    pub levels: usize,
}

impl CmpGenShape {
    /// The sizes that `params` state, for the op named `op`.
    pub(super) fn new(op: &'static str, params: &CmpGenParams) -> Result<Self, BackendError> {
        ring(op, params.bits)?;
        Ok(Self { row: padded(params.count), count: params.count as usize, levels: cmp_levels(params.bits) as usize })
    }
}

/// Sizes of an evaluation of CMP keys at every point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmpAllShape {
    /// Keys to a row of the sections.
    pub row: usize,
    /// First key that is evaluated.
    pub first: usize,
    /// Keys that are evaluated, and words to a row of results.
    pub keys: usize,
    /// Rows of correction words.
    pub levels: usize,
    /// Rows of one party's leaf words.
    pub leaves: usize,
    /// Rows of results: blocks of 128 points.
    pub blocks: usize,
}

impl CmpAllShape {
    /// The sizes that `params` state, for the op named `op`.
    pub(super) fn new(op: &'static str, params: &CmpAllParams) -> Result<Self, BackendError> {
        let CmpAllParams { bits, count, first, keys, .. } = *params;
        if bits == 0 || bits > CMP_ALL_BITS {
            return Err(BackendError::Unsupported { op, why: "expected points of 1 to 13 bits" });
        }
        party(op, params.party)?;
        if !(first as usize).is_multiple_of(GROUP) {
            return Err(BackendError::Unsupported { op, why: "the index of the first key is not a multiple of 32" });
        }
        if first.checked_add(keys).is_none_or(|end| end > count) {
            return Err(BackendError::Unsupported { op, why: "the key range reaches past the end of the batch" });
        }
        Ok(Self {
            row: padded(count),
            first: first as usize,
            keys: keys as usize,
            levels: cmp_levels(bits) as usize,
            leaves: cmp_leaves(bits) as usize,
            blocks: cmp_blocks(bits) as usize, // at most 64
        })
    }
}

/// The number of payload words.
fn payload(op: &'static str, words: u32) -> Result<usize, BackendError> {
    let words = words as usize;
    if (1..=MAX_PAYLOAD_WORDS).contains(&words) {
        Ok(words)
    } else {
        Err(BackendError::Unsupported { op, why: "expected a payload of 1 to 8 words" })
    }
}

/// Sizes of an evaluation of DCF keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcfShape {
    /// Keys to a row.
    pub row: usize,
    /// Keys.
    pub count: usize,
    /// Points per key.
    pub points: usize,
    /// Rows of correction words.
    pub levels: usize,
    /// Payload words.
    pub words: usize,
    /// Ring of the payload words.
    pub width: Ring,
}

impl DcfShape {
    /// The sizes that `params` state, for the op named `op`.
    pub(super) fn new(op: &'static str, params: &DcfWindowParams) -> Result<Self, BackendError> {
        ring(op, params.bits)?;
        party(op, params.party)?;
        window(op, params.window, params.bits, 0)?;
        Ok(Self {
            row: padded(params.count),
            count: params.count as usize,
            points: params.points as usize,
            levels: params.bits as usize,
            words: payload(op, params.words)?,
            width: ring(op, params.width)?,
        })
    }
}

/// Sizes of a generation of DCF keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DcfGenShape {
    /// Keys to a row.
    pub row: usize,
    /// Keys.
    pub count: usize,
    /// Rows of correction words.
    pub levels: usize,
    /// Payload words.
    pub words: usize,
    /// Ring of the payload words.
    pub width: Ring,
}

impl DcfGenShape {
    /// The sizes that `params` state, for the op named `op`.
    pub(super) fn new(op: &'static str, params: &DcfGenParams) -> Result<Self, BackendError> {
        ring(op, params.bits)?;
        Ok(Self {
            row: padded(params.count),
            count: params.count as usize,
            levels: params.bits as usize,
            words: payload(op, params.words)?,
            width: ring(op, params.width)?,
        })
    }
}

/// Sizes of a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackShape {
    /// Ring of the elements.
    pub width: Ring,
    /// Elements.
    pub count: usize,
    /// Words of the stream.
    pub words: usize,
}

impl PackShape {
    /// The sizes that `params` state, for the op named `op`.
    pub(super) fn new(op: &'static str, params: &PackParams) -> Result<Self, BackendError> {
        let width = ring(op, params.bits)?;
        let words = packed_words(u64::from(params.count), width).and_then(|words| usize::try_from(words).ok());
        Ok(Self { width, count: params.count as usize, words: words.unwrap_or(usize::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use core_types::AesKey;

    use super::*;

    #[test]
    fn points_have_the_width_of_a_ring() {
        let shape = |bits| {
            let key = AesKey::default();
            let params = CmpWindowParams { key, bits, party: 1, count: 3, points: 2, window: bits, reserved: [0; 3] };
            CmpShape::new("op", &params)
        };
        for bits in 1..=64 {
            assert!(shape(bits).is_ok(), "{bits}");
        }
        for bits in [0, 65, 128] {
            let why = "expected a width of 1 to 64 bits";
            assert_eq!(shape(bits), Err(BackendError::Unsupported { op: "op", why }), "{bits}");
        }
    }
}
