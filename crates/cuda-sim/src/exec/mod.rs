//! Executes PTX on the host and checks it.
//!
//! The model is sequentially consistent and lockstep within a fragment of a warp; it cannot show
//! timing, weak memory beyond its happens-before check, and bugs of the real assembler and driver.
//!
//! # Examples
//!
//! ```
//! use cuda_sim::exec::{Grid, Memory, Options, Program, launch};
//!
//! let text = "
//!     .version 7.0
//!     .target sm_80
//!     .address_size 64
//!     .visible .entry twice(.param .u64 data) {
//!         .reg .b32 %r<4>;
//!         .reg .b64 %rd<3>;
//!         ld.param.u64 %rd0, [data];
//!         mov.u32 %r0, %tid.x;
//!         mul.wide.u32 %rd1, %r0, 4;
//!         add.s64 %rd1, %rd0, %rd1;
//!         ld.global.u32 %r1, [%rd1];
//!         add.u32 %r1, %r1, %r1;
//!         st.global.u32 [%rd1], %r1;
//!         ret;
//!     }";
//! let program = Program::load(text)?;
//! let memory = Memory::new(&[1 << 20]);
//! let data = memory.alloc(0, 4 * 32)?;
//! let words: Vec<u8> = (0..32_u32).flat_map(u32::to_le_bytes).collect();
//! memory.write(data, &words)?;
//! launch(&program, "twice", Grid::linear(1, 32), &data.to_le_bytes(), &memory, 0, &Options::sanitize())?;
//! let mut last = [0; 4];
//! memory.read(data + 4 * 31, &mut last)?;
//! assert_eq!(u32::from_le_bytes(last), 62);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assigned;
mod code;
mod collective;
mod counters;
mod decode;
mod fault;
mod flow;
mod forks;
mod lanes;
mod memory;
mod operands;
mod options;
mod program;
mod register;
mod run;
mod touched;
mod window;

pub use counters::{Counters, Traffic};
pub use fault::{Access, FaultKind, LaunchFault, Party, Place, Space};
pub use memory::{Allocation, GAP, GUARD, Memory, MemoryFault, MemoryProblem, OutOfMemory, Usage};
pub use options::{Checks, Grid, Options, Schedule};
pub use program::{KernelDescription, KernelParameter, LoadError, Program, launch};
pub use touched::Touched;
