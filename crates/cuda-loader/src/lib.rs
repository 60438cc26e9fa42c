//! Opening of the CUDA driver at run time, or a table of functions in its place.
//!
//! [NCCL](nccl) is opened likewise.
//!
//! Nothing here links against `libcuda`: the program starts on machines with and without a driver,
//! and asks [`available`] which kind it is on. This crate defines the C symbols that crate `cust`
//! imports, and forwards each to the driver that was chosen, once for the life of the process:
//!
//! 1. a [`Table`] given to [`install`] (the simulated driver, tests), else
//! 2. the [`Source`] given to [`open`], else
//! 3. the platform's driver library, when the first call finds nothing chosen.
//!
//! # Result codes
//! `cust_raw` declares results as a closed enum of CUDA 11.4, so a newer code would be undefined
//! behaviour there. The C symbols therefore turn a code that the enum lacks into 999 and keep the
//! raw one for [`last_raw_code`]. Functions of [`ffi`] return the open type [`Status`] and need no
//! such care.
//!
//! # Linking
//! A crate that uses `cust` but names nothing of this crate must say `use cuda_loader as _;`, or
//! the linker never sees the symbols.

mod consts;
mod driver;
pub mod ffi;
mod forward;
mod functions;
pub mod nccl;
mod results;
mod stubs;
mod types;

pub use driver::library::{ParseSourceError, Source};
pub use driver::missing::MissingFunction;
pub use driver::state::{AlreadyChosen, Driver, Origin, available, install, open};
pub use driver::table::Table;
pub use driver::unavailable::Unavailable;
pub use driver::version::DriverVersion;
pub use results::meaning::{last_failure, last_raw_code};
pub use results::status::Status;
