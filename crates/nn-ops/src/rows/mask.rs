//! Which elements a softmax leaves out, and how a mask repeats over the logits.

use backend_api::{Queue, ops::linalg::RowMask};

use crate::{
    StridedElement, TensorOps,
    error::{NnError, Result},
    movement::{Fit, Packed},
    tensor::{Layout, TensorRef},
};

/// Which elements a softmax leaves out.
///
/// They count as -inf; a row without any other element gives zeros.
///
/// A mask of the first two kinds has the shape of the logits, or that shape without some leading
/// axes, in which case it repeats: one `[query, key]` mask serves `[batch, head, query, key]`
/// logits. Its layout is any.
pub enum Mask<'a, Q: Queue + 'a> {
    /// Nothing is left out.
    None,
    /// Elements with `false` are left out, whatever their value: NaN among them does not spread.
    Keep(TensorRef<'a, Q, bool>),
    /// Added to the logits before the softmax; elements with -inf are left out.
    ///
    /// NaN and +inf among the logits still spread.
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

copied_views!(Mask<'a, Q: Queue>);

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
    pub(crate) operand: PackedMask<'a, Q>,
}

/// A mask with a checked shape.
pub(crate) enum PackedMask<'a, Q: Queue + 'a> {
    None,
    Keep(Packed<'a, Q, bool>),
    Additive(Packed<'a, Q, f32>),
    Causal,
}

impl<'a, Q: Queue + 'a> PackedMask<'a, Q> {
    /// The operand of the op, with elements in row-major order.
    pub(crate) fn view(&mut self, q: &Q) -> Result<RowMask<'_, Q>>
    where
        Q: TensorOps,
    {
        Ok(match self {
            Self::None => RowMask::None,
            Self::Keep(keep) => RowMask::Keep(keep.view(q)?),
            Self::Additive(addend) => RowMask::Additive(addend.view(q)?),
            Self::Causal => RowMask::Causal,
        })
    }
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

    /// The mask repeated up to `shape`, unless a softmax along `axis` repeats it.
    pub(crate) fn broadcast(self, shape: &[usize], axis: usize) -> Result<Self> {
        let repeats = |layout: &Layout| missing_axes(layout.shape(), shape, axis).is_some();
        Ok(match self {
            Self::Keep(keep) if !repeats(keep.layout()) => Self::Keep(keep.broadcast(shape)?),
            Self::Additive(addend) if !repeats(addend.layout()) => Self::Additive(addend.broadcast(shape)?),
            mask => mask,
        })
    }

    /// Checks the mask against logits of `shape` and the softmax axis.
    pub(crate) fn fit(self, op: &'static str, shape: &[usize], axis: usize) -> Result<FittedMask<'a, Q>> {
        let (period, causal_offset, operand) = match self {
            Self::None => (1, 0, PackedMask::None),
            Self::Keep(keep) => {
                let (period, keep) = repeated(op, keep, shape, axis)?;
                (period, 0, PackedMask::Keep(keep))
            }
            Self::Additive(addend) => {
                let (period, addend) = repeated(op, addend, shape, axis)?;
                (period, 0, PackedMask::Additive(addend))
            }
            Self::Causal { offset } => {
                let first = NnError::parameter(op, "softmax axis under a causal mask", "1 or more", 0.0);
                (shape[axis.checked_sub(1).ok_or(first)?], offset, PackedMask::Causal)
            }
        };
        if shape.contains(&0) {
            // There is no element to leave out, and no period.
            return Ok(FittedMask { period: 1, causal_offset: 0, operand: PackedMask::None });
        }
        Ok(FittedMask { period, causal_offset, operand })
    }
}

/// Number of outer indices after which a mask repeats, and the operand.
///
/// Its shape has to be the last axes of `shape`, starting at the softmax axis or before it.
fn repeated<'a, Q: Queue, T: StridedElement>(
    op: &'static str,
    mask: TensorRef<'a, Q, T>,
    shape: &[usize],
    axis: usize,
) -> Result<(usize, Packed<'a, Q, T>)> {
    let own = Layout::contiguous(mask.layout().shape())?;
    let Some(missing) = missing_axes(own.shape(), shape, axis) else {
        return Err(NnError::shape(op, "mask", shape, &own));
    };
    // At most the product of `shape` with empty axes counted as 1, which has been checked.
    let period = shape[missing..axis].iter().product();
    Ok((period, mask.fit(op, "mask", &own)?))
}

/// Number of leading axes of `shape` that a mask of shape `own` lacks, if it fits.
fn missing_axes(own: &[usize], shape: &[usize], axis: usize) -> Option<usize> {
    shape.len().checked_sub(own.len()).filter(|&missing| missing <= axis && own == &shape[missing..])
}
