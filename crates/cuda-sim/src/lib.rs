//! A simulated CUDA driver, for tests and development without a GPU.
//!
//! It provides the `cu*` calls, a PTX executor, and checkers of kernels and hosts. A program that
//! opens the driver through `cuda-loader` runs its kernels on it unchanged: `trefoil conformance
//! --backend sim`. The variable `TREFOIL_SIM` chooses the device, the order of blocks and the
//! checkers; `docs/simulator.md` lists them.

pub mod driver;
pub mod exec;
