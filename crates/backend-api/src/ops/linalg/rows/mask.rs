//! Masks of softmax, as a view or as a rule.

use crate::{
    BackendError, Buffer, BufferRef, Queue, Ref,
    ops::{Access, Described, MapViews, View, lengths::Lengths},
};

/// Which elements a softmax leaves out.
///
/// Masks hold `mask_period x len x inner` elements; the mask of outer index o is number
/// `o % mask_period`.
pub enum RowMask<'a, Q: Queue + 'a> {
    /// Nothing is left out.
    None,
    /// Elements with `false` are left out, whatever their value.
    Keep(Ref<'a, Q, bool>),
    /// Added to the input; elements with -inf are left out.
    Additive(Ref<'a, Q, f32>),
    /// Indices along the axis above `o % mask_period + causal_offset` are left out.
    ///
    /// Their values do not matter.
    Causal,
}

impl<'a, Q: Queue + 'a> Clone for RowMask<'a, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, Q: Queue + 'a> Copy for RowMask<'a, Q> {}

impl<'a, Q: Queue + 'a> core::fmt::Debug for RowMask<'a, Q> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Keep(_) => "Keep",
            Self::Additive(_) => "Additive",
            Self::Causal => "Causal",
        })
    }
}

impl<'a, Q: Queue> RowMask<'a, Q> {
    /// The same mask with a shorter lifetime: see [`Buffer::shorten`].
    #[must_use]
    pub fn shorten<'s>(self) -> RowMask<'s, Q>
    where
        'a: 's,
    {
        match self {
            Self::None => RowMask::None,
            Self::Causal => RowMask::Causal,
            Self::Keep(view) => RowMask::Keep(Q::Buf::<bool>::shorten(view)),
            Self::Additive(view) => RowMask::Additive(Q::Buf::<f32>::shorten(view)),
        }
    }

    #[inline(always)]
    pub(crate) fn map_as<P: Queue>(
        self,
        views: &mut impl MapViews<Q, P>,
        op: &'static str,
    ) -> Result<RowMask<'a, P>, BackendError> {
        Ok(match self {
            Self::None => RowMask::None,
            Self::Causal => RowMask::Causal,
            Self::Keep(view) => RowMask::Keep(views.read(op, view)?),
            Self::Additive(view) => RowMask::Additive(views.read(op, view)?),
        })
    }

    /// Compares the mask with its length.
    pub(crate) fn compare(&self, lengths: &mut Lengths, period: u64, len: u64, inner: u64) {
        self.show(&mut |mask| lengths.exactly(mask.name, mask.len, &[period, len, inner]));
    }

    pub(crate) fn describe(see: &mut impl FnMut(Described)) {
        let (name, access, length) = ("mask", Access::ReadIfGiven, "period, len, inner");
        see(Described { name, access, element: "(bool or f32)", length });
    }

    #[inline(always)]
    pub(crate) fn show(&self, see: &mut impl FnMut(View)) {
        let len = match self {
            Self::None | Self::Causal => None,
            Self::Keep(view) => Some(view.len()),
            Self::Additive(view) => Some(view.len()),
        };
        see(View { name: "mask", len });
    }
}
