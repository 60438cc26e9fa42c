//! Units of work that streams and graphs are made of.
//!
//! # Safety
//! Work that touches host memory does so through addresses that a caller of the driver API gave, who by that API keeps
//! them valid until the work is known to be done.

use std::{
    ffi::c_void,
    fmt,
    ptr::{with_exposed_provenance, with_exposed_provenance_mut},
    sync::Arc,
};

use cuda_loader::{
    Status,
    ffi::{CUstream, HostFn, StreamCallback},
};

use super::handle::Handle;
use crate::exec::{self, Grid, Memory, Options, Program};

/// One unit of work.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// A joint in the order of work.
    Nothing,
    /// A kernel.
    Kernel(KernelCall),
    /// A copy.
    Copy(Copy),
    /// A fill.
    Fill(Fill),
    /// A host function.
    Host(HostCall),
    /// The release of stream-ordered memory.
    Free(u64),
    /// The time stamp of an event.
    Record(usize),
    /// An injected failure.
    Fail(Status, String),
}

/// A kernel launch with its arguments frozen.
#[derive(Clone, Debug)]
pub(super) struct KernelCall {
    pub(super) program: Arc<Program>,
    pub(super) name: Arc<str>,
    /// The function's handle, for queries of graph nodes.
    pub(super) function: usize,
    pub(super) grid: Grid,
    pub(super) params: Vec<u8>,
    pub(super) device: u32,
    pub(super) cooperative: bool,
}

/// One end of a copy.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Device or mapped memory.
    Device(u64),
    /// Host memory, read or written when the copy runs.
    Host(usize),
    /// Bytes of the host as they were when the copy was enqueued.
    Staged(Arc<[u8]>),
}

/// One end of a copy of planes of rows.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) place: Place,
    /// Bytes from one row to the next.
    pub(super) pitch: u64,
    /// Bytes from one plane to the next.
    pub(super) plane: u64,
}

/// A copy of `depth` planes of `height` rows of `width` bytes.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub(super) target: End,
    pub(super) source: End,
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) depth: u64,
    /// Reports success and writes nothing.
    pub(super) dropped: bool,
}

/// A fill of `height` rows of `width` elements.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    pub(super) target: u64,
    pub(super) pitch: u64,
    pub(super) value: u32,
    /// 1, 2 or 4.
    pub(super) element: u32,
    pub(super) width: u64,
    pub(super) height: u64,
}

/// A function of the host with its argument.
#[derive(Clone, Copy, Debug)]
pub(super) enum HostCall {
    /// The current interface.
    Function(HostFn, usize),
    /// The older one.
    Callback(StreamCallback, usize, usize),
}

/// Why work failed: the code for the caller and the reason for the report.
pub(super) type Failure = (Status, String);

impl Copy {
    /// A copy of consecutive bytes.
    pub(super) fn flat(target: Place, source: Place, bytes: u64) -> Self {
        let end = |place| End { place, pitch: bytes, plane: bytes };
        Self { target: end(target), source: end(source), width: bytes, height: 1, depth: 1, dropped: false }
    }

    /// Whether it moves consecutive bytes.
    pub(super) fn is_flat(&self) -> bool {
        self.height == 1 && self.depth == 1
    }

    /// Bytes that it moves.
    pub(super) fn bytes(&self) -> u64 {
        self.width * self.height * self.depth
    }

    fn run(&self, memory: &Memory) -> Result<(), Failure> {
        if self.dropped {
            return Ok(());
        }
        for plane in 0..self.depth {
            for row in 0..self.height {
                let at = |end: &End| plane * end.plane + row * end.pitch;
                copy_row(
                    memory,
                    &self.target.place,
                    at(&self.target),
                    &self.source.place,
                    at(&self.source),
                    self.width,
                )?;
            }
        }
        Ok(())
    }
}

impl End {
    /// First and past-the-last address that a copy of these dimensions touches, if in device memory.
    pub(super) fn device_range(&self, width: u64, height: u64, depth: u64) -> Option<(u64, u64)> {
        let Place::Device(base) = self.place else { return None };
        let last = (depth.max(1) - 1) * self.plane + (height.max(1) - 1) * self.pitch + width;
        Some((base, base.saturating_add(last)))
    }
}

