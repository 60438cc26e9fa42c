//! Statements as stwo's program has them, by the crate of the AIRs, with their traces. Shared with other tests of
//! proofs.

use stark::{M31, TraceColumns};
use stark_airs::{Blake2s, Circuit, Gate, Op, Plonk, Poseidon2Chain, StateMachine};

use crate::statement::{Statement, gate, message_word, outputs};

/// A statement about AIRs that ship, with its trace.
pub(crate) enum Stated {
    Steps(StateMachine, Vec<TraceColumns>),
    Plonk(Plonk, Vec<TraceColumns>),
    Poseidon2(Poseidon2Chain, Vec<TraceColumns>),
    Blake2s(Blake2s, Vec<TraceColumns>),
}

impl Stated {
    /// The statement, if its AIRs ship.
    pub(crate) fn of(statement: &Statement) -> Option<Self> {
        Some(match *statement {
            Statement::Steps { log_rows, first } => {
                let machine = StateMachine::new(log_rows, first.map(M31::from_u32)).unwrap();
                let trace = machine.trace();
                Self::Steps(machine, trace)
            }
            Statement::Plonk { gates, inputs, .. } => {
                let of = |k| {
                    let (adds, inputs) = gate(k);
                    Gate { op: if adds { Op::Add } else { Op::Multiply }, inputs }
                };
                let circuit = Circuit::new(2, (0..gates).map(of).collect(), outputs(gates).into()).unwrap();
                let plonk = Plonk::evaluate(circuit, inputs.map(M31::from_u32).to_vec()).unwrap();
                let trace = plonk.trace();
                Self::Plonk(plonk, trace)
            }
            Statement::Poseidon2 { log_rows, first, .. } => {
                let (chain, trace) = Poseidon2Chain::run(log_rows, first.map(M31::from_u32)).unwrap();
                Self::Poseidon2(chain, trace)
            }
            Statement::Blake2s { log_blocks, .. } => {
                let (hash, trace) = Blake2s::run(&blocks(log_blocks)).unwrap();
                Self::Blake2s(hash, trace)
            }
            _ => return None,
        })
    }
}

/// The blocks of a message.
pub(crate) fn blocks(log_blocks: u32) -> Vec<[u32; 16]> {
    let block = |k: u32| core::array::from_fn(|word| message_word(16 * k + word as u32));
    (0..1 << log_blocks).map(block).collect()
}
