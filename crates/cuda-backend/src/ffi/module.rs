//! Modules that the driver compiled from PTX, their kernels' attributes, and launches.

use core::fmt;
use std::{
    ffi::{CStr, CString, c_void},
    ptr,
    sync::Arc,
};

use cuda_loader::{
    Status,
    ffi::{self, CUfunction, CUmodule, CUstream},
};

use super::{CudaContext, CudaStream};
use crate::error::DriverFault;

/// Bytes of each of the compiler's two logs.
const LOG_BYTES: usize = 16 << 10;

/// PTX that the driver compiled for the device.
pub(crate) struct LoadedModule {
    context: Arc<CudaContext>,
    raw: CUmodule,
}

/// A failure to load PTX, with the compiler's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadFailure {
    pub(crate) fault: DriverFault,
    pub(crate) log: String,
}

/// A kernel of a [`LoadedModule`], which must outlive it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelFunction {
    raw: CUfunction,
}

/// Properties of a compiled kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionFacts {
    /// Threads that a block may have at most.
    pub(crate) max_threads: u32,
    /// Shared bytes that the kernel takes whatever the launch asks for.
    pub(crate) static_shared: u32,
    /// Registers of a thread.
    pub(crate) registers: u32,
    /// Local bytes of a thread.
    pub(crate) local_bytes: u32,
}

