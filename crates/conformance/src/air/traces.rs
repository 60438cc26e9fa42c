//! `air_columns` on random programs, and ops on row numbers, counters and gathers.
//!
//! `air_columns` is compared with an interpreter that computes one position at a time;
//! `row_numbers`, `counter_columns` and `gather_column` with their definitions.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::air::{AirColumns, AirOps, CounterColumns, GatherColumn, RowNumbers},
};
use core_types::{
    field::{M31, P},
    params::air::{
        AirColumnsParams, AirParams, CounterColumnsParams, GatherColumnParams, Instruction, MaskAt, Opcode,
        RowNumbersParams,
    },
};

use super::{
    model::{ProgramInputs, ProgramSize, positions, row},
    programs::{SIZES, moderate, step},
};
use crate::{Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _};

/// A random program without challenges, whose outputs are of the base field.
fn job(size: ProgramSize, seed: u64) -> ProgramInputs {
    let mut job = ProgramInputs::random(size, Opcode::ALL.len(), seed);
    for step in &mut job.instructions {
        step.opcode = match Opcode::ALL[usize::from(step.opcode)] {
            Opcode::Challenge => Opcode::Constant,
            Opcode::OutExt => Opcode::Out,
            other => other,
        } as u16;
    }
    job
}

/// A third of the outputs are counted.
fn expect_columns(q: &Conditioned, size: ProgramSize, seed: u64) -> Result<(), Failure> {
    expect_rows(q, size, size.outputs - size.outputs / 3, seed)
}

fn expect_rows(q: &Conditioned, size: ProgramSize, columns: u32, seed: u64) -> Result<(), Failure> {
    let job = job(size, seed);
    let len = 1usize << size.log_size;
    let positions = positions(size.log_size);
    let outputs = AirColumnsParams { columns, counters: 1 << 12 };
    let mut expected = ElementStream::new(seed + 1).column(len * outputs.columns as usize);
    let mut counted: Vec<u32> = (0..outputs.counters).map(|counter| counter.wrapping_mul(0x9e37_79b9)).list();
    let (inputs, mut columns, mut counters) = (q.upload(&job.values)?, q.upload(&expected)?, q.upload(&counted)?);
    for position in 0..len {
        for (output, value) in job.written(&positions, position) {
            let [value, ..] = value.coordinates();
            if output < outputs.columns as usize {
                expected[output * len + position] = value;
            } else if let Some(counter) = counted.get_mut(value.word() as usize) {
                *counter = counter.wrapping_add(1);
            }
        }
    }
    q.air_columns(AirColumns {
        params: &job.params,
        outputs: &outputs,
        instructions: &job.instructions,
        masks: &job.masks,
        constants: &job.constants,
        inputs: inputs.view(),
        columns: columns.view_mut(),
        counters: counters.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&columns)?)?;
    Failure::unless_equal(&counted, &q.download(&counters)?)
}

