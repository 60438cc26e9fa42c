//! Kernels that must or must not pass each checker.

mod copies;
mod hazards;
mod members;
mod memory_faults;
mod order;
mod races;
mod stuck;
mod undefined;
