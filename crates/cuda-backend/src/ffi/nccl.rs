//! Communicators of NCCL with an owner.

use std::{ffi::c_void, ptr, sync::Arc};

use backend_api::{BackendError, CollectiveError};
use cuda_loader::nccl::{Comm, Config, Functions, Library, Status, UINT32, UniqueId};

use super::{CudaContext, CudaStream};
use crate::error::DriverFault;

/// Length in words of the unique id by which the ranks of a group find each other.
pub(crate) const NCCL_ID_WORDS: usize = size_of::<UniqueId>() / 4;

/// What NCCL has to answer and do, or the device it works on.
#[derive(Clone, Debug)]
pub(crate) enum NcclFault {
    /// A call was refused, or the operation that it began failed.
    Refused {
        /// The function.
        call: &'static str,
        /// The returned status.
        status: Status,
        /// The library's text for it.
        text: String,
    },
    /// The device failed.
    Device(BackendError),
}

impl From<NcclFault> for CollectiveError {
    fn from(fault: NcclFault) -> Self {
        match fault {
            NcclFault::Refused { call, status, text } => {
                Self::Library { call, code: status.0, name: status.name().unwrap_or("an unknown code"), text }
            }
            NcclFault::Device(error) => error.into(),
        }
    }
}

impl From<BackendError> for NcclFault {
    fn from(error: BackendError) -> Self {
        Self::Device(error)
    }
}

impl From<DriverFault> for NcclFault {
    fn from(fault: DriverFault) -> Self {
        Self::Device(fault.into())
    }
}

/// The place of a device in a group of ranks. Dropped as it is, it is aborted.
///
/// One thread at a time calls: the owner keeps it behind a lock.
#[derive(Debug)]
pub(crate) struct Communicator {
    context: Arc<CudaContext>,
    library: &'static Library,
    /// Null once it is given back.
    raw: Comm,
}

/// Turns the status of a call into a result, with the library's text for a refusal.
fn judge(functions: &Functions, call: &'static str, status: Status) -> Result<(), NcclFault> {
    if [Status::SUCCESS, Status::IN_PROGRESS].contains(&status) {
        return Ok(());
    }
    let told = functions.ncclGetLastError.map(|last| {
        // SAFETY: the function ignores its argument, which may be null.
        unsafe { last(Comm::NULL) }
    });
    // SAFETY: the function takes any code.
    let mut text = text_at(unsafe { (functions.ncclGetErrorString)(status) });
    // It is of the whole process, so another thread's failure may have taken its place.
    let told = told.map_or_else(String::new, text_at);
    if !told.is_empty() {
        text.extend(["; last error of NCCL: ", &told]);
    }
    Err(NcclFault::Refused { call, status, text })
}

fn text_at(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the library returns C strings in memory that it owns and never frees, and terminates
    // them before it overwrites them.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
}

