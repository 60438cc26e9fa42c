//! The simulated driver, called as a program calls a real one.
//!
//! Each test takes its turn with the driver of the process by a separate session.

mod arguments;
mod bench;
mod copies;
mod devices;
mod faults;
mod functions;
mod memory;
mod modules;
mod refusals;
mod submission;
mod unmodified_cust;
