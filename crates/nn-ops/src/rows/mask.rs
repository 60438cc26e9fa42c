//! Which elements a softmax leaves out, and how a mask repeats over the logits.

use backend_api::{Element, Queue, Ref, ops::linalg::RowMask};

use crate::{
    error::NnError,
    tensor::{
        layout::Layout,
        views::{Planned, TensorRef},
    },
};

/// Which elements a softmax leaves out.
///
/// They count as -inf; a row without any other element gives zeros.
///
/// A mask of the first two kinds has the shape of the logits, or that shape without some leading
/// axes, in which case it repeats: one `[query, key]` mask serves `[batch, head, query, key]`
/// logits.
pub enum Mask<'a, Q: Queue + 'a> {
    /// Nothing is left out.
    None,
    /// Elements with `false` are left out, whatever their value: NaN among them does not spread.
    ///
    /// Row-major.
    Keep(TensorRef<'a, Q, bool>),
    /// Added to the logits before the softmax; elements with -inf are left out.
    ///
    /// NaN and +inf among the logits still spread. Row-major.
    Additive(TensorRef<'a, Q, f32>),
    /// Elements above a shifted diagonal are left out.
    ///
    /// Element `k` of the softmax axis is left out of row `q` of the axis before it if
    /// `k > q + offset`. With a cache of n earlier keys, the offset is n.
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
            Self::Keep(keep) => f.debug_tuple("Keep").field(keep).finish(),
            Self::Additive(addend) => f.debug_tuple("Additive").field(addend).finish(),
            Self::Causal { offset } => f.debug_struct("Causal").field("offset", offset).finish(),
        }
    }
}

/// A mask that fits its logits: number of repetitions, causal offset and operand.
pub(crate) struct FittedMask<'a, Q: Queue + 'a> {
    pub(crate) period: usize,
    pub(crate) causal_offset: i64,
    pub(crate) operand: RowMask<'a, Q>,
}

impl<'a, Q: Queue + 'a> Mask<'a, Q> {
    /// The same mask with a shorter lifetime, as by [`TensorRef::shorten`].
    #[must_use]
    pub fn shorten<'s>(&self) -> Mask<'s, Q>
    where
        'a: 's,
    {
        match self {
            Self::None => Mask::None,
            Self::Keep(keep) => Mask::Keep(keep.shorten()),
            Self::Additive(addend) => Mask::Additive(addend.shorten()),
            Self::Causal { offset } => Mask::Causal { offset: *offset },
        }
    }

    /// Whether a softmax along `axis` of `shape` reads the mask as it lies.
    pub(crate) fn is_readable(&self, shape: &[usize], axis: usize) -> bool {
        let layout = match self {
            Self::None | Self::Causal { .. } => return true,
            Self::Keep(keep) => keep.layout(),
            Self::Additive(addend) => addend.layout(),
        };
        layout.is_contiguous() && missing_axes(layout.shape(), shape, axis).is_some()
    }

    /// Checks the mask against logits of `shape` and the softmax axis.
    pub(crate) fn fit<'s>(self, op: &'static str, shape: &[usize], axis: usize) -> Result<FittedMask<'s, Q>, NnError>
    where
        'a: 's,
    {
        let (period, causal_offset, operand) = match self {
            Self::None => (1, 0, RowMask::None),
            Self::Keep(keep) => {
                let (period, keep) = repeated(op, &keep, shape, axis)?;
                (period, 0, RowMask::Keep(keep))
            }
            Self::Additive(addend) => {
                let (period, addend) = repeated(op, &addend, shape, axis)?;
                (period, 0, RowMask::Additive(addend))
            }
            Self::Causal { offset } => {
                let first = NnError::parameter(op, "softmax axis under a causal mask", "1 or more", 0.0);
                (shape[axis.checked_sub(1).ok_or(first)?], offset, RowMask::Causal)
            }
        };
        if shape.contains(&0) {
            // There is no element to leave out, and no period.
            return Ok(FittedMask { period: 1, causal_offset: 0, operand: RowMask::None });
        }
        Ok(FittedMask { period, causal_offset, operand })
    }
}

/// Number of outer indices after which a mask repeats, and its elements.
///
/// Its shape has to be the last axes of `shape`, starting at the softmax axis or before it.
fn repeated<'s, 'l: 's, Q: Queue, T: Element>(
    op: &'static str,
    mask: &TensorRef<'l, Q, T>,
    shape: &[usize],
    axis: usize,
) -> Result<(usize, Ref<'s, Q, T>), NnError> {
    let own = mask.layout().shape();
    let Some(missing) = missing_axes(own, shape, axis) else {
        return Err(NnError::shape(op, "mask", shape, own));
    };
    // At most the product of `shape` with empty axes counted as 1, which has been checked.
    let period = shape[missing..axis].iter().product();
    Ok((period, mask.planned(op, "mask", &Layout::contiguous(own)?)?))
}

/// Number of leading axes of `shape` that a mask of shape `own` lacks, if it fits.
fn missing_axes(own: &[usize], shape: &[usize], axis: usize) -> Option<usize> {
    shape.len().checked_sub(own.len()).filter(|&missing| missing <= axis && own == &shape[missing..])
}
