//! The queue: allocation, copies to and from the device, launches and waiting.
//!
//! All run in the order of one stream.

mod record;
mod timed;

pub use timed::CudaMark;

use core::fmt;
use std::sync::Arc;

use backend_api::{
    BackendError, BackendKind, Budget, BufferMut as _, BufferRef as _, Caps, Element, PlainElement, Queue, Register,
};

use crate::{
    AesKernel, AirKernel, CallerCopies, CallerError, CallerStream, CudaBuf, CudaMut, CudaRef, CudaRegistered,
    DeviceCtx, Launch, ModuleOutcome, ProgramSource,
    mem::{Content, GRANULE_BYTES},
    streams::Track,
    submit,
};

/// An in-order queue on a GPU. Ops are submitted and run later; reading and finishing wait.
///
/// Cloning gives a second handle to the same queue; [`fork`](backend_api::Fork::fork) gives another
/// queue on the device.
#[derive(Clone)]
pub struct CudaQueue {
    inner: Arc<SharedQueue>,
}

struct SharedQueue {
    track: Track,
    caps: Caps,
}

impl CudaQueue {
    /// A queue on `track`.
    pub(crate) fn on(track: Track) -> Self {
        let info = track.device().info();
        let aes = match track.device().aes() {
            AesKernel::Table => "",
            AesKernel::Bitsliced => ", bitsliced AES",
        };
        let air = match track.device().air() {
            AirKernel::Compiled => "",
            AirKernel::Interpreted => ", interpreted AIRs",
        };
        let caps = Caps {
            kind: BackendKind::Cuda,
            device: info.name.clone(),
            path: format!(
                "{} on {}.{}{aes}{air}",
                track.device().kernels().target(),
                info.capability.0,
                info.capability.1
            ),
            threads: info.multiprocessors as usize,
        };
        Self { inner: Arc::new(SharedQueue { track, caps }) }
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<DeviceCtx> {
        self.inner.track.device()
    }

    pub(crate) fn track(&self) -> &Track {
        &self.inner.track
    }

    /// Compiles the modules whose names begin with `prefix`, each on a separate thread.
    ///
    /// Otherwise a module is compiled at the first launch of one of its kernels. The empty prefix
    /// selects all modules. Returns the outcome of each.
    ///
    /// # Errors
    /// The driver's error if the queue records. Each module has its own error; the others can be
    /// used.
    pub fn compile(&self, prefix: &str) -> Result<Vec<ModuleOutcome>, BackendError> {
        let _relaxed = self.track().relax()?;
        let device = self.device();
        Ok(device.kernels().load_all(device.context(), device.info(), prefix))
    }

    /// Rejects a thread whose calls a capture of a stream of the program forbids.
    ///
    /// For use before work that must not be refused halfway. A capture in relaxed mode forbids no
    /// calls. The driver may invalidate a capture that forbids some.
    ///
    /// # Errors
    /// [`CallerError::OtherCapture`] and the driver's errors; [`BackendError::Unsupported`] if the
    /// queue records.
    pub fn check_calls(&self) -> Result<(), CallerError> {
        self.track().permit_waiting("check_calls")?;
        Ok(self.device().events().check_calls(self.track().stream())?)
    }

    /// Copies between buffers of this queue and memory of the program's.
    ///
    /// They keep the order of `stream`.
    #[must_use]
    pub fn copies_for<'a>(&'a self, stream: &'a CallerStream) -> CallerCopies<'a> {
        CallerCopies::new(stream, self.track())
    }

    /// Waits for the submitted copies to memory of the program's, with all other work.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] if the queue records, and the driver's errors.
    pub fn finish_copies(&self) -> Result<(), CallerError> {
        self.track().permit_waiting("finish_copies")?;
        Ok(self.track().stream().synchronize()?)
    }

    /// A launch of the kernel `name`, to be given its grid and arguments.
    ///
    /// # Errors
    /// [`BackendError::Kernel`] if no module has the kernel or its module cannot be used here.
    pub fn kernel(&self, name: &str) -> Result<Launch<'_>, BackendError> {
        let _relaxed = self.track().relax()?;
        let device = self.device();
        let kernel = device.kernels().kernel(device.context(), device.info(), name)?;
        Ok(Launch::new(&self.inner.track, kernel))
    }

