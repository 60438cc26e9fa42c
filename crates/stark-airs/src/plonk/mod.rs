//! Circuits of additions and products, proven gate by gate.
//!
//! Wires carry their values by look-ups.

mod circuit;
mod gates;
mod wires;

use alloc::{vec, vec::Vec};

use core_types::{
    air::Relation,
    field::{M31, QM31},
};

pub use circuit::{Circuit, Gate, Op};
pub use gates::Gates;
pub use wires::PlonkWires;

use self::gates::WIRES;
use crate::{
    AirError, PreprocessedColumn, Statement, TraceColumns, Visitor,
    columns::{checked_rows, column},
    statement::public_fraction,
};

/// A circuit has these outputs for these inputs.
///
/// Rows are gates. Each row after the last gate is a gate that adds its own output to itself, so
/// that it is zero. The preprocessed columns are the circuit: the wires that each gate reads and
/// drives, and whether it adds. The claimed sum is the sum over all reads less the sum over all
/// values that gates drive: the fractions of the inputs, with their numbers of reads, less the
/// fractions of the outputs, which are read once more from outside. Each wire is driven by one row,
/// so that all its reads agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plonk {
    circuit: Circuit,
    gates: Gates,
    inputs: Vec<M31>,
    outputs: Vec<M31>,
}

impl Plonk {
    /// The statement that `circuit` has these outputs for these inputs, which need not be true.
    ///
    /// # Errors
    ///
    /// Refuses other numbers of inputs and outputs than the circuit's.
    pub fn new(circuit: Circuit, inputs: Vec<M31>, outputs: Vec<M31>) -> Result<Self, AirError> {
        circuit.check_inputs(&inputs)?;
        let expected = circuit.outputs().len();
        if outputs.len() != expected {
            return Err(AirError::Length { what: "outputs", expected, got: outputs.len() });
        }
        let gates = Gates::new(checked_rows(circuit.log_rows())?);
        Ok(Self { circuit, gates, inputs, outputs })
    }

    /// What `circuit` makes of these inputs, as a statement.
    ///
    /// # Errors
    ///
    /// Refuses another number of inputs than the circuit's.
    pub fn evaluate(circuit: Circuit, inputs: Vec<M31>) -> Result<Self, AirError> {
        let values = circuit.wires(&inputs)?;
        let outputs = circuit.outputs().iter().map(|&wire| values[wire as usize]).collect();
        Self::new(circuit, inputs, outputs)
    }

    /// The circuit.
    #[must_use]
    pub const fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// The values of its first wires.
    #[must_use]
    pub fn inputs(&self) -> &[M31] {
        &self.inputs
    }

    /// The values of the wires that it puts out.
    #[must_use]
    pub fn outputs(&self) -> &[M31] {
        &self.outputs
    }

    /// The trace: how often each gate's output is read, and the values of its wires.
    ///
    /// It depends on the inputs alone: if the outputs are others than the circuit's, the rows are
    /// right and the sums do not add up.
    #[must_use]
    pub fn trace(&self) -> Vec<TraceColumns> {
        let log_rows = self.circuit.log_rows();
        let (values, reads) = (self.values(), self.circuit.reads());
        let wires = |row| self.circuit.row(row);
        let value = |wire: u32| values[wire as usize];
        vec![vec![
            column(log_rows, |row| M31::from_u32(reads[wires(row).2 as usize])),
            column(log_rows, |row| value(wires(row).0)),
            column(log_rows, |row| value(wires(row).1)),
            column(log_rows, |row| value(wires(row).2)),
        ]]
    }

    /// Returns the wire values that the [`trace`](Self::trace) is gathered from on the device.
    #[must_use]
    pub fn wires(&self) -> PlonkWires {
        PlonkWires::new(self.values(), &self.circuit.reads())
    }

    /// Returns the values of all wires, including the rows after the last gate.
    fn values(&self) -> Vec<M31> {
        let mut values = self.circuit.values(&self.inputs);
        values.resize(self.inputs.len() + (1 << self.circuit.log_rows()), M31::ZERO);
        values
    }
}

impl Statement for Plonk {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        visitor.component(&self.gates, &[0, 1, 2, 3]);
    }

    /// The wires read first and second, the wire driven, and one where the gate adds.
    fn preprocessed(&self) -> Vec<PreprocessedColumn> {
        let log_rows = self.circuit.log_rows();
        ["wire-a", "wire-b", "wire-c", "adds"].map(|name| PreprocessedColumn { name, log_rows }).into()
    }

    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        let log_rows = self.circuit.log_rows();
        let wires = |row| self.circuit.row(row);
        vec![
            column(log_rows, |row| M31::from_u32(wires(row).0)),
            column(log_rows, |row| M31::from_u32(wires(row).1)),
            column(log_rows, |row| M31::from_u32(wires(row).2)),
            column(log_rows, |row| if self.circuit.adds(row) { M31::ONE } else { M31::ZERO }),
        ]
    }

    fn relations(&self) -> &'static [Relation] {
        &[WIRES]
    }

    /// The inputs, then the outputs.
    fn public_words(&self) -> Vec<u32> {
        self.inputs.iter().chain(&self.outputs).map(|value| value.word()).collect()
    }

    fn public_sum(&self, challenges: &[QM31]) -> Option<QM31> {
        let reads = self.circuit.reads();
        let outputs = self.circuit.outputs().iter().zip(&self.outputs);
        let fraction = |wire, value, times| public_fraction(WIRES, challenges, times, [M31::from_u32(wire), value]);
        // An output may be an input: then it is read from outside as it is given.
        let inputs =
            (0..).zip(&self.inputs).map(|(wire, &value)| fraction(wire, value, M31::from_u32(reads[wire as usize])));
        let outputs = outputs.map(|(&wire, &value)| fraction(wire, value, -M31::ONE));
        inputs.chain(outputs).try_fold(QM31::ZERO, |sum, fraction| Some(sum + fraction?))
    }
}
