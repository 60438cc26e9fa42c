//! NCCL, opened at run time, or a table of functions in its place.
//!
//! NCCL moves data between devices, of one machine or of several. Nothing here links against
//! `libnccl`: the program starts on machines with and without it, and asks [`available`] which kind
//! it is on. What was chosen first holds for the life of the process:
//!
//! 1. a [`Table`] given to [`install`] (the simulated library, tests), else
//! 2. the [`Source`](crate::Source) given to [`open`], else
//! 3. the platform's library.
//!
//! NCCL calls the driver by itself, so a process whose driver is a table must install a table here
//! too.

mod functions;
mod library;
mod status;
mod table;
mod types;
mod unavailable;
mod version;

pub use library::{AlreadyChosen, Library, available, install, open};
pub use status::Status;
pub use table::{Functions, Table};
pub use types::{Comm, Config, UINT32, UniqueId};
pub use unavailable::Unavailable;
pub use version::Version;
