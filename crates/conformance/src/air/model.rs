//! Reference model: programs run one position at a time, random programs, rows by definition.

use core_types::{
    field::{M31, QM31},
    params::air::{AirParams, Instruction, MaskAt, Opcode},
};

use crate::{circle::model::ElementStream, list::ListIterator as _};

/// A program with all of its inputs.
pub(super) struct ProgramInputs {
    pub(super) params: AirParams,
    pub(super) instructions: Vec<Instruction>,
    pub(super) masks: Vec<MaskAt>,
    pub(super) constants: Vec<M31>,
    pub(super) values: Vec<M31>,
    pub(super) challenges: Vec<QM31>,
}

/// The dimensions of a random program.
#[derive(Clone, Copy)]
pub(super) struct ProgramSize {
    pub(super) log_rows: u32,
    pub(super) log_size: u32,
    pub(super) registers: u32,
    pub(super) outputs: u32,
    pub(super) steps: usize,
}

/// The row along the coset that is stored at `position`.
pub(super) fn row(position: usize, log_size: u32) -> usize {
    let natural = (0..log_size).fold(0, |natural, bit| natural << 1 | (position >> bit & 1));
    let len = 1 << log_size;
    if natural < len / 2 { 2 * natural } else { 2 * (len - natural) - 1 }
}

/// The stored position of each row.
pub(super) fn positions(log_size: u32) -> Vec<usize> {
    let mut positions = vec![0; 1 << log_size];
    (0..1 << log_size).for_each(|position| positions[row(position, log_size)] = position);
    positions
}

impl ProgramInputs {
    /// Builds a random program from the first `opcodes` opcodes; all of its operands exist.
    pub(super) fn random(size: ProgramSize, opcodes: usize, seed: u64) -> Self {
        let ProgramSize { log_rows, log_size, registers, outputs, steps } = size;
        let mut stream = ElementStream::new(seed);
        let columns = 4;
        // Columns stand anywhere, with one word between them.
        let len = 1u64 << log_size;
        let mut values = stream.column(columns * (len as usize + 1));
        values.pop();
        let masks: Vec<MaskAt> = (-2..=2)
            .flat_map(|offset| (0..columns as u64).map(move |column| (offset, column * (len + 1))))
            .map(|(offset, first)| MaskAt { first, offset, reserved: 0 })
            .list();
        let constants = stream.column(5);
        let challenges = vec![stream.qm31(), stream.qm31()];
        let mut below = |end: usize| (stream.word() % end as u64) as u16;
        let instructions = (0..steps)
            .map(|step| {
                // Loads first, and again now and then.
                let opcode = match step {
                    0..6 => [Opcode::Mask, Opcode::Challenge, Opcode::Constant][step % 3],
                    _ => Opcode::ALL[usize::from(below(opcodes))],
                };
                let mut base = || below(registers as usize);
                let (target, left, right) = (base(), base(), base());
                let [ext_target, ext_left, ext_right] = [target, left, right].map(|r| r.min(registers as u16 - 4));
                let instruction = |target, left, right| Instruction { opcode: opcode as u16, target, left, right };
                match opcode {
                    Opcode::Mask => instruction(target, below(masks.len()), 0),
                    Opcode::Constant => instruction(target, below(constants.len()), 0),
                    Opcode::Challenge => instruction(ext_target, below(challenges.len()), 0),
                    Opcode::Add | Opcode::Sub | Opcode::Mul => instruction(target, left, right),
                    Opcode::Neg | Opcode::Copy => instruction(target, left, 0),
                    Opcode::AddExt | Opcode::SubExt | Opcode::MulExt => instruction(ext_target, ext_left, ext_right),
                    Opcode::NegExt => instruction(ext_target, ext_left, 0),
                    Opcode::AddExtBase | Opcode::SubExtBase | Opcode::MulExtBase => {
                        instruction(ext_target, ext_left, right)
                    }
                    Opcode::Lift => instruction(ext_target, left, 0),
                    Opcode::Out => instruction(below(outputs as usize), left, 0),
                    Opcode::OutExt => instruction(below(outputs as usize), ext_left, 0),
                    Opcode::Bits => {
                        let to = 1 + u32::from(below(31));
                        instruction(target, left, Instruction::bits(u32::from(below(to as usize)), to))
                    }
                    Opcode::Xor => instruction(target, left, right),
                }
            })
            .list();
        let params = AirParams { log_rows, log_size, registers, outputs };
        Self { params, instructions, masks, constants, values, challenges }
    }

    /// Runs the program at one position: outputs with their values, in the order of writes.
    pub(super) fn written(&self, positions: &[usize], position: usize) -> Vec<(usize, QM31)> {
        let AirParams { log_rows, log_size, registers, .. } = self.params;
        let mut words = vec![M31::ZERO; registers as usize];
        let mut written = Vec::new();
        let row = row(position, log_size);
        for step in &self.instructions {
            let [target, left, right] = [step.target, step.left, step.right].map(usize::from);
            let base = |at: usize| words[at];
            let secure = |at: usize| QM31::from_coordinates([0, 1, 2, 3].map(|k| words[at + k]));
            let (value, width) = match Opcode::ALL[usize::from(step.opcode)] {
                Opcode::Mask => {
                    let mask = self.masks[left];
                    let there = row as i64 + (i64::from(mask.offset) << (log_size - log_rows));
                    let there = positions[there.rem_euclid(1 << log_size) as usize];
                    (self.values[mask.first as usize + there].into(), 1)
                }
                Opcode::Constant => (self.constants[left].into(), 1),
                Opcode::Copy => (base(left).into(), 1),
                Opcode::Add => ((base(left) + base(right)).into(), 1),
                Opcode::Sub => ((base(left) - base(right)).into(), 1),
                Opcode::Mul => ((base(left) * base(right)).into(), 1),
                Opcode::Neg => ((-base(left)).into(), 1),
                Opcode::Challenge => (self.challenges[left], 4),
                Opcode::AddExt => (secure(left) + secure(right), 4),
                Opcode::SubExt => (secure(left) - secure(right), 4),
                Opcode::MulExt => (secure(left) * secure(right), 4),
                Opcode::NegExt => (-secure(left), 4),
                Opcode::AddExtBase => (secure(left) + base(right), 4),
                Opcode::SubExtBase => (secure(left) - base(right), 4),
                Opcode::MulExtBase => (secure(left) * base(right), 4),
                Opcode::Lift => (base(left).into(), 4),
                Opcode::Bits => {
                    let [from, to] = Instruction::bounds(step.right);
                    (M31::from_u32(base(left).word() % (1 << to) / (1 << from)).into(), 1)
                }
                Opcode::Xor => (M31::from_u32(base(left).word() ^ base(right).word()).into(), 1),
                Opcode::Out => {
                    written.push((target, base(left).into()));
                    continue;
                }
                Opcode::OutExt => {
                    written.push((target, secure(left)));
                    continue;
                }
            };
            words[target..target + width].copy_from_slice(&value.coordinates()[..width]);
        }
        written
    }
}
