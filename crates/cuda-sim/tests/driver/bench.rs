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

impl Bench {
    pub(crate) fn new(spec: &str) -> Self {
        let session = simulate(spec).unwrap();
        ok!(cuInit(0));
        let mut context = CUcontext::NULL;
        ok!(cuDevicePrimaryCtxRetain(&raw mut context, 0));
        ok!(cuCtxSetCurrent(context));
        Self { session, context }
    }

    pub(crate) fn module(&self) -> CUmodule {
        let text = CString::new(KERNELS).unwrap();
        let mut module = CUmodule::NULL;
        ok!(cuModuleLoadData(&raw mut module, text.as_ptr().cast()));
        module
    }

    pub(crate) fn kernel(&self, name: &str) -> CUfunction {
        let (module, name) = (self.module(), CString::new(name).unwrap());
        let mut function = CUfunction::NULL;
        ok!(cuModuleGetFunction(&raw mut function, module, name.as_ptr()));
        function
    }

    pub(crate) fn stream(&self) -> CUstream {
        let mut stream = CUstream::NULL;
        ok!(cuStreamCreate(&raw mut stream, ffi::stream::NON_BLOCKING));
        stream
    }

    pub(crate) fn event(&self) -> CUevent {
        let mut event = CUevent::NULL;
        ok!(cuEventCreate(&raw mut event, ffi::event::DEFAULT));
        event
    }

    /// Device memory with these words.
    pub(crate) fn upload(&self, words: &[u32]) -> CUdeviceptr {
        let mut address = 0;
        ok!(cuMemAlloc_v2(&raw mut address, size_of_val(words)));
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
        let mut pointer: *mut c_void = std::ptr::null_mut();
        ok!(cuMemAllocHost_v2(&raw mut pointer, len * 4));
        // SAFETY: new memory of this length, zeroed and aligned to a page, which no test gives back before it ends.
        unsafe { std::slice::from_raw_parts_mut(pointer.cast(), len) }
    }
}

/// Launches `scale(data, factor, n)` over `n` threads.
pub(crate) fn scale(
    kernel: CUfunction,
    mut data: CUdeviceptr,
    mut factor: u32,
    mut n: u32,
    stream: CUstream,
) -> Status {
    let mut arguments = [(&raw mut data).cast::<c_void>(), (&raw mut factor).cast(), (&raw mut n).cast()];
    let (blocks, null) = (n.div_ceil(64), std::ptr::null_mut());
    status!(cuLaunchKernel(kernel, blocks, 1, 1, 64, 1, 1, 0, stream, arguments.as_mut_ptr(), null))
}
