//! Integers of 32 bits: each thread runs a straight-line program on its own words.

use anyhow::Result;

use super::{
    super::{
        random::Random,
        sample::{ExpectedResults, SampleKernel},
        tape::{INTEGER, Tape, word},
    },
    SampleParts, THREADS, columns, elementwise,
};

/// A random program and its results.
pub(super) fn generate(random: &mut Random) -> Result<SampleParts> {
    let inputs = 2 + random.below(3) as u32;
    let steps = 12 + random.below(13);
    let tape = Tape::random(random, &INTEGER, inputs, steps, 2);
    let rows: Vec<Vec<u32>> = (0..THREADS).map(|_| (0..inputs).map(|_| word(random)).collect()).collect();
    let results: Vec<Vec<u32>> = rows.iter().map(|row| tape.evaluate(row)).collect();
    let expected = ExpectedResults::Words { words: columns(&results) };
    let kernel = SampleKernel::alone("thread", THREADS, columns(&rows), expected);
    Ok((elementwise("thread", "Combines the words of thread `i`.", &tape), vec![kernel]))
}
