//! Gradients: backward programs by reverse mode, and their values by forward mode in f64.
//!
//! The two share no rule: the backward program reuses results of the forward one, as kernels do,
//! while the values are of the textbook derivatives at the inputs (Griewank and Walther, Evaluating
//! Derivatives, chapter 3).

use super::{FloatOp, Operation as _, Tape, TapeStep};

/// The program that turns the gradient of the only output into the gradients of all inputs.
///
/// Its inputs are the inputs of `forward`, then the gradient of the output. Its outputs are in the
/// order of the inputs of `forward`.
pub(in super::super) fn backward(forward: &Tape<FloatOp>) -> Tape<FloatOp> {
    let mut tape = forward.clone();
    let incoming = tape.input();
    let mut gradients: Vec<Option<usize>> = vec![None; forward.steps.len()];
    gradients[forward.outputs[0]] = Some(incoming);
    for (number, step) in forward.steps.iter().enumerate().rev() {
        if let (TapeStep::Apply(op, operands), Some(gradient)) = (step, gradients[number]) {
            for (place, term) in terms(&mut tape, *op, operands, number, gradient).into_iter().enumerate() {
                let slot = &mut gradients[operands[place]];
                *slot = Some(match *slot {
                    None => term,
                    Some(sum) => tape.push(FloatOp::Add, &[sum, term]),
                });
            }
        }
    }
    let is_input = |number: &usize| matches!(forward.steps[*number], TapeStep::Input(_));
    let inputs: Vec<usize> = (0..forward.steps.len()).filter(is_input).collect();
    let outputs = inputs.iter().map(|&input| gradients[input].unwrap_or_else(|| tape.constant(0))).collect();
    tape.outputs = outputs;
    tape
}

/// Adds the steps that give each operand of step `number` its part of the gradient.
fn terms(tape: &mut Tape<FloatOp>, op: FloatOp, operands: &[usize], number: usize, gradient: usize) -> Vec<usize> {
    let (a, b) = (operands[0], operands[1]);
    let one = 1f32.to_bits();
    match op {
        FloatOp::Add => vec![gradient, gradient],
        FloatOp::Sub => vec![gradient, tape.push(FloatOp::Neg, &[gradient])],
        FloatOp::Mul => vec![tape.push(FloatOp::Mul, &[gradient, b]), tape.push(FloatOp::Mul, &[gradient, a])],
        FloatOp::Fused => {
            vec![tape.push(FloatOp::Mul, &[gradient, b]), tape.push(FloatOp::Mul, &[gradient, a]), gradient]
        }
        FloatOp::Ratio => {
            // d(a / (1 + b b)) is da / (1 + b b) - 2 b result db / (1 + b b).
            let numerator = tape.push(FloatOp::Ratio, &[gradient, b]);
            let half = tape.push(FloatOp::Mul, &[b, number]);
            let whole = tape.push(FloatOp::Add, &[half, half]);
            let product = tape.push(FloatOp::Mul, &[whole, numerator]);
            vec![numerator, tape.push(FloatOp::Neg, &[product])]
        }
        FloatOp::Neg => vec![tape.push(FloatOp::Neg, &[gradient])],
        FloatOp::Max => {
            let zero = tape.constant(0);
            let first = tape.push(FloatOp::Select, &[b, a, gradient, zero]);
            vec![first, tape.push(FloatOp::Select, &[b, a, zero, gradient])]
        }
        FloatOp::Exp => vec![tape.push(FloatOp::Mul, &[gradient, number])],
        FloatOp::Sigmoid => {
            let square = tape.push(FloatOp::Mul, &[number, number]);
            let slope = tape.push(FloatOp::Sub, &[number, square]);
            vec![tape.push(FloatOp::Mul, &[gradient, slope])]
        }
        FloatOp::Tanh => {
            let one = tape.constant(one);
            let square = tape.push(FloatOp::Mul, &[number, number]);
            let slope = tape.push(FloatOp::Sub, &[one, square]);
            vec![tape.push(FloatOp::Mul, &[gradient, slope])]
        }
        // No forward program has them: `SMOOTH` leaves them out.
        FloatOp::Abs | FloatOp::Root | FloatOp::Min | FloatOp::Select | FloatOp::Log => Vec::new(),
    }
}

/// The derivatives of the only output of a program of `SMOOTH` by each of its inputs.
pub(in super::super) fn gradient(tape: &Tape<FloatOp>, inputs: &[f64]) -> Vec<f64> {
    (0..inputs.len()).map(|input| tangent(tape, inputs, input).1).collect()
}

