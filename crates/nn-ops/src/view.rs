use backend_api::{BufferMut, BufferRef, Element, Mut, Queue, Ref};

use crate::NnError;

/// The first `count` elements of a view, for as long as an op needs them.
pub(crate) fn first<'s, 'l: 's, Q: Queue, T: Element>(
    q: &Q,
    view: Ref<'l, Q, T>,
    count: usize,
) -> Result<Ref<'s, Q, T>, NnError>
where
    Q::Buf<T>: 'l,
{
    if view.len() < count {
        return Err(NnError::ViewTooShort { expected: count, got: view.len() });
    }
    Ok(q.shorten(view.slice(0..count)?))
}

/// The first `count` elements of an exclusive view, for as long as an op needs them.
pub(crate) fn first_mut<'s, 'l: 's, Q: Queue, T: Element>(
    q: &Q,
    view: Mut<'l, Q, T>,
    count: usize,
) -> Result<Mut<'s, Q, T>, NnError>
where
    Q::Buf<T>: 'l,
{
    if view.len() < count {
        return Err(NnError::ViewTooShort { expected: count, got: view.len() });
    }
    Ok(q.shorten_mut(view.slice(0..count)?))
}
