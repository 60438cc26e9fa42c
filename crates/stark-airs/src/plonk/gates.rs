//! The AIR of gates.

use core_types::{
    air::{Air, LogUp, Relation, Row},
    field::M31,
};

/// Wires with their values.
///
/// The gates that read a wire use it; the gate that drives it yields it.
pub(super) const WIRES: Relation = Relation::new(0, 2);

/// A gate on each row.
///
/// Its slots are the wires that it reads, the wire that it drives, and one where it adds, zero
/// where it multiplies; its columns are how often its output is read, and the values of the three
/// wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    log_rows: u32,
}

impl Gates {
    pub(super) const fn new(log_rows: u32) -> Self {
        Self { log_rows }
    }
}

impl Air for Gates {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let [wire_a, wire_b, wire_c, adds] = [0, 1, 2, 3].map(|slot| row.preprocessed(slot));
        let [reads, a, b, c] = [(); 4].map(|()| row.column());
        row.constraint(c - adds * (a + b) - (-adds + M31::ONE) * a * b);
        let one = R::E::from(R::F::from(M31::ONE));
        let mut wires = LogUp::new(2);
        wires.entry(row, WIRES, one, &[wire_a, a]);
        wires.entry(row, WIRES, one, &[wire_b, b]);
        wires.entry(row, WIRES, -R::E::from(reads), &[wire_c, c]);
        wires.finish(row);
    }
}
