//! The queue whose backend is chosen at run time, with its buffers, views and graphs.

mod dispatch;
mod marks;
mod ops;
mod rank;
mod register;
mod span;
mod timed;

use core::ops::Range;
#[cfg(feature = "cuda")]
use std::sync::Arc;

use backend_api::{
    BackendError, Budget, Buffer, BufferMut, BufferRef, Caps, Counted, Element, Fork, PlainElement, Queue, Record,
    Submissions, as_elements, as_words,
};
use cpu_backend::{CpuBuf, CpuQueue};
#[cfg(feature = "cuda")]
use cuda_backend::{CudaBuf, CudaGraph, CudaMut, CudaQueue, CudaRef};

pub use marks::{MarkedCall, mark_calls};
pub use rank::AnyRank;
pub use register::AnyRegistered;
pub use span::TRACE_TARGET;
pub use timed::AnyMark;

use dispatch::{inside, inside_all, moved};
use span::traced;

/// A queue whose backend is chosen at run time.
///
/// Generic code stays generic; this is the one enum it runs on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyQueue {
    /// The host processor.
    Cpu(CpuQueue),
    /// An NVIDIA GPU, or the simulated one.
    #[cfg(feature = "cuda")]
    Cuda(CudaQueue),
}

impl AnyQueue {
    /// Whether the queues use one memory, so that ops of one accept buffers of the other.
    ///
    /// A device that is opened twice has two memories, and so have two devices of one name. All
    /// queues of the processor use the memory of the host.
    #[must_use]
    pub fn shares_memory(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cpu(_), Self::Cpu(_)) => true,
            #[cfg(feature = "cuda")]
            (Self::Cuda(queue), Self::Cuda(other)) => Arc::ptr_eq(queue.device(), other.device()),
            _ => false,
        }
    }
}

/// A buffer of an [`AnyQueue`].
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyBuf<T> {
    /// Host memory.
    Cpu(CpuBuf<T>),
    /// Device memory.
    #[cfg(feature = "cuda")]
    Cuda(CudaBuf<T>),
}

/// A shared view into an [`AnyBuf`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AnyRef<'a, T> {
    /// Host memory.
    Cpu(&'a [T]),
    /// Device memory.
    #[cfg(feature = "cuda")]
    Cuda(CudaRef<'a, T>),
}

/// An exclusive view into an [`AnyBuf`].
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyMut<'a, T> {
    /// Host memory.
    Cpu(&'a mut [T]),
    /// Device memory.
    #[cfg(feature = "cuda")]
    Cuda(CudaMut<'a, T>),
}

/// The graph of an [`AnyQueue`]; there is none without the feature `cuda`.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyGraph {
    /// Recorded on a GPU; the host processor records nothing.
    #[cfg(feature = "cuda")]
    Cuda(CudaGraph),
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
        inside!(self, AnyBuf(buf) => buf.len())
    }

    fn view(&self) -> AnyRef<'_, T> {
        match self {
            Self::Cpu(buf) => AnyRef::Cpu(buf.view()),
            #[cfg(feature = "cuda")]
            Self::Cuda(buf) => AnyRef::Cuda(buf.view()),
        }
    }

    fn view_mut(&mut self) -> AnyMut<'_, T> {
        match self {
            Self::Cpu(buf) => AnyMut::Cpu(buf.view_mut()),
            #[cfg(feature = "cuda")]
            Self::Cuda(buf) => AnyMut::Cuda(buf.view_mut()),
        }
    }

    fn shorten<'s, 'l: 's>(view: AnyRef<'l, T>) -> AnyRef<'s, T>
    where
        Self: 'l,
    {
        view
    }

    fn shorten_mut<'s, 'l: 's>(view: AnyMut<'l, T>) -> AnyMut<'s, T>
    where
        Self: 'l,
    {
        view
    }

    fn reborrow_mut<'s, 'l: 's>(view: &'s mut AnyMut<'l, T>) -> AnyMut<'s, T>
    where
        Self: 'l,
    {
        view.reborrow()
    }

    fn read_only<'a>(view: AnyMut<'a, T>) -> AnyRef<'a, T>
    where
        Self: 'a,
    {
        match view {
            AnyMut::Cpu(view) => AnyRef::Cpu(view),
            #[cfg(feature = "cuda")]
            AnyMut::Cuda(view) => AnyRef::Cuda(CudaBuf::read_only(view)),
        }
    }
}

