//! A loaded module: kernels by name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::counters::Counters;
use super::fault::{Fault, FaultKind, Party};
use super::memory::{Memory, MemoryFault, OutOfMemory};
use super::options::{Grid, Options};

static PROGRAMS: AtomicU64 = AtomicU64::new(1);

/// Why a text was not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
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
}

/// A kernel parameter in the parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u64,
}

/// A kernel of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters in order.
    pub parameters: Vec<Parameter>,
    /// Shared memory it declares, in bytes.
    pub static_shared: u64,
    /// Local memory per thread, in bytes.
    pub local: u64,
    /// 32-bit registers per thread before any allocation: an upper bound of what an assembler needs.
    pub registers: u32,
    /// Most threads of a block by its launch bounds, 1024 without.
    pub max_threads: u32,
}

/// A module that has been parsed and decoded, ready for launches on any device.
#[derive(Debug)]
pub struct Program {
    id: u64,
    text: Arc<str>,
}

impl Program {
    /// Parses and decodes `text`.
    ///
    /// # Errors
    /// [`LoadError`] if the text is malformed or holds an instruction outside the executor's table.
    pub fn load(text: &str) -> Result<Self, LoadError> {
        Ok(Self { id: PROGRAMS.fetch_add(1, Relaxed), text: text.into() })
    }

    /// The text it was loaded from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its kernels in text order.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        std::iter::empty()
    }

    /// The kernel named `name`.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels().find(|kernel| kernel.name == name)
    }

    /// Address and size of a module variable on `device`; places the module's variables there if need be. `None` if
    /// there is no such variable.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the variables do not fit.
    pub fn global(&self, memory: &Memory, device: u32, name: &str) -> Result<Option<(u64, u64)>, OutOfMemory> {
        let _ = (memory, device, name);
        Ok(None)
    }

    /// Frees the module's variables on `device`; a later launch places them anew.
    ///
    /// # Errors
    /// [`MemoryFault`] if the host freed one of them already.
    pub fn unload(&self, memory: &Memory, device: u32) -> Result<(), MemoryFault> {
        for &address in memory.take_module(self.id, device).iter().flat_map(|addresses| addresses.iter()) {
            memory.free(address)?;
        }
        Ok(())
    }
}

/// Runs kernel `entry` of `program` on `device` to its end. `params` is the parameter buffer, laid out as
/// [`Kernel::parameters`] says.
///
/// # Errors
/// The first [`Fault`] of any thread, or of any checker that `options` turns on.
pub fn launch(
    program: &Program,
    entry: &str,
    grid: Grid,
    params: &[u8],
    memory: &Memory,
    device: u32,
    options: &Options,
) -> Result<Counters, Box<Fault>> {
    let _ = (program, grid, params, memory, device, options);
    Err(Box::new(Fault { kernel: entry.to_owned(), kind: FaultKind::NoSuchKernel, party: Party::default() }))
}
