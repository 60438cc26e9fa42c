//! A sample: the source of its kernels, their inputs, and the expected results.

use serde::Serialize;

/// Threads of a block.
pub(super) const BLOCK: u32 = 128;

/// Kernels of a family, generated from a seed.
pub(super) struct KernelSample {
    pub(super) family: &'static str,
    pub(super) seed: u64,
    pub(super) index: usize,
    /// The functions that threads run, as Rust.
    pub(super) functions: String,
    /// In the order in which they are launched.
    pub(super) kernels: Vec<SampleKernel>,
}

/// A kernel and its launch.
pub(super) struct SampleKernel {
    /// The last part of its name.
    ///
    /// For kernels whose threads work alone it is also the name of the function that they run.
    pub(super) function: &'static str,
    pub(super) cooperation: Cooperation,
    /// Threads that do something; the last block may have more.
    pub(super) threads: u32,
    /// Words that the kernel reads.
    pub(super) from: Vec<u32>,
    pub(super) expected: ExpectedResults,
}

/// How threads of a kernel work together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cooperation {
    /// Each thread writes the results of its elements.
    Alone,
    /// Each block combines the terms of its threads by a tree in shared memory, one result each.
    Blocks,
    /// As [`Blocks`](Self::Blocks), and the results are combined in one word.
    ///
    /// This method of `AtomicU32` combines them.
    Atomic(&'static str),
    /// Each thread adds 1 to a word that its term selects.
    Histogram,
}

/// The words that a kernel writes, as computed without its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum ExpectedResults {
    /// Words, to be equal.
    Words { words: Vec<u32> },
    /// Real values, with the greatest error that the operations in f32 may make.
    Floats { values: Vec<f64>, bounds: Vec<f64> },
}

impl KernelSample {
    /// The name of its folder.
    pub(super) fn folder(&self) -> String {
        format!("{}-{}-{}", self.family, self.seed, self.index)
    }

    /// The name of its module, a prefix of the names of its kernels.
    pub(super) fn module(&self) -> String {
        format!("sample_{}_{}_{}", self.family, self.seed, self.index)
    }

    /// The name of the entry of a kernel.
    pub(super) fn symbol(&self, kernel: &SampleKernel) -> String {
        format!("{}_{}", self.module(), kernel.function)
    }

    /// The file `kernel.rs`.
    pub(super) fn source(&self) -> String {
        let mut imports = String::new();
        for (module, functions) in
            [("functions", &["exp", "log", "sigmoid", "tanh"][..]), ("math", &["abs", "fma", "sqrt"][..])]
        {
            let calls = |function: &&&str| self.functions.contains(&format!("{function}("));
            let called: Vec<&str> = functions.iter().filter(calls).copied().collect();
            match called[..] {
                [] => {}
                [only] => imports.push_str(&format!("use crate::{module}::{only};\n")),
                _ => imports.push_str(&format!("use crate::{module}::{{{}}};\n", called.join(", "))),
            }
        }
        let separator = if imports.is_empty() { "" } else { "\n" };
        format!(
            "//! Sample {} of the family `{}`, seed {}, by `cargo xtask kernels`.\n\n{imports}{separator}{}",
            self.index, self.family, self.seed, self.functions
        )
    }
}

impl SampleKernel {
    /// A kernel whose threads each run `function` on their own words.
    pub(super) fn alone(function: &'static str, threads: u32, from: Vec<u32>, expected: ExpectedResults) -> Self {
        Self { function, cooperation: Cooperation::Alone, threads, from, expected }
    }

    /// Bytes of dynamic shared memory of a block.
    pub(super) fn dynamic_shared(&self) -> u32 {
        match self.cooperation {
            Cooperation::Alone | Cooperation::Histogram => 0,
            Cooperation::Blocks | Cooperation::Atomic(_) => 4 * BLOCK,
        }
    }

    /// Blocks of the launch.
    pub(super) fn blocks(&self) -> u32 {
        self.threads.div_ceil(BLOCK)
    }
}

