//! A loaded module: kernels by name, variables, launches.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ptx::ast::{Directive, Function, Module, Space as PtxSpace};

use super::code::Code;
use super::counters::Counters;
use super::decode::{FUNCTION_HANDLES, MAX_LOCAL, Undecoded, decode, functions, global_variables};
use super::fault::{FaultKind, LaunchFault, Party, Place};
use super::memory::{Memory, MemoryFault, MemoryView, OutOfMemory};
use super::options::{Grid, Options};
use super::run::{LaunchJob, LocatedFault, has_wide_vectors, run};

/// Most threads of a block.
const MAX_THREADS: u64 = 1024;
/// Most shared memory of a block, in bytes: the opt-in maximum of the largest devices.
const MAX_SHARED: u64 = 227 * 1024;
/// Most blocks in x; 65535 in y and z.
const MAX_GRID_X: u32 = i32::MAX as u32;

static PROGRAMS: AtomicU64 = AtomicU64::new(1);

/// Why a text was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The text is not PTX.
    #[error(transparent)]
    Parse(#[from] ptx::ParseError),
    /// The assembler would refuse the text.
    #[error("line {line}: `{text}`: {reason}")]
    Refused {
        /// Line of the PTX text, from 1.
        line: u32,
        /// The line.
        text: String,
        /// The reason.
        reason: ptx::typing::Reason,
    },
    /// Addresses that are not 64 bits wide.
    #[error("expected .address_size 64, got {0}")]
    AddressSize(u32),
    /// An instruction outside the executor's table.
    #[error("line {line}: unsupported instruction `{text}`: {reason}")]
    Unsupported {
        /// Line of the PTX text, from 1.
        line: u32,
        /// The instruction.
        text: String,
        /// What about it is not supported.
        reason: String,
    },
    /// The value of a variable holds the address of something that is only declared.
    #[error("`{variable}` holds the address of `{symbol}`, which the module does not define")]
    Undefined {
        /// The variable.
        variable: String,
        /// The missing symbol.
        symbol: String,
    },
}

/// A kernel parameter in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelParameter {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// A kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDescription {
    /// Its name.
    pub name: String,
    /// Its parameters in order.
    pub parameters: Vec<KernelParameter>,
    /// Shared memory it declares, in bytes.
    pub static_shared: u64,
    /// Local memory per thread, in bytes.
    pub local: u64,
    /// 32-bit registers per thread before register allocation: far more than an assembler needs.
    pub registers: u32,
    /// Most threads of a block by its launch bounds, 1024 without.
    pub max_threads: u32,
}

/// A module that has been parsed and decoded, ready for launches on any device.
#[derive(Debug)]
pub struct Program {
    id: u64,
    decoded: Arc<Decoded>,
}

/// A text and what was read in it.
#[derive(Debug)]
struct Decoded {
    text: Box<str>,
    module: Module,
    kernels: Vec<(KernelDescription, Code)>,
}

impl Program {
    /// Parses and decodes `text`.
    ///
    /// # Errors
    /// [`LoadError`] if the text is malformed or mistyped, refers to symbols it does not define or
    /// holds an instruction outside the executor's table.
    pub fn load(text: &str) -> Result<Self, LoadError> {
        let module = ptx::parse(text)?;
        if module.address_size != 64 {
            return Err(LoadError::AddressSize(module.address_size));
        }
        if let Some(ptx::typing::Mistake { line, reason }) = ptx::typing::check(&module).into_iter().next() {
            return Err(LoadError::Refused { line, text: line_of(text, line), reason });
        }
        check_addresses(&module)?;
        let mut kernels = Vec::new();
        for (index, function) in module.functions.iter().enumerate() {
            if function.kind == ptx::ast::FunctionKind::Entry && function.body.is_some() {
                let code = decode(&module, index).map_err(|Undecoded { line, reason }| {
                    let text = line_of(text, line);
                    LoadError::Unsupported { line, text, reason }
                })?;
                kernels.push((describe(function, &code), code));
            }
        }
        Ok(Self::of(Arc::new(Decoded { text: text.into(), module, kernels })))
    }

    /// Another instance of the program, with separate variables.
    pub(crate) fn again(&self) -> Self {
        Self::of(Arc::clone(&self.decoded))
    }

    fn of(decoded: Arc<Decoded>) -> Self {
        Self { id: PROGRAMS.fetch_add(1, Relaxed), decoded }
    }

    /// The text it was loaded from.
    pub fn text(&self) -> &str {
        &self.decoded.text
    }

    /// The parse tree of the text.
    pub fn module(&self) -> &Module {
        &self.decoded.module
    }

