//! Algebraic intermediate representations (AIRs) over Mersenne-31.
//!
//! Each comes with statements about it and the traces that satisfy them. An AIR is a component of a
//! proof: a [`core_types::air::Air`]. A [`Statement`] lists its components in order, the
//! preprocessed columns they read, the relations between them, and the required total of the
//! claimed sums of their look-ups. Provers and verifiers take statements and refer to no AIR by
//! name.
//!
//! | statement | claim |
//! | --- | --- |
//! | [`WideFibonacci`] | each of many columns is the sum of the squares of the two to its left |
//! | [`StateMachine`] | a state leads to another by steps of either coordinate |
//! | [`Plonk`] | a circuit of additions and products has these outputs for these inputs |
//! | [`Poseidon2Chain`] | a state leads to another by `2^log_rows` Poseidon2 permutations |
//! | [`Blake2s`] | the prover has a message with this digest |
//!
//! Traces are made on the host and stored as commitments take them: each column in bit-reversed
//! order, row `r` at [`stored_position(r, log_rows)`](core_types::air::stored_position). Some can
//! also be made where they are proven, from a [`Witness`] that is much smaller.
//!
//! ```
//! use core_types::field::M31;
//! use stark_airs::{StateMachine, Statement};
//!
//! let machine = StateMachine::new([4, 3], [M31::from_u32(5), M31::from_u32(7)])?;
//! assert_eq!(machine.last().map(M31::word), [5 + 16, 7 + 8]);
//!
//! let trace = machine.trace(); // two components of two columns each
//! assert_eq!(trace.iter().map(|columns| columns[0].len()).collect::<Vec<_>>(), [16, 8]);
//! assert_eq!(machine.heights(), [4, 3]);
//! # Ok::<(), stark_airs::AirError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod blake2s;
mod columns;
mod error;
mod fibonacci;
mod plonk;
mod poseidon2;
mod state_machine;
mod statement;
mod witness;

pub use blake2s::{Blake2s, Blake2sStates, Compressions, Rounds, XorTable};
pub use columns::TraceColumns;
pub use error::AirError;
pub use fibonacci::{FibonacciSeeds, WideFibonacci};
pub use plonk::{Circuit, Gate, Gates, Op, Plonk, PlonkWires};
pub use poseidon2::{Poseidon2, Poseidon2Chain, Poseidon2States};
pub use state_machine::{Axis, StateMachine, Steps};
pub use statement::{PreprocessedColumn, Statement, Visitor};
pub use witness::{Witness, WitnessVisitor};
