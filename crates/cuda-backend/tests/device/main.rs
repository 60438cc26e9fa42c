//! Devices, memory, streams and launches on the simulated driver.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod budget;
mod buffers;
mod counts;
mod faults;
mod graphs;
mod kernels;
mod nccl;
mod open;
mod order;
mod peers;
mod register;
mod support;
mod threads;
