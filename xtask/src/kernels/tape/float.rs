//! Operations on f32.

use super::{Bounded, Operation, Random, Tape, TapeStep, integer::fill};

/// Greatest magnitude of any value of a program.
///
/// Beyond it a product of a few values may overflow f32.
const GREATEST: f64 = 1e12;

/// Greatest bound of the error of a result, relative to it, or to 1 if it is smaller.
const GREATEST_ERROR: f64 = 1e-3;

/// An operation on f32 without singular points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum FloatOp {
    Add,
    Sub,
    Mul,
    /// `a b + c`, rounded once.
    Fused,
    /// `a / (1 + b b)`.
    Ratio,
    Neg,
    Abs,
    /// The square root of the magnitude.
    Root,
    Min,
    Max,
    /// The third operand if the first is below the second, else the fourth.
    Select,
    Exp,
    /// `ln(1 + |a|)`.
    Log,
    Sigmoid,
    Tanh,
}

/// Operations that are rounded once.
pub(in super::super) const ELEMENTARY: [FloatOp; 12] = [
    FloatOp::Add,
    FloatOp::Add,
    FloatOp::Sub,
    FloatOp::Mul,
    FloatOp::Mul,
    FloatOp::Fused,
    FloatOp::Fused,
    FloatOp::Ratio,
    FloatOp::Neg,
    FloatOp::Abs,
    FloatOp::Min,
    FloatOp::Max,
];

/// Operations of [`ELEMENTARY`], roots, choices and functions.
pub(in super::super) const TRANSCENDENTAL: [FloatOp; 15] = [
    FloatOp::Add,
    FloatOp::Sub,
    FloatOp::Mul,
    FloatOp::Fused,
    FloatOp::Ratio,
    FloatOp::Neg,
    FloatOp::Abs,
    FloatOp::Root,
    FloatOp::Min,
    FloatOp::Max,
    FloatOp::Select,
    FloatOp::Exp,
    FloatOp::Log,
    FloatOp::Sigmoid,
    FloatOp::Tanh,
];

/// Operations with a derivative; the derivative of the maximum jumps at equal operands.
pub(in super::super) const SMOOTH: [FloatOp; 10] = [
    FloatOp::Add,
    FloatOp::Sub,
    FloatOp::Mul,
    FloatOp::Fused,
    FloatOp::Ratio,
    FloatOp::Neg,
    FloatOp::Max,
    FloatOp::Exp,
    FloatOp::Sigmoid,
    FloatOp::Tanh,
];

impl Operation for FloatOp {
    fn arity(self) -> usize {
        match self {
            Self::Neg | Self::Abs | Self::Root | Self::Exp | Self::Log | Self::Sigmoid | Self::Tanh => 1,
            Self::Add | Self::Sub | Self::Mul | Self::Ratio | Self::Min | Self::Max => 2,
            Self::Fused => 3,
            Self::Select => 4,
        }
    }

    fn text(self, operands: &[String]) -> String {
        let form = match self {
            Self::Add => "{a} + {b}",
            Self::Sub => "{a} - {b}",
            Self::Mul => "{a} * {b}",
            Self::Fused => "fma({a}, {b}, {c})",
            Self::Ratio => "{a} / fma({b}, {b}, 1.0)",
            Self::Neg => "-{a}",
            Self::Abs => "abs({a})",
            Self::Root => "sqrt(abs({a}))",
            Self::Min => "if {b} < {a} { {b} } else { {a} }",
            Self::Max => "if {b} > {a} { {b} } else { {a} }",
            Self::Select => "if {a} < {b} { {c} } else { {d} }",
            Self::Exp => "exp({a})",
            Self::Log => "log(1.0 + abs({a}))",
            Self::Sigmoid => "sigmoid({a})",
            Self::Tanh => "tanh({a})",
        };
        fill(form, operands)
    }

    fn read(word: &str) -> String {
        format!("f32::from_bits({word})")
    }

    fn write(value: &str) -> String {
        format!("{value}.to_bits()")
    }

