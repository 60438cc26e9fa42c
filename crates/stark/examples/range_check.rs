//! A look-up, line by line: every value of a column is below 256.
//!
//! `cargo run --release -p trefoil-stark --example range_check`
//!
//! A constraint is a polynomial of low degree; "below 256" is not. The values are therefore looked up in a
//! table: a second component has the numbers 0 to 255 on its rows, with their multiplicities. Both components
//! sum fractions. A value `v` that is used adds `1 / (v - z)`, a number `t` that is yielded `m` times subtracts
//! `m / (t - z)`, for a challenge `z` that is drawn after both traces are committed to. The sums cancel only if
//! each value that is used is a number of the table.

use std::{error::Error, io::Write as _};

use core_types::air::{Air, LogUp, Relation, Row, stored_position};
use stark::{M31, PcsConfig, PreprocessedColumn, Protocol, Statement, StatementProver, Visitor, verify};

/// The relation between one value: its challenge `z` is in slot 0.
const BYTES: Relation = Relation::new(0, 1);

const LOG_TABLE: u32 = 8;

/// The component with the values, one on each row.
struct Values {
    log_rows: u32,
}

impl Air for Values {
    fn log_rows(&self) -> u32 {
        self.log_rows
    }

    fn eval<R: Row>(&self, row: &mut R) {
        let value = row.column();
        // One fraction in the one interaction column of this component: it uses `value` once.
        let mut look_ups = LogUp::new(1);
        let once = R::E::from(R::F::from(M31::ONE));
        look_ups.entry(row, BYTES, once, &[value]);
        // The column's constraint is stated here, after all others.
        look_ups.finish(row);
    }
}

/// The component with the table.
struct ByteTable;

impl Air for ByteTable {
    fn log_rows(&self) -> u32 {
        LOG_TABLE
    }

    fn eval<R: Row>(&self, row: &mut R) {
        // The numbers belong to the statement, which the verifier has: they are a preprocessed column, read by
        // slot. The multiplicity of each is chosen by the prover: it is a column of the trace.
        let number = row.preprocessed(0);
        let times = row.column();
        let mut look_ups = LogUp::new(1);
        look_ups.entry(row, BYTES, -R::E::from(times), &[number]);
        look_ups.finish(row);
    }
}

/// The statement: the prover has `2^log_rows` values below 256.
struct AllAreBytes {
    values: Values,
    table: ByteTable,
}

impl Statement for AllAreBytes {
    fn visit<'s>(&'s self, visitor: &mut impl Visitor<'s>) {
        visitor.component(&self.values, &[]);
        // Slot 0 of the table is preprocessed column 0.
        visitor.component(&self.table, &[0]);
    }

    fn preprocessed(&self) -> Vec<PreprocessedColumn> {
        vec![PreprocessedColumn { name: "byte", log_rows: LOG_TABLE }]
    }

    fn preprocessed_values(&self) -> Vec<Vec<M31>> {
        vec![stored(LOG_TABLE, M31::from_u32)]
    }

    fn relations(&self) -> &'static [Relation] {
        &[BYTES]
    }

    // `public_sum` is zero unless said otherwise: all that is used is yielded within the proof.
}

/// A column in the order in which commitments store it.
fn stored(log_rows: u32, value: impl Fn(u32) -> M31) -> Vec<M31> {
    let mut column = vec![M31::ZERO; 1 << log_rows];
    for row in 0..1 << log_rows {
        column[stored_position(row, log_rows) as usize] = value(row);
    }
    column
}

fn main() -> Result<(), Box<dyn Error>> {
    let q = runtime::cpu()?;
    let statement = AllAreBytes { values: Values { log_rows: 10 }, table: ByteTable };
    // The trees have columns of 2^10 and 2^8 rows; all are lifted to the height of the larger ones with their
    // blowup.
    let config = PcsConfig { lifting_log_size: Some(11), ..PcsConfig::default() };
    let mut prover = StatementProver::new(&q, Protocol::V2_3, config, &statement)?;

    let value = |row: u32| row * row % 256;
    let times = |number: u32| M31::from_u32((0..1 << 10).filter(|&row| value(row) == number).count() as u32);
    let trace = [vec![stored(10, |row| M31::from_u32(value(row)))], vec![stored(LOG_TABLE, times)]];
    let proof = prover.prove(&q, &trace)?;
    verify(Protocol::V2_3, config, &statement, prover.preprocessed_root(&q)?, &proof)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "1024 values are below 256: proven and verified")?;

    // With one value that is not in the table, the sums do not cancel.
    let mut wrong = trace;
    wrong[0][0][17] = M31::from_u32(256);
    match prover.prove(&q, &wrong) {
        Err(error) => writeln!(out, "with 256 among them: {error}")?,
        Ok(_) => return Err("256 is no byte".into()),
    }
    Ok(())
}