impl Communicator {
    /// A unique id, by which the ranks of a new group find each other.
    pub(crate) fn unique_id(context: &CudaContext, library: &Library) -> Result<[u32; NCCL_ID_WORDS], NcclFault> {
        let mut id = UniqueId::default();
        // SAFETY: the call writes one record.
        let status = context.within(|| unsafe { (library.functions().ncclGetUniqueId)(&raw mut id) })?;
        judge(library.functions(), "ncclGetUniqueId", status)?;
        let mut words = [0; NCCL_ID_WORDS];
        for (word, bytes) in words.iter_mut().zip(id.internal.chunks_exact(4)) {
            *word = bytes.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte as u8));
        }
        Ok(words)
    }

    /// Begins to join as `rank` of `ranks`, which all use one `id`.
    ///
    /// The communicator is made once [`is_ready`](Self::is_ready) returns true. With a library that
    /// only has the blocking call, this waits for all ranks.
    pub(crate) fn join(
        context: &Arc<CudaContext>,
        library: &'static Library,
        id: &[u32; NCCL_ID_WORDS],
        [rank, ranks]: [usize; 2],
    ) -> Result<Self, NcclFault> {
        let mut by_value = UniqueId::default();
        for (bytes, word) in by_value.internal.chunks_exact_mut(4).zip(id) {
            for (byte, value) in bytes.iter_mut().zip(word.to_le_bytes()) {
                *byte = value as std::ffi::c_char;
            }
        }
        let mut made = Self { context: Arc::clone(context), library, raw: Comm::NULL };
        let (ranks, rank) = (number(ranks), number(rank));
        let functions = library.functions();
        let (call, status) = match functions.ncclCommInitRankConfig {
            Some(join) => {
                let mut config = Config::non_blocking();
                // SAFETY: the call writes one handle and reads one record, which the library copies.
                let joined =
                    context.within(|| unsafe { join(&raw mut made.raw, ranks, by_value, rank, &raw mut config) })?;
                ("ncclCommInitRankConfig", joined)
            }
            None => {
                // SAFETY: the call writes one handle.
                let joined = context
                    .within(|| unsafe { (functions.ncclCommInitRank)(&raw mut made.raw, ranks, by_value, rank) })?;
                ("ncclCommInitRank", joined)
            }
        };
        judge(functions, call, status)?;
        Ok(made)
    }

    /// Whether all that was called has been done. Later calls have to wait for it.
    ///
    /// # Errors
    /// An asynchronous failure since, in addition to the calls' own.
    pub(crate) fn is_ready(&self) -> Result<bool, NcclFault> {
        let mut state = Status::SUCCESS;
        // SAFETY: the communicator is alive, and the call writes one code.
        let asked = unsafe { (self.library.functions().ncclCommGetAsyncError)(self.raw, &raw mut state) };
        judge(self.library.functions(), "ncclCommGetAsyncError", asked)?;
        judge(self.library.functions(), "an operation of NCCL", state)?;
        Ok(state != Status::IN_PROGRESS)
    }

    /// Makes calls that begin together: none waits for another.
    pub(crate) fn group(&self, calls: impl FnOnce() -> Result<(), NcclFault>) -> Result<(), NcclFault> {
        let functions = self.library.functions();
        // SAFETY: the calls take no argument, and each start has its end below.
        let (start, end) = (|| unsafe { (functions.ncclGroupStart)() }, || unsafe { (functions.ncclGroupEnd)() });
        self.context.within(|| {
            judge(functions, "ncclGroupStart", start())?;
            let called = calls();
            let ended = judge(functions, "ncclGroupEnd", end());
            // The failed call is more specific than the end of its group.
            called.and(ended)
        })?
    }

    /// Sends words to a rank.
    ///
    /// # Safety
    /// `address` points to `words` words of the device, which live until the stream has run this.
    pub(crate) unsafe fn send(
        &self,
        address: u64,
        words: u64,
        to: usize,
        stream: &CudaStream,
    ) -> Result<(), NcclFault> {
        let functions = self.library.functions();
        // SAFETY: communicator and stream are alive; the rest is this function's contract.
        let status = unsafe {
            (functions.ncclSend)(pointer(address), words as usize, UINT32, number(to), self.raw, stream.raw())
        };
        judge(functions, "ncclSend", status)
    }

    /// Receives words from a rank.
    ///
    /// # Safety
    /// As of [`send`](Self::send), and nothing else uses the words until the stream has run this.
    pub(crate) unsafe fn receive(
        &self,
        address: u64,
        words: u64,
        from: usize,
        stream: &CudaStream,
    ) -> Result<(), NcclFault> {
        let functions = self.library.functions();
        // SAFETY: communicator and stream are alive; the rest is this function's contract.
        let status = unsafe {
            (functions.ncclRecv)(pointer(address), words as usize, UINT32, number(from), self.raw, stream.raw())
        };
        judge(functions, "ncclRecv", status)
    }

    /// Copies words from rank `root` to the same place on all ranks.
    ///
    /// # Safety
    /// As of [`receive`](Self::receive).
    pub(crate) unsafe fn broadcast(
        &self,
        address: u64,
        words: u64,
        root: usize,
        stream: &CudaStream,
    ) -> Result<(), NcclFault> {
        let (functions, at) = (self.library.functions(), pointer(address));
        // SAFETY: communicator and stream are alive; the rest is this function's contract.
        let status =
            unsafe { (functions.ncclBroadcast)(at, at, words as usize, UINT32, number(root), self.raw, stream.raw()) };
        judge(functions, "ncclBroadcast", status)
    }

    /// Gathers the words of each rank on all ranks.
    ///
    /// Rank `r` owns words `r * words ..` at `address`.
    ///
    /// # Safety
    /// As of [`receive`](Self::receive), for the words of all ranks.
    pub(crate) unsafe fn all_gather(
        &self,
        address: u64,
        words: u64,
        rank: usize,
        stream: &CudaStream,
    ) -> Result<(), NcclFault> {
        let functions = self.library.functions();
        let own = pointer(address + rank as u64 * words * 4);
        // SAFETY: communicator and stream are alive; the rest is this function's contract.
        let status =
            unsafe { (functions.ncclAllGather)(own, pointer(address), words as usize, UINT32, self.raw, stream.raw()) };
        judge(functions, "ncclAllGather", status)
    }

    /// Begins to end the communicator, all of whose work is done.
    ///
    /// If the library has a call for it, the end is reached once [`is_ready`](Self::is_ready)
    /// returns true.
    pub(crate) fn finalize(&self) -> Result<(), NcclFault> {
        let functions = self.library.functions();
        let Some(finalize) = functions.ncclCommFinalize else { return Ok(()) };
        // SAFETY: the communicator is alive.
        let status = self.context.within(|| unsafe { finalize(self.raw) })?;
        judge(functions, "ncclCommFinalize", status)
    }

    /// Destroys a communicator that has ended. If the library refuses, it leaks.
    pub(crate) fn destroy(mut self) {
        let mut raw = core::mem::replace(&mut self.raw, Comm::NULL);
        let destroy = || {
            // SAFETY: the communicator is alive, and not used again: even where the library refuses, it may be gone.
            unsafe { (self.library.functions().ncclCommDestroy)(core::mem::replace(&mut raw, Comm::NULL)) }
        };
        let _refused = self.context.within(destroy);
        // Where the library was not called, it is aborted.
        self.raw = raw;
    }
}

impl Drop for Communicator {
    /// Aborts running operations, and frees the communicator.
    fn drop(&mut self) {
        if self.raw.is_null() {
            return;
        }
        let mut raw = core::mem::replace(&mut self.raw, Comm::NULL);
        let mut abort = || {
            // SAFETY: the communicator is alive, and not used again: even where the library refuses, it may be gone.
            unsafe { (self.library.functions().ncclCommAbort)(core::mem::replace(&mut raw, Comm::NULL)) }
        };
        let _refused = self.context.within(&mut abort);
        // It sets its device by itself, so a device that is lost is no hindrance.
        if !raw.is_null() {
            // SAFETY: the library was not called, so the communicator is alive.
            let _refused = unsafe { (self.library.functions().ncclCommAbort)(raw) };
        }
    }
}

fn pointer(address: u64) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}

/// Ranks are few.
fn number(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}
