//! Modules: PTX text, its functions and variables.
//!
//! # Safety
//! As of the driver API; see `driver::api`.

use std::{
    collections::VecDeque,
    ffi::{CStr, c_char, c_void},
    sync::{Arc, Mutex, PoisonError},
};

use cuda_loader::{
    Status,
    ffi::{CUdeviceptr, CUfunction, CUmodule, jit},
};
use litemap::LiteMap;

use crate::{
    driver::{
        api::{array, offer, put, register, text, write_text},
        compile::{refuse_head, refuse_sizes},
        counters::Report,
        entry::{DriverCall, Needs, call},
        handle::{ApiHandle, fresh},
        limits,
        spec::Spec,
        state::{FunctionState, ModuleState, queue::WaitGoal},
    },
    exec::Program,
};

register! {
    cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary cuModuleUnload cuModuleGetFunction
    cuModuleGetGlobal_v2 cuModuleGetLoadingMode
}

/// Modules are loaded at once and completely.
const EAGER_LOADING: u32 = 1;

/// Most programs that are kept for when their texts are loaded again.
const KEPT: usize = 64;

/// Programs that were compiled, the most recently loaded first.
///
/// The same texts are loaded again for each context, and for each simulation of a process.
static COMPILED: Mutex<VecDeque<Program>> = Mutex::new(VecDeque::new());

/// Compiles a text for a machine.
fn compile(image: &str, machine: &Spec) -> Result<Program, (Status, String)> {
    if let Some(refusal) = refuse_head(image, machine.capability, machine.driver_version) {
        return Err(refusal);
    }
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = compiled.iter().position(|program| program.text() == image);
    let program = match known.and_then(|index| compiled.remove(index)) {
        Some(program) => program,
        None => {
            let program = Program::load(image).map_err(|error| (Status::INVALID_PTX, error.to_string()))?;
            if let Some(refusal) = refuse_sizes(program.module()) {
                return Err(refusal);
            }
            program
        }
    };
    let loaded = program.again();
    compiled.push_front(program);
    compiled.truncate(KEPT);
    Ok(loaded)
}

/// Loads a text into the current context.
fn load(entry: &mut DriverCall, image: &str) -> Result<CUmodule, (Status, String)> {
    let refuse = |code: Status| (code, code.to_string());
    entry.refuse_while_capturing().map_err(refuse)?;
    let context = entry.context().map_err(refuse)?;
    let driver = entry.driver();
    let program =
        compile(image, &driver.spec).inspect_err(|(_, reason)| driver.report(Report::Module(reason.clone())))?;
    driver.counters.modules += 1;
    let module = fresh();
    driver.modules.insert(module, ModuleState { context, program: Arc::new(program), functions: LiteMap::new() });
    Ok(CUmodule::of(module))
}

/// The text of an image.
///
/// # Safety
/// `image` is null, or starts either with the mark of a binary or with a C string.
unsafe fn image_text(image: *const c_void) -> Result<String, Status> {
    if image.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: a binary image starts with bytes that are not zero, so both kinds may be read as a C string up to there.
    let bytes = unsafe { CStr::from_ptr(image.cast::<c_char>()) }.to_bytes();
    if bytes.starts_with(b"\x7fELF") {
        return Err(Status::NO_BINARY_FOR_GPU);
    }
    String::from_utf8(bytes.to_vec()).map_err(|_| Status::INVALID_IMAGE)
}

unsafe extern "C" fn cuModuleLoad(module: *mut CUmodule, path: *const c_char) -> Status {
    call("cuModuleLoad", Needs::Context, |entry| {
        let path = text!(path)?;
        let image = std::fs::read_to_string(path).map_err(|_| Status::FILE_NOT_FOUND)?;
        put!(module, load(entry, &image).map_err(|(code, _)| code)?)
    })
}

unsafe extern "C" fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> Status {
    call("cuModuleLoadData", Needs::Context, |entry| {
        // SAFETY: the image is the call's.
        let image = unsafe { image_text(image) }?;
        put!(module, load(entry, &image).map_err(|(code, _)| code)?)
    })
}

unsafe extern "C" fn cuModuleLoadFatBinary(_module: *mut CUmodule, _fat_cubin: *const c_void) -> Status {
    call("cuModuleLoadFatBinary", Needs::Context, |_| Err(Status::NO_BINARY_FOR_GPU))
}

/// A log that the caller of `cuModuleLoadDataEx` requests.
///
/// The fields are the places for its text and its length.
#[derive(Default)]
struct Log {
    buffer: usize,
    room: usize,
    length: Option<*mut *mut c_void>,
}

