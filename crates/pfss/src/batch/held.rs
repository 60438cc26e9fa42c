//! A value that is borrowed or shared.

use core::ops::Deref;
use std::sync::Arc;

/// Something that is borrowed for a while, or shared for as long as anyone needs it.
pub(super) enum Held<'q, T> {
    Lent(&'q T),
    Shared(Arc<T>),
}

impl<T> Deref for Held<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Lent(held) => held,
            Self::Shared(held) => held,
        }
    }
}

impl<T> Clone for Held<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Lent(held) => Self::Lent(*held),
            Self::Shared(held) => Self::Shared(Arc::clone(held)),
        }
    }
}