impl<'a, T: Element> BufferRef<'a, T> for AnyRef<'a, T> {
    fn len(&self) -> usize {
        inside!(self, AnyRef(view) => view.len())
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        inside!(self, AnyRef(view) => BufferRef::slice(view, range), wrap AnyRef)
    }
}

impl<'a, T: Element> BufferMut<'a, T> for AnyMut<'a, T> {
    type Reborrow<'b>
        = AnyMut<'b, T>
    where
        Self: 'b;

    fn len(&self) -> usize {
        inside!(self, AnyMut(view) => view.len())
    }

    fn reborrow(&mut self) -> AnyMut<'_, T> {
        match self {
            Self::Cpu(view) => AnyMut::Cpu(view),
            #[cfg(feature = "cuda")]
            Self::Cuda(view) => AnyMut::Cuda(view.reborrow()),
        }
    }

    fn slice(self, range: Range<usize>) -> Result<Self, BackendError> {
        inside!(self, AnyMut(view) => BufferMut::slice(view, range), wrap AnyMut)
    }

    fn split_at(self, mid: usize) -> Result<(Self, Self), BackendError> {
        match self {
            Self::Cpu(view) => BufferMut::split_at(view, mid).map(|(a, b)| (Self::Cpu(a), Self::Cpu(b))),
            #[cfg(feature = "cuda")]
            Self::Cuda(view) => view.split_at(mid).map(|(a, b)| (Self::Cuda(a), Self::Cuda(b))),
        }
    }
}

impl Queue for AnyQueue {
    type Buf<T: Element> = AnyBuf<T>;

    fn caps(&self) -> &Caps {
        inside!(self, AnyQueue(queue) => queue.caps())
    }

    fn budget(&self) -> &Budget {
        inside!(self, AnyQueue(queue) => queue.budget())
    }

    fn buffer_bytes(&self, len: usize, element_bytes: usize) -> u64 {
        inside!(self, AnyQueue(queue) => queue.buffer_bytes(len, element_bytes))
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<AnyBuf<T>, BackendError> {
        traced!(
            self,
            "zeros",
            [bytes = len.saturating_mul(size_of::<T>())],
            inside!(self, AnyQueue(queue) => queue.zeros(len), wrap AnyBuf)
        )
    }

    fn alloc<T: Element>(&self, len: usize) -> Result<AnyBuf<T>, BackendError> {
        traced!(
            self,
            "alloc",
            [bytes = len.saturating_mul(size_of::<T>())],
            inside!(self, AnyQueue(queue) => queue.alloc(len), wrap AnyBuf)
        )
    }

    fn clear<T: Element>(&self, dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        moved!("clear", dst.len() * size_of::<T>(), [self => AnyQueue(queue), dst => AnyMut(dst)], queue.clear(dst))
    }

    fn write<T: Element>(&self, host: &[T], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        moved!("write", size_of_val(host), [self => AnyQueue(queue), dst => AnyMut(dst)], queue.write(host, dst))
    }

    fn write_parts<T: Element>(&self, parts: &[&[T]], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        moved!(
            "write",
            dst.len() * size_of::<T>(),
            [self => AnyQueue(queue), dst => AnyMut(dst)],
            queue.write_parts(parts, dst)
        )
    }

    fn read<T: Element>(&self, src: AnyRef<'_, T>) -> Result<Vec<T>, BackendError> {
        moved!("read", src.len() * size_of::<T>(), [self => AnyQueue(queue), src => AnyRef(src)], queue.read(src))
    }

    fn write_secret<T: Element>(&self, host: &[T], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        moved!(
            "write_secret",
            size_of_val(host),
            [self => AnyQueue(queue), dst => AnyMut(dst)],
            queue.write_secret(host, dst)
        )
    }

    fn write_secret_parts<T: Element>(&self, parts: &[&[T]], dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        moved!(
            "write_secret",
            dst.len() * size_of::<T>(),
            [self => AnyQueue(queue), dst => AnyMut(dst)],
            queue.write_secret_parts(parts, dst)
        )
    }

    fn write_with_lists<T: Element>(
        &self,
        lists: &[&[T]],
        secret: &[&[T]],
        dst: AnyMut<'_, T>,
    ) -> Result<(), BackendError> {
        moved!(
            "write_secret",
            dst.len() * size_of::<T>(),
            [self => AnyQueue(queue), dst => AnyMut(dst)],
            queue.write_with_lists(lists, secret, dst)
        )
    }

    fn read_secret<T: Element>(&self, src: AnyRef<'_, T>) -> Result<Vec<T>, BackendError> {
        moved!(
            "read_secret",
            src.len() * size_of::<T>(),
            [self => AnyQueue(queue), src => AnyRef(src)],
            queue.read_secret(src)
        )
    }

    fn copy<T: Element>(&self, src: AnyRef<'_, T>, dst: AnyMut<'_, T>) -> Result<(), BackendError> {
        moved!(
            "copy",
            src.len() * size_of::<T>(),
            [self => AnyQueue(queue), src => AnyRef(src), dst => AnyMut(dst)],
            queue.copy(src, dst)
        )
    }

    fn words<'a, T: Element>(&self, view: AnyRef<'a, T>) -> AnyRef<'a, u32>
    where
        AnyBuf<T>: 'a,
    {
        match view {
            AnyRef::Cpu(view) => AnyRef::Cpu(as_words(view)),
            #[cfg(feature = "cuda")]
            AnyRef::Cuda(view) => AnyRef::Cuda(view.words()),
        }
    }

