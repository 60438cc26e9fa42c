//! Slices of elements of any floating-point type.
//!
//! A kernel over them is compiled once, not once for each type.

use core::ops::Range;

use backend_api::{DType, Real};
use half::{bf16, f16};

/// A shared slice.
#[derive(Clone, Copy)]
pub(crate) enum Reals<'a> {
    F32(&'a [f32]),
    F16(&'a [f16]),
    Bf16(&'a [bf16]),
}

/// An exclusive slice.
pub(crate) enum RealsMut<'a> {
    F32(&'a mut [f32]),
    F16(&'a mut [f16]),
    Bf16(&'a mut [bf16]),
}

/// Evaluates `$body` with `$x` bound to the slice of any type.
macro_rules! of_any_type {
    ($slice:expr, $x:ident => $body:expr) => {
        match $slice {
            Self::F32($x) => $body,
            Self::F16($x) => $body,
            Self::Bf16($x) => $body,
        }
    };
}

/// As [`of_any_type`], for a body that is a slice of the same type.
macro_rules! same_type {
    ($slice:expr, $x:ident => $body:expr) => {
        match $slice {
            Self::F32($x) => Self::F32($body),
            Self::F16($x) => Self::F16($body),
            Self::Bf16($x) => Self::Bf16($body),
        }
    };
}

impl<'a, T: Real> From<&'a [T]> for Reals<'a> {
    #[inline]
    fn from(x: &'a [T]) -> Self {
        match T::DTYPE {
            DType::F16 => Self::F16(bytemuck::cast_slice(x)),
            DType::Bf16 => Self::Bf16(bytemuck::cast_slice(x)),
            _ => Self::F32(bytemuck::cast_slice(x)),
        }
    }
}

impl<'a, T: Real> From<&'a mut [T]> for RealsMut<'a> {
    #[inline]
    fn from(x: &'a mut [T]) -> Self {
        match T::DTYPE {
            DType::F16 => Self::F16(bytemuck::cast_slice_mut(x)),
            DType::Bf16 => Self::Bf16(bytemuck::cast_slice_mut(x)),
            _ => Self::F32(bytemuck::cast_slice_mut(x)),
        }
    }
}

impl<'a> Reals<'a> {
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        of_any_type!(self, x => x.len())
    }

    #[inline(always)]
    pub(crate) fn range(self, range: Range<usize>) -> Self {
        same_type!(self, x => &x[range])
    }

    /// The slice without its first `count` elements.
    #[inline(always)]
    pub(crate) fn after(self, count: usize) -> Self {
        same_type!(self, x => &x[count..])
    }

    /// Element `i`.
    #[inline(always)]
    pub(crate) fn get(self, i: usize) -> f32 {
        match self {
            Self::F32(x) => x[i],
            Self::F16(x) => x[i].to_f32(),
            Self::Bf16(x) => x[i].to_f32(),
        }
    }

    /// The least finite number of the type.
    #[inline(always)]
    pub(crate) fn lowest(self) -> f32 {
        match self {
            Self::F32(_) => f32::MIN,
            Self::F16(_) => f16::MIN.to_f32(),
            Self::Bf16(_) => bf16::MIN.to_f32(),
        }
    }

    /// The slice itself if its elements are f32.
    #[inline(always)]
    pub(crate) fn as_f32(self) -> Option<&'a [f32]> {
        match self {
            Self::F32(x) => Some(x),
            Self::F16(_) | Self::Bf16(_) => None,
        }
    }

    /// Pieces of `len` elements; the last piece may be shorter.
    #[inline(always)]
    pub(crate) fn chunks(self, len: usize) -> Chunks<'a> {
        Chunks { rest: self, len }
    }
}

impl RealsMut<'_> {
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        of_any_type!(self, x => x.len())
    }

    #[inline(always)]
    pub(crate) fn range(&mut self, range: Range<usize>) -> RealsMut<'_> {
        match self {
            Self::F32(x) => RealsMut::F32(&mut x[range]),
            Self::F16(x) => RealsMut::F16(&mut x[range]),
            Self::Bf16(x) => RealsMut::Bf16(&mut x[range]),
        }
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> Reals<'_> {
        match self {
            Self::F32(x) => Reals::F32(x),
            Self::F16(x) => Reals::F16(x),
            Self::Bf16(x) => Reals::Bf16(x),
        }
    }

    /// Element `i` becomes `value`, rounded to nearest even.
    #[inline(always)]
    pub(crate) fn set(&mut self, i: usize, value: f32) {
        match self {
            Self::F32(x) => x[i] = value,
            Self::F16(x) => x[i] = f16::from_f32(value),
            Self::Bf16(x) => x[i] = bf16::from_f32(value),
        }
    }
}

/// Pieces of a slice.
pub(crate) struct Chunks<'a> {
    rest: Reals<'a>,
    len: usize,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Reals<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Reals<'a>> {
        let left = self.rest.len();
        if left == 0 {
            return None;
        }
        let len = self.len.min(left);
        let piece = self.rest.range(0..len);
        self.rest = self.rest.after(len);
        Some(piece)
    }
}
