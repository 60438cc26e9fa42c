//! `air_evaluate` and `air_fractions` on random programs.
//!
//! They are compared with an interpreter that computes one position at a time.

use backend_api::{
    BackendError, Buffer as _, Queue,
    ops::air::{AirEvaluate, AirFractions, AirOps},
};
use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

use super::model::{ProgramInputs, ProgramSize, positions};
use crate::{Case, Conditioned, Failure, OpSpec, circle::model::ElementStream, list::ListIterator as _};

fn expect_sums(q: &Conditioned, size: ProgramSize, seed: u64) -> Result<(), Failure> {
    let job = ProgramInputs::random(size, Opcode::OF_FIELDS, seed);
    let mut stream = ElementStream::new(seed + 1);
    let powers: Vec<QM31> = (0..size.outputs).map(|_| stream.qm31()).list();
    let vanishing_inverses = stream.column(1 << (size.log_size - size.log_rows));
    let len = 1usize << size.log_size;
    let before = stream.column(4 * len);
    let positions = positions(size.log_size);
    let mut expected = before.clone();
    for position in 0..len {
        let sum = job.written(&positions, position).iter().fold(QM31::ZERO, |sum, &(k, value)| sum + value * powers[k]);
        let coordinates = (sum * vanishing_inverses[position >> size.log_rows]).coordinates();
        (0..4).for_each(|c| expected[c * len + position] += coordinates[c]);
    }
    let (values, challenges, powers) = (q.upload(&job.values)?, q.upload(&job.challenges)?, q.upload(&powers)?);
    let mut sums = q.upload(&before)?;
    q.air_evaluate(AirEvaluate {
        params: &job.params,
        instructions: &job.instructions,
        masks: &job.masks,
        constants: &job.constants,
        vanishing_inverses: &vanishing_inverses,
        values: values.view(),
        challenges: challenges.view(),
        powers: powers.view(),
        sums: sums.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&sums)?)
}

fn expect_fractions(q: &Conditioned, size: ProgramSize, seed: u64) -> Result<(), Failure> {
    let job = ProgramInputs::random(size, Opcode::OF_FIELDS, seed);
    let len = 1usize << size.log_size;
    let positions = positions(size.log_size);
    let mut expected = ElementStream::new(seed + 1).column(4 * len * size.outputs as usize);
    let (values, challenges) = (q.upload(&job.values)?, q.upload(&job.challenges)?);
    let mut fractions = q.upload(&expected)?;
    for position in 0..len {
        for (output, value) in job.written(&positions, position) {
            for (c, word) in value.coordinates().into_iter().enumerate() {
                expected[(4 * output + c) * len + position] = word;
            }
        }
    }
    q.air_fractions(AirFractions {
        params: &job.params,
        instructions: &job.instructions,
        masks: &job.masks,
        constants: &job.constants,
        values: values.view(),
        challenges: challenges.view(),
        fractions: fractions.view_mut(),
    })?;
    Failure::unless_equal(&expected, &q.download(&fractions)?)
}

/// A program of moderate size.
pub(super) const fn moderate(log_rows: u32, log_size: u32) -> ProgramSize {
    ProgramSize { log_rows, log_size, registers: 20, outputs: 5, steps: 60 }
}

/// Programs of other sizes, by name.
pub(super) const SIZES: [(&str, ProgramSize); 6] = [
    ("a few steps on four registers", ProgramSize { log_rows: 3, log_size: 4, registers: 4, outputs: 1, steps: 9 }),
    ("one step", ProgramSize { log_rows: 1, log_size: 1, registers: 5, outputs: 1, steps: 1 }),
    (
        "more registers than shared memory has",
        ProgramSize { log_rows: 4, log_size: 4, registers: 130, outputs: 3, steps: 90 },
    ),
    ("300 steps", ProgramSize { log_rows: 5, log_size: 5, registers: 40, outputs: 50, steps: 300 }),
    ("registers by the hundred", ProgramSize { log_rows: 8, log_size: 8, registers: 400, outputs: 9, steps: 900 }),
    ("registers by the thousand", ProgramSize { log_rows: 4, log_size: 4, registers: 5000, outputs: 9, steps: 3000 }),
];

