use backend_api::{Queue, Ref, ops::linalg::RowMask};

use crate::{NnError, view::first};

/// Which elements a softmax leaves out. They count as -inf; a row without any other element gives zeros.
///
/// A mask of the first two kinds has the shape of the logits, or that shape without some leading axes, and then repeats: one
/// `[query, key]` mask serves `[batch, head, query, key]` logits.
pub enum Mask<'a, Q: Queue + 'a> {
    /// Nothing is left out.
    None,
    /// Elements with `false` are left out, whatever their value: NaN among them does not spread.
    Keep {
        /// One flag an element, row-major.
        keep: Ref<'a, Q, bool>,
        /// Shape of the mask.
        shape: &'a [usize],
    },
    /// Added to the logits before the softmax; elements with -inf are left out. NaN and +inf among the logits still spread.
    Additive {
        /// One addend an element, row-major.
        addend: Ref<'a, Q, f32>,
        /// Shape of the mask.
        shape: &'a [usize],
    },
    /// Element `k` of the softmax axis is left out of row `q` of the axis before it if `k > q + offset`. With a cache of n
    /// earlier keys, the offset is n.
    Causal {
        /// How far the diagonal is shifted.
        offset: i64,
    },
}

impl<'a, Q: Queue + 'a> Clone for Mask<'a, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a> Copy for Mask<'a, Q> {}

impl<'a, Q: Queue + 'a> core::fmt::Debug for Mask<'a, Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Keep { shape, .. } => f.debug_struct("Keep").field("shape", shape).finish_non_exhaustive(),
            Self::Additive { shape, .. } => f.debug_struct("Additive").field("shape", shape).finish_non_exhaustive(),
            Self::Causal { offset } => f.debug_struct("Causal").field("offset", offset).finish(),
        }
    }
}

/// A mask that fits its logits: how often it repeats, the offset of a causal one, and the operand.
pub(crate) struct FittedMask<'a, Q: Queue + 'a> {
    pub(crate) period: usize,
    pub(crate) causal_offset: i64,
    pub(crate) operand: RowMask<'a, Q>,
}

impl<'a, Q: Queue + 'a> Mask<'a, Q> {
    /// Checks the mask against logits of `shape` and the softmax axis.
    pub(crate) fn fit<'s>(
        self,
        q: &Q,
        op: &'static str,
        shape: &[usize],
        axis: usize,
    ) -> Result<FittedMask<'s, Q>, NnError>
    where
        'a: 's,
    {
        let (period, causal_offset, operand) = match self {
            Self::None => (1, 0, RowMask::None),
            Self::Keep { keep, shape: mask } => {
                let (period, count) = period(op, mask, shape, axis)?;
                (period, 0, RowMask::Keep(first(q, keep, count)?))
            }
            Self::Additive { addend, shape: mask } => {
                let (period, count) = period(op, mask, shape, axis)?;
                (period, 0, RowMask::Additive(first(q, addend, count)?))
            }
            Self::Causal { offset } => {
                let before = axis.checked_sub(1).ok_or(NnError::Rank { op, expected: 2, got: shape.len() })?;
                (shape[before].max(1), offset, RowMask::Causal)
            }
        };
        Ok(FittedMask { period, causal_offset, operand })
    }
}

/// Number of outer indices after which a mask of shape `mask` repeats, and its elements. It has to end in the axes of `shape`,
/// from some axis on that does not come after the softmax axis.
fn period(op: &'static str, mask: &[usize], shape: &[usize], axis: usize) -> Result<(usize, usize), NnError> {
    let missing = shape.len().checked_sub(mask.len()).filter(|&missing| missing <= axis && mask == &shape[missing..]);
    let Some(missing) = missing else {
        return Err(NnError::ShapeMismatch { op, lhs: shape.into(), rhs: mask.into() });
    };
    // Both products are at most that of `shape` with empty axes counted as 1, which has been checked.
    Ok((shape[missing..axis].iter().product::<usize>().max(1), mask.iter().product()))
}
