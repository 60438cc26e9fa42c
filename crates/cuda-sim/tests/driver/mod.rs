//! The simulated driver, called as a program calls a real one.
//!
//! Each test takes its turn with the driver of the process by a separate session.

mod bench;
mod capture;
mod contexts;
mod copies;
mod faults;
mod graphs;
mod hazards;
mod memory;
mod modules;
mod nccl;
mod peers;
mod refusals;
mod streams;
mod unmodified_cust;
