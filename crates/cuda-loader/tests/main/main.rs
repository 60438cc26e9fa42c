//! The driver and NCCL of a process: libraries, tables in their place, or none.
//!
//! A process chooses each of them once, so tests that choose run in separate processes.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod installed_nccl;
mod installed_table;
mod layout;
#[cfg(target_os = "linux")]
mod library_files;
#[cfg(target_os = "linux")]
mod needed;
mod no_driver;
mod no_nccl;
