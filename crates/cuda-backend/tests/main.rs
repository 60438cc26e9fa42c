//! The CUDA backend on the simulated driver, and the kernels that ship on the simulator's executor.
//!
//! A process has one simulated driver, and tests take turns at it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod air_programs;
mod attention_kernels;
mod circle_kernels;
#[path = "../../collective/tests/definitions/mod.rs"]
mod definitions;
mod device;
mod fss_kernels;
mod fss_ops;
mod lacking_driver;
mod no_driver;
mod old_driver;
