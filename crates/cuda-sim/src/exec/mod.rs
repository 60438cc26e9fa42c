//! Executes PTX on the host and checks what it executes.
//!
//! The model is sequentially consistent and lockstep within a fragment of a warp; what it cannot tell is timing, weak
//! memory beyond its happens-before check, and bugs of the real assembler and driver.

#![allow(dead_code, reason = "the executor that reads these follows")]

mod counters;
mod fault;
mod memory;
mod options;
mod program;

pub use counters::{Counters, Traffic};
pub use fault::{Access, Fault, FaultKind, Party, Place, Space};
pub use memory::{ALIGNMENT, Allocation, GUARD, Memory, MemoryFault, MemoryProblem, OutOfMemory, Usage};
pub use options::{Checks, Grid, Options, Schedule};
pub use program::{Kernel, LoadError, Parameter, Program, launch};
