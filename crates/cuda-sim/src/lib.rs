//! A simulated CUDA driver.
//!
//! It provides the cu* calls, a PTX executor, and checkers of kernels and hosts.

pub mod driver;
pub mod exec;
