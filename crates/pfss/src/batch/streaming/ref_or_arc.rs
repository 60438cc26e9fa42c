//! A value that is borrowed or shared.

use core::ops::Deref;
use std::sync::Arc;

/// Something that is borrowed for a while, or shared for as long as anyone needs it.
pub(in crate::batch) enum RefOrArc<'q, T> {
    Borrowed(&'q T),
    Shared(Arc<T>),
}

impl<T> Deref for RefOrArc<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Borrowed(value) => value,
            Self::Shared(value) => value,
        }
    }
}

impl<T> Clone for RefOrArc<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Borrowed(value) => Self::Borrowed(*value),
            Self::Shared(value) => Self::Shared(Arc::clone(value)),
        }
    }
}
