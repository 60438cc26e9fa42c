//! The plainest interpreter of programs.

use core_types::{
    field::{M31, QM31},
    params::air::{Instruction, Opcode},
};
use stark_air::Program;

/// The outputs of `program`.
pub(crate) fn run(program: &Program, masks: &[M31], challenges: &[QM31]) -> Vec<QM31> {
    let mut words = vec![M31::ZERO; program.registers() as usize];
    let mut outputs = vec![None; program.outputs() as usize];
    for step in program.instructions() {
        let [target, left, right] = [step.target, step.left, step.right].map(usize::from);
        let b = |words: &[M31], at: usize| QM31::from(words[at]);
        let e = |words: &[M31], at: usize| QM31::from_coordinates([0, 1, 2, 3].map(|k| words[at + k]));
        let (value, secure) = match Opcode::ALL[step.opcode as usize] {
            Opcode::Mask => (masks[left].into(), false),
            Opcode::Constant => (program.constants()[left].into(), false),
            Opcode::Copy => (b(&words, left), false),
            Opcode::Add => (b(&words, left) + b(&words, right), false),
            Opcode::Sub => (b(&words, left) - b(&words, right), false),
            Opcode::Mul => (b(&words, left) * b(&words, right), false),
            Opcode::Neg => (-b(&words, left), false),
            Opcode::Challenge => (challenges[left], true),
            Opcode::AddExt => (e(&words, left) + e(&words, right), true),
            Opcode::SubExt => (e(&words, left) - e(&words, right), true),
            Opcode::MulExt => (e(&words, left) * e(&words, right), true),
            Opcode::NegExt => (-e(&words, left), true),
            Opcode::AddExtBase => (e(&words, left) + b(&words, right), true),
            Opcode::SubExtBase => (e(&words, left) - b(&words, right), true),
            Opcode::MulExtBase => (e(&words, left) * b(&words, right), true),
            Opcode::Lift => (b(&words, left), true),
            Opcode::Bits => {
                let [from, to] = Instruction::bounds(step.right);
                (M31::from_u32(words[left].word() % (1 << to) / (1 << from)).into(), false)
            }
            Opcode::Xor => (M31::from_u32(words[left].word() ^ words[right].word()).into(), false),
            Opcode::Out | Opcode::OutExt => {
                let secure = step.opcode == Opcode::OutExt as u16;
                let value = if secure { e(&words, left) } else { b(&words, left) };
                assert!(outputs[target].replace(value).is_none(), "an output is written once");
                continue;
            }
        };
        let width = if secure { 4 } else { 1 };
        words[target..target + width].copy_from_slice(&value.coordinates()[..width]);
    }
    outputs.into_iter().map(|output| output.expect("every output is written")).collect()
}