    fn literal(bits: u32) -> String {
        format!("{:?}_f32", f32::from_bits(bits))
    }

    fn constant(random: &mut Random) -> u32 {
        number(random).to_bits()
    }
}

/// A multiple of 2^-10 from -2 to 2.
pub(in super::super) fn number(random: &mut Random) -> f32 {
    (random.below(4097) as f32 - 2048.0) / 1024.0
}

impl FloatOp {
    /// The result for these operands; `None` if their errors leave a choice open.
    fn evaluate(self, operands: &[Bounded]) -> Option<Bounded> {
        let operand = |index: usize| operands.get(index).copied().unwrap_or(Bounded::exact(0.0));
        let (a, b, c, d) = (operand(0), operand(1), operand(2), operand(3));
        let one = Bounded::exact(1.0);
        Some(match self {
            Self::Add => a.plus(b),
            Self::Sub => a.minus(b),
            Self::Mul => a.times(b),
            Self::Fused => a.fused(b, c),
            Self::Ratio => a.over(b.fused(b, one)),
            Self::Neg => a.negated(),
            Self::Abs => a.magnitude(),
            Self::Root => a.magnitude().root(),
            Self::Min => a.lesser(b),
            Self::Max => a.greater(b),
            Self::Select => {
                if a.is_less(b)? {
                    c
                } else {
                    d
                }
            }
            Self::Exp => a.exponential(),
            Self::Log => one.plus(a.magnitude()).logarithm(),
            Self::Sigmoid => a.logistic(),
            Self::Tanh => a.tangent(),
        })
    }
}

impl Tape<FloatOp> {
    /// The outputs for these inputs.
    ///
    /// `None` if a choice is open, a value is too great, or the error of an output is.
    pub(in super::super) fn evaluate(&self, inputs: &[Bounded]) -> Option<Vec<Bounded>> {
        let mut values: Vec<Bounded> = Vec::new();
        for step in &self.steps {
            let value = match step {
                TapeStep::Input(index) => inputs[*index as usize],
                TapeStep::Constant(bits) => Bounded::exact(f32::from_bits(*bits)),
                TapeStep::Apply(op, operands) => {
                    let operands: Vec<Bounded> =
                        operands[..op.arity()].iter().map(|&operand| values[operand]).collect();
                    op.evaluate(&operands)?
                }
            };
            let within = value.value.abs() <= GREATEST && value.bound <= GREATEST;
            values.push(Some(value).filter(|_| within)?);
        }
        let outputs: Vec<Bounded> = self.outputs.iter().map(|&output| values[output]).collect();
        let exact = |output: &Bounded| output.bound <= GREATEST_ERROR * output.value.abs().max(1.0);
        outputs.iter().all(exact).then_some(outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_choices_and_great_values_have_no_result() {
        let mut tape = Tape::of_inputs(2);
        let choice = tape.push(FloatOp::Select, &[0, 1, 0, 1]);
        tape.outputs = vec![choice];
        let inputs = |a, b| [Bounded::exact(a), Bounded::exact(b)];
        assert_eq!(tape.evaluate(&inputs(1.0, 2.0)), Some(vec![Bounded::exact(1.0)]));
        assert_eq!(tape.evaluate(&inputs(2.0, 2.0)), None);
        let mut tape = Tape::of_inputs(1);
        let power = tape.push(FloatOp::Exp, &[0]);
        tape.outputs = vec![power];
        assert!(tape.evaluate(&[Bounded::exact(1.0)]).is_some());
        assert_eq!(tape.evaluate(&[Bounded::exact(30.0)]), None);
    }

    #[test]
    fn text_has_the_operands_in_their_places() {
        let names = ["p", "q", "r", "s"].map(str::to_owned);
        assert_eq!(FloatOp::Fused.text(&names[..3]), "fma(p, q, r)");
        assert_eq!(FloatOp::Select.text(&names), "if p < q { r } else { s }");
        assert_eq!(FloatOp::literal((-0.5f32).to_bits()), "-0.5_f32");
    }
}