/// The output and its derivative by one input.
///
/// Each step has a pair of its value and its derivative.
fn tangent(tape: &Tape<FloatOp>, inputs: &[f64], by: usize) -> (f64, f64) {
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    for step in &tape.steps {
        let pair = match step {
            TapeStep::Input(index) => (inputs[*index as usize], f64::from(u8::from(*index as usize == by))),
            TapeStep::Constant(bits) => (f64::from(f32::from_bits(*bits)), 0.0),
            TapeStep::Apply(op, operands) => {
                let operands: Vec<(f64, f64)> = operands[..op.arity()].iter().map(|&operand| pairs[operand]).collect();
                derive(*op, &operands)
            }
        };
        pairs.push(pair);
    }
    pairs[tape.outputs[0]]
}

/// Value and derivative of an operation.
fn derive(op: FloatOp, operands: &[(f64, f64)]) -> (f64, f64) {
    let operand = |index: usize| operands.get(index).copied().unwrap_or_default();
    let ((a, da), (b, db), (c, dc)) = (operand(0), operand(1), operand(2));
    match op {
        FloatOp::Add => (a + b, da + db),
        FloatOp::Sub => (a - b, da - db),
        FloatOp::Mul => (a * b, a * db + b * da),
        FloatOp::Fused => (a * b + c, a * db + b * da + dc),
        FloatOp::Ratio => {
            let divisor = 1.0 + b * b;
            (a / divisor, (da * divisor - a * 2.0 * b * db) / (divisor * divisor))
        }
        FloatOp::Neg => (-a, -da),
        FloatOp::Max => {
            if a > b {
                (a, da)
            } else {
                (b, db)
            }
        }
        FloatOp::Exp => (a.exp(), a.exp() * da),
        FloatOp::Sigmoid => {
            let small = (-a.abs()).exp();
            (1.0 / (1.0 + (-a).exp()), small / ((1.0 + small) * (1.0 + small)) * da)
        }
        FloatOp::Tanh => (a.tanh(), da / (a.cosh() * a.cosh())),
        FloatOp::Abs | FloatOp::Root | FloatOp::Min | FloatOp::Select | FloatOp::Log => (f64::NAN, f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Bounded, Random, SMOOTH, float::number},
        *,
    };

    /// Every smooth operation alone, and random programs of them.
    fn tapes(random: &mut Random) -> Vec<Tape<FloatOp>> {
        let single = |op: FloatOp| {
            let mut tape = Tape::of_inputs(3);
            let output = tape.push(op, &[0, 1, 2][..op.arity()]);
            tape.outputs = vec![output];
            tape
        };
        let mut tapes: Vec<_> = SMOOTH.into_iter().map(single).collect();
        tapes.extend((0..40).map(|_| Tape::random(random, &SMOOTH, 3, 6, 1)));
        tapes
    }

    #[test]
    fn forward_mode_gives_central_differences() {
        let mut random = Random::new(11);
        let mut compared = 0;
        for tape in tapes(&mut random) {
            let inputs = [(); 3].map(|()| number(&mut random));
            let mut all: Vec<Bounded> = inputs.map(Bounded::exact).to_vec();
            all.push(Bounded::exact(1.0));
            // A maximum of equal operands has no derivative, and the backward program no value.
            if backward(&tape).evaluate(&all).is_none() {
                continue;
            }
            let inputs = inputs.map(f64::from);
            let gradient = gradient(&tape, &inputs);
            for (input, derivative) in gradient.into_iter().enumerate() {
                let step = 1e-5;
                let moved = |by: f64| {
                    let mut moved = inputs;
                    moved[input] += by;
                    tangent(&tape, &moved, input).0
                };
                let difference = (moved(step) - moved(-step)) / (2.0 * step);
                let scale = derivative.abs().max(moved(0.0).abs()).max(1.0);
                assert!((derivative - difference).abs() <= 1e-4 * scale, "{tape:?}: {derivative}, {difference}");
                compared += 1;
            }
        }
        assert!(compared >= 60, "{compared} derivatives");
    }

    #[test]
    fn backward_programs_have_the_derivatives_of_forward_mode() {
        let mut random = Random::new(12);
        let mut compared = 0;
        for tape in tapes(&mut random) {
            let inputs = [(); 3].map(|()| number(&mut random));
            let mut all: Vec<Bounded> = inputs.map(Bounded::exact).to_vec();
            all.push(Bounded::exact(-1.5));
            let Some(gradients) = backward(&tape).evaluate(&all) else { continue };
            assert_eq!(gradients.len(), 3);
            for (Bounded { value, .. }, derivative) in gradients.iter().zip(gradient(&tape, &inputs.map(f64::from))) {
                let expected = -1.5 * derivative;
                assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{tape:?}: {value}, {expected}");
                compared += 1;
            }
        }
        assert!(compared >= 60, "{compared} derivatives");
    }
}
