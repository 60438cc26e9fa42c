//! The constraints at the out-of-domain point, checked as a verifier does.
//!
//! `sum over k of alpha^(K-1-k) C_k(z) = v (left(z) + v right(z))` for constraints `0..K`, where
//! `v = pi^(B-1)(z.x)`, `pi(x) = 2 x^2 - 1` and `B` is the log degree of the quotients (stwo 2.3,
//! `core/verifier.rs`).

use core_types::{
    air::ExtensionValue,
    circle::{CirclePoint, double_x},
    field::QM31,
    params::air::Opcode,
};
use stark_air::{MaskSource, Program};

use crate::{Component, plan::shape::StatementShape};

/// Returns whether the constraints match the composition polynomial out of domain.
///
/// The constraints are combined with the powers of `challenge`.
pub(crate) fn holds(
    shape: &StatementShape,
    components: &[Component],
    sampled: &[Vec<Vec<QM31>>],
    inputs: &[&[QM31]],
    challenge: QM31,
    point: CirclePoint<QM31>,
) -> bool {
    // Columns are lifted, so the vanishing polynomial has one value for all heights.
    let vanishing = (1..shape.log_degree).fold(point.x, |x, _| double_x(x));
    // Horner's rule over all constraints: the first takes the highest power.
    let mut sum = QM31::ZERO;
    for ((component, places), inputs) in components.iter().zip(&shape.components).zip(inputs) {
        let program = component.air.constraint_program();
        let masks = program.masks().iter().map(|mask| {
            let (tree, column) = match mask.source {
                MaskSource::Preprocessed { slot } => (0, component.preprocessed[slot as usize]),
                MaskSource::Column { tree, column } => {
                    (tree.0 as usize, places.columns[tree.0 as usize].start + column as usize)
                }
            };
            let offsets = &shape.trees[tree].columns[column].offsets;
            let sample = offsets.iter().position(|&offset| offset == mask.offset);
            sample.map_or(QM31::ZERO, |sample| sampled[tree][column][sample])
        });
        let masks: Vec<QM31> = masks.collect();
        sum = run(program, &masks, inputs).into_iter().fold(sum, |sum, output| sum * challenge + output);
    }
    // The sampled composition times the vanishing polynomial is the same sum.
    let composition = sampled.last().map_or(QM31::ZERO, |columns| composition(columns, vanishing));
    sum == composition * vanishing
}

/// The value of the composition polynomial, from the coordinates of its two parts.
fn composition(sampled: &[Vec<QM31>], split: QM31) -> QM31 {
    let part = |columns: &[Vec<QM31>]| match columns {
        [a, b, c, d] => <QM31 as ExtensionValue<QM31>>::from_coordinates([a[0], b[0], c[0], d[0]]),
        _ => QM31::ZERO,
    };
    let (left, right) = sampled.split_at(sampled.len() / 2);
    part(left) + split * part(right)
}

/// Registers outside the domain, where values of the base field are of the secure field too.
///
/// A value `v` of the secure field takes the registers `v, 0, 0, 0`, unless a program joined it
/// from four coordinates.
struct OutOfDomainRegisters(Vec<QM31>);

impl OutOfDomainRegisters {
    fn base(&self, register: usize) -> QM31 {
        self.0[register]
    }

    fn ext(&self, register: usize) -> QM31 {
        <QM31 as ExtensionValue<QM31>>::from_coordinates([0, 1, 2, 3].map(|coordinate| self.0[register + coordinate]))
    }

    fn set_ext(&mut self, register: usize, value: QM31) {
        self.0[register..register + 4].copy_from_slice(&[value, QM31::ZERO, QM31::ZERO, QM31::ZERO]);
    }
}

/// Runs a program outside the domain.
fn run(program: &Program, masks: &[QM31], challenges: &[QM31]) -> Vec<QM31> {
    let mut registers = OutOfDomainRegisters(vec![QM31::ZERO; program.registers() as usize]);
    let mut outputs = vec![QM31::ZERO; program.outputs() as usize];
    // Instructions in order, on registers that start from zero.
    for step in program.instructions() {
        let [target, left, right] = [step.target, step.left, step.right].map(usize::from);
        // Recorded programs name nothing else.
        let Some(&opcode) = Opcode::ALL.get(step.opcode as usize) else { continue };
        let r = &mut registers;
        match opcode {
            Opcode::Mask => r.0[target] = masks[left],
            // Steps on integers are of traces alone.
            Opcode::Bits | Opcode::Xor => {}
            Opcode::Constant => r.0[target] = program.constants()[left].into(),
            Opcode::Copy => r.0[target] = r.base(left),
            Opcode::Add => r.0[target] = r.base(left) + r.base(right),
            Opcode::Sub => r.0[target] = r.base(left) - r.base(right),
            Opcode::Mul => r.0[target] = r.base(left) * r.base(right),
            Opcode::Neg => r.0[target] = -r.base(left),
            Opcode::Challenge => r.set_ext(target, challenges[left]),
            Opcode::Lift => r.set_ext(target, r.base(left)),
            Opcode::AddExt => r.set_ext(target, r.ext(left) + r.ext(right)),
            Opcode::SubExt => r.set_ext(target, r.ext(left) - r.ext(right)),
            Opcode::MulExt => r.set_ext(target, r.ext(left) * r.ext(right)),
            Opcode::NegExt => r.set_ext(target, -r.ext(left)),
            Opcode::AddExtBase => r.set_ext(target, r.ext(left) + r.base(right)),
            Opcode::SubExtBase => r.set_ext(target, r.ext(left) - r.base(right)),
            Opcode::MulExtBase => r.set_ext(target, r.ext(left) * r.base(right)),
            Opcode::Out => outputs[target] = r.base(left),
            Opcode::OutExt => outputs[target] = r.ext(left),
        }
    }
    outputs
}
