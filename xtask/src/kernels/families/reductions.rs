//! Reductions and atomics: trees in shared memory, atomic operations, histograms.

use anyhow::Result;

use super::{
    super::{
        random::Random,
        sample::{BLOCK, Cooperation, ExpectedResults, SampleKernel},
        tape::{Bounded, FloatOp, INTEGER, IntOp, Operation, SMOOTH, Tape, word},
    },
    FloatProgram, SampleParts, columns, floats, place, words,
};

/// Threads of a kernel on words: four full blocks and a part of one.
const THREADS: u32 = 600;

/// An associative operation on words, its neutral word, and its atomic form.
#[derive(Clone, Copy)]
struct Combination {
    op: IntOp,
    neutral: u32,
    /// The method of `AtomicU32`, for operations whose neutral word is 0.
    atomic: Option<&'static str>,
}

const COMBINATIONS: [Combination; 6] = [
    Combination { op: IntOp::Add, neutral: 0, atomic: Some("fetch_add") },
    Combination { op: IntOp::Xor, neutral: 0, atomic: Some("fetch_xor") },
    Combination { op: IntOp::Or, neutral: 0, atomic: Some("fetch_or") },
    Combination { op: IntOp::Max, neutral: 0, atomic: Some("fetch_max") },
    Combination { op: IntOp::Min, neutral: u32::MAX, atomic: None },
    Combination { op: IntOp::And, neutral: u32::MAX, atomic: None },
];

/// A random reduction or histogram, and its results.
pub(super) fn generate(random: &mut Random) -> Result<SampleParts> {
    match random.below(4) {
        0 => sums_of_floats(random),
        1 => Ok(histogram(random)),
        _ => Ok(reduction(random)),
    }
}

/// A program of one result, and a word of it for each thread.
fn terms(random: &mut Random) -> (Tape<IntOp>, Vec<Vec<u32>>, Vec<u32>) {
    let inputs = 1 + random.below(2) as u32;
    let steps = 4 + random.below(6);
    let tape = Tape::random(random, &INTEGER, inputs, steps, 1);
    let rows: Vec<Vec<u32>> = (0..THREADS).map(|_| (0..inputs).map(|_| word(random)).collect()).collect();
    let terms = rows.iter().map(|row| tape.evaluate(row)[0]).collect();
    (tape, rows, terms)
}

/// The function `term`.
fn term<O: Operation>(tape: &Tape<O>) -> String {
    let lines = tape.lines(|input| format!("from({})", place(input)));
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!(
        "/// The term of thread `i`.\n#[inline(always)]\n\
         pub fn term(i: u32, len: u32, from: &impl Fn(u32) -> u32) -> u32 {{\n{body}    {}\n}}\n",
        tape.output(0)
    )
}

/// The neutral word and the function `combine`.
fn combine(neutral: u32, expression: &str) -> String {
    format!(
        "/// The term of threads beyond the last.\npub const NEUTRAL: u32 = {neutral:#x};\n\n\
         /// Combines two terms.\n#[inline(always)]\n\
         pub fn combine(a: u32, b: u32) -> u32 {{\n    {expression}\n}}\n"
    )
}

/// Words combined by each block, and perhaps by all.
fn reduction(random: &mut Random) -> SampleParts {
    let Combination { op, neutral, atomic } = random.of(&COMBINATIONS);
    let (tape, rows, terms) = terms(random);
    let all = |terms: &[u32]| terms.iter().fold(neutral, |sum, &term| op.evaluate(&[sum, term]));
    let (cooperation, words) = match atomic {
        Some(method) if random.chance(70) => (Cooperation::Atomic(method), vec![all(&terms)]),
        _ => (Cooperation::Blocks, terms.chunks(BLOCK as usize).map(all).collect()),
    };
    let expression = op.text(&["a".to_owned(), "b".to_owned()]);
    let text = format!("{}\n{}", term(&tape), combine(neutral, &expression));
    let expected = ExpectedResults::Words { words };
    (text, vec![SampleKernel { function: "reduce", cooperation, threads: THREADS, from: columns(&rows), expected }])
}

/// A count of the terms in each of a few bins.
fn histogram(random: &mut Random) -> SampleParts {
    let bins = random.of(&[5, 16, 31, 64]);
    let (tape, rows, terms) = terms(random);
    let mut words = vec![0; bins as usize];
    terms.iter().for_each(|term| words[(term % bins) as usize] += 1);
    let text = format!(
        "{}\n/// The bin of a term.\n#[inline(always)]\npub fn place(term: u32) -> u32 {{\n    term % {bins}\n}}\n",
        term(&tape)
    );
    let expected = ExpectedResults::Words { words };
    let cooperation = Cooperation::Histogram;
    (text, vec![SampleKernel { function: "count", cooperation, threads: THREADS, from: columns(&rows), expected }])
}

/// Floats added by each block in the order of a tree.
fn sums_of_floats(random: &mut Random) -> Result<SampleParts> {
    let write = |random: &mut Random| Tape::random(random, &SMOOTH, 2, 5, 1);
    let program = FloatProgram::find(random, write)?;
    let terms: Vec<Bounded> = program.results.iter().map(|results| results[0]).collect();
    let sums: Vec<Vec<Bounded>> = terms.chunks(BLOCK as usize).map(|terms| vec![tree(terms)]).collect();
    let add = FloatOp::Add.text(&["f32::from_bits(a)".to_owned(), "f32::from_bits(b)".to_owned()]);
    let text = format!("{}\n{}", term(&program.tape), combine(0, &format!("({add}).to_bits()")));
    let kernel = SampleKernel {
        function: "sum",
        cooperation: Cooperation::Blocks,
        threads: terms.len() as u32,
        from: words(&program.inputs),
        expected: floats(&sums),
    };
    Ok((text, vec![kernel]))
}

/// The sum of the terms of a block, halves added to halves.
fn tree(terms: &[Bounded]) -> Bounded {
    let mut sums = terms.to_vec();
    sums.resize(BLOCK as usize, Bounded::exact(0.0));
    while sums.len() > 1 {
        let upper = sums.split_off(sums.len() / 2);
        sums = sums.into_iter().zip(upper).map(|(sum, term)| sum.plus(term)).collect();
    }
    sums[0]
}
