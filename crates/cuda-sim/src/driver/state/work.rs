//! Units of work that streams and graphs are made of.
//!
//! # Safety
//! Host functions are called with the argument that a caller of the driver API gave with them.

use std::{ffi::c_void, fmt, ops::Range, ptr::with_exposed_provenance_mut, sync::Arc};

use cuda_loader::{
    Status,
    ffi::{CUstream, HostFn, StreamCallback},
};

use super::{
    accesses::Accesses,
    outcome::{Did, Failure},
    transfer::{Copy, CopyLocation, End, Fill},
};
use crate::{
    driver::handle::ApiHandle,
    exec::{self, Grid, Memory, Options, Program},
};

#[derive(Clone, Debug)]
pub(in crate::driver) enum WorkUnit {
    /// A joint in the order of work.
    Nothing,
    Kernel(KernelCall),
    Copy(Copy),
    Fill(Fill),
    /// A host function.
    Host(HostCall),
    /// The release of stream-ordered memory.
    Free(u64),
    /// The end of an operation of NCCL.
    Exchange(Arc<ExchangeRanges>),
    /// A transfer of an NCCL operation from another rank.
    Carry(Arc<Carry>),
    /// The time stamp of an event.
    Record(usize),
    /// An injected failure.
    Fail(Status, String),
}

/// A kernel launch with its arguments frozen.
#[derive(Clone, Debug)]
pub(in crate::driver) struct KernelCall {
    pub(in crate::driver) program: Arc<Program>,
    pub(in crate::driver) name: Arc<str>,
    /// The function's handle, for queries of graph nodes.
    pub(in crate::driver) function: usize,
    pub(in crate::driver) grid: Grid,
    pub(in crate::driver) params: Vec<u8>,
    pub(in crate::driver) device: u32,
    pub(in crate::driver) cooperative: bool,
}

/// What an operation of NCCL reads and writes on its own device, in ascending order.
#[derive(Debug)]
pub(in crate::driver) struct ExchangeRanges {
    pub(in crate::driver) reads: Vec<Range<u64>>,
    pub(in crate::driver) writes: Vec<Range<u64>>,
}

/// A copy from another rank.
#[derive(Debug)]
pub(in crate::driver) struct Carry {
    pub(in crate::driver) copy: Copy,
    /// The communicator of the rank that receives.
    pub(in crate::driver) comm: usize,
    /// The context of the rank that sends.
    pub(in crate::driver) source_context: usize,
    /// The task that ends the operation that receives.
    pub(in crate::driver) leave: u64,
}

/// A function of the host with its argument.
#[derive(Clone, Copy, Debug)]
pub(in crate::driver) enum HostCall {
    /// The current interface.
    Function(HostFn, usize),
    /// The older one.
    Callback(StreamCallback, usize, usize),
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

impl WorkUnit {
    /// Does the work.
    pub(in crate::driver) fn run(&self, memory: &Memory, options: &Options) -> Result<Did, Failure> {
        let mut did = Did::default();
        if options.checks.streams {
            did.accesses = self.accesses(memory);
        }
        match self {
            Self::Nothing | Self::Record(_) | Self::Exchange(_) => {}
            Self::Carry(carry) => {
                carry.copy.run(memory, false)?;
            }
            Self::Kernel(call) => {
                let options = Options { cooperative: call.cooperative, ..options.clone() };
                let outcome =
                    exec::launch(&call.program, &call.name, call.grid, &call.params, memory, call.device, &options);
                let mut counters = outcome.map_err(|fault| (Status(fault.kind.cu_result()), fault.to_string()))?;
                did.accesses = std::mem::take(&mut counters.touched).into();
                did.kernel = Some(counters);
            }
            Self::Copy(copy) => did.unwritten = copy.run(memory, options.checks.uninitialised)?,
            Self::Fill(fill) => fill.run(memory)?,
            Self::Host(call) => call.run(),
            Self::Free(base) => {
                memory.free(*base).map_err(|fault| (Status::ILLEGAL_ADDRESS, fault.to_string()))?;
            }
            Self::Fail(code, reason) => return Err((*code, reason.clone())),
        }
        Ok(did)
    }

    /// Its accesses, except for a kernel, which reports them when it is done.
    fn accesses(&self, memory: &Memory) -> Accesses {
        match self {
            Self::Copy(copy) => copy.accesses(),
            Self::Fill(fill) => Accesses { writes: fill.ranges(), ..Accesses::default() },
            // Its copies are accounted for at their ends: on each side as work of that side's stream.
            Self::Exchange(exchange) => {
                Accesses { reads: exchange.reads.clone(), writes: exchange.writes.clone(), ..Accesses::default() }
            }
            Self::Free(base) => {
                let whole = memory.find(*base).map(|found| found.base..found.base + found.bytes);
                Accesses { writes: whole.into_iter().collect(), ..Accesses::default() }
            }
            _ => Accesses::default(),
        }
    }

