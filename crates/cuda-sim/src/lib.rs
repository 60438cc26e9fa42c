//! A simulated CUDA driver: the cu* calls, a PTX executor, and checkers of what kernels and hosts
//! do.

pub mod driver;
pub mod exec;
