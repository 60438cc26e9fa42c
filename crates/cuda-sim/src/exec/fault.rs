//! Why a launch ended early.

use std::fmt;

use super::memory::{MemoryFault, OutOfMemory};

/// A place in a kernel's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Line of the PTX text, from 1; 0 if the fault belongs to no instruction.
    pub line: u32,
    /// The instruction there.
    pub text: String,
    /// Source file and line by the last `.loc`, if the text has them.
    pub source: Option<(String, u32)>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {}: `{}`", self.line, self.text)?;
        match &self.source {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}

/// One thread at one instruction: the party to a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Party {
    /// Block coordinates.
    pub block: [u32; 3],
    /// Thread coordinates within the block.
    pub thread: [u32; 3],
    /// The instruction.
    pub place: Place,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {:?} thread {:?} at {}", self.block, self.thread, self.place)
    }
}

/// The kind of a thread's access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A load that takes its place to be constant: `ld.global.nc`.
    ConstantRead,
    /// A synchronising access of a scope wider than a block.
    ///
    /// It is a read-modify-write, or a load or store marked as synchronising.
    Atomic,
    /// As `Atomic`, for the threads of one block only.
    BlockAtomic,
    /// A volatile load or store.
    Volatile,
    /// The read of a `cp.async`.
    AsyncRead,
    /// The write of a `cp.async`.
    AsyncWrite,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ConstantRead => "read as a constant",
            Self::Atomic => "atomic",
            Self::BlockAtomic => "atomic of block scope",
            Self::Volatile => "volatile access",
            Self::AsyncRead => "asynchronous read",
            Self::AsyncWrite => "asynchronous write",
        })
    }
}

/// A state space, as faults name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Device memory.
    Global,
    /// Memory of a block.
    Shared,
    /// Memory of a thread.
    Local,
    /// Kernel or call parameters.
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Param => "parameter",
        })
    }
}

/// A launch that ended early: what happened, and the thread it happened to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {kind}; {party}")]
pub struct LaunchFault {
    /// The kernel.
    pub kernel: String,
    /// What happened.
    pub kind: FaultKind,
    /// Where.
    pub party: Party,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// The program has no such kernel.
    #[error("no such kernel in the module")]
    NoSuchKernel,
    /// The shape of the launch is not possible.
    #[error("{quantity}: expected {expected}, got {got}")]
    Launch {
        /// The quantity out of range.
        quantity: &'static str,
        /// The range, in words.
        expected: String,
        /// The value.
        got: u64,
    },
    /// There was no room for the module's variables.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// A stray access to global memory.
    #[error("illegal address, {0}")]
    Memory(MemoryFault),
    /// An access outside shared, local or parameter memory.
    #[error("illegal address, {bytes} bytes at {space} address {address:#x} of {size} bytes")]
    Window {
        /// Which memory.
        space: Space,
        /// First address of the access within that space.
        address: u64,
        /// Length of the access.
        bytes: u64,
        /// Size of the space for this launch.
        size: u64,
    },
    /// An access outside every array in shared memory, though inside shared memory.
    #[error("illegal address, {bytes} bytes at shared address {address:#x}, between two arrays")]
    BetweenArrays {
        /// First address of the access.
        address: u64,
        /// Length of the access.
        bytes: u64,
    },
    /// An address that is not a multiple of the access width.
    #[error("misaligned {space} address {address:#x} for an access of {bytes} bytes")]
    Misaligned {
        /// Which memory.
        space: Space,
        /// The address.
        address: u64,
        /// Width of the access.
        bytes: u64,
    },
    /// A read of a byte that was never written.
    #[error("uninitialised read of {space} address {address:#x}")]
    Uninitialised {
        /// Which memory.
        space: Space,
        /// The byte.
        address: u64,
    },
    /// A register whose value was never defined decides something.
    ///
    /// It was never written, or got its value from a lane that took no part in a shuffle.
    #[error("an undefined value is {used_as}")]
    Undefined {
        /// The use of the value.
        used_as: &'static str,
    },
    /// A read or write of bytes that an asynchronous copy has not delivered yet.
    #[error("{access} of shared address {address:#x} before the wait for the `cp.async` that writes it")]
    Unfinished {
        /// The access of the thread.
        access: Access,
        /// The byte.
        address: u64,
    },
    /// Two accesses to one place without an order between them.
    #[error("race on {space} address {address:#x}: {access} after {earlier_access} by {earlier}")]
    Race {
        /// Which memory.
        space: Space,
        /// First address of the place.
        address: u64,
        /// The later access.
        access: Access,
        /// The earlier access.
        earlier_access: Access,
        /// Who made the earlier access.
        earlier: Box<Party>,
    },
    /// Lanes of one warp wait at different collectives, or for a lane that has exited.
    #[error("divergent collective: members {members:08x}, present {present:08x}, exited {exited:08x}; {elsewhere}")]
    DivergentCollective {
        /// Lanes that must take part.
        members: u32,
        /// Lanes that have arrived.
        present: u32,
        /// Lanes of the warp that have ended or never existed.
        exited: u32,
        /// Where the others wait.
        elsewhere: String,
    },
    /// Warps wait at barriers that can never be complete.
    #[error("barrier deadlock: {waiting}")]
    BarrierDeadlock {
        /// Who waits where.
        waiting: String,
    },
    /// A barrier in a branch that not all threads of the block took.
    ///
    /// Some threads went past it and have ended.
    #[error("barrier in a branch: thread {thread:?} exited without arriving")]
    SkippedBarrier {
        /// One of those threads.
        thread: [u32; 3],
    },
    /// A barrier number or thread count outside the rules.
    #[error("barrier {quantity}: expected {expected}, got {got}")]
    Barrier {
        /// The quantity out of range.
        quantity: &'static str,
        /// The range, in words.
        expected: &'static str,
        /// The value.
        got: u64,
    },
    /// More warp instructions than the watchdog allows.
    #[error("launch timed out; fragments: {fragments}")]
    Timeout {
        /// Where every fragment of the running block stands.
        fragments: String,
    },
    /// A `trap` instruction.
    #[error("trap")]
    Trap,
    /// A call through something that is not a function, or a branch outside its table.
    #[error("illegal branch target {0:#x}")]
    IllegalTarget(u64),
    /// Calls nested deeper than the executor follows.
    #[error("calls nested deeper than {0}")]
    CallDepth(u32),
}