pub(super) fn columns() -> OpSpec {
    let mut cases = Vec::new();
    for log_rows in 1..=11 {
        let name = format!("2^{log_rows} rows");
        let size = moderate(log_rows, log_rows);
        cases.push(Case::new(name, move |q| expect_columns(q, size, u64::from(log_rows))));
    }
    for (name, size) in SIZES {
        let size = ProgramSize { log_rows: size.log_size, ..size };
        let case = Case::new(name, move |q| (0..3).try_for_each(|seed| expect_columns(q, size, seed)));
        cases.push(case.on_elements(size.steps as u64 * 32));
    }
    cases.push(Case::new("no steps", |q| {
        expect_columns(q, ProgramSize { log_rows: 3, log_size: 3, registers: 4, outputs: 2, steps: 0 }, 1)
    }));
    cases.push(Case::new("nothing but counters", |q| expect_rows(q, moderate(6, 6), 0, 2)));
    cases.push(Case::new("nothing but columns", |q| expect_rows(q, moderate(6, 6), 5, 2)));
    cases.push(Case::new("2^15 rows", |q| expect_columns(q, moderate(15, 15), 3)).on_elements(1 << 20));
    cases.push(Case::new("what a trace does not have is refused", |q| {
        run_steps(q, &PARAMS, &STEPS)?;
        let refused = |what, params, step| Failure::unless_refused(what, run_steps(q, &params, &[step]));
        refused("challenge", PARAMS, step(Opcode::Challenge, 0, 0, 0))?;
        refused("output of the secure field", PARAMS, step(Opcode::OutExt, 0, 0, 0))?;
        refused("output", PARAMS, step(Opcode::Out, 3, 0, 0))?;
        refused("no bits", PARAMS, step(Opcode::Bits, 0, 0, Instruction::bits(4, 4)))?;
        refused("bit 31", PARAMS, step(Opcode::Bits, 0, 0, Instruction::bits(4, 32)))?;
        refused("exclusive or of what is not there", PARAMS, step(Opcode::Xor, 0, 0, 4))?;
        refused("mask", PARAMS, step(Opcode::Mask, 0, 1, 0))?;
        refused("more positions than rows", AirParams { log_rows: 2, ..PARAMS }, STEPS[0])?;
        refused("no rows", AirParams { log_rows: 0, log_size: 0, ..PARAMS }, STEPS[0])?;
        refused("more columns than outputs", AirParams { outputs: 1, ..PARAMS }, STEPS[0])
    }));
    OpSpec { op: "air.columns", cases }
}

fn expect_numbers(q: &Conditioned, log_rows: u32) -> Result<(), Failure> {
    let expected: Vec<M31> = (0..1 << log_rows).map(|at| M31::from_u32(row(at, log_rows) as u32)).list();
    let mut column = q.upload(&vec![M31::ONE; expected.len()])?;
    q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column: column.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&column)?)
}

pub(super) fn row_numbers() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for log in 1..=16 {
        cases.push(Case::new(format!("2^{log} rows"), move |q| expect_numbers(q, log)));
    }
    cases.push(Case::new("2^20 rows", |q| expect_numbers(q, 20)).on_elements(1 << 20));
    cases.push(Case::new("a trace of one row is refused", |q| {
        let mut column = q.zeros(1)?;
        let op = RowNumbers { params: &RowNumbersParams { log_rows: 0 }, column: column.view_mut() };
        Failure::unless_refused("log_rows: 0", q.row_numbers(op))
    }));
    OpSpec { op: "air.row_numbers", cases }
}

fn expect_counters(q: &Conditioned, log_rows: u32, columns: u32) -> Result<(), Failure> {
    let rows = 1usize << log_rows;
    let mut counters: Vec<u32> =
        ElementStream::new(u64::from(log_rows)).column(rows * columns as usize).into_iter().map(M31::word).list();
    // Sums beyond the field.
    counters[0] = u32::MAX;
    counters[1] = P;
    let at = |table: &[u32], position| M31::from_u64(table[row(position, log_rows)].into());
    let expected: Vec<M31> =
        counters.chunks(rows).flat_map(|table| (0..rows).map(move |position| at(table, position))).list();
    let (device_counters, mut made) = (q.upload(&counters)?, q.upload(&vec![M31::ONE; expected.len()])?);
    q.counter_columns(CounterColumns {
        params: &CounterColumnsParams { log_rows, columns },
        counters: device_counters.view(),
        columns: made.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&made)?)
}

pub(super) fn counter_columns() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for log_rows in 1..=12 {
        cases.push(Case::new(format!("2^{log_rows} rows"), move |q| {
            [1, 2, 5].into_iter().try_for_each(|columns| expect_counters(q, log_rows, columns))
        }));
    }
    cases.push(Case::new("64 columns of 2^10 rows", |q| expect_counters(q, 10, 64)).on_elements(1 << 16));
    cases.push(Case::new("2^20 rows", |q| expect_counters(q, 20, 1)).on_elements(1 << 20));
    cases.push(Case::new("no columns", |q| {
        let (counters, mut columns) = (q.zeros(0)?, q.zeros(0)?);
        let params = &CounterColumnsParams { log_rows: 4, columns: 0 };
        q.counter_columns(CounterColumns { params, counters: counters.view(), columns: columns.view_mut() })?;
        Ok(())
    }));
    cases.push(Case::new("a trace of one row is refused", |q| {
        let (counters, mut columns) = (q.zeros(1)?, q.zeros(1)?);
        let params = &CounterColumnsParams { log_rows: 0, columns: 1 };
        let op = CounterColumns { params, counters: counters.view(), columns: columns.view_mut() };
        Failure::unless_refused("log_rows: 0", q.counter_columns(op))
    }));
    OpSpec { op: "air.counter_columns", cases }
}

