//! The families of kernels, and what they share.

mod arithmetic;
mod control;
mod math;
mod matrix;
mod pairs;
mod reductions;
mod vector;

use anyhow::{Context, Result, bail};

use super::{
    random::Random,
    sample::{ExpectedResults, KernelSample, SampleKernel},
    tape::{Bounded, FloatOp, Operation, Tape, number},
};

/// Threads of a kernel whose threads work alone: a full block and a part of one.
const THREADS: u32 = 150;

/// Programs that are tried before giving up: a program may overflow or amplify errors.
const PROGRAMS: usize = 1000;

/// Inputs of a thread that are tried before its program is given up.
const INPUTS: usize = 20;

/// Kernels of one kind.
#[derive(Clone, Copy)]
pub(super) struct KernelFamily {
    pub(super) name: &'static str,
    /// What its kernels compute, for the help.
    pub(super) about: &'static str,
    generate: fn(&mut Random) -> Result<SampleParts>,
}

/// The functions of a sample, and its kernels.
type SampleParts = (String, Vec<SampleKernel>);

/// All families.
pub(super) const FAMILIES: [KernelFamily; 7] = [
    KernelFamily { name: "arithmetic", about: "integers of 32 bits", generate: arithmetic::generate },
    KernelFamily { name: "math", about: "f32, with functions and choices", generate: math::generate },
    KernelFamily { name: "control", about: "loops and conditionals", generate: control::generate },
    KernelFamily { name: "vector", about: "vectors of 2 to 4 components", generate: vector::generate },
    KernelFamily { name: "matrix", about: "products of matrices", generate: matrix::generate },
    KernelFamily { name: "reductions", about: "reductions and atomics", generate: reductions::generate },
    KernelFamily { name: "pairs", about: "forward and backward pairs", generate: pairs::generate },
];

impl KernelFamily {
    /// Sample `index` of a seed.
    pub(super) fn sample(&self, seed: u64, index: usize) -> Result<KernelSample> {
        // Names and indices choose far apart places in the sequence of the seed.
        let place = self
            .name
            .bytes()
            .fold(index as u64, |place, byte| place.wrapping_mul(0x100_0001).wrapping_add(byte.into()));
        let mut random = Random::new(Random::new(seed).word() ^ Random::new(place).word());
        // Equal results of all threads would hide most errors.
        for _ in 0..PROGRAMS {
            let (functions, kernels) = (self.generate)(&mut random)
                .with_context(|| format!("sample {index} of family {}, seed {seed}", self.name))?;
            if kernels.iter().all(|kernel| kernel.expected.differs()) {
                return Ok(KernelSample { family: self.name, seed, index, functions, kernels });
            }
        }
        bail!(
            "no program out of {PROGRAMS} for sample {index} of family {}, seed {seed}, has results that differ",
            self.name
        )
    }
}

/// The place of value `index` of thread `i`, as Rust.
fn place(index: u32) -> String {
    match index {
        0 => "i".to_owned(),
        1 => "len + i".to_owned(),
        _ => format!("{index} * len + i"),
    }
}

/// A function that threads run, with these lines as its body.
fn function(name: &str, about: &str, lines: &[String]) -> String {
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!(
        "/// {about}\n#[inline(always)]\n\
         pub fn {name}(i: u32, len: u32, from: &impl Fn(u32) -> u32, to: &mut impl FnMut(u32, u32)) {{\n{body}}}\n"
    )
}

/// The function `name` whose threads run `tape` on their own inputs.
fn elementwise<O: Operation>(name: &str, about: &str, tape: &Tape<O>) -> String {
    let mut lines = tape.lines(|input| format!("from({})", place(input)));
    let outputs =
        (0..tape.outputs.len()).map(|output| format!("to({}, {});", place(output as u32), tape.output(output)));
    lines.extend(outputs);
    function(name, about, &lines)
}

/// Words of threads, one column of all threads for each of the values of a thread.
fn columns<T: Copy>(rows: &[Vec<T>]) -> Vec<T> {
    let width = rows.first().map_or(0, Vec::len);
    (0..width).flat_map(|value| rows.iter().map(move |row| row[value])).collect()
}

/// The bits of the floats of threads, as [`columns`].
fn words(rows: &[Vec<f32>]) -> Vec<u32> {
    columns(rows).into_iter().map(f32::to_bits).collect()
}

