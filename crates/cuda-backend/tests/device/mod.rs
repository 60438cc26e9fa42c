//! Devices, memory, streams and launches on the simulated driver.

mod budget;
mod buffers;
mod caller;
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
