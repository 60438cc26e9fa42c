//! Lists that refer to entries are accepted up to the last entry, and refused from the next one on.

use backend_api::{
    BackendError,
    ops::{
        air::{AirColumns, AirEvaluate},
        circle::CircleEvalAtPoints,
        deep::{DeepLines, DeepNumerators, DeepPoints, DeepQuotients},
        merkle::MerkleLeaves,
    },
};
use core_types::{
    blake2s::Digest,
    field::{M31, QM31},
    params::{
        air::{AirColumnsParams, AirParams, Instruction, MaskAt, Opcode},
        columns::ColumnAt,
        deep::{DeepBatch, DeepNumeratorsParams, DeepQuotientsParams, DeepTerm, PointAt, SampleAt},
        merkle::MerkleLeavesParams,
    },
};
use cpu_backend::CpuQueue;

const ZERO: QM31 = QM31::ZERO;

/// Whether a check accepts; anything but `Unsupported` is a fault of the test.
fn accepts(check: Result<(), BackendError>) -> bool {
    match check {
        Ok(()) => true,
        Err(BackendError::Unsupported { .. }) => false,
        Err(other) => panic!("{other}"),
    }
}

/// An operand of a step, by the entries that it refers to.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Base,
    Ext,
    Mask,
    Constant,
    Challenge,
    Output,
    Unused,
}

const REGISTERS: u16 = 9;
const MASKS: u16 = 3;
const CONSTANTS: u16 = 4;
const CHALLENGES: u16 = 5;
const OUTPUTS: u16 = 2;

impl Operand {
    /// The greatest number that the program has.
    const fn last(self) -> u16 {
        match self {
            Self::Base => REGISTERS - 1,
            Self::Ext => REGISTERS - 4,
            Self::Mask => MASKS - 1,
            Self::Constant => CONSTANTS - 1,
            Self::Challenge => CHALLENGES - 1,
            Self::Output => OUTPUTS - 1,
            Self::Unused => u16::MAX,
        }
    }
}

/// Target, left and right operand of every operation of two values or fewer: [`Opcode`].
fn operands(opcode: Opcode) -> [Operand; 3] {
    use Operand::{Base, Challenge, Constant, Ext, Mask, Output, Unused};
    match opcode {
        Opcode::Mask => [Base, Mask, Unused],
        Opcode::Constant => [Base, Constant, Unused],
        Opcode::Challenge => [Ext, Challenge, Unused],
        Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Xor => [Base, Base, Base],
        Opcode::Neg | Opcode::Copy => [Base, Base, Unused],
        Opcode::AddExt | Opcode::SubExt | Opcode::MulExt => [Ext, Ext, Ext],
        Opcode::NegExt => [Ext, Ext, Unused],
        Opcode::AddExtBase | Opcode::SubExtBase | Opcode::MulExtBase => [Ext, Ext, Base],
        Opcode::Lift => [Ext, Base, Unused],
        Opcode::Out => [Output, Base, Unused],
        Opcode::OutExt => [Output, Ext, Unused],
        // The right operand is a pair of bounds.
        Opcode::Bits => [Base, Base, Unused],
    }
}

/// Whether programs with this step are accepted: by a trace if constraints do not have the operation.
fn accepts_step(step: Instruction) -> bool {
    let params = AirParams { log_rows: 1, log_size: 1, registers: REGISTERS.into(), outputs: OUTPUTS.into() };
    let masks = [MaskAt { first: 0, offset: 0, reserved: 0 }; MASKS as usize];
    let (values, constants) = ([M31::ZERO; 2], [M31::ZERO; CONSTANTS as usize]);
    let (params, instructions) = (&params, &[step]);
    if usize::from(step.opcode) < Opcode::OF_FIELDS {
        let evaluate = AirEvaluate::<CpuQueue> {
            params,
            instructions,
            masks: &masks,
            constants: &constants,
            vanishing_inverses: &[M31::ZERO],
            values: &values,
            challenges: &[ZERO; CHALLENGES as usize],
            powers: &[ZERO; OUTPUTS as usize],
            sums: &mut [M31::ZERO; 8],
        };
        return accepts(evaluate.check());
    }
    let columns = AirColumns::<CpuQueue> {
        params,
        outputs: &AirColumnsParams { columns: OUTPUTS.into(), counters: 0 },
        instructions,
        masks: &masks,
        constants: &constants,
        inputs: &values,
        columns: &mut [M31::ZERO; 2 * OUTPUTS as usize],
        counters: &mut [],
    };
    accepts(columns.check())
}

