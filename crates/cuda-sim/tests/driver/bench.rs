//! Fixtures that the tests share: a machine with a context, and calls that must succeed.

use std::ffi::{CString, c_void};

use cuda_loader::{
    Status,
    ffi::{self, CUcontext, CUdeviceptr, CUevent, CUfunction, CUmodule, CUstream},
};
use cuda_sim::driver::{Simulation, simulate};

/// The kernels of the tests.
pub(crate) const KERNELS: &str = include_str!("kernels.ptx");

/// A session with an initialised driver and the primary context of device 0 current.
pub(crate) struct Bench {
    pub(crate) session: Simulation,
    pub(crate) context: CUcontext,
}

/// Calls a function of the driver and returns its status.
macro_rules! status {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every pointer that the tests pass is valid for the accesses of the driver API, or wrong on purpose in
        // a way that the driver has to notice without following it.
        unsafe { cuda_loader::ffi::$function($($argument),*) }
    };
}

/// Calls a function of the driver that must succeed.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {
        assert_eq!(crate::driver::bench::status!($function($($argument),*)), cuda_loader::Status::SUCCESS)
    };
}

pub(crate) use {ok, status};

/// The value that a call writes in place of `before`. The call must succeed.
#[track_caller]
pub(crate) fn written<T>(mut before: T, call: impl FnOnce(*mut T) -> Status) -> T {
    assert_eq!(call(&raw mut before), Status::SUCCESS);
    before
}

/// Retains the primary context of a device.
pub(crate) fn retain(device: i32) -> CUcontext {
    written(CUcontext::NULL, |context| status!(cuDevicePrimaryCtxRetain(context, device)))
}

/// Retains the primary context of a device and makes it current.
pub(crate) fn enter(device: i32) -> CUcontext {
    let context = retain(device);
    ok!(cuCtxSetCurrent(context));
    context
}

/// A kernel of a text that loads.
pub(crate) fn kernel_of(text: &str, name: &str) -> CUfunction {
    let (text, name) = (CString::new(text).unwrap(), CString::new(name).unwrap());
    let module = written(CUmodule::NULL, |module| status!(cuModuleLoadData(module, text.as_ptr().cast())));
    written(CUfunction::NULL, |function| status!(cuModuleGetFunction(function, module, name.as_ptr())))
}

/// Memory of the current device that a stream allocates.
pub(crate) fn alloc_async(bytes: usize, stream: CUstream) -> CUdeviceptr {
    written(0, |address| status!(cuMemAllocAsync(address, bytes, stream)))
}

pub(crate) fn stream_with(flags: u32) -> CUstream {
    written(CUstream::NULL, |stream| status!(cuStreamCreate(stream, flags)))
}

impl Bench {
    pub(crate) fn new(spec: &str) -> Self {
        let session = simulate(spec).unwrap();
        ok!(cuInit(0));
        Self { session, context: enter(0) }
    }

    pub(crate) fn module(&self) -> CUmodule {
        let text = CString::new(KERNELS).unwrap();
        written(CUmodule::NULL, |module| status!(cuModuleLoadData(module, text.as_ptr().cast())))
    }

    pub(crate) fn kernel(&self, name: &str) -> CUfunction {
        kernel_of(KERNELS, name)
    }

    pub(crate) fn stream(&self) -> CUstream {
        stream_with(ffi::stream::NON_BLOCKING)
    }

    pub(crate) fn event(&self) -> CUevent {
        written(CUevent::NULL, |event| status!(cuEventCreate(event, ffi::event::DEFAULT)))
    }

    /// Device memory with these words.
    pub(crate) fn upload(&self, words: &[u32]) -> CUdeviceptr {
        let address = written(0, |address| status!(cuMemAlloc_v2(address, size_of_val(words))));
        ok!(cuMemcpyHtoD_v2(address, words.as_ptr().cast(), size_of_val(words)));
        // The call returns when the words have left the host.
        ok!(cuCtxSynchronize());
        address
    }

    /// Words of device memory, after all work.
    pub(crate) fn download(&self, address: CUdeviceptr, len: usize) -> Vec<u32> {
        ok!(cuCtxSynchronize());
        let mut words = vec![0u32; len];
        ok!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, len * 4));
        words
    }

    /// Pinned memory of this many words.
    pub(crate) fn pinned(&self, len: usize) -> &'static mut [u32] {
        let pointer: *mut c_void = written(std::ptr::null_mut(), |out| status!(cuMemAllocHost_v2(out, len * 4)));
        // SAFETY: new memory of this length, zeroed and aligned to a page, which no test gives back before it ends.
        unsafe { std::slice::from_raw_parts_mut(pointer.cast(), len) }
    }
}

/// Calls `with` with the arguments of a launch of `scale(data, factor, n)`.
pub(crate) fn with_arguments<T>(
    mut data: CUdeviceptr,
    mut factor: u32,
    mut n: u32,
    with: impl FnOnce(*mut *mut c_void) -> T,
) -> T {
    let mut arguments = [(&raw mut data).cast::<c_void>(), (&raw mut factor).cast(), (&raw mut n).cast()];
    with(arguments.as_mut_ptr())
}

/// Launches `scale(data, factor, n)` over `n` threads.
pub(crate) fn scale(kernel: CUfunction, data: CUdeviceptr, factor: u32, n: u32, stream: CUstream) -> Status {
    let (blocks, null) = (n.div_ceil(64), std::ptr::null_mut());
    with_arguments(data, factor, n, |arguments| {
        status!(cuLaunchKernel(kernel, blocks, 1, 1, 64, 1, 1, 0, stream, arguments, null))
    })
}
