//! Vectors of floats: each thread combines a few of them component by component.

use anyhow::Result;

use super::{
    super::{
        random::Random,
        tape::{FloatOp, Tape},
    },
    FloatProgram, SampleParts,
};

/// Vectors that each thread reads.
const VECTORS: usize = 3;

/// A random program and its results.
pub(super) fn generate(random: &mut Random) -> Result<SampleParts> {
    let components = 2 + random.below(3);
    let program = FloatProgram::find(random, |random| write(random, components))?;
    Ok(program.alone("thread", &format!("Combines vectors of {components} components of thread `i`.")))
}

/// A program of operations on vectors; its outputs are the components of the last one.
fn write(random: &mut Random, components: usize) -> Tape<FloatOp> {
    let mut tape = Tape::of_inputs((VECTORS * components) as u32);
    let mut vectors: Vec<Vec<usize>> =
        (0..VECTORS).map(|vector| (vector * components..(vector + 1) * components).collect()).collect();
    for _ in 0..3 + random.below(4) {
        let (a, b) = (vectors[vectors.len() - 1].clone(), random.of(&vectors));
        let result = match random.below(6) {
            0 => each(&mut tape, FloatOp::Add, &a, &b),
            1 => each(&mut tape, FloatOp::Sub, &a, &b),
            2 => each(&mut tape, random.of(&[FloatOp::Mul, FloatOp::Min, FloatOp::Max]), &a, &b),
            3 => {
                let scale = dot(&mut tape, &a, &b);
                let third = random.of(&vectors);
                let fused =
                    |tape: &mut Tape<FloatOp>, (&x, &y): (&usize, &usize)| tape.push(FloatOp::Fused, &[scale, x, y]);
                a.iter().zip(&third).map(|pair| fused(&mut tape, pair)).collect()
            }
            4 if components == 3 => cross(&mut tape, &a, &b),
            _ => {
                // The vector over 1 + |a|^2, by its length.
                let square = dot(&mut tape, &a, &a);
                let length = tape.push(FloatOp::Root, &[square]);
                a.iter().map(|&component| tape.push(FloatOp::Ratio, &[component, length])).collect()
            }
        };
        vectors.push(result);
    }
    tape.outputs = vectors.pop().unwrap_or_default();
    tape
}

/// An operation on each pair of components.
fn each(tape: &mut Tape<FloatOp>, op: FloatOp, a: &[usize], b: &[usize]) -> Vec<usize> {
    a.iter().zip(b).map(|(&a, &b)| tape.push(op, &[a, b])).collect()
}

/// The inner product, by fused sums from the first component on.
fn dot(tape: &mut Tape<FloatOp>, a: &[usize], b: &[usize]) -> usize {
    let first = tape.push(FloatOp::Mul, &[a[0], b[0]]);
    a.iter().zip(b).skip(1).fold(first, |sum, (&a, &b)| tape.push(FloatOp::Fused, &[a, b, sum]))
}

/// The cross product of vectors of three components.
fn cross(tape: &mut Tape<FloatOp>, a: &[usize], b: &[usize]) -> Vec<usize> {
    let component = |index: usize| {
        let (next, last) = ((index + 1) % 3, (index + 2) % 3);
        let right = tape.push(FloatOp::Mul, &[a[last], b[next]]);
        let right = tape.push(FloatOp::Neg, &[right]);
        tape.push(FloatOp::Fused, &[a[next], b[last], right])
    };
    (0..3).map(component).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::super::tape::Bounded, *};

    #[test]
    fn products_of_vectors_have_their_values() {
        let mut tape = Tape::of_inputs(6);
        let (a, b) = ([0, 1, 2], [3, 4, 5]);
        let inner = dot(&mut tape, &a, &b);
        tape.outputs = cross(&mut tape, &a, &b);
        tape.outputs.push(inner);
        let inputs = [1.0, 2.0, 3.0, -4.0, 5.0, 0.5].map(Bounded::exact);
        let values: Vec<f64> = tape.evaluate(&inputs).unwrap().iter().map(|result| result.value).collect();
        assert_eq!(values, [-14.0, -12.5, 13.0, 7.5]);
    }
}