#[test]
fn steps_are_accepted_up_to_the_last_operand() {
    for opcode in Opcode::ALL {
        let last = operands(opcode).map(Operand::last);
        let right = if opcode == Opcode::Bits { Instruction::bits(3, 31) } else { last[2] };
        let [target, left, _] = last;
        let step = Instruction { opcode: opcode as u16, target, left, right };
        assert!(accepts_step(step), "{opcode:?}");
        assert!(!accepts_step(Instruction { target: target + 1, ..step }), "target of {opcode:?}");
        assert!(!accepts_step(Instruction { left: left + 1, ..step }), "left of {opcode:?}");
        if let Some(right) = last[2].checked_add(1) {
            assert!(!accepts_step(Instruction { right, ..step }), "right of {opcode:?}");
        }
    }
    let bits = |from, to| {
        let right = Instruction::bits(from, to);
        accepts_step(Instruction { opcode: Opcode::Bits as u16, target: 0, left: 0, right })
    };
    assert!(bits(0, 1) && bits(30, 31) && !bits(4, 4) && !bits(5, 4) && !bits(0, 32) && !bits(31, 32));
    let past = Instruction { opcode: Opcode::ALL.len() as u16, target: 0, left: 0, right: 0 };
    assert!(!accepts_step(past), "no such operation");
}

/// A column of 4 values from `first` on.
fn column(first: u64) -> ColumnAt {
    ColumnAt::new(first, 2)
}

#[test]
fn columns_are_accepted_up_to_the_end_of_their_buffer() {
    let leaves = |column| {
        let (params, values) = (&MerkleLeavesParams { log_leaves: 3 }, &[M31::ZERO; 9]);
        let leaves = &mut [Digest::default(); 8];
        accepts(MerkleLeaves::<CpuQueue> { params, columns: &[column], values, leaves }.check())
    };
    assert!(leaves(column(5)) && !leaves(column(6)) && !leaves(column(u64::MAX)));
    assert!(leaves(ColumnAt::new(1, 3)) && !leaves(ColumnAt::new(0, 4)), "longer than the tree");
    let mask = |first| {
        let params = AirParams { log_rows: 1, log_size: 2, registers: 1, outputs: 0 };
        let evaluate = AirEvaluate::<CpuQueue> {
            params: &params,
            instructions: &[],
            masks: &[MaskAt { first, offset: 0, reserved: 0 }],
            constants: &[],
            vanishing_inverses: &[M31::ZERO; 2],
            values: &[M31::ZERO; 9],
            challenges: &[],
            powers: &[],
            sums: &mut [M31::ZERO; 16],
        };
        accepts(evaluate.check())
    };
    assert!(mask(5) && !mask(6) && !mask(u64::MAX));
}

#[test]
fn samples_are_accepted_up_to_the_last_column_and_point() {
    let sample = |column_number, point| {
        let samples = &[SampleAt { column: column_number, point }];
        let (columns, points, sampled) = (&[column(0), column(0)], &[ZERO; 6], &mut [ZERO]);
        let coefficients = &[M31::ZERO; 4];
        accepts(CircleEvalAtPoints::<CpuQueue> { columns, samples, coefficients, points, sampled }.check())
    };
    assert!(sample(1, 2) && !sample(2, 2) && !sample(1, 3));
    let doublings = |doublings| {
        let points_at = &[PointAt { index: 0, doublings }];
        accepts(DeepPoints::<CpuQueue> { points_at, parameter: &[ZERO], points: &mut [ZERO; 2] }.check())
    };
    assert!(doublings(31) && !doublings(32));
}

