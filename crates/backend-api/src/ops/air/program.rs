//! Checks of programs.
//!
//! Every register, mask, constant, challenge and output that a step names must exist.

use core_types::{
    field::M31,
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

use crate::{BackendError, ops::columns::check_log};

/// A program, and the limits that its steps are checked against.
pub(super) struct UncheckedProgram<'a> {
    pub(super) op: &'static str,
    pub(super) params: &'a AirParams,
    pub(super) instructions: &'a [Instruction],
    pub(super) masks: &'a [MaskAt],
    pub(super) constants: &'a [M31],
    pub(super) challenges: usize,
    pub(super) words: usize,
    /// Operations that the op has: the first of [`Opcode::ALL`].
    pub(super) opcodes: usize,
}

impl UncheckedProgram<'_> {
    /// Rejects a program with a step that refers to a missing opcode or operand.
    pub(super) fn check(&self) -> Result<(), BackendError> {
        let refused = |why| Err(BackendError::Unsupported { op: self.op, why });
        let AirParams { log_rows, log_size, registers, outputs } = *self.params;
        check_log(self.op, log_size)?;
        if !(1..=log_size).contains(&log_rows) {
            return refused("expected `log_rows` in 1..=`log_size`");
        }
        let registers = registers as usize;
        if registers > 1 << 16 {
            return refused("expected a program of at most 2^16 registers");
        }
        for mask in self.masks {
            if mask.first.checked_add(1 << log_size).is_none_or(|end| end > self.words as u64) {
                return refused("a column reaches past the end of its buffer");
            }
        }
        for step in self.instructions {
            let Some(&opcode) = Opcode::ALL[..self.opcodes].get(step.opcode as usize) else {
                return refused("a step has an opcode that this op does not run");
            };
            let [target, left, right] = [step.target, step.left, step.right].map(usize::from);
            let (outputs, masks, constants) = (outputs as usize, self.masks.len(), self.constants.len());
            let base = |register: usize| register < registers;
            let ext = |register: usize| register + 3 < registers;
            let valid = match opcode {
                Opcode::Mask => base(target) && left < masks,
                Opcode::Constant => base(target) && left < constants,
                Opcode::Challenge => ext(target) && left < self.challenges,
                Opcode::Add | Opcode::Sub | Opcode::Mul => base(target) && base(left) && base(right),
                Opcode::Neg | Opcode::Copy => base(target) && base(left),
                Opcode::AddExt | Opcode::SubExt | Opcode::MulExt => ext(target) && ext(left) && ext(right),
                Opcode::NegExt => ext(target) && ext(left),
                Opcode::AddExtBase | Opcode::SubExtBase | Opcode::MulExtBase => ext(target) && ext(left) && base(right),
                Opcode::Lift => ext(target) && base(left),
                Opcode::Out => target < outputs && base(left),
                Opcode::OutExt => target < outputs && ext(left),
                Opcode::Bits => {
                    let [from, to] = Instruction::bounds(step.right);
                    base(target) && base(left) && from < to && to <= 31
                }
                Opcode::Xor => base(target) && base(left) && base(right),
            };
            if !valid {
                return refused("a step refers to an operand out of range");
            }
        }
        Ok(())
    }
}
