//! Forward and backward pairs: a smooth function, and its gradients by reverse mode.

use anyhow::{Result, bail};

use super::{
    super::{
        random::Random,
        sample::SampleKernel,
        tape::{Bounded, FloatOp, SMOOTH, Tape, backward, gradient, number},
    },
    FloatProgram, PROGRAMS, SampleParts, THREADS, elementwise, floats, words,
};

/// How far the two ways to compute a gradient in f64 may be apart, relative to it or to 1.
const APART: f64 = 1e-9;

/// A random function with its gradients, and their results.
pub(super) fn generate(random: &mut Random) -> Result<SampleParts> {
    for _ in 0..PROGRAMS {
        let inputs = 2 + random.below(3) as u32;
        let steps = 5 + random.below(6);
        let forward = FloatProgram::find(random, |random| Tape::random(random, &SMOOTH, inputs, steps, 1))?;
        let backward = backward(&forward.tape);
        let incoming: Vec<f32> = (0..THREADS).map(|_| number(random)).collect();
        let Some(gradients) = gradients(&forward, &backward, &incoming)? else { continue };
        let mut rows = forward.inputs.clone();
        rows.iter_mut().zip(&incoming).for_each(|(row, &incoming)| row.push(incoming));
        let kernel = SampleKernel::alone("backward", THREADS, words(&rows), floats(&gradients));
        let (text, mut kernels) = forward.alone("forward", "A function of the numbers of thread `i`.");
        kernels.push(kernel);
        let about = "The gradients of the numbers of thread `i`, from the gradient of the result.";
        return Ok((format!("{text}\n{}", elementwise("backward", about, &backward)), kernels));
    }
    bail!("no pair out of {PROGRAMS} stays within its bounds")
}

/// The gradients of each thread; `None` if the backward program leaves its bounds.
///
/// The values come from forward mode, the bounds from the backward program.
fn gradients(forward: &FloatProgram, backward: &Tape<FloatOp>, incoming: &[f32]) -> Result<Option<Vec<Vec<Bounded>>>> {
    let mut threads = Vec::new();
    for (inputs, &incoming) in forward.inputs.iter().zip(incoming) {
        let bounded: Vec<Bounded> = inputs.iter().chain([&incoming]).copied().map(Bounded::exact).collect();
        let Some(reverse) = backward.evaluate(&bounded) else { return Ok(None) };
        let inputs: Vec<f64> = inputs.iter().copied().map(f64::from).collect();
        let mut thread = Vec::new();
        for (reverse, derivative) in reverse.into_iter().zip(gradient(&forward.tape, &inputs)) {
            let value = f64::from(incoming) * derivative;
            let apart = (reverse.value - value).abs();
            if apart > APART * value.abs().max(1.0) {
                bail!("reverse mode gives {}, forward mode {value} for {:?}", reverse.value, forward.tape);
            }
            thread.push(Bounded { value, bound: reverse.bound + apart });
        }
        threads.push(thread);
    }
    Ok(Some(threads))
}
