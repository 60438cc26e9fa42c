//! Circuits: inputs, gates and outputs, joined by wires.

use alloc::{vec, vec::Vec};

use core_types::field::M31;

use crate::{AirError, columns::checked_rows};

/// The operation of a gate on its two inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Their sum.
    Add,
    /// Their product.
    Multiply,
}

/// A gate with two inputs and one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Its operation.
    pub op: Op,
    /// The wires that it reads.
    pub inputs: [u32; 2],
}

/// A circuit.
///
/// Its inputs are wires `0..inputs`; gate `k` drives wire `inputs + k`, and reads wires before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    inputs: u32,
    gates: Vec<Gate>,
    outputs: Vec<u32>,
    log_rows: u32,
}

impl Circuit {
    /// The circuit with these gates, which puts out the values of the wires `outputs`.
    ///
    /// # Errors
    ///
    /// Refuses a gate that reads its own wire or a later one, an output that is no wire, and more
    /// than `2^29` wires.
    pub fn new(inputs: u32, gates: Vec<Gate>, outputs: Vec<u32>) -> Result<Self, AirError> {
        // Two rows at least, and wires that differ as field elements.
        let log_rows = gates.len().next_power_of_two().ilog2().max(1);
        let wires = u64::from(inputs) + (1 << checked_rows(log_rows)?);
        checked_rows(wires.next_power_of_two().ilog2())?;
        for (k, gate) in gates.iter().enumerate() {
            if let Some(&wire) = gate.inputs.iter().find(|&&wire| u64::from(wire) >= u64::from(inputs) + k as u64) {
                return Err(AirError::Wire { gate: Some(k), wire });
            }
        }
        let driven = u64::from(inputs) + gates.len() as u64;
        if let Some(&wire) = outputs.iter().find(|&&wire| u64::from(wire) >= driven) {
            return Err(AirError::Wire { gate: None, wire });
        }
        Ok(Self { inputs, gates, outputs, log_rows })
    }

    /// A sample circuit of two inputs and `gates` gates, for trials.
    ///
    /// Gate `k` reads the wire before its own and wire `(5 k + 3) mod (k + 2)`. Every third gate,
    /// from gate 1 on, multiplies. The outputs are the last wire and one in the middle.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn sample(gates: u32) -> Result<Self, AirError> {
        let gate = |k: u32| {
            let far = (5 * u64::from(k) + 3) % (u64::from(k) + 2);
            Gate { op: if k % 3 == 1 { Op::Multiply } else { Op::Add }, inputs: [k + 1, far as u32] }
        };
        Self::new(2, (0..gates).map(gate).collect(), vec![gates.saturating_add(1), gates / 2])
    }

    /// The wires that it puts out.
    #[must_use]
    pub fn outputs(&self) -> &[u32] {
        &self.outputs
    }

    /// Log of the number of rows of its gates.
    ///
    /// The rows are filled up with gates that add nothing to the circuit.
    #[must_use]
    pub const fn log_rows(&self) -> u32 {
        self.log_rows
    }

    /// The values of all wires for these inputs.
    ///
    /// # Errors
    ///
    /// Refuses another number of inputs than the circuit's.
    pub fn wires(&self, inputs: &[M31]) -> Result<Vec<M31>, AirError> {
        self.check_inputs(inputs)?;
        Ok(self.values(inputs))
    }

    /// Returns the values of all wires of the circuit for these inputs.
    pub(super) fn values(&self, inputs: &[M31]) -> Vec<M31> {
        let mut values = inputs.to_vec();
        for gate in &self.gates {
            let [a, b] = gate.inputs.map(|wire| values[wire as usize]);
            values.push(match gate.op {
                Op::Add => a + b,
                Op::Multiply => a * b,
            });
        }
        values
    }

    pub(super) fn check_inputs(&self, inputs: &[M31]) -> Result<(), AirError> {
        let expected = self.inputs as usize;
        if inputs.len() == expected {
            Ok(())
        } else {
            Err(AirError::Length { what: "inputs", expected, got: inputs.len() })
        }
    }

    /// The wires that a row reads, first and second, and the one it drives.
    pub(super) fn row(&self, row: u32) -> (u32, u32, u32) {
        let driven = self.inputs + row;
        match self.gates.get(row as usize) {
            Some(&Gate { inputs: [a, b], .. }) => (a, b, driven),
            None => (driven, driven, driven),
        }
    }

    /// Whether a row adds.
    pub(super) fn adds(&self, row: u32) -> bool {
        self.gates.get(row as usize).is_none_or(|gate| gate.op == Op::Add)
    }

    /// Returns the number of reads of each wire, by rows and from outside.
    ///
    /// The rows after the last gate are included.
    pub(super) fn reads(&self) -> Vec<u32> {
        let rows = 1 << self.log_rows;
        let mut reads = vec![0; self.inputs as usize + rows as usize];
        for row in 0..rows {
            let (a, b, _) = self.row(row);
            reads[a as usize] += 1;
            reads[b as usize] += 1;
        }
        for &wire in &self.outputs {
            reads[wire as usize] += 1;
        }
        reads
    }
}
