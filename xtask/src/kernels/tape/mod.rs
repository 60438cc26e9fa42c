//! Straight-line programs that are printed as Rust and evaluated here.
//!
//! The evaluation shares no code with the text: words are computed in integers of 64 bits, floats
//! in f64 with a bound of the error of f32.

mod bounded;
mod float;
mod gradient;
mod integer;

pub(super) use self::{
    bounded::Bounded,
    float::{ELEMENTARY, FloatOp, SMOOTH, TRANSCENDENTAL, number},
    gradient::{backward, gradient},
    integer::{INTEGER, IntOp, apply, word},
};

use super::random::Random;

/// Operands of the operation with the most of them.
const OPERANDS: usize = 4;

/// Latest values that the first operand of a random step is taken from.
///
/// Most values are used that way.
const NEAR: usize = 3;

/// Operands of a step, by the numbers of earlier steps. Those beyond the arity are 0.
pub(super) type StepOperands = [usize; OPERANDS];

/// An operation on words of one kind.
pub(super) trait Operation: Copy + 'static {
    /// Number of operands, from 1 to 4.
    fn arity(self) -> usize;

    /// The operation as a Rust expression of these operands.
    fn text(self, operands: &[String]) -> String;

    /// The value of a word, as Rust.
    fn read(word: &str) -> String;

    /// A value as a word, as Rust.
    fn write(value: &str) -> String;

    /// The value with these bits, as a Rust literal.
    fn literal(bits: u32) -> String;

    /// The bits of a random constant.
    fn constant(random: &mut Random) -> u32;
}

/// The origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TapeStep<O> {
    /// The input of this number.
    Input(u32),
    /// The value with these bits.
    Constant(u32),
    /// An operation on earlier values.
    Apply(O, StepOperands),
}

/// A straight-line program; value `k` is the result of step `k`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tape<O> {
    steps: Vec<TapeStep<O>>,
    /// Values that the program returns.
    pub(super) outputs: Vec<usize>,
}

impl<O: Operation> Tape<O> {
    /// A program that reads `inputs` inputs and computes nothing yet.
    pub(super) fn of_inputs(inputs: u32) -> Self {
        Self { steps: (0..inputs).map(TapeStep::Input).collect(), outputs: Vec::new() }
    }

    /// A random program of `steps` operations out of `operations`; it outputs the last results.
    pub(super) fn random(random: &mut Random, operations: &[O], inputs: u32, steps: usize, outputs: usize) -> Self {
        let mut tape = Self::of_inputs(inputs);
        let mut results = Vec::new();
        for _ in 0..steps {
            let op = random.of(operations);
            let operands: Vec<usize> = (0..op.arity()).map(|place| tape.operand(random, place)).collect();
            results.push(tape.push(op, &operands));
        }
        tape.outputs = results.split_off(steps.saturating_sub(outputs));
        tape
    }

    /// A value for operand number `place`: a recent value first, then any value or a constant.
    fn operand(&mut self, random: &mut Random, place: usize) -> usize {
        let values = self.steps.len();
        if place == 0 {
            return values - 1 - random.below(NEAR.min(values));
        }
        if random.chance(15) {
            let bits = O::constant(random);
            return self.constant(bits);
        }
        random.below(values)
    }

    /// Adds a step, and returns the number of its value.
    pub(super) fn push(&mut self, op: O, operands: &[usize]) -> usize {
        debug_assert_eq!(op.arity(), operands.len());
        let mut all = [0; OPERANDS];
        all[..operands.len()].copy_from_slice(operands);
        self.steps.push(TapeStep::Apply(op, all));
        self.steps.len() - 1
    }

    /// Adds a constant, and returns the number of its value.
    pub(super) fn constant(&mut self, bits: u32) -> usize {
        self.steps.push(TapeStep::Constant(bits));
        self.steps.len() - 1
    }

    /// Adds an input, and returns the number of its value.
    pub(super) fn input(&mut self) -> usize {
        self.steps.push(TapeStep::Input(self.inputs()));
        self.steps.len() - 1
    }

    /// Number of inputs.
    pub(super) fn inputs(&self) -> u32 {
        self.steps.iter().filter(|step| matches!(step, TapeStep::Input(_))).count() as u32
    }

    /// The steps as lines of Rust; `input` gives the word of an input as an expression.
    pub(super) fn lines(&self, input: impl Fn(u32) -> String) -> Vec<String> {
        let line = |(number, step): (usize, &TapeStep<O>)| {
            let value = match step {
                TapeStep::Input(index) => O::read(&input(*index)),
                TapeStep::Constant(bits) => O::literal(*bits),
                TapeStep::Apply(op, operands) => {
                    let names: Vec<String> = operands[..op.arity()].iter().map(|value| name(*value)).collect();
                    op.text(&names)
                }
            };
            format!("let {} = {value};", name(number))
        };
        self.steps.iter().enumerate().map(line).collect()
    }

    /// Output number `index` as a word, as Rust.
    pub(super) fn output(&self, index: usize) -> String {
        O::write(&name(self.outputs[index]))
    }
}

/// The name of a value in the text.
fn name(value: usize) -> String {
    format!("v{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_every_value_before_it_is_used() {
        let tape = Tape::random(&mut Random::new(3), &INTEGER, 2, 30, 2);
        let lines = tape.lines(|input| format!("from({input})"));
        assert_eq!(lines[..2], ["let v0 = from(0);", "let v1 = from(1);"]);
        for (number, line) in lines.iter().enumerate() {
            let (head, value) = line.split_once(" = ").unwrap();
            assert_eq!(head, format!("let v{number}"));
            let words = value.split(|c: char| !c.is_alphanumeric());
            let used = words.filter_map(|word| word.strip_prefix('v')?.parse::<usize>().ok());
            assert!(used.max().is_none_or(|used| used < number), "{line}");
        }
        assert_eq!(tape.outputs.len(), 2);
        assert_eq!(tape.outputs[1], lines.len() - 1);
        assert!(tape.outputs.iter().all(|output| matches!(tape.steps[*output], TapeStep::Apply(..))));
    }

    #[test]
    fn a_seed_determines_the_program() {
        let tape = |seed| Tape::random(&mut Random::new(seed), &ELEMENTARY, 3, 20, 1);
        assert_eq!(tape(1), tape(1));
        assert_ne!(tape(1), tape(2));
    }
}
