//! Modules: PTX text, its functions and variables.
//!
//! # Safety
//! As of the driver API; see the parent module.

use std::{
    collections::BTreeMap,
    ffi::{CStr, c_char, c_void},
    sync::Arc,
};

use cuda_loader::{
    Status,
    ffi::{CUdeviceptr, CUfunction, CUmodule, jit},
};

use super::{array, put, register, text, write_text};
use crate::{
    driver::{
        counters::Report,
        entry::{Entry, Needs, call},
        handle::{Handle, fresh},
        limits,
        queue::Goal,
        state::{Function, Module},
    },
    exec::Program,
};

register! {
    cuModuleLoad cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary cuModuleUnload cuModuleGetFunction
    cuModuleGetGlobal_v2 cuModuleGetLoadingMode
}

/// The newest PTX release that the simulated driver compiles.
const NEWEST_PTX: (u32, u32) = (8, 8);
/// Modules are loaded at once and whole.
const EAGER_LOADING: u32 = 1;

/// First value of a directive in the head of a PTX text.
fn directive<'a>(ptx: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = ptx.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    lines.find_map(|line| line.strip_prefix(name)?.split([' ', '\t', ',']).find(|word| !word.is_empty()))
}

/// The code and reason with which a driver for `capability` refuses a text by its head.
fn refuse_head(ptx: &str, capability: (u32, u32)) -> Option<(Status, String)> {
    let invalid = |reason: String| Some((Status::INVALID_PTX, reason));
    let version = directive(ptx, ".version").and_then(|text| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    });
    let Some(version) = version else { return invalid("no .version directive".into()) };
    if version > NEWEST_PTX {
        let reason = format!("PTX {}.{} is newer than {}.{}", version.0, version.1, NEWEST_PTX.0, NEWEST_PTX.1);
        return Some((Status::UNSUPPORTED_PTX_VERSION, reason));
    }
    let Some(target) = directive(ptx, ".target") else { return invalid("no .target directive".into()) };
    let digits = target.strip_prefix("sm_").unwrap_or_default();
    let exact = digits.ends_with('a');
    let Ok(wanted) = digits.trim_end_matches('a').parse::<u32>() else {
        return invalid(format!("unknown target `{target}`"));
    };
    let own = capability.0 * 10 + capability.1;
    if wanted > own || exact && wanted != own {
        return invalid(format!(
            "SM version specified by .target ({target}) is higher than that of the device (sm_{own})"
        ));
    }
    None
}

/// Loads a text into the current context.
fn load(entry: &mut Entry, image: &str) -> Result<CUmodule, (Status, String)> {
    let refuse = |code: Status| (code, code.to_string());
    entry.refuse_while_capturing().map_err(refuse)?;
    let context = entry.context().map_err(refuse)?;
    let driver = entry.driver();
    let outcome = match refuse_head(image, driver.spec.capability) {
        Some(refusal) => Err(refusal),
        None => Program::load(image).map_err(|error| (Status::INVALID_PTX, error.to_string())),
    };
    let program = outcome.inspect_err(|(_, reason)| driver.report(Report::Module(reason.clone())))?;
    driver.counters.modules += 1;
    let module = fresh();
    driver.modules.insert(module, Module { context, program: Arc::new(program), functions: BTreeMap::new() });
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

/// A log that the caller of `cuModuleLoadDataEx` wants: where its text goes, and where its length.
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
        let context = entry.driver().modules.get(&module.id()).ok_or(Status::INVALID_HANDLE)?.context;
        // The work's own failure is no failure of this call; it has been reported.
        let _lost = entry.wait(&Goal::Context(context));
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
        let function = Function {
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
        if !dptr.is_null() {
            put!(dptr, address)?;
        }
        if bytes.is_null() { Ok(()) } else { put!(bytes, size as usize) }
    })
}

unsafe extern "C" fn cuModuleGetLoadingMode(mode: *mut u32) -> Status {
    call("cuModuleGetLoadingMode", Needs::Driver, |_| put!(mode, EAGER_LOADING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_refused_by_its_head_as_a_driver_does() {
        let code = |text: &str, capability| refuse_head(text, capability).map(|(code, _)| code);
        let ptx = "// made by hand\n.version 7.0\n.target sm_80, debug // target\n.address_size 64\n";
        assert_eq!(code(ptx, (8, 0)), None);
        assert_eq!(code(ptx, (9, 0)), None);
        assert_eq!(code(ptx, (7, 5)), Some(Status::INVALID_PTX));
        assert_eq!(code(".version 9.9\n.target sm_80", (8, 0)), Some(Status::UNSUPPORTED_PTX_VERSION));
        assert_eq!(code(".version 8.0\n.target sm_90a", (9, 0)), None);
        assert_eq!(code(".version 8.0\n.target sm_90a", (10, 0)), Some(Status::INVALID_PTX));
        assert_eq!(code(".version 7.0\n", (8, 0)), Some(Status::INVALID_PTX));
        assert_eq!(code("", (8, 0)), Some(Status::INVALID_PTX));
    }
}
