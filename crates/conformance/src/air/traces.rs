//! `air_columns` on random programs, against an interpreter of one position at a time, and `row_numbers` by its definition.

use backend_api::{
    BackendError, Buffer as _,
    ops::air::{AirColumns, AirOps, RowNumbers},
};
use core_types::{
    field::M31,
    params::air::{AirParams, Instruction, MaskAt, Opcode, RowNumbersParams},
};

use super::{
    model::{Job, Size, positions, row},
    programs::{SIZES, moderate, step},
};
use crate::{Case, Failure, OpSpec, circle::model::Stream, short::Short};

/// A random program without challenges, whose outputs are of the base field.
fn job(size: Size, seed: u64) -> Job {
    let mut job = Job::random(size, seed);
    for step in &mut job.instructions {
        step.opcode = match Opcode::ALL[usize::from(step.opcode)] {
            Opcode::Challenge => Opcode::Constant,
            Opcode::OutExt => Opcode::Out,
            other => other,
        } as u16;
    }
    job
}

fn expect_columns<Q: AirOps>(q: &Q, size: Size, seed: u64) -> Result<(), Failure> {
    let job = job(size, seed);
    let len = 1usize << size.log_size;
    let positions = positions(size.log_size);
    let mut expected = Stream::new(seed + 1).column(len * size.outputs as usize);
    let (inputs, mut columns) = (q.upload(&job.values)?, q.upload(&expected)?);
    for position in 0..len {
        for (output, value) in job.written(&positions, position) {
            expected[output * len + position] = value.coordinates()[0];
        }
    }
    q.air_columns(AirColumns {
        params: &job.params,
        instructions: &job.instructions,
        masks: &job.masks,
        constants: &job.constants,
        inputs: inputs.view(),
        columns: columns.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&columns)?)
}

pub(super) fn columns<Q: AirOps + 'static>() -> OpSpec<Q> {
    let mut cases = Vec::new();
    for log_rows in 1..=11 {
        let name = format!("2^{log_rows} rows");
        let size = moderate(log_rows, log_rows);
        cases.push(Case::new(name, move |q: &Q| expect_columns(q, size, u64::from(log_rows))));
    }
    for (name, size) in SIZES {
        let size = Size { log_rows: size.log_size, ..size };
        let case = Case::new(name, move |q: &Q| (0..3).try_for_each(|seed| expect_columns(q, size, seed)));
        cases.push(case.on_elements(size.steps as u64 * 32));
    }
    cases.push(Case::new("no steps", |q: &Q| {
        expect_columns(q, Size { log_rows: 3, log_size: 3, registers: 4, outputs: 2, steps: 0 }, 1)
    }));
    cases.push(Case::new("2^15 rows", |q: &Q| expect_columns(q, moderate(15, 15), 3)).on_elements(1 << 20));
    cases.push(Case::new("what a trace does not have is refused", |q: &Q| {
        let refused =
            |what, params, instruction| Failure::unless_refused(what, columns_short(q, &params, &[instruction], None));
        refused("challenge", PARAMS, step(Opcode::Challenge, 0, 0, 0))?;
        refused("output of the secure field", PARAMS, step(Opcode::OutExt, 0, 0, 0))?;
        refused("output", PARAMS, step(Opcode::Out, 2, 0, 0))?;
        refused("mask", PARAMS, step(Opcode::Mask, 0, 1, 0))?;
        refused("more positions than rows", AirParams { log_rows: 2, ..PARAMS }, SHORT[0])?;
        refused("no rows", AirParams { log_rows: 0, log_size: 0, ..PARAMS }, SHORT[0])
    }));
    OpSpec { op: "air.columns", cases }
        .refusing_short("air_columns", |q, short| columns_short(q, &PARAMS, &SHORT, Some(short)))
}

fn expect_numbers<Q: AirOps>(q: &Q, log_rows: u32) -> Result<(), Failure> {
    let expected: Vec<M31> = (0..1 << log_rows).map(|at| M31::from_u32(row(at, log_rows) as u32)).collect();
    let mut column = q.upload(&vec![M31::ONE; expected.len()])?;
    q.row_numbers(RowNumbers { params: &RowNumbersParams { log_rows }, column: column.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&column)?)
}

pub(super) fn row_numbers<Q: AirOps + 'static>() -> OpSpec<Q> {
    let mut cases: Vec<_> =
        (1..=16).map(|log| Case::new(format!("2^{log} rows"), move |q: &Q| expect_numbers(q, log))).collect();
    cases.push(Case::new("2^20 rows", |q: &Q| expect_numbers(q, 20)).on_elements(1 << 20));
    cases.push(Case::new("a trace of one row is refused", |q: &Q| {
        let mut column = q.zeros(1)?;
        let op = RowNumbers { params: &RowNumbersParams { log_rows: 0 }, column: column.view_mut() };
        Failure::unless_refused("log_rows: 0", q.row_numbers(op))
    }));
    OpSpec { op: "air.row_numbers", cases }.refusing_short("row_numbers", |q, short| {
        let mut column = q.zeros::<M31>(8)?;
        let params = RowNumbersParams { log_rows: 3 };
        q.row_numbers(RowNumbers { params: &params, column: column.view_mut() }.map(short)?)
    })
}

const PARAMS: AirParams = AirParams { log_rows: 3, log_size: 3, registers: 4, outputs: 2 };

/// A step of each kind of operand.
const SHORT: [Instruction; 5] = [
    step(Opcode::Mask, 0, 0, 0),
    step(Opcode::Constant, 1, 0, 0),
    step(Opcode::Add, 2, 0, 1),
    step(Opcode::Out, 0, 0, 0),
    step(Opcode::Out, 1, 2, 0),
];

fn columns_short<Q: AirOps>(
    q: &Q,
    params: &AirParams,
    instructions: &[Instruction],
    short: Option<&mut Short>,
) -> Result<(), BackendError> {
    let (inputs, mut columns) = (q.zeros::<M31>(8)?, q.zeros::<M31>(16)?);
    let op = AirColumns {
        params,
        instructions,
        masks: &[MaskAt { first: 0, offset: 1, reserved: 0 }],
        constants: &[M31::ONE],
        inputs: inputs.view(),
        columns: columns.view_mut(),
    };
    match short {
        Some(short) => q.air_columns(op.map(short)?),
        None => q.air_columns(op),
    }
}