    /// Its kernels in text order.
    pub fn kernels(&self) -> impl Iterator<Item = &KernelDescription> {
        self.decoded.kernels.iter().map(|(kernel, _)| kernel)
    }

    /// The kernel named `name`.
    pub fn kernel(&self, name: &str) -> Option<&KernelDescription> {
        self.kernels().find(|kernel| kernel.name == name)
    }

    /// Address and size of a module variable on `device`.
    ///
    /// Places the module's variables there if necessary. `None` if there is no such variable.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the variables do not fit.
    pub fn global(&self, memory: &Memory, device: u32, name: &str) -> Result<Option<(u64, u64)>, OutOfMemory> {
        let named = |variable: &ptx::ast::Variable| &*variable.name == name;
        let Some(index) = global_variables(&self.decoded.module).position(named) else { return Ok(None) };
        let addresses = self.globals(memory, device)?;
        let bytes = global_variables(&self.decoded.module).nth(index).map_or(0, ptx::ast::Variable::bytes);
        Ok(Some((addresses[index], bytes)))
    }

    /// Frees the module's variables on `device`; a later launch places them again.
    ///
    /// # Errors
    /// [`MemoryFault`] if the host freed one of them already.
    pub fn unload(&self, memory: &Memory, device: u32) -> Result<(), MemoryFault> {
        for &address in memory.take_module(self.id, device).iter().flat_map(|addresses| addresses.iter()) {
            memory.free(address)?;
        }
        Ok(())
    }

    /// Addresses of the module's variables on `device`, placed and initialised at the first call.
    fn globals(&self, memory: &Memory, device: u32) -> Result<Arc<[u64]>, OutOfMemory> {
        if let Some(known) = memory.module(self.id, device) {
            return Ok(known);
        }
        let mut addresses = Vec::new();
        for variable in global_variables(&self.decoded.module) {
            match memory.alloc(device, variable.bytes()) {
                Ok(address) => addresses.push(address),
                Err(error) => {
                    self.give_back(memory, &addresses);
                    return Err(error);
                }
            }
        }
        let functions = functions(&self.decoded.module);
        let address_of = |name: &str| {
            let place = global_variables(&self.decoded.module).position(|variable| &*variable.name == name);
            let function = || functions.get(name).map(|&index| FUNCTION_HANDLES + index as u64);
            place.map(|index| addresses[index]).or_else(function)
        };
        for (variable, &address) in global_variables(&self.decoded.module).zip(&addresses) {
            let mut image = variable.image();
            image.bytes.resize(variable.bytes() as usize, 0);
            for place in &image.relocations {
                let target = address_of(&place.symbol).unwrap_or(0).wrapping_add_signed(place.offset) >> place.shift;
                let (at, width) = (place.at as usize, place.width as usize);
                image.bytes[at..at + width].copy_from_slice(&target.to_le_bytes()[..width]);
            }
            // Fresh memory of that very size holds the image.
            let written = memory.write(address, &image.bytes);
            debug_assert!(written.is_ok(), "{written:?}");
        }
        let addresses: Arc<[u64]> = addresses.into();
        let winner = memory.set_module(self.id, device, addresses.clone());
        if !Arc::ptr_eq(&winner, &addresses) {
            self.give_back(memory, &addresses);
        }
        Ok(winner)
    }

    fn give_back(&self, memory: &Memory, addresses: &[u64]) {
        for &address in addresses {
            let freed = memory.free(address);
            debug_assert!(freed.is_ok(), "{freed:?}");
        }
    }

    /// The place a step of `code` comes from.
    fn place(&self, code: &Code, pc: u32) -> Place {
        let origin = code.origin.get(pc as usize).and_then(|&index| code.origins.get(index as usize));
        let Some(origin) = origin else { return Place::default() };
        let source = origin.source.and_then(|(file, line)| {
            let path = self.decoded.module.files.iter().find(|(index, _)| *index == file)?;
            Some((path.1.to_string(), line))
        });
        Place { line: origin.line, text: line_of(&self.decoded.text, origin.line), source }
    }
}

/// Checks that whatever the initial values of variables point to is defined.
fn check_addresses(module: &Module) -> Result<(), LoadError> {
    let bodies = module.functions.iter().filter(|function| function.body.is_some()).map(|function| &*function.name);
    let defined: HashSet<&str> = global_variables(module).map(|variable| &*variable.name).chain(bodies).collect();
    for variable in global_variables(module) {
        if let Some(place) = variable.image().relocations.iter().find(|place| !defined.contains(&*place.symbol)) {
            let (variable, symbol) = (variable.name.to_string(), place.symbol.to_string());
            return Err(LoadError::Undefined { variable, symbol });
        }
    }
    Ok(())
}

