//! The steps of a program, one after the other, as straight-line code.

use core_types::{
    field::M31,
    params::air::{Instruction, MaskAt, Opcode},
};

use super::{
    assembly::{Address, Assembly, PtxWide, PtxWord},
    columns::ColumnReader,
    outputs::{OutputPlanes, OutputSum, SECURE_BYTES},
};

/// Estimated instructions of a step. Outputs are counted with the cost of a sum.
pub(super) fn cost(opcode: u16) -> usize {
    let opcode = Opcode::ALL.get(usize::from(opcode));
    opcode.map_or(0, |opcode| match opcode {
        Opcode::Constant | Opcode::Lift | Opcode::Copy | Opcode::Bits | Opcode::Xor => 0,
        Opcode::Challenge => 1,
        Opcode::Add | Opcode::Sub | Opcode::Neg | Opcode::AddExtBase | Opcode::SubExtBase => 3,
        Opcode::Mask => 4,
        Opcode::Mul => 8,
        Opcode::Out => 9,
        Opcode::AddExt | Opcode::SubExt | Opcode::NegExt => 12,
        Opcode::MulExtBase => 32,
        Opcode::OutExt => 52,
        Opcode::MulExt => 79,
    })
}

/// Where outputs go.
#[derive(Debug)]
pub(super) enum OutputSink {
    /// Into a sum.
    Sum(OutputSum),
    /// Into memory.
    Planes(OutputPlanes),
}

/// What steps read, and where their results are.
#[derive(Debug)]
pub(super) struct StepTranslator<'a> {
    pub(super) masks: &'a [MaskAt],
    pub(super) constants: &'a [M31],
    pub(super) columns: ColumnReader,
    pub(super) challenges: PtxWide,
    pub(super) sink: OutputSink,
    /// What registers of the program hold; those that no step has set hold zero.
    pub(super) registers: Vec<PtxWord>,
}

impl StepTranslator<'_> {
    fn get(&self, register: u16) -> PtxWord {
        self.registers.get(usize::from(register)).copied().unwrap_or(PtxWord::ZERO)
    }

    fn set(&mut self, register: u16, word: PtxWord) {
        let at = usize::from(register);
        if self.registers.len() <= at {
            self.registers.resize(at + 1, PtxWord::ZERO);
        }
        self.registers[at] = word;
    }

    fn secure(&self, first: u16) -> [PtxWord; 4] {
        [0, 1, 2, 3].map(|k| self.get(first.saturating_add(k)))
    }

    fn set_secure(&mut self, first: u16, words: [PtxWord; 4]) {
        (0..).zip(words).for_each(|(k, word)| self.set(first.saturating_add(k), word));
    }

    /// Adds the code of a step. A step that the check of an op refuses has none.
    pub(super) fn step(&mut self, a: &mut Assembly, step: Instruction) {
        let Instruction { opcode, target, left, right } = step;
        let Some(opcode) = Opcode::ALL.get(usize::from(opcode)) else { return };
        match opcode {
            Opcode::Mask => {
                let offset = self.masks.get(usize::from(left)).map_or(0, |mask| mask.offset);
                let word = self.columns.read(a, left, offset);
                self.set(target, word);
            }
            Opcode::Constant => {
                let constant = self.constants.get(usize::from(left)).copied().unwrap_or(M31::ZERO);
                self.set(target, PtxWord::Known(constant.word()));
            }
            Opcode::Challenge => {
                let words = a.load_four(Address(self.challenges, SECURE_BYTES * u32::from(left)));
                self.set_secure(target, words);
            }
            Opcode::Add | Opcode::Sub | Opcode::Mul => {
                let (left, right) = (self.get(left), self.get(right));
                let word = match opcode {
                    Opcode::Add => a.add(left, right),
                    Opcode::Sub => a.sub(left, right),
                    _ => a.mul(left, right),
                };
                self.set(target, word);
            }
            Opcode::Neg => {
                let word = a.sub(PtxWord::ZERO, self.get(left));
                self.set(target, word);
            }
            Opcode::AddExt | Opcode::SubExt => {
                let (left, right) = (self.secure(left), self.secure(right));
                let words = [0, 1, 2, 3].map(|k| match opcode {
                    Opcode::AddExt => a.add(left[k], right[k]),
                    _ => a.sub(left[k], right[k]),
                });
                self.set_secure(target, words);
            }
            Opcode::MulExt => {
                let words = a.mul_secure(self.secure(left), self.secure(right));
                self.set_secure(target, words);
            }
            Opcode::NegExt => {
                let words = self.secure(left).map(|word| a.sub(PtxWord::ZERO, word));
                self.set_secure(target, words);
            }
            Opcode::AddExtBase | Opcode::SubExtBase => {
                let ([first, rest @ ..], right) = (self.secure(left), self.get(right));
                let first = match opcode {
                    Opcode::AddExtBase => a.add(first, right),
                    _ => a.sub(first, right),
                };
                self.set_secure(target, [first, rest[0], rest[1], rest[2]]);
            }
            Opcode::MulExtBase => {
                let right = self.get(right);
                let words = self.secure(left).map(|word| a.mul(word, right));
                self.set_secure(target, words);
            }
            Opcode::Lift => self.set_secure(target, [self.get(left), PtxWord::ZERO, PtxWord::ZERO, PtxWord::ZERO]),
            Opcode::Copy => self.set(target, self.get(left)),
            // Steps of traces, which no constraint has.
            Opcode::Bits | Opcode::Xor => {}
            Opcode::Out => {
                let word = self.get(left);
                match &mut self.sink {
                    OutputSink::Sum(sum) => sum.base(a, target, word),
                    OutputSink::Planes(planes) => {
                        planes.write(a, target, [word, PtxWord::ZERO, PtxWord::ZERO, PtxWord::ZERO])
                    }
                }
            }
            Opcode::OutExt => {
                let words = self.secure(left);
                match &mut self.sink {
                    OutputSink::Sum(sum) => sum.secure(a, target, words),
                    OutputSink::Planes(planes) => planes.write(a, target, words),
                }
            }
        }
    }
}
