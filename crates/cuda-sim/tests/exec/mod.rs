//! Proof of the executor: every operation against scalar references, and programs that must or must not pass each
//! checker.
#![allow(clippy::precedence, reason = "shifts and masks stand as in the definitions they are taken from")]

mod copies;
mod floats;
mod hazards;
mod integers;
mod loading;
mod members;
mod memory_faults;
mod order;
mod orders;
mod programs;
mod races;
mod rig;
mod scrambled;
mod shipped;
mod stuck;
mod undefined;
mod vectors;
mod warps;
