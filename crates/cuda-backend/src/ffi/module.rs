use core::{fmt, mem::ManuallyDrop};
use std::{
    ffi::{CStr, c_void},
    ptr,
    sync::Arc,
};

use cuda_loader::ffi::{self, CUfunction, CUmodule, CUstream};
use cust::{
    error::CudaError,
    function::{Function as CustFunction, FunctionAttribute},
    module::Module,
};

use super::{Context, Stream};
use crate::error::Fault;

/// Room for the compiler's messages.
const LOG_BYTES: usize = 16 << 10;

/// PTX that the driver compiled for the device.
pub(crate) struct LoadedModule {
    context: Arc<Context>,
    module: ManuallyDrop<Module>,
}

/// Why PTX was not loaded, with what the compiler said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadFailure {
    pub(crate) fault: Fault,
    pub(crate) log: String,
}

/// A kernel of a [`LoadedModule`], which must outlive it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    raw: CUfunction,
}

/// What the compiler made of a kernel.
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
    /// Compiles and loads `ptx`.
    pub(crate) fn load(context: &Arc<Context>, ptx: &CStr) -> Result<Self, LoadFailure> {
        match context.cust("cuModuleLoadDataEx", || Module::from_ptx_cstr(ptx, &[])) {
            Ok(module) => Ok(Self { context: Arc::clone(context), module: ManuallyDrop::new(module) }),
            Err(fault @ Fault::Lost(_)) => Err(LoadFailure { fault, log: String::new() }),
            Err(fault) => Err(LoadFailure { log: compiler_log(context, ptx), fault }),
        }
    }

    /// The kernel `name` and what the compiler made of it; `None` if the module lacks it.
    pub(crate) fn function(&self, name: &str) -> Result<Option<(Function, FunctionFacts)>, Fault> {
        let found = self.context.cust("cuModuleGetFunction", || match self.module.get_function(name) {
            Err(CudaError::NotFound) => Ok(None),
            other => other.map(Some),
        })?;
        let Some(function) = found else { return Ok(None) };
        let facts = FunctionFacts {
            max_threads: self.attribute(&function, FunctionAttribute::MaxThreadsPerBlock)?,
            static_shared: self.attribute(&function, FunctionAttribute::SharedMemorySizeBytes)?,
            registers: self.attribute(&function, FunctionAttribute::NumRegisters)?,
            local_bytes: self.attribute(&function, FunctionAttribute::LocalSizeBytes)?,
        };
        Ok(Some((Function { raw: CUfunction(function.to_raw().cast()) }, facts)))
    }

    /// Lets launches of `function` ask for up to `bytes` of dynamic shared memory.
    pub(crate) fn allow_dynamic_shared(&self, function: Function, bytes: u32) -> Result<(), Fault> {
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.context.call("cuFuncSetAttribute", || {
            // SAFETY: the function belongs to this module, which is loaded.
            unsafe { ffi::cuFuncSetAttribute(function.raw, ffi::function::MAX_DYNAMIC_SHARED_SIZE_BYTES, value) }
        })
    }

    fn attribute(&self, function: &CustFunction<'_>, attribute: FunctionAttribute) -> Result<u32, Fault> {
        let value = self.context.cust("cuFuncGetAttribute", || function.get_attribute(attribute))?;
        Ok(u32::try_from(value).unwrap_or(0))
    }
}

impl Drop for LoadedModule {
    /// Waits: a kernel of the module may still run.
    fn drop(&mut self) {
        // A second try, should the driver refuse once. If it keeps refusing, the module goes with the context.
        let idle = self.context.synchronize().or_else(|_| self.context.synchronize());
        if idle.is_ok() {
            let _refused = self.context.cust("cuModuleUnload", || {
                // SAFETY: the field is not used again.
                unsafe { ManuallyDrop::drop(&mut self.module) }
                Ok(())
            });
        }
    }
}

impl fmt::Debug for LoadedModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadedModule").field("context", &self.context).finish_non_exhaustive()
    }
}

/// Loads `ptx` once more for the compiler's messages, which `cust` cannot ask for.
fn compiler_log(context: &Context, ptx: &CStr) -> String {
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [ffi::jit::ERROR_LOG_BUFFER, ffi::jit::ERROR_LOG_BUFFER_SIZE_BYTES];
    // The driver takes integers of up to pointer size in the place of the pointer.
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES)];
    let mut module = CUmodule::NULL;
    let loaded = context.call("cuModuleLoadDataEx", || {
        // SAFETY: the text ends in zero; both arrays have two entries, and the buffer has the stated size.
        unsafe {
            ffi::cuModuleLoadDataEx(&raw mut module, ptx.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        }
    });
    if loaded.is_ok() {
        // SAFETY: the module was just loaded and nothing of it is used.
        let _refused = context.call("cuModuleUnload", || unsafe { ffi::cuModuleUnload(module) });
    }
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    String::from_utf8_lossy(&log[..end]).trim().to_owned()
}

impl Function {
    /// Launches the kernel.
    ///
    /// # Safety
    /// Each entry of `arguments` points to a value of the size that the kernel's parameter has, the module is loaded, and
    /// all memory that the kernel touches through its arguments is its to touch, and lives, until the stream has run it.
    pub(crate) unsafe fn launch(
        self,
        stream: &Stream,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), Fault> {
        let raw: CUstream = stream.raw();
        stream.context().call("cuLaunchKernel", || {
            // SAFETY: the stream is alive; the rest is this function's contract. The driver copies the arguments.
            unsafe {
                ffi::cuLaunchKernel(
                    self.raw,
                    grid[0],
                    grid[1],
                    grid[2],
                    block[0],
                    block[1],
                    block[2],
                    dynamic_shared,
                    raw,
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            }
        })
    }
}
