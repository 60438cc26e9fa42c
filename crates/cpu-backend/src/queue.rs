//! The queue: its settings, threads and vector paths, and copies between host slices.

use core::fmt;
use std::{num::NonZeroUsize, sync::Arc, thread};

use backend_api::{
    BackendError, BackendKind, Budget, Caps, Element, PlainElement, Queue, Reservation, as_elements, as_words,
};
use rayon::{ThreadPool, ThreadPoolBuilder};
use thiserror::Error;

use crate::{CpuBuf, Simd, SimdLevel, blocks::FreedBlocks, buf::padded_bytes};

/// How to open a [`CpuQueue`].
///
/// The default uses every core, the strongest vector level and no byte limit.
#[derive(Clone, Debug)]
pub struct CpuConfig {
    /// Threads that one op may use; `None` for all that the system offers.
    pub threads: Option<NonZeroUsize>,
    /// The strongest vector level to use.
    pub simd: SimdLevel,
    /// Byte budget of the queue.
    pub budget: Budget,
}

impl Default for CpuConfig {
    fn default() -> Self {
        Self { threads: None, simd: SimdLevel::Avx512, budget: Budget::unlimited() }
    }
}

/// Why a [`CpuQueue`] could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CpuError {
    /// The operating system refused the worker threads.
    #[error("could not start {threads} worker threads: {reason}")]
    Threads {
        /// Requested threads.
        threads: usize,
        /// The pool builder's reason.
        reason: String,
    },
}

/// An in-order queue on the host processor. Ops finish before they return.
///
/// Cloning gives a second handle to the same threads and the same budget.
#[derive(Clone)]
pub struct CpuQueue {
    shared: Arc<QueueResources>,
}

struct QueueResources {
    caps: Caps,
    blocks: Arc<FreedBlocks>,
    simd: Simd,
    pool: Option<ThreadPool>,
}

impl CpuQueue {
    /// Opens a queue.
    ///
    /// # Errors
    /// [`CpuError::Threads`] if worker threads cannot be started.
    pub fn open(config: CpuConfig) -> Result<Self, CpuError> {
        let simd = Simd::detect_up_to(config.simd);
        Self::with_simd(config, simd)
    }

    /// Opens a queue on exactly the paths `simd`.
    ///
    /// Tests and benchmarks reach the weaker paths this way.
    ///
    /// # Errors
    /// [`CpuError::Threads`] if worker threads cannot be started.
    pub fn with_simd(config: CpuConfig, simd: Simd) -> Result<Self, CpuError> {
        let threads = config.threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let pool = if threads > 1 {
            let built =
                ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("trefoil-cpu-{i}")).build();
            Some(built.map_err(|e| CpuError::Threads { threads, reason: e.to_string() })?)
        } else {
            None
        };
        let caps = Caps {
            kind: BackendKind::Cpu,
            device: format!("host processor ({})", std::env::consts::ARCH),
            path: format!("{} + {}", simd.level(), simd.aes().name()),
            threads,
        };
        let blocks = Arc::new(FreedBlocks::new(config.budget));
        Ok(Self { shared: Arc::new(QueueResources { caps, blocks, simd, pool }) })
    }

    /// The paths that ops take.
    #[must_use]
    pub fn simd(&self) -> Simd {
        self.shared.simd
    }

    /// Counts memory that an op takes besides its operands in the budget.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<Reservation, BackendError> {
        self.shared.blocks.reserve(bytes)
    }

    /// The worker threads, if the queue has more than one.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        self.shared.pool.as_ref()
    }
}

impl Queue for CpuQueue {
    type Buf<T: Element> = CpuBuf<T>;

    fn caps(&self) -> &Caps {
        &self.shared.caps
    }

    fn budget(&self) -> &Budget {
        self.shared.blocks.budget()
    }

    fn buffer_bytes(&self, len: usize, element_bytes: usize) -> u64 {
        padded_bytes(len, element_bytes).map_or(u64::MAX, |bytes| bytes as u64)
    }

    fn alloc<T: Element>(&self, len: usize) -> Result<CpuBuf<T>, BackendError> {
        CpuBuf::new(len, false, &self.shared.blocks)
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<CpuBuf<T>, BackendError> {
        CpuBuf::new(len, true, &self.shared.blocks)
    }

    fn clear<T: Element>(&self, dst: &mut [T]) -> Result<(), BackendError> {
        dst.fill(T::zeroed());
        // Somebody may look: zeros over a secret whose memory goes back next are no dead stores.
        core::hint::black_box(dst);
        Ok(())
    }

    fn write<T: Element>(&self, host: &[T], dst: &mut [T]) -> Result<(), BackendError> {
        copy("write", "host", host, dst)
    }

    fn write_parts<T: Element>(&self, parts: &[&[T]], mut dst: &mut [T]) -> Result<(), BackendError> {
        let (expected, got) = (dst.len(), parts.iter().map(|part| part.len()).sum());
        if got != expected {
            return Err(BackendError::Length { op: "write", view: "host", expected, got });
        }
        for part in parts {
            let (target, rest) = dst.split_at_mut(part.len());
            target.copy_from_slice(part);
            dst = rest;
        }
        Ok(())
    }

    fn read<T: Element>(&self, src: &[T]) -> Result<Vec<T>, BackendError> {
        Ok(src.to_vec())
    }

    /// As [`write`](Self::write), which goes straight to its target.
    fn write_secret<T: Element>(&self, host: &[T], dst: &mut [T]) -> Result<(), BackendError> {
        self.write(host, dst)
    }

    /// As [`write_parts`](Self::write_parts), which goes straight to its target.
    fn write_secret_parts<T: Element>(&self, parts: &[&[T]], dst: &mut [T]) -> Result<(), BackendError> {
        self.write_parts(parts, dst)
    }

    /// As [`read`](Self::read), which goes straight to its result.
    fn read_secret<T: Element>(&self, src: &[T]) -> Result<Vec<T>, BackendError> {
        self.read(src)
    }

    fn copy<T: Element>(&self, src: &[T], dst: &mut [T]) -> Result<(), BackendError> {
        copy("copy", "src", src, dst)
    }

    fn words<'a, T: Element>(&self, view: &'a [T]) -> &'a [u32]
    where
        CpuBuf<T>: 'a,
    {
        as_words(view)
    }

    fn elements<'a, T: PlainElement>(&self, words: &'a [u32]) -> Result<&'a [T], BackendError>
    where
        CpuBuf<T>: 'a,
    {
        as_elements(words)
    }

    fn host_view<'a, T: Element>(&self, host: &'a [T]) -> Option<&'a [T]>
    where
        CpuBuf<T>: 'a,
    {
        Some(host)
    }

    fn host_view_mut<'a, T: Element>(&self, host: &'a mut [T]) -> Result<&'a mut [T], &'a mut [T]>
    where
        CpuBuf<T>: 'a,
    {
        Ok(host)
    }

    fn finish(&self) -> Result<(), BackendError> {
        Ok(())
    }
}

/// Copies `view`, the source of `op`.
fn copy<T: Element>(op: &'static str, view: &'static str, from: &[T], to: &mut [T]) -> Result<(), BackendError> {
    if from.len() != to.len() {
        return Err(BackendError::Length { op, view, expected: to.len(), got: from.len() });
    }
    to.copy_from_slice(from);
    Ok(())
}

impl fmt::Debug for CpuQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuQueue").field("caps", &self.shared.caps).field("budget", self.budget()).finish()
    }
}