    /// Addresses in device memory that the work touches, as far as they are known.
    ///
    /// For a kernel, they are every 8 bytes of its parameters that begin at a multiple of 4.
    pub(in crate::driver) fn addresses(&self) -> Vec<u64> {
        match self {
            Self::Kernel(call) => {
                let words = call.params.windows(8).step_by(4);
                words.filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?))).collect()
            }
            Self::Copy(copy) => {
                let device = |end: &End| match end.place {
                    CopyLocation::Device(address) => Some(address),
                    _ => None,
                };
                device(&copy.target).into_iter().chain(device(&copy.source)).collect()
            }
            Self::Fill(fill) => vec![fill.target],
            Self::Exchange(exchange) => {
                exchange.reads.iter().chain(&exchange.writes).map(|range| range.start).collect()
            }
            Self::Nothing | Self::Host(_) | Self::Free(_) | Self::Carry(_) | Self::Record(_) | Self::Fail(..) => {
                Vec::new()
            }
        }
    }

    /// Its duration in simulated nanoseconds.
    ///
    /// A launch has a fixed cost, and bytes move at 100 GB/s.
    pub(in crate::driver) fn nanoseconds(&self, did: Option<&exec::Counters>) -> u64 {
        match self {
            Self::Nothing | Self::Record(_) => 0,
            Self::Kernel(_) => 2_000 + did.map_or(0, |counters| counters.warp_instructions),
            Self::Copy(copy) => 1_000 + copy.bytes() / 100,
            Self::Carry(carry) => carry.copy.bytes() / 100,
            Self::Exchange(_) => 2_000,
            Self::Fill(fill) => 1_000 + fill.width * fill.height * u64::from(fill.element) / 100,
            Self::Host(_) | Self::Free(_) | Self::Fail(..) => 1_000,
        }
    }
}

impl fmt::Display for WorkUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("empty node"),
            Self::Kernel(call) => write!(f, "kernel `{}` on device {}", call.name, call.device),
            Self::Copy(copy) => write!(f, "copy of {} bytes", copy.bytes()),
            Self::Fill(fill) => write!(f, "fill of {} bytes", fill.width * fill.height * u64::from(fill.element)),
            Self::Host(_) => f.write_str("host function"),
            Self::Free(base) => write!(f, "release of {base:#x}"),
            Self::Exchange(exchange) => {
                let bytes = |ranges: &[Range<u64>]| ranges.iter().map(|range| range.end - range.start).sum::<u64>();
                write!(f, "NCCL operation with {} and {} bytes", bytes(&exchange.reads), bytes(&exchange.writes))
            }
            Self::Carry(carry) => write!(f, "NCCL transfer of {} bytes", carry.copy.bytes()),
            Self::Record(_) => f.write_str("event"),
            Self::Fail(..) => f.write_str("failing work"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{iter, slice::from_ref};

    use super::*;

    /// Two planes of two rows of 4 bytes, packed at the source and apart at the target.
    fn planes() -> Copy {
        let end = |address, pitch, plane| End { place: CopyLocation::Device(address), pitch, plane };
        let (target, source) = (end(0x1000, 8, 32), end(0x9000, 4, 8));
        Copy { target, source, width: 4, height: 2, depth: 2, dropped: false }
    }

    #[test]
    fn work_states_its_addresses_and_bytes() {
        let (copy, fill) = (planes(), Fill { target: 0x1000, pitch: 16, value: 7, element: 2, width: 3, height: 2 });
        let touched = copy.accesses();
        assert_eq!(touched.reads.as_slice(), from_ref(&(0x9000..0x9010)));
        assert_eq!(touched.writes, [0x1000..0x1004, 0x1008..0x100c, 0x1020..0x1024, 0x1028..0x102c]);
        assert_eq!(copy.target.device_range(4, 2, 2), Some((0x1000, 0x102c)));
        assert_eq!(fill.ranges(), [0x1000..0x1006, 0x1010..0x1016]);
        let flat = Copy::flat(CopyLocation::Host(0x2000), CopyLocation::Device(0x1000), 500);
        let host = 0x2000..0x21f4;
        assert_eq!((flat.host_target(), flat.host_source()), (Some(host.clone()), None));
        assert_eq!(flat.accesses().writes.as_slice(), from_ref(&host));
        let exchange = ExchangeRanges { reads: vec![16..20, 32..40], writes: iter::once(64..66).collect() };
        let works = [WorkUnit::Copy(copy), WorkUnit::Fill(fill), WorkUnit::Exchange(exchange.into())];
        assert_eq!(works.each_ref().map(WorkUnit::addresses), [vec![0x1000, 0x9000], vec![0x1000], vec![16, 32, 64]]);
        let texts = ["copy of 16 bytes", "fill of 12 bytes", "NCCL operation with 12 and 2 bytes"];
        assert_eq!(works.each_ref().map(ToString::to_string), texts);
    }

    #[test]
    fn work_takes_a_fixed_time_and_a_nanosecond_for_each_hundred_bytes() {
        let copy = Copy::flat(CopyLocation::Host(0x2000), CopyLocation::Device(0x1000), 500);
        let fill = Fill { target: 0x1000, pitch: 4000, value: 7, element: 4, width: 1000, height: 3 };
        let carry = Carry { copy: copy.clone(), comm: 0, source_context: 0, leave: 0 };
        let exchange = ExchangeRanges { reads: Vec::new(), writes: Vec::new() };
        let works = [
            (WorkUnit::Nothing, 0),
            (WorkUnit::Record(1), 0),
            (WorkUnit::Copy(copy), 1005),
            (WorkUnit::Fill(fill), 1120),
            (WorkUnit::Carry(carry.into()), 5),
            (WorkUnit::Exchange(exchange.into()), 2000),
            (WorkUnit::Free(0), 1000),
        ];
        for (work, expected) in works {
            assert_eq!(work.nanoseconds(None), expected, "{work}");
        }
    }
}