fn copy_row(memory: &Memory, to: &Place, to_at: u64, from: &Place, from_at: u64, bytes: u64) -> Result<(), Failure> {
    let failed = |fault: exec::MemoryFault| (Status::ILLEGAL_ADDRESS, fault.to_string());
    let len = bytes as usize;
    if let (Place::Device(target), Place::Device(source)) = (to, from) {
        return memory.copy(target + to_at, source + from_at, bytes).map_err(failed);
    }
    let mut row = vec![0; len];
    match from {
        Place::Device(source) => memory.read(source + from_at, &mut row).map_err(failed)?,
        Place::Staged(bytes) => row.copy_from_slice(&bytes[from_at as usize..][..len]),
        Place::Host(source) => {
            let source = with_exposed_provenance::<u8>(source + from_at as usize);
            // SAFETY: the caller of the driver keeps the source valid until the copy is known to be done; `row` is new.
            unsafe { source.copy_to_nonoverlapping(row.as_mut_ptr(), len) };
        }
    }
    match to {
        Place::Device(target) => memory.write(target + to_at, &row).map_err(failed)?,
        Place::Staged(_) => return Err((Status::INVALID_VALUE, "a copy into its own staged source".into())),
        Place::Host(target) => {
            let target = with_exposed_provenance_mut::<u8>(target + to_at as usize);
            // SAFETY: the caller of the driver keeps the target valid and untouched until the copy is known to be done.
            unsafe { target.copy_from_nonoverlapping(row.as_ptr(), len) };
        }
    }
    Ok(())
}

impl Fill {
    fn run(&self, memory: &Memory) -> Result<(), Failure> {
        let pattern = &self.value.to_le_bytes()[..self.element as usize];
        for row in 0..self.height {
            let fill = memory.fill(self.target + row * self.pitch, pattern, self.width);
            fill.map_err(|fault| (Status::ILLEGAL_ADDRESS, fault.to_string()))?;
        }
        Ok(())
    }
}

impl HostCall {
    fn run(self) {
        match self {
            Self::Function(Some(function), data) => {
                // SAFETY: the caller of the driver gave the function with its argument.
                unsafe { function(with_exposed_provenance_mut::<c_void>(data)) }
            }
            Self::Callback(Some(function), stream, data) => {
                // SAFETY: as above.
                unsafe { function(CUstream::of(stream), Status::SUCCESS, with_exposed_provenance_mut::<c_void>(data)) }
            }
            Self::Function(None, _) | Self::Callback(None, ..) => {}
        }
    }
}

impl Work {
    /// Does the work. What a kernel did is returned.
    pub(super) fn run(&self, memory: &Memory, options: &Options) -> Result<Option<exec::Counters>, Failure> {
        match self {
            Self::Nothing | Self::Record(_) => {}
            Self::Kernel(call) => {
                let options = Options { cooperative: call.cooperative, ..options.clone() };
                let outcome =
                    exec::launch(&call.program, &call.name, call.grid, &call.params, memory, call.device, &options);
                return outcome.map(Some).map_err(|fault| (Status(fault.kind.cu_result()), fault.to_string()));
            }
            Self::Copy(copy) => copy.run(memory)?,
            Self::Fill(fill) => fill.run(memory)?,
            Self::Host(call) => call.run(),
            Self::Free(base) => {
                memory.free(*base).map_err(|fault| (Status::ILLEGAL_ADDRESS, fault.to_string()))?;
            }
            Self::Fail(code, reason) => return Err((*code, reason.clone())),
        }
        Ok(None)
    }

    /// Addresses in device memory that it is known to touch: of a kernel, every 8-byte parameter word.
    pub(super) fn addresses(&self) -> Vec<u64> {
        match self {
            Self::Kernel(call) => {
                let words = call.params.chunks_exact(8);
                words.map(|word| word.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))).collect()
            }
            Self::Copy(copy) => {
                let device = |end: &End| match end.place {
                    Place::Device(address) => Some(address),
                    _ => None,
                };
                device(&copy.target).into_iter().chain(device(&copy.source)).collect()
            }
            Self::Fill(fill) => vec![fill.target],
            Self::Nothing | Self::Host(_) | Self::Free(_) | Self::Record(_) | Self::Fail(..) => Vec::new(),
        }
    }

    /// How long it takes in the simulated time, in nanoseconds: a launch cost and 100 GB/s for bytes.
    pub(super) fn nanoseconds(&self, did: Option<&exec::Counters>) -> u64 {
        match self {
            Self::Nothing | Self::Record(_) => 0,
            Self::Kernel(_) => 2_000 + did.map_or(0, |counters| counters.warp_instructions),
            Self::Copy(copy) => 1_000 + copy.bytes() / 100,
            Self::Fill(fill) => 1_000 + fill.width * fill.height * u64::from(fill.element) / 100,
            Self::Host(_) | Self::Free(_) | Self::Fail(..) => 1_000,
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("empty node"),
            Self::Kernel(call) => write!(f, "kernel `{}` on device {}", call.name, call.device),
            Self::Copy(copy) => write!(f, "copy of {} bytes", copy.bytes()),
            Self::Fill(fill) => write!(f, "fill of {} bytes", fill.width * fill.height * u64::from(fill.element)),
            Self::Host(_) => f.write_str("host function"),
            Self::Free(base) => write!(f, "release of {base:#x}"),
            Self::Record(_) => f.write_str("event"),
            Self::Fail(..) => f.write_str("failing work"),
        }
    }
}