/// The text of a line, without indentation.
fn line_of(text: &str, line: u32) -> String {
    text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default().trim().to_owned()
}

fn describe(function: &Function, code: &Code) -> KernelDescription {
    let parameters = function.param_layout().into_iter();
    let parameters = parameters.map(|p| KernelParameter { offset: p.offset, bytes: p.size, align: p.align }).collect();
    let bounds = function.directives.iter().filter_map(|directive| match directive {
        Directive::MaxThreads(n) | Directive::RequiredThreads(n) => {
            Some(n.iter().map(|&n| u64::from(n)).product::<u64>())
        }
        _ => None,
    });
    let depots = function.body.iter().flat_map(|body| &body.variables);
    let depots = depots.filter(|variable| variable.space == PtxSpace::Local).map(ptx::ast::Variable::bytes);
    KernelDescription {
        name: function.name.to_string(),
        parameters,
        static_shared: code.static_shared,
        local: depots.sum(),
        registers: (code.words32 + 2 * code.words64) as u32,
        max_threads: bounds.min().unwrap_or(MAX_THREADS).min(MAX_THREADS) as u32,
    }
}

/// Rejects impossible launch shapes.
fn check_launch(kernel: &KernelDescription, code: &Code, grid: &Grid, params: &[u8]) -> Result<(), FaultKind> {
    let refuse = |quantity, expected: String, got| Err(FaultKind::Launch { quantity, expected, got });
    let limits = [(grid.grid[0], MAX_GRID_X), (grid.grid[1], 65535), (grid.grid[2], 65535)];
    if let Some((got, limit)) = limits.into_iter().find(|&(got, limit)| got == 0 || got > limit) {
        return refuse("grid", format!("1 to {limit} blocks"), got.into());
    }
    let limits = [(grid.block[0], 1024), (grid.block[1], 1024), (grid.block[2], 64)];
    if let Some((got, limit)) = limits.into_iter().find(|&(got, limit)| got == 0 || got > limit) {
        return refuse("block", format!("1 to {limit} threads"), got.into());
    }
    if grid.threads() > u64::from(kernel.max_threads) {
        return refuse("threads of a block", format!("at most {}", kernel.max_threads), grid.threads());
    }
    let shared = code.static_shared + u64::from(grid.dynamic_shared);
    if shared > MAX_SHARED {
        return refuse("shared memory", format!("at most {MAX_SHARED} bytes"), shared);
    }
    if code.local > MAX_LOCAL {
        return refuse("local memory of a thread", format!("at most {MAX_LOCAL} bytes"), code.local);
    }
    if params.len() as u64 != code.params {
        return refuse("parameters", format!("{} bytes", code.params), params.len() as u64);
    }
    Ok(())
}

/// Runs kernel `entry` of `program` on `device` to its end.
///
/// `params` is the parameter buffer, laid out as in [`KernelDescription::parameters`].
///
/// # Errors
/// The first [`LaunchFault`] of any thread, or of any checker that `options` turns on.
pub fn launch(
    program: &Program,
    entry: &str,
    grid: Grid,
    params: &[u8],
    memory: &Memory,
    device: u32,
    options: &Options,
) -> Result<Counters, Box<LaunchFault>> {
    let fault = |kind, party| Box::new(LaunchFault { kernel: entry.to_owned(), kind, party });
    let found = program.decoded.kernels.iter().find(|(kernel, _)| kernel.name == entry);
    let Some((kernel, code)) = found else { return Err(fault(FaultKind::NoSuchKernel, Party::default())) };
    check_launch(kernel, code, &grid, params).map_err(|kind| fault(kind, Party::default()))?;
    let globals = program.globals(memory, device).map_err(|error| fault(error.into(), Party::default()))?;
    let all = memory.view();
    let owner = |info: &super::memory::Allocation| info.device.unwrap_or(device);
    let foreign = all.regions.iter().any(|region| owner(&region.info) != device);
    let reachable = foreign.then(|| {
        let regions = all.regions.iter().filter(|region| memory.may_access(device, &region.info));
        MemoryView { regions: regions.cloned().collect() }
    });
    let view = reachable.as_ref().unwrap_or(&all);
    let (checked, wide_vectors) = (options.checks.any(), has_wide_vectors());
    let job = LaunchJob { code, params, grid, options, memory, device, view, globals, checked, wide_vectors };
    run(&job).map_err(|LocatedFault { mut kind, pc, block, thread, earlier }| {
        if let (FaultKind::Race { earlier: party, .. }, Some(pc)) = (&mut kind, earlier) {
            party.place = program.place(code, pc);
        }
        fault(kind, Party { block, thread, place: program.place(code, pc) })
    })
}
