//! The host's side of a sample: its source compiled for the host, thread after thread.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use super::sample::{BLOCK, Cooperation, KernelSample, SampleKernel};

/// The program of a twin, without its kernels.
///
/// `FUNCTIONS` is the path of the kernels' functions. The program takes the number of a launch, a
/// file of words to read, and a file to write words to.
const PROGRAM: &str = r#"//! The host's twin of a sample, by `cargo xtask kernels`.
#![allow(unused)]

mod kernel;

#[path = FUNCTIONS]
mod functions;

mod math {
    pub fn fma(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    pub fn sqrt(x: f32) -> f32 {
        x.sqrt()
    }

    pub fn abs(x: f32) -> f32 {
        x.abs()
    }
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let bytes = std::fs::read(&arguments[2])?;
    let from: Vec<u32> =
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let to = match &*arguments[1] {
LAUNCHES        _ => return Err(std::io::Error::other("no such launch")),
    };
    let bytes: Vec<u8> = to.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&arguments[3], bytes)
}
"#;

/// Threads that work alone.
const ALONE: &str = r#"
fn SYMBOL(from: &[u32], len: u32, words: usize) -> Vec<u32> {
    let mut to = vec![0; words];
    for i in 0..len {
        kernel::FUNCTION(i, len, &|at: u32| from[at as usize], &mut |at: u32, word: u32| to[at as usize] = word);
    }
    to
}
"#;

/// Blocks that combine their terms in the order of the device's tree.
const BLOCKS: &str = r#"
fn SYMBOL(from: &[u32], len: u32, words: usize) -> Vec<u32> {
    let mut to = vec![0; words];
    for block in 0..len.div_ceil(BLOCK) {
        let term = |i: u32| if i < len { kernel::term(i, len, &|at: u32| from[at as usize]) } else { kernel::NEUTRAL };
        let mut terms: Vec<u32> = (0..BLOCK).map(|tid| term(BLOCK * block + tid)).collect();
        while terms.len() > 1 {
            let upper = terms.split_off(terms.len() / 2);
            terms = terms.iter().zip(upper).map(|(&a, b)| kernel::combine(a, b)).collect();
        }
        RESULT;
    }
    to
}
"#;

/// Threads that count in bins.
const HISTOGRAM: &str = r#"
fn SYMBOL(from: &[u32], len: u32, words: usize) -> Vec<u32> {
    let mut to = vec![0; words];
    for i in 0..len {
        to[kernel::place(kernel::term(i, len, &|at: u32| from[at as usize])) as usize] += 1;
    }
    to
}
"#;

/// Compiles the twin of a sample in `folder`.
fn compile(root: &Path, folder: &Path, sample: &KernelSample) -> Result<PathBuf> {
    let functions = root.join("kernels-ptx/src/dev/numeric/functions.rs").display().to_string();
    let mut launches = String::new();
    let mut twins = String::new();
    for (number, kernel) in sample.kernels.iter().enumerate() {
        let symbol = sample.symbol(kernel);
        let (threads, words) = (kernel.threads, kernel.expected.len());
        writeln!(launches, "        \"{number}\" => {symbol}(&from, {threads}, {words}),")?;
        twins.push_str(&twin(&symbol, kernel));
    }
    let program = PROGRAM.replace("FUNCTIONS", &format!("{functions:?}")).replace("LAUNCHES", &launches) + &twins;
    let (main, executable) = (folder.join("main.rs"), folder.join("twin"));
    for (file, text) in [(&main, program), (&folder.join("kernel.rs"), sample.source())] {
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(rustc);
    command.current_dir(root).args(["--edition=2024", "-Copt-level=1", "--crate-name=twin", "-o"]);
    run(command.arg(&executable).arg(&main)).context("the twin does not compile")?;
    Ok(executable)
}

/// The twin of a kernel.
fn twin(symbol: &str, kernel: &SampleKernel) -> String {
    let form = match kernel.cooperation {
        Cooperation::Alone => ALONE.replace("FUNCTION", kernel.function),
        Cooperation::Blocks => BLOCKS.replace("RESULT", "to[block as usize] = terms[0]"),
        Cooperation::Atomic(_) => BLOCKS.replace("RESULT", "to[0] = kernel::combine(to[0], terms[0])"),
        Cooperation::Histogram => HISTOGRAM.to_owned(),
    };
    form.replace("SYMBOL", symbol).replace("BLOCK", &BLOCK.to_string())
}

/// Compiles the twin of a sample and runs its kernels.
///
/// The result has the words of each launch.
pub(super) fn words(root: &Path, sample: &KernelSample) -> Result<Vec<Vec<u32>>> {
    let folder = tempfile::tempdir()?;
    let executable = compile(root, folder.path(), sample)?;
    let launch = |(number, kernel): (usize, &SampleKernel)| -> Result<Vec<u32>> {
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, kernel.from.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>())?;
        run(Command::new(&executable).arg(number.to_string()).arg(&from).arg(&to))?;
        let bytes = fs::read(&to).context("the twin wrote no words")?;
        Ok(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
    };
    sample.kernels.iter().enumerate().map(launch).collect()
}

/// Runs a command that succeeds.
fn run(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{}\n{}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::families::FAMILIES, *};

    #[test]
    fn twins_of_every_family_have_the_expected_results() {
        let root = crate::workspace_root().unwrap();
        for family in FAMILIES {
            for index in 0..2 {
                let sample = family.sample(17, index).unwrap();
                let words = words(&root, &sample).unwrap_or_else(|error| panic!("{error:#}\n{}", sample.source()));
                for (kernel, words) in sample.kernels.iter().zip(words) {
                    let mismatch = kernel.expected.mismatch(&words);
                    assert_eq!(mismatch, None, "{}\n{}", sample.folder(), sample.source());
                }
            }
        }
    }

    #[test]
    fn a_twin_of_another_source_is_told_apart() {
        let root = crate::workspace_root().unwrap();
        let mut sample = FAMILIES[0].sample(17, 0).unwrap();
        sample.functions = sample.functions.replace("to(i, ", "to(i, !");
        let words = words(&root, &sample).unwrap();
        assert!(sample.kernels[0].expected.mismatch(&words[0]).is_some());
        sample.functions = "pub fn thread() {".to_owned();
        let refused = super::words(&root, &sample).unwrap_err().to_string();
        assert_eq!(refused, "the twin does not compile");
    }
}