impl LoadedModule {
    /// Compiles and loads `ptx`. Returns the module with the compiler's log.
    pub(crate) fn load(context: &Arc<CudaContext>, ptx: &CStr) -> Result<(Self, String), LoadFailure> {
        let (mut said, mut failed) = ([0u8; LOG_BYTES], [0u8; LOG_BYTES]);
        let mut options = [
            ffi::jit::INFO_LOG_BUFFER,
            ffi::jit::INFO_LOG_BUFFER_SIZE_BYTES,
            ffi::jit::ERROR_LOG_BUFFER,
            ffi::jit::ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // The driver takes integers of up to pointer size in the place of the pointer.
        let mut values: [*mut c_void; 4] = [
            said.as_mut_ptr().cast(),
            ptr::without_provenance_mut(LOG_BYTES),
            failed.as_mut_ptr().cast(),
            ptr::without_provenance_mut(LOG_BYTES),
        ];
        let mut raw = CUmodule::NULL;
        let loaded = context.call("cuModuleLoadDataEx", || {
            // SAFETY: the text ends in zero; both arrays have four entries, and the buffers have the stated sizes.
            unsafe {
                ffi::cuModuleLoadDataEx(&raw mut raw, ptx.as_ptr().cast(), 4, options.as_mut_ptr(), values.as_mut_ptr())
            }
        });
        match loaded {
            Ok(()) => Ok((Self { context: Arc::clone(context), raw }, text(&said))),
            Err(fault) => Err(LoadFailure { fault, log: text(&failed) }),
        }
    }

    /// The kernel `name` and its properties; `None` if the module lacks it.
    pub(crate) fn function(&self, name: &str) -> Result<Option<(KernelFunction, FunctionFacts)>, DriverFault> {
        let Ok(name) = CString::new(name) else { return Ok(None) };
        let mut raw = CUfunction::NULL;
        let found = self.context.call("cuModuleGetFunction", || {
            // SAFETY: the module is loaded, the name ends in zero, and the call writes one handle.
            unsafe { ffi::cuModuleGetFunction(&raw mut raw, self.raw, name.as_ptr()) }
        });
        match found {
            Ok(()) => {}
            Err(DriverFault::Refused { status: Status::NOT_FOUND, .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        }
        let function = KernelFunction { raw };
        let attribute = |number| Ok::<_, DriverFault>(u32::try_from(self.attribute(function, number)?).unwrap_or(0));
        let facts = FunctionFacts {
            max_threads: attribute(ffi::function::MAX_THREADS_PER_BLOCK)?,
            static_shared: attribute(ffi::function::SHARED_SIZE_BYTES)?,
            registers: attribute(ffi::function::NUM_REGS)?,
            local_bytes: attribute(ffi::function::LOCAL_SIZE_BYTES)?,
        };
        Ok(Some((function, facts)))
    }

    /// Lets launches of `function` ask for up to `bytes` of dynamic shared memory.
    pub(crate) fn allow_dynamic_shared(&self, function: KernelFunction, bytes: u32) -> Result<(), DriverFault> {
        self.set_attribute(function, ffi::function::MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes)
    }

    /// Requests `percent` percent of a multiprocessor's greatest shared memory for `function`.
    ///
    /// The driver applies the preference while a multiprocessor runs `function`.
    pub(crate) fn prefer_shared(&self, function: KernelFunction, percent: u32) -> Result<(), DriverFault> {
        self.set_attribute(function, ffi::function::PREFERRED_SHARED_MEMORY_CARVEOUT, percent)
    }

    /// The percentage set by [`prefer_shared`](Self::prefer_shared); `-1` if none.
    pub(crate) fn carveout(&self, function: KernelFunction) -> Result<i32, DriverFault> {
        self.attribute(function, ffi::function::PREFERRED_SHARED_MEMORY_CARVEOUT)
    }

    /// Blocks of `function` that a multiprocessor runs at once; `None` if the driver cannot say.
    pub(crate) fn blocks(
        &self,
        function: KernelFunction,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<Option<u32>, DriverFault> {
        let mut blocks = 0;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        let asked = self.context.call("cuOccupancyMaxActiveBlocksPerMultiprocessor", || {
            // SAFETY: the function belongs to this module, which is loaded, and the call writes one number.
            unsafe {
                ffi::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &raw mut blocks,
                    function.raw,
                    threads,
                    dynamic_shared as usize,
                )
            }
        });
        match asked {
            Ok(()) => Ok(u32::try_from(blocks).ok()),
            Err(DriverFault::Refused { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn set_attribute(&self, function: KernelFunction, attribute: u32, value: u32) -> Result<(), DriverFault> {
        let value = i32::try_from(value).unwrap_or(i32::MAX);
        self.context.call("cuFuncSetAttribute", || {
            // SAFETY: the function belongs to this module, which is loaded.
            unsafe { ffi::cuFuncSetAttribute(function.raw, attribute, value) }
        })
    }

    fn attribute(&self, function: KernelFunction, attribute: u32) -> Result<i32, DriverFault> {
        let mut value = 0;
        self.context.call("cuFuncGetAttribute", || {
            // SAFETY: the function belongs to this module, which is loaded, and the call writes one number.
            unsafe { ffi::cuFuncGetAttribute(&raw mut value, attribute, function.raw) }
        })?;
        Ok(value)
    }
}

/// The text of a compiler log.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

impl Drop for LoadedModule {
    /// Waits: a kernel of the module may still run.
    fn drop(&mut self) {
        // A second try, should the driver refuse once. If it keeps refusing, the module goes with the context.
        let idle = self.context.synchronize().or_else(|_| self.context.synchronize());
        if idle.is_ok() {
            // SAFETY: the module is loaded and not used again.
            let _refused = self.context.call("cuModuleUnload", || unsafe { ffi::cuModuleUnload(self.raw) });
        }
    }
}

impl fmt::Debug for LoadedModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedModule").field("context", &self.context).finish_non_exhaustive()
    }
}

impl KernelFunction {
    /// Launches the kernel, all its blocks at once if `cooperative`.
    ///
    /// # Safety
    /// Each entry of `arguments` points to a value of the size that the kernel's parameter has, the
    /// module is loaded, and all memory that the kernel touches through its arguments is its to
    /// touch, and lives, until the stream has run it.
    pub(crate) unsafe fn launch(
        self,
        stream: &CudaStream,
        [grid, block]: [[u32; 3]; 2],
        dynamic_shared: u32,
        cooperative: bool,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverFault> {
        let (raw, [x, y, z], [width, height, depth]): (CUstream, _, _) = (stream.raw(), grid, block);
        let arguments = arguments.as_mut_ptr();
        if cooperative {
            return stream.context().call("cuLaunchCooperativeKernel", || {
                // SAFETY: the stream is alive; the rest is this function's contract. The driver copies the arguments.
                unsafe {
                    ffi::cuLaunchCooperativeKernel(
                        self.raw,
                        x,
                        y,
                        z,
                        width,
                        height,
                        depth,
                        dynamic_shared,
                        raw,
                        arguments,
                    )
                }
            });
        }
        stream.context().call("cuLaunchKernel", || {
            // SAFETY: as above.
            unsafe {
                ffi::cuLaunchKernel(
                    self.raw,
                    x,
                    y,
                    z,
                    width,
                    height,
                    depth,
                    dynamic_shared,
                    raw,
                    arguments,
                    ptr::null_mut(),
                )
            }
        })
    }
}
