use backend_api::{BufferMut, BufferRef, Element};

use crate::NnError;

/// The first `count` elements of a view.
pub(crate) fn first<'a, T: Element, V: BufferRef<'a, T>>(view: V, count: usize) -> Result<V, NnError> {
    if view.len() < count {
        return Err(NnError::ViewTooShort { expected: count, got: view.len() });
    }
    Ok(view.slice(0..count)?)
}

/// The first `count` elements of an exclusive view.
pub(crate) fn first_mut<'a, T: Element, V: BufferMut<'a, T>>(view: V, count: usize) -> Result<V, NnError> {
    if view.len() < count {
        return Err(NnError::ViewTooShort { expected: count, got: view.len() });
    }
    Ok(view.slice(0..count)?)
}