impl ExpectedResults {
    /// Number of words that the kernel writes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Words { words } => words.len(),
            Self::Floats { values, .. } => values.len(),
        }
    }

    /// Whether some results differ by more than their bounds; a single result does.
    pub(super) fn differs(&self) -> bool {
        match self {
            Self::Words { words } => words.len() == 1 || words.iter().any(|word| *word != words[0]),
            Self::Floats { values, bounds } => {
                let mut pairs = values.iter().zip(bounds);
                pairs.any(|(value, bound)| (value - values[0]).abs() > bound + bounds[0])
            }
        }
    }

    /// The first word that is wrong, in words; `None` if all are right.
    pub(super) fn mismatch(&self, got: &[u32]) -> Option<String> {
        if got.len() != self.len() {
            return Some(format!("expected {} words, got {}", self.len(), got.len()));
        }
        match self {
            Self::Words { words } => {
                let mut pairs = words.iter().zip(got).enumerate();
                let (index, (expected, got)) = pairs.find(|(_, (expected, got))| expected != got)?;
                Some(format!("word {index}: expected {expected:#x}, got {got:#x}"))
            }
            Self::Floats { values, bounds } => {
                let mut triples = values.iter().zip(bounds).zip(got).enumerate();
                let is_wrong = |value: f64, bound: f64, got: u32| {
                    let error = (f64::from(f32::from_bits(got)) - value).abs();
                    error > bound || error.is_nan()
                };
                let (index, ((value, bound), got)) =
                    triples.find(|(_, ((value, bound), got))| is_wrong(**value, **bound, **got))?;
                Some(format!("word {index}: expected {value:e} within {bound:e}, got {:e}", f32::from_bits(*got)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_equal_and_floats_within_their_bounds() {
        let words = ExpectedResults::Words { words: vec![1, 2] };
        assert_eq!(words.mismatch(&[1, 2]), None);
        assert_eq!(words.mismatch(&[1, 3]).unwrap(), "word 1: expected 0x2, got 0x3");
        assert_eq!(words.mismatch(&[1]).unwrap(), "expected 2 words, got 1");
        let floats = ExpectedResults::Floats { values: vec![1.0, -2.0], bounds: vec![0.0, 0.5] };
        assert_eq!(floats.mismatch(&[1f32, -2.5].map(f32::to_bits)), None);
        assert!(floats.mismatch(&[1f32, -2.6].map(f32::to_bits)).unwrap().starts_with("word 1: expected -2e0 within"));
        assert!(floats.mismatch(&[1f32, f32::NAN].map(f32::to_bits)).is_some());
    }

    #[test]
    fn results_differ_beyond_their_bounds() {
        assert!(
            ExpectedResults::Words { words: vec![5] }.differs()
                && ExpectedResults::Words { words: vec![5, 6] }.differs()
        );
        assert!(!ExpectedResults::Words { words: vec![5, 5] }.differs());
        let floats = |bound| ExpectedResults::Floats { values: vec![1.0, 1.5], bounds: vec![bound; 2] };
        assert!(floats(0.2).differs() && !floats(0.25).differs());
    }

    #[test]
    fn a_source_imports_the_functions_that_it_calls() {
        let functions = "pub fn thread() { exp(1.0); fma(1.0, 2.0, sqrt(3.0)); 1_u32.abs_diff(2); }\n".to_owned();
        let mut sample = KernelSample { family: "math", seed: 7, index: 1, functions, kernels: Vec::new() };
        let head = "//! Sample 1 of the family `math`, seed 7, by `cargo xtask kernels`.\n\n";
        let imports = "use crate::functions::exp;\nuse crate::math::{fma, sqrt};\n\n";
        assert!(sample.source().starts_with(&format!("{head}{imports}pub fn")), "{}", sample.source());
        sample.functions = "pub fn thread() {}\n".to_owned();
        assert_eq!(sample.source(), format!("{head}pub fn thread() {{}}\n"));
        assert_eq!((sample.folder(), sample.module()), ("math-7-1".to_owned(), "sample_math_7_1".to_owned()));
    }
}