pub(super) fn evaluate() -> OpSpec {
    let mut cases = Vec::new();
    for log_rows in 1..=10 {
        for log_size in log_rows..=log_rows + 2 {
            let name = format!("2^{log_rows} rows at 2^{log_size} positions");
            let seed = u64::from(100 * log_rows + log_size);
            cases.push(Case::new(name, move |q| expect_sums(q, moderate(log_rows, log_size), seed)));
        }
    }
    for (name, size) in SIZES {
        let case = Case::new(name, move |q| (0..3).try_for_each(|seed| expect_sums(q, size, seed)));
        cases.push(case.on_elements(size.steps as u64 * 32));
    }
    cases.push(Case::new("no steps", |q| {
        expect_sums(q, ProgramSize { log_rows: 3, log_size: 3, registers: 4, outputs: 0, steps: 0 }, 1)
    }));
    cases.push(Case::new("2^15 positions", |q| expect_sums(q, moderate(14, 15), 3)).on_elements(1 << 20));
    cases.push(Case::new("what is not there is refused", |q| {
        evaluate_steps(q, &STEPS)?;
        for (what, step) in wrong_steps() {
            Failure::unless_refused(what, evaluate_steps(q, &[step]))?;
        }
        Ok(())
    }));
    OpSpec { op: "air.evaluate", cases }
}

pub(super) fn fractions() -> OpSpec {
    let mut cases = Vec::new();
    for log_rows in 1..=11 {
        let name = format!("2^{log_rows} rows");
        let size = moderate(log_rows, log_rows);
        cases.push(Case::new(name, move |q| expect_fractions(q, size, u64::from(log_rows))));
    }
    for (name, size) in SIZES {
        let size = ProgramSize { log_rows: size.log_size, ..size };
        cases.push(Case::new(name, move |q| expect_fractions(q, size, 1)).on_elements(size.steps as u64 * 32));
    }
    cases.push(Case::new("2^15 rows", |q| expect_fractions(q, moderate(15, 15), 3)).on_elements(1 << 20));
    OpSpec { op: "air.fractions", cases }
}

pub(super) const fn step(opcode: Opcode, target: u16, left: u16, right: u16) -> Instruction {
    Instruction { opcode: opcode as u16, target, left, right }
}

/// A step of each kind of operand, for [`evaluate_steps`].
const STEPS: [Instruction; 6] = [
    step(Opcode::Mask, 4, 0, 0),
    step(Opcode::Challenge, 0, 0, 0),
    step(Opcode::Constant, 5, 0, 0),
    step(Opcode::MulExtBase, 0, 0, 4),
    step(Opcode::AddExtBase, 0, 0, 5),
    step(Opcode::OutExt, 0, 0, 0),
];

/// Instructions with an operand out of range, for [`evaluate_steps`].
fn wrong_steps() -> Vec<(&'static str, Instruction)> {
    vec![
        ("mask", step(Opcode::Mask, 0, 1, 0)),
        ("constant", step(Opcode::Constant, 0, 1, 0)),
        ("challenge", step(Opcode::Challenge, 0, 1, 0)),
        ("target", step(Opcode::Add, 8, 0, 0)),
        ("left", step(Opcode::Copy, 0, 8, 0)),
        ("right", step(Opcode::Mul, 0, 0, 8)),
        ("last word of a target", step(Opcode::MulExt, 5, 0, 0)),
        ("last word of an operand", step(Opcode::NegExt, 0, 5, 0)),
        ("output", step(Opcode::Out, 1, 0, 0)),
        ("integers", step(Opcode::Bits, 0, 0, Instruction::bits(0, 1))),
        ("opcode", Instruction { opcode: Opcode::ALL.len() as u16, target: 0, left: 0, right: 0 }),
    ]
}

/// Runs a program with eight registers and one entry in each list.
fn evaluate_steps(q: &Conditioned, instructions: &[Instruction]) -> Result<(), BackendError> {
    let (values, challenges) = (q.zeros::<M31>(16)?, q.zeros::<QM31>(1)?);
    let (powers, mut sums) = (q.zeros::<QM31>(1)?, q.zeros::<M31>(64)?);
    q.air_evaluate(AirEvaluate {
        params: &AirParams { log_rows: 3, log_size: 4, registers: 8, outputs: 1 },
        instructions,
        masks: &[MaskAt { first: 0, offset: 1, reserved: 0 }],
        constants: &[M31::ONE],
        vanishing_inverses: &[M31::ONE; 2],
        values: values.view(),
        challenges: challenges.view(),
        powers: powers.view(),
        sums: sums.view_mut(),
    })
}