impl FaultKind {
    /// The `CUresult` that a driver reports for it.
    pub fn cu_result(&self) -> i32 {
        match self {
            Self::NoSuchKernel => 500,
            Self::Launch { .. } => 1,
            Self::OutOfMemory(_) => 2,
            Self::Memory(_) | Self::Window { .. } | Self::BetweenArrays { .. } => 700,
            Self::Timeout { .. } => 702,
            Self::CallDepth(_) => 714,
            Self::Barrier { .. } | Self::DivergentCollective { .. } | Self::SkippedBarrier { .. } => 715,
            Self::Misaligned { .. } => 716,
            Self::IllegalTarget(_) => 718,
            Self::Trap
            | Self::Uninitialised { .. }
            | Self::Undefined { .. }
            | Self::Unfinished { .. }
            | Self::Race { .. }
            | Self::BarrierDeadlock { .. } => 719,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryProblem;
    use super::*;

    #[test]
    fn every_kind_of_fault_has_the_code_of_the_driver() {
        let (address, bytes, space, got) = (0, 4, Space::Shared, 0);
        let (expected, memory) = (String::new(), MemoryFault { address, bytes, problem: MemoryProblem::Null });
        for (kind, code) in [
            (FaultKind::Launch { quantity: "grid", expected, got }, 1),
            (FaultKind::OutOfMemory(OutOfMemory { device: 0, requested: 1, free: 0 }), 2),
            (FaultKind::NoSuchKernel, 500),
            (FaultKind::Memory(memory), 700),
            (FaultKind::Timeout { fragments: String::new() }, 702),
            (FaultKind::CallDepth(64), 714),
            (FaultKind::Barrier { quantity: "number", expected: "0 to 15", got }, 715),
            (FaultKind::Misaligned { space, address, bytes }, 716),
            (FaultKind::IllegalTarget(0), 718),
            (FaultKind::Trap, 719),
        ] {
            assert_eq!(kind.cu_result(), code, "{kind}");
        }
    }
}