/// A term of a column, a value and a power, by their numbers.
const fn term(column: u32, value: u32, power: u32) -> DeepTerm {
    DeepTerm { column, value, power, reserved: 0 }
}

const fn batch(first: u32, count: u32, point: u32, log_size: u32) -> DeepBatch {
    DeepBatch { first, count, point, log_size }
}

#[test]
fn terms_and_batches_are_accepted_up_to_the_last_entry() {
    let lines = |term, batches: &[DeepBatch]| {
        let lines = DeepLines::<CpuQueue> {
            terms: &[term; 3],
            batches,
            points: &[ZERO; 4],
            sampled: &[ZERO; 5],
            powers: &[ZERO; 6],
            factors: &mut [ZERO; 3],
            lines: &mut vec![ZERO; 2 * batches.len()],
        };
        accepts(lines.check())
    };
    let all = [batch(0, 2, 1, 0), batch(2, 1, 0, 0)];
    assert!(lines(term(0, 4, 5), &all) && !lines(term(0, 5, 5), &all) && !lines(term(0, 4, 6), &all));
    assert!(!lines(term(0, 0, 0), &[batch(0, 3, 2, 0)]), "no such point");
    let apart = [batch(0, 1, 0, 0), batch(2, 1, 0, 0)];
    let empty = [batch(0, 3, 0, 0), batch(3, 0, 0, 0)];
    for broken in [&apart[..], &empty, &[], &[batch(0, 2, 0, 0)], &[batch(0, 4, 0, 0)], &[batch(1, 2, 0, 0)]] {
        assert!(!lines(term(0, 0, 0), broken), "{broken:?}");
    }

    let numerators = |columns: &[ColumnAt], term, batch| {
        let numerators = DeepNumerators::<CpuQueue> {
            params: &DeepNumeratorsParams { log_size: 2 },
            columns,
            terms: &[term; 3],
            batches: &[batch],
            values: &[M31::ZERO; 9],
            factors: &[ZERO; 3],
            numerators: &mut [M31::ZERO; 16],
        };
        accepts(numerators.check())
    };
    let columns = [column(0), column(5)];
    assert!(
        numerators(&columns, term(1, 0, 0), batch(1, 2, 0, 2))
            && !numerators(&columns, term(2, 0, 0), batch(1, 2, 0, 2))
    );
    assert!(
        !numerators(&columns, term(0, 0, 0), batch(2, 2, 0, 2))
            && !numerators(&columns, term(0, 0, 0), batch(4, 0, 0, 2))
    );
    assert!(!numerators(&columns, term(0, 0, 0), batch(1, 2, 0, 1)), "a batch of another height");
    assert!(!numerators(&[ColumnAt::new(0, 1)], term(0, 0, 0), batch(0, 1, 0, 2)), "a shorter column");
    assert!(!numerators(&[column(6)], term(0, 0, 0), batch(0, 1, 0, 2)), "past the buffer");
}

#[test]
fn quotients_are_accepted_for_batches_of_at_most_their_height() {
    let quotients = |log_size: u32, log_domain, batch: DeepBatch| {
        let quotients = DeepQuotients::<CpuQueue> {
            params: &DeepQuotientsParams { log_size, log_domain },
            batches: &[batch],
            points: &[ZERO; 4],
            lines: &[ZERO; 2],
            numerators: &vec![M31::ZERO; 4 << batch.log_size],
            quotients: &mut vec![M31::ZERO; 4 << log_size],
        };
        accepts(quotients.check())
    };
    assert!(quotients(3, 3, batch(0, 1, 1, 3)) && !quotients(3, 3, batch(0, 1, 2, 3)));
    assert!(!quotients(3, 2, batch(0, 1, 1, 3)) && !quotients(3, 31, batch(0, 1, 1, 3)));
    assert!(!quotients(3, 3, batch(0, 1, 1, 4)), "more numerators than positions");
    assert!(quotients(3, 3, batch(0, 1, 1, 1)) && !quotients(3, 3, batch(0, 1, 1, 0)), "half a pair");
    assert!(quotients(0, 1, batch(0, 1, 1, 0)) && !quotients(0, 0, batch(0, 1, 1, 0)));
}
