//! Every statement on every row of its trace: constraints vanish, claimed sums add up, and a changed cell is noticed.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod blake2s;
mod check;
mod fibonacci;
mod look_ups;
mod plonk;
mod poseidon2;
mod state_machine;
