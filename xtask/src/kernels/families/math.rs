//! Floats: each thread runs a straight-line program on its own numbers.
//!
//! The programs have functions and choices.

use anyhow::Result;

use super::{
    super::{
        random::Random,
        tape::{TRANSCENDENTAL, Tape},
    },
    FloatProgram, SampleParts,
};

/// A random program and its results.
pub(super) fn generate(random: &mut Random) -> Result<SampleParts> {
    let inputs = 2 + random.below(3) as u32;
    let steps = 8 + random.below(9);
    let write = |random: &mut Random| Tape::random(random, &TRANSCENDENTAL, inputs, steps, 2);
    let program = FloatProgram::find(random, write)?;
    Ok(program.alone("thread", "Combines the numbers of thread `i`."))
}