    fn elements<'a, T: PlainElement>(&self, words: AnyRef<'a, u32>) -> Result<AnyRef<'a, T>, BackendError>
    where
        AnyBuf<T>: 'a,
    {
        match words {
            AnyRef::Cpu(words) => as_elements(words).map(AnyRef::Cpu),
            #[cfg(feature = "cuda")]
            AnyRef::Cuda(words) => words.elements().map(AnyRef::Cuda),
        }
    }

    fn host_view<'a, T: Element>(&self, host: &'a [T]) -> Option<AnyRef<'a, T>>
    where
        AnyBuf<T>: 'a,
    {
        inside!(self, AnyQueue(queue) => queue.host_view(host), wrap AnyRef)
    }

    fn host_view_mut<'a, T: Element>(&self, host: &'a mut [T]) -> Result<AnyMut<'a, T>, &'a mut [T]>
    where
        AnyBuf<T>: 'a,
    {
        inside!(self, AnyQueue(queue) => queue.host_view_mut(host), wrap AnyMut)
    }

    fn finish(&self) -> Result<(), BackendError> {
        traced!(self, "finish", [], inside!(self, AnyQueue(queue) => queue.finish()))
    }
}

impl Counted for AnyQueue {
    fn submissions(&self) -> Submissions {
        inside!(self, AnyQueue(queue) => queue.submissions())
    }
}

impl Fork for AnyQueue {
    fn fork(&self) -> Result<Self, BackendError> {
        traced!(self, "fork", [], inside!(self, AnyQueue(queue) => queue.fork(), wrap AnyQueue))
    }

    fn join(&self, branch: &Self) -> Result<(), BackendError> {
        traced!(
            self,
            "join",
            [],
            inside_all!("join", [self => AnyQueue(queue), branch => AnyQueue(branch)], queue.join(branch))
        )
    }
}

impl Record for AnyQueue {
    type Graph = AnyGraph;

    fn record<E: From<BackendError>>(&self, body: impl FnOnce(&Self) -> Result<(), E>) -> Result<Option<AnyGraph>, E> {
        traced!(
            self,
            "record",
            [],
            match self {
                Self::Cpu(queue) =>
                    Ok(queue.record(|queue| body(&Self::Cpu(queue.clone())))?.map(|graph| match graph {})),
                #[cfg(feature = "cuda")]
                Self::Cuda(queue) => Ok(queue.record(|queue| body(&Self::Cuda(queue.clone())))?.map(AnyGraph::Cuda)),
            }
        )
    }

    fn replay(&self, graph: &AnyGraph) -> Result<(), BackendError> {
        traced!(
            self,
            "replay",
            [],
            match (self, graph) {
                #[cfg(feature = "cuda")]
                (Self::Cuda(queue), AnyGraph::Cuda(graph)) => queue.replay(graph),
                _ => Err(BackendError::MixedBackend { op: "replay" }),
            }
        )
    }
}