/// The expected results of threads, each with its values and their bounds.
fn floats(rows: &[Vec<Bounded>]) -> ExpectedResults {
    let all = columns(rows);
    ExpectedResults::Floats {
        values: all.iter().map(|result| result.value).collect(),
        // The evaluation in f64 has an error too, smaller by far.
        bounds: all.iter().map(|result| result.bound * 1.000_001).collect(),
    }
}

/// A random program of floats, with inputs of all threads and their results.
struct FloatProgram {
    tape: Tape<FloatOp>,
    /// The inputs of each thread.
    inputs: Vec<Vec<f32>>,
    /// The results of each thread.
    results: Vec<Vec<Bounded>>,
}

impl FloatProgram {
    /// The first of many programs that `write` returns whose results stay within their bounds.
    fn find(random: &mut Random, write: impl Fn(&mut Random) -> Tape<FloatOp>) -> Result<Self> {
        for _ in 0..PROGRAMS {
            let tape = write(random);
            let threads = (0..THREADS).map(|_| thread(random, &tape)).collect::<Option<Vec<_>>>();
            if let Some(threads) = threads {
                let (inputs, results) = threads.into_iter().unzip();
                return Ok(Self { tape, inputs, results });
            }
        }
        bail!("no program out of {PROGRAMS} stays within its bounds")
    }

    /// The kernel that runs it, and its function.
    fn alone(&self, function: &'static str, about: &str) -> SampleParts {
        let kernel = SampleKernel::alone(function, THREADS, words(&self.inputs), floats(&self.results));
        (elementwise(function, about, &self.tape), vec![kernel])
    }
}

/// Inputs of a thread, and the results for them; `None` if no inputs tried have any.
fn thread(random: &mut Random, tape: &Tape<FloatOp>) -> Option<(Vec<f32>, Vec<Bounded>)> {
    (0..INPUTS).find_map(|_| {
        let inputs: Vec<f32> = (0..tape.inputs()).map(|_| number(random)).collect();
        let bounded: Vec<Bounded> = inputs.iter().copied().map(Bounded::exact).collect();
        Some((inputs, tape.evaluate(&bounded)?))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::sample::Cooperation, *};

    #[test]
    fn seed_family_and_index_determine_a_sample() {
        for family in FAMILIES {
            let sample = |seed, index| family.sample(seed, index).unwrap();
            let (first, again) = (sample(7, 0), sample(7, 0));
            assert_eq!(first.source(), again.source(), "{}", family.name);
            assert_eq!(first.kernels.len(), again.kernels.len());
            for (first, again) in first.kernels.iter().zip(&again.kernels) {
                assert_eq!((&first.from, &first.expected), (&again.from, &again.expected), "{}", family.name);
            }
            let others = [sample(8, 0), sample(7, 1)];
            assert!(others.iter().all(|other| other.functions != first.functions), "{}", family.name);
        }
    }

    #[test]
    fn sources_parse_and_hold_a_function_for_each_kernel_alone() {
        for family in FAMILIES {
            for index in 0..20 {
                let sample = family.sample(3, index).unwrap();
                let source = sample.source();
                let file =
                    syn::parse_file(&source).unwrap_or_else(|error| panic!("{}: {error}\n{source}", family.name));
                let is_function = |name: &str| {
                    file.items.iter().any(|item| matches!(item, syn::Item::Fn(item) if item.sig.ident == name))
                };
                for kernel in &sample.kernels {
                    let expected: &[&str] = match kernel.cooperation {
                        Cooperation::Alone => &[kernel.function],
                        Cooperation::Blocks | Cooperation::Atomic(_) => &["term", "combine"],
                        Cooperation::Histogram => &["term", "place"],
                    };
                    assert!(expected.iter().all(|name| is_function(name)), "{}: {source}", family.name);
                }
            }
        }
    }

    #[test]
    fn results_differ_between_threads() {
        for family in FAMILIES {
            for index in 0..20 {
                let sample = family.sample(5, index).unwrap();
                let differs = sample.kernels.iter().all(|kernel| match &kernel.expected {
                    ExpectedResults::Words { words } => words.len() == 1 || words.iter().any(|word| *word != words[0]),
                    ExpectedResults::Floats { values, .. } => values.iter().any(|value| *value != values[0]),
                });
                assert!(differs, "{}", sample.folder());
            }
        }
    }
}
