mod circle;
mod fss;
mod linalg;
mod rows;

use core::ops::Range;

use backend_api::{BackendError, Budget, Buffer, BufferMut, BufferRef, Caps, Element, Queue};
use cpu_backend::{CpuBuf, CpuQueue};

/// Calls an op on the queue behind an [`AnyQueue`] with its views unwrapped: plain arguments, then views with their kind.
macro_rules! dispatch {
    ($queue:ident.$op:ident($($plain:expr),*; $($view:ident: $kind:ident),*)) => {
        match ($queue, $($view),*) {
            (AnyQueue::Cpu(q), $($kind::Cpu($view)),*) => q.$op($($plain,)* $($view),*),
        }
    };
}
use dispatch;

/// A queue whose backend is chosen at run time. Generic code stays generic; this is the one enum behind it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyQueue {
    /// The host processor.
    Cpu(CpuQueue),
}

/// A buffer of an [`AnyQueue`].
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyBuf<T> {
    /// Host memory.
    Cpu(CpuBuf<T>),
}

/// A shared view into an [`AnyBuf`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AnyRef<'a, T> {
    /// Host memory.
    Cpu(&'a [T]),
}

/// An exclusive view into an [`AnyBuf`].
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyMut<'a, T> {
    /// Host memory.
    Cpu(&'a mut [T]),
}

impl<T: Element> Buffer<T> for AnyBuf<T> {
    type Ref<'a>
        = AnyRef<'a, T>
    where
        Self: 'a;
    type Mut<'a>
        = AnyMut<'a, T>
    where
        Self: 'a;

    fn len(&self) -> usize {
        match self {
            Self::Cpu(buf) => buf.len(),
        }
    }

    fn view(&self) -> AnyRef<'_, T> {
        match self {
            Self::Cpu(buf) => AnyRef::Cpu(buf.view()),
        }
    }

    fn view_mut(&mut self) -> AnyMut<'_, T> {
        match self {
            Self::Cpu(buf) => AnyMut::Cpu(buf.view_mut()),
        }
    }
}

impl<'a, T: Element> BufferRef<'a, T> for AnyRef<'a, T> {
    fn len(&self) -> usize {
        match self {
            Self::Cpu(view) => view.len(),
        }
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        match self {
            Self::Cpu(view) => BufferRef::slice(view, range).map(Self::Cpu),
        }
    }
}

impl<'a, T: Element> BufferMut<'a, T> for AnyMut<'a, T> {
    type Reborrow<'b>
        = AnyMut<'b, T>
    where
        Self: 'b;

    fn len(&self) -> usize {
        match self {
            Self::Cpu(view) => view.len(),
        }
    }

    fn reborrow(&mut self) -> AnyMut<'_, T> {
        match self {
            Self::Cpu(view) => AnyMut::Cpu(view),
        }
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        match self {
            Self::Cpu(view) => BufferMut::slice(view, range).map(Self::Cpu),
        }
    }

    fn split_at(self, mid: usize) -> Result<(Self, Self), BackendError> {
        match self {
            Self::Cpu(view) => BufferMut::split_at(view, mid).map(|(a, b)| (Self::Cpu(a), Self::Cpu(b))),
        }
    }
}

impl Queue for AnyQueue {
    type Buf<T: Element> = AnyBuf<T>;

    fn caps(&self) -> &Caps {
        match self {
            Self::Cpu(queue) => queue.caps(),
        }
    }

    fn budget(&self) -> &Budget {
        match self {
            Self::Cpu(queue) => queue.budget(),
        }
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<AnyBuf<T>, BackendError> {
        match self {
            Self::Cpu(queue) => queue.zeros(len).map(AnyBuf::Cpu),
        }
    }

    fn write<T: Element>(&self, host: &[T], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        match (self, dst) {
            (Self::Cpu(queue), AnyMut::Cpu(dst)) => queue.write(host, dst),
        }
    }

    fn read<T: Element>(&self, src: AnyRef<'_, T>) -> Result<Vec<T>, BackendError> {
        match (self, src) {
            (Self::Cpu(queue), AnyRef::Cpu(src)) => queue.read(src),
        }
    }

    fn finish(&self) -> Result<(), BackendError> {
        match self {
            Self::Cpu(queue) => queue.finish(),
        }
    }
}