    /// Returns a launch of each kernel that the driver compiles of a program.
    ///
    /// The caller gives it a grid and arguments. `None` if the program is to be interpreted.
    ///
    /// # Errors
    /// [`BackendError::Kernel`] where the driver fails for a reason that is not the program.
    pub(crate) fn program(&self, source: &ProgramSource<'_>) -> Result<Option<Vec<Launch<'_>>>, BackendError> {
        let (device, track) = (self.device(), self.track());
        if device.air() == AirKernel::Interpreted {
            return Ok(None);
        }
        let _relaxed = track.relax()?;
        let (on, program) = ((device.context(), device.info()), (&source.digest(), source.kind.kernel()));
        let may_wait = track.recording().is_none();
        let kernels = device.compiled_programs().kernels(on, program, may_wait, || source.texts())?;
        Ok(kernels.map(|kernels| kernels.into_iter().map(|kernel| Launch::new(track, kernel)).collect()))
    }

    fn upload_as<T: Element>(&self, content: Content, parts: &[&[T]], dst: CudaMut<'_, T>) -> Result<(), BackendError> {
        let (expected, got) = (dst.len(), parts.iter().map(|part| part.len()).sum());
        if got != expected {
            return Err(BackendError::Length { op: "write", view: "host", expected, got });
        }
        let Some(region) = dst.region() else { return Ok(()) };
        self.track().own("write", region.block())?;
        let parts: Vec<&[u8]> = parts.iter().map(|part| bytemuck::cast_slice(part)).collect();
        submit::upload(self.track(), region, &parts, content)
    }

    fn download_as<T: Element>(&self, content: Content, src: CudaRef<'_, T>) -> Result<Vec<T>, BackendError> {
        let len = src.len();
        let Some(region) = src.region() else {
            return Ok(vec![T::zeroed(); len]); // no bytes: elements without content, or none
        };
        self.track().own("read", region.block())?;
        let out_of_memory = |()| BackendError::OutOfMemory { bytes: region.bytes() };
        let mut host = bytemuck::allocation::try_zeroed_vec(len).map_err(out_of_memory)?;
        let copied = submit::download(self.track(), region, &mut host, content);
        if copied.is_err() && content == Content::Secret {
            // Parts that have arrived.
            host.fill(T::zeroed());
            core::hint::black_box(&mut host);
        }
        copied.map(|()| host)
    }
}

impl Queue for CudaQueue {
    type Buf<T: Element> = CudaBuf<T>;

    fn caps(&self) -> &Caps {
        &self.inner.caps
    }

    fn budget(&self) -> &Budget {
        self.device().budget()
    }

    fn buffer_bytes(&self, len: usize, element_bytes: usize) -> u64 {
        let bytes = len.checked_mul(element_bytes).filter(|&bytes| bytes <= isize::MAX as usize);
        bytes.map_or(u64::MAX, |bytes| (bytes as u64).next_multiple_of(GRANULE_BYTES))
    }

    fn alloc<T: Element>(&self, len: usize) -> Result<CudaBuf<T>, BackendError> {
        let overflow = BackendError::LengthOverflow { len, element_bytes: size_of::<T>() };
        let bytes = len.checked_mul(size_of::<T>()).filter(|&bytes| bytes <= isize::MAX as usize).ok_or(overflow)?;
        let block = if bytes == 0 { None } else { Some(self.track().take(bytes as u64)?) };
        Ok(CudaBuf::new(block, len))
    }

    fn clear<T: Element>(&self, dst: CudaMut<'_, T>) -> Result<(), BackendError> {
        let Some(dst) = dst.region() else { return Ok(()) };
        self.track().own("clear", dst.block())?;
        submit::fill_zero(self.track(), dst)
    }