impl Log {
    /// Writes the text, cut to the room there is, and its length.
    ///
    /// # Safety
    /// The buffer has the room the caller said, and the array of option values can be written.
    unsafe fn write(&self, text: &str) -> Result<(), Status> {
        let out = std::ptr::with_exposed_provenance_mut::<c_char>(self.buffer);
        if !out.is_null() && self.room > 0 {
            // SAFETY: by this function's contract.
            unsafe { write_text(text, out, self.room) }?;
        }
        let length = text.len().min(self.room.saturating_sub(1));
        // The driver writes the length over the option's value.
        self.length.map_or(Ok(()), |at| put!(at, std::ptr::without_provenance_mut(length)))
    }
}

unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut CUmodule,
    image: *const c_void,
    num_options: u32,
    options: *mut u32,
    option_values: *mut *mut c_void,
) -> Status {
    call("cuModuleLoadDataEx", Needs::Context, |entry| {
        let names = array!(options, num_options as usize)?;
        let values = array!(option_values, num_options as usize)?;
        let (mut info, mut error) = (Log::default(), Log::default());
        for (at, (name, value)) in names.into_iter().zip(values).enumerate() {
            let slot = option_values.wrapping_add(at);
            match name {
                jit::INFO_LOG_BUFFER => info.buffer = value.expose_provenance(),
                jit::ERROR_LOG_BUFFER => error.buffer = value.expose_provenance(),
                jit::INFO_LOG_BUFFER_SIZE_BYTES => (info.room, info.length) = (value.addr(), Some(slot)),
                jit::ERROR_LOG_BUFFER_SIZE_BYTES => (error.room, error.length) = (value.addr(), Some(slot)),
                _ => {}
            }
        }
        // SAFETY: the image is the call's.
        let image = unsafe { image_text(image) }?;
        let loaded = load(entry, &image);
        let (said, failed) = match &loaded {
            Ok(_) => (format!("compiled {} bytes of PTX", image.len()), String::new()),
            Err((_, reason)) => (String::new(), reason.clone()),
        };
        // SAFETY: buffers and values are the call's.
        unsafe { info.write(&said).and(error.write(&failed)) }?;
        put!(module, loaded.map_err(|(code, _)| code)?)
    })
}

unsafe extern "C" fn cuModuleUnload(module: CUmodule) -> Status {
    call("cuModuleUnload", Needs::Release, |entry| {
        entry.refuse_while_capturing()?;
        let current = entry.context()?;
        let owner = entry.driver().modules.get(&module.id()).map(|module| module.context);
        let context = owner.filter(|&owner| owner == current).ok_or(Status::INVALID_HANDLE)?;
        // The work's own failure is no failure of this call; it has been reported.
        let _lost = entry.wait(&WaitGoal::Context(context));
        entry.driver().forget_module(module.id());
        Ok(())
    })
}

unsafe extern "C" fn cuModuleGetFunction(func: *mut CUfunction, module: CUmodule, name: *const c_char) -> Status {
    call("cuModuleGetFunction", Needs::Context, |entry| {
        let name = text!(name)?;
        let driver = entry.driver();
        let owner = driver.modules.get_mut(&module.id()).ok_or(Status::INVALID_HANDLE)?;
        if let Some(&known) = owner.functions.get(&name) {
            return put!(func, CUfunction::of(known));
        }
        let kernel = owner.program.kernel(&name).ok_or(Status::NOT_FOUND)?;
        let free_shared = u64::from(limits::SHARED_DEFAULT).saturating_sub(kernel.static_shared);
        let function = FunctionState {
            module: module.id(),
            program: owner.program.clone(),
            name: name.as_str().into(),
            max_dynamic_shared: free_shared as i32,
            carveout: -1,
        };
        let id = fresh();
        owner.functions.insert(name, id);
        driver.functions.insert(id, function);
        put!(func, CUfunction::of(id))
    })
}

unsafe extern "C" fn cuModuleGetGlobal_v2(
    dptr: *mut CUdeviceptr,
    bytes: *mut usize,
    module: CUmodule,
    name: *const c_char,
) -> Status {
    call("cuModuleGetGlobal_v2", Needs::Context, |entry| {
        let name = text!(name)?;
        let device = entry.device()?;
        let driver = entry.driver();
        let program = driver.modules.get(&module.id()).ok_or(Status::INVALID_HANDLE)?.program.clone();
        let found = program.global(&driver.memory, device, &name).map_err(|_| Status::OUT_OF_MEMORY)?;
        let (address, size) = found.ok_or(Status::NOT_FOUND)?;
        offer!(dptr, address)?;
        offer!(bytes, size as usize)
    })
}

unsafe extern "C" fn cuModuleGetLoadingMode(mode: *mut u32) -> Status {
    call("cuModuleGetLoadingMode", Needs::Driver, |_| put!(mode, EAGER_LOADING))
}