/// Keys are numbers below `bound`, all over the table and beyond it.
fn expect_gathered(q: &Conditioned, log_rows: u32, words: u32, bound: u32) -> Result<(), Failure> {
    let mut stream = ElementStream::new(u64::from(words ^ bound) << 5 | u64::from(log_rows));
    let table = stream.column(words as usize);
    let mut keys: Vec<u32> = (0..1 << log_rows).map(|_| (stream.word() % u64::from(bound)) as u32).list();
    // The last word, and the one after it.
    keys[0] = words.saturating_sub(1);
    keys[1] = words;
    let word = |key: &u32| if *key < words { table[*key as usize] } else { M31::ZERO };
    let expected: Vec<M31> = keys.iter().map(word).list();
    let keys: Vec<M31> = keys.into_iter().map(M31::from_u32).list();
    let (keys, table, mut column) = (q.upload(&keys)?, q.upload(&table)?, q.upload(&vec![M31::ONE; expected.len()])?);
    q.gather_column(GatherColumn {
        params: &GatherColumnParams { log_rows, words },
        keys: keys.view(),
        table: table.view(),
        column: column.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&column)?)
}

pub(super) fn gather_column() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for log_rows in 1..=12 {
        cases.push(Case::new(format!("2^{log_rows} rows"), move |q| {
            let words = [1, 2, 3, 100, 5000];
            words.into_iter().try_for_each(|words| expect_gathered(q, log_rows, words, words + 2))
        }));
    }
    cases.push(Case::new("keys of any size", |q| expect_gathered(q, 12, 1 << 16, P)));
    cases.push(Case::new("a table without words", |q| expect_gathered(q, 6, 0, P)));
    let large = Case::new("2^16 rows of 2^20 words", |q| expect_gathered(q, 16, 1 << 20, 1 << 20));
    cases.push(large.on_elements(1 << 20));
    cases.push(Case::new("a trace of one row is refused", |q| {
        let (keys, table, mut column) = (q.zeros(1)?, q.zeros(4)?, q.zeros(1)?);
        let params = &GatherColumnParams { log_rows: 0, words: 4 };
        let op = GatherColumn { params, keys: keys.view(), table: table.view(), column: column.view_mut() };
        Failure::unless_refused("log_rows: 0", q.gather_column(op))
    }));
    OpSpec { op: "air.gather_column", cases }
}

const PARAMS: AirParams = AirParams { log_rows: 3, log_size: 3, registers: 4, outputs: 3 };

/// A step of each kind of operand.
const STEPS: [Instruction; 6] = [
    step(Opcode::Mask, 0, 0, 0),
    step(Opcode::Constant, 1, 0, 0),
    step(Opcode::Add, 2, 0, 1),
    step(Opcode::Out, 0, 0, 0),
    step(Opcode::Out, 1, 2, 0),
    step(Opcode::Out, 2, 1, 0),
];

/// Runs a program with one mask, one constant, two columns and five counters.
fn run_steps(q: &Conditioned, params: &AirParams, instructions: &[Instruction]) -> Result<(), BackendError> {
    let (inputs, mut columns, mut counters) = (q.zeros::<M31>(8)?, q.zeros::<M31>(16)?, q.zeros::<u32>(5)?);
    q.air_columns(AirColumns {
        params,
        outputs: &AirColumnsParams { columns: 2, counters: 5 },
        instructions,
        masks: &[MaskAt { first: 0, offset: 1, reserved: 0 }],
        constants: &[M31::ONE],
        inputs: inputs.view(),
        columns: columns.view_mut(),
        counters: counters.view_mut(),
    })
}