    fn write<T: Element>(&self, host: &[T], dst: CudaMut<'_, T>) -> Result<(), BackendError> {
        self.upload_as(Content::Plain, &[host], dst)
    }

    fn write_parts<T: Element>(&self, parts: &[&[T]], dst: CudaMut<'_, T>) -> Result<(), BackendError> {
        self.upload_as(Content::Plain, parts, dst)
    }

    fn read<T: Element>(&self, src: CudaRef<'_, T>) -> Result<Vec<T>, BackendError> {
        self.download_as(Content::Plain, src)
    }

    fn write_secret<T: Element>(&self, host: &[T], dst: CudaMut<'_, T>) -> Result<(), BackendError> {
        self.upload_as(Content::Secret, &[host], dst)
    }

    fn write_secret_parts<T: Element>(&self, parts: &[&[T]], dst: CudaMut<'_, T>) -> Result<(), BackendError> {
        self.upload_as(Content::Secret, parts, dst)
    }

    fn write_with_lists<T: Element>(
        &self,
        lists: &[&[T]],
        secret: &[&[T]],
        dst: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        let region = dst.region();
        self.upload_as(Content::Secret, &[lists, secret].concat(), dst)?;
        // A recorded copy has not run yet.
        let is_submitted = self.track().recording().is_none();
        if let Some(region) = region.filter(|_| is_submitted && !lists.is_empty()) {
            let lists: Vec<&[u8]> = lists.iter().map(|list| bytemuck::cast_slice(list)).collect();
            region.note_lists(lists.concat());
        }
        Ok(())
    }

    fn read_secret<T: Element>(&self, src: CudaRef<'_, T>) -> Result<Vec<T>, BackendError> {
        self.download_as(Content::Secret, src)
    }

    fn copy<T: Element>(&self, src: CudaRef<'_, T>, dst: CudaMut<'_, T>) -> Result<(), BackendError> {
        let (expected, got) = (dst.len(), src.len());
        if expected != got {
            return Err(BackendError::Length { op: "copy", view: "src", expected, got });
        }
        let (Some(src), Some(dst)) = (src.region(), dst.region()) else { return Ok(()) };
        self.track().own("copy", src.block())?;
        self.track().own("copy", dst.block())?;
        submit::copy(self.track(), dst, src)
    }

    fn words<'a, T: Element>(&self, view: CudaRef<'a, T>) -> CudaRef<'a, u32>
    where
        CudaBuf<T>: 'a,
    {
        view.words()
    }

    fn elements<'a, T: PlainElement>(&self, words: CudaRef<'a, u32>) -> Result<CudaRef<'a, T>, BackendError>
    where
        CudaBuf<T>: 'a,
    {
        words.elements()
    }

    fn finish(&self) -> Result<(), BackendError> {
        self.track().permit_waiting("finish")?;
        self.track().stream().synchronize()?;
        // Wipes now, and not at the next upload, what uploads of secrets have left in pinned memory.
        Ok(self.device().pinned().settle()?)
    }
}

impl Register for CudaQueue {
    type Registered<T: Element> = CudaRegistered<T>;

    fn register<T: Element>(&self, elements: Vec<T>) -> Result<CudaRegistered<T>, BackendError> {
        CudaRegistered::new(self.track(), elements)
    }

    fn write_registered<T: Element>(
        &self,
        host: &CudaRegistered<T>,
        first: usize,
        dst: CudaMut<'_, T>,
    ) -> Result<(), BackendError> {
        host.write(self.track(), first, &dst)
    }

    fn read_registered<T: Element>(
        &self,
        src: CudaRef<'_, T>,
        host: &mut CudaRegistered<T>,
        first: usize,
    ) -> Result<(), BackendError> {
        host.read(self.track(), src, first)
    }
}

impl fmt::Debug for CudaQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaQueue").field("caps", &self.inner.caps).field("device", self.device()).finish()
    }
}
