//! `cargo xtask kernels`: families of kernels with their expected results.
//!
//! A seed determines the kernels. Their source is compiled for the device and for the host; the
//! expected results come from an evaluation of the same programs that uses neither. Each sample has
//! its source, PTX, manifest and expected results in a folder, and a line in the index.

mod device;
mod families;
mod index;
#[path = "../../../crates/device-trials/generator/random.rs"]
mod random;
mod sample;
mod simulate;
mod tape;
mod twin;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use xshell::Shell;

use self::{
    families::{FAMILIES, KernelFamily},
    index::{IndexLine, SampleFolder},
    sample::KernelSample,
};
use crate::{
    build_ptx::{Assembler, NO_ASSEMBLER, SampleCompiler},
    progress,
    step::{missing_tool, skip},
    tally::Tally,
};

/// The name of all families together.
const ALL: &str = "all";

/// The seed of the samples that are generated as a test; the committed ones are of another.
const TEST_SEED: u64 = 2;

/// The verdict of a side without a difference.
const PASSED: &str = "passed";

/// Which samples are written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelOptions {
    /// The name of a family, or of all.
    family: String,
    /// Samples of each family.
    count: usize,
    seed: u64,
    /// The folder; below the root of the workspace if it is relative.
    out: PathBuf,
}

impl KernelOptions {
    /// Reads `--family NAME --count N --seed S --out DIR`, in any order.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self> {
        let (mut family, mut count, mut seed, mut out) = (None, None, None, None);
        let mut arguments = arguments.iter();
        while let Some(&flag) = arguments.next() {
            let value = arguments.next().copied().with_context(|| format!("expected a value after `{flag}`"))?;
            let number = || value.parse::<u64>().with_context(|| format!("{flag} takes a whole number, got `{value}`"));
            match flag {
                "--family" => family = Some(value.to_owned()),
                "--count" => count = Some(usize::try_from(number()?)?),
                "--seed" => seed = Some(number()?),
                "--out" => out = Some(PathBuf::from(value)),
                _ => bail!("unknown flag `{flag}`"),
            }
        }
        let family = family.context("expected --family NAME")?;
        let count = count.context("expected --count N")?;
        ensure!(count > 0, "--count must be at least 1, got 0");
        let known = family == ALL || FAMILIES.iter().any(|known| known.name == family);
        ensure!(known, "unknown family `{family}`; the families are\n{}", list());
        let (seed, out) = (seed.context("expected --seed S")?, out.context("expected --out DIR")?);
        Ok(Self { family, count, seed, out })
    }

    /// The families that are written.
    fn families(&self) -> impl Iterator<Item = KernelFamily> + '_ {
        FAMILIES.into_iter().filter(move |family| self.family == ALL || family.name == self.family)
    }
}

/// The families, a line each.
fn list() -> String {
    let lines = FAMILIES.iter().map(|family| format!("    {:<12}{}\n", family.name, family.about));
    lines.chain([format!("    {ALL:<12}each of them\n")]).collect()
}

/// The tools that samples are checked with.
struct Tools<'a> {
    root: &'a Path,
    compiler: SampleCompiler,
    assembler: Option<Assembler>,
}

/// Writes the samples and checks them.
///
/// Each side of a sample is a check: lints, assembler, host and simulated device.
pub(crate) fn run(sh: &Shell, options: &KernelOptions) -> Result<Tally> {
    let root = sh.current_dir();
    write(&root, device::compiler(&root)?, options)
}

/// Writes a sample of each family into a temporary folder, and checks it.
///
/// Without a compiler for it, it is skipped with the reason, or fails in continuous integration.
pub(crate) fn check_families(sh: &Shell) -> Result<Tally> {
    let root = sh.current_dir();
    let compiler = match device::compiler(&root) {
        Ok(compiler) => compiler,
        Err(error) => return Ok(missing_tool("families of kernels", &format!("{error:#}"))),
    };
    let scratch = tempfile::tempdir()?;
    let options =
        KernelOptions { family: ALL.to_owned(), count: 1, seed: TEST_SEED, out: scratch.path().to_path_buf() };
    write(&root, compiler, &options)
}

fn write(root: &Path, compiler: SampleCompiler, options: &KernelOptions) -> Result<Tally> {
    let tools = Tools { root, compiler, assembler: Assembler::find(root)? };
    let mut folder = SampleFolder::create(&root.join(&options.out))?;
    eprintln!("== kernels: {}", tools.compiler.version());
    let mut tally = Tally::default();
    if tools.assembler.is_none() {
        tally += skip("ptxas", NO_ASSEMBLER);
    }
    for family in options.families() {
        for index in 0..options.count {
            let sample = family.sample(options.seed, index)?;
            let title = format!("kernels {}", sample.folder());
            let line = progress::during(&title, || tools.check(&mut folder, &sample))?;
            println!("{}", summary(&line));
            tally += verdicts(&line);
        }
    }
    println!("{}: {} samples", options.out.display(), options.count * options.families().count());
    Ok(tally)
}

impl Tools<'_> {
    /// Writes a sample, compiles it and runs both of its sides.
    fn check(&self, folder: &mut SampleFolder, sample: &KernelSample) -> Result<IndexLine> {
        // Sources, expected results, and the device's text.
        folder.write(sample)?;
        let compiled = device::compile(&self.compiler, self.root, sample)
            .with_context(|| format!("sample {} for the device", sample.folder()))?;
        folder.file(sample, "kernel.ptx", &compiled.ptx)?;
        folder.file(sample, "kernel.json", &compiled.manifest)?;
        // The assembler's figures, or the reason for none.
        let assembled = self.assembler.as_ref().map(|assembler| {
            let figures = assembler.assemble(&folder.of(sample, "kernel.ptx"));
            (assembler.describe(), figures)
        });
        let (figures, assembler) = match assembled {
            Some((tool, Ok(figures))) => (Some(figures), tool),
            Some((tool, Err(error))) => (None, format!("{tool}: {error:#}")),
            None => (None, NO_ASSEMBLER.to_owned()),
        };
        // Both sides that run.
        let line = IndexLine {
            family: sample.family,
            seed: sample.seed,
            index: sample.index,
            folder: sample.folder(),
            kernels: sample.kernels.iter().map(|kernel| sample.symbol(kernel)).collect(),
            registers: figures.map(|figures| figures.registers),
            spills: figures.map(|figures| figures.spill_bytes),
            assembler,
            instructions: compiled.instructions,
            shared: compiled.shared,
            lints: compiled.findings,
            host: verdict(sample, twin::words(self.root, sample)),
            simulator: verdict(sample, simulate::words(&compiled.ptx, sample)),
        };
        folder.finish(&line)?;
        Ok(line)
    }
}

/// The verdict on the words of each launch of a sample.
fn verdict(sample: &KernelSample, words: Result<Vec<Vec<u32>>>) -> String {
    let words = match words {
        Ok(words) => words,
        Err(error) => return format!("{error:#}"),
    };
    let mut launches = sample.kernels.iter().zip(&words);
    let mismatch = launches.find_map(|(kernel, words)| {
        let mismatch = kernel.expected.mismatch(words)?;
        Some(format!("{}: {mismatch}", sample.symbol(kernel)))
    });
    mismatch.unwrap_or_else(|| PASSED.to_owned())
}

/// A sample in a line.
fn summary(line: &IndexLine) -> String {
    let registers = line.registers.map_or_else(|| "-".to_owned(), |registers| registers.to_string());
    format!(
        "{:<20} {:>5} instructions {registers:>4} registers {:>5} bytes shared  lints {}, host {}, simulator {}",
        line.folder,
        line.instructions,
        line.shared,
        if line.lints.is_empty() { PASSED.to_owned() } else { line.lints.join("; ") },
        line.host,
        line.simulator
    )
}

/// The checks of a sample.
fn verdicts(line: &IndexLine) -> Tally {
    let mut tally = Tally::of(&format!("lints of {}", line.folder), line.lints.is_empty());
    if line.assembler != NO_ASSEMBLER {
        tally += Tally::of(&format!("ptxas for {}", line.folder), line.registers.is_some());
    }
    tally += Tally::of(&format!("host twin of {}", line.folder), line.host == PASSED);
    tally += Tally::of(&format!("{} on the simulated device", line.folder), line.simulator == PASSED);
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_any_order_and_all_are_required() {
        let full = ["--seed", "9", "--family", "math", "--out", "a/b", "--count", "3"];
        let options = KernelOptions::parse(&full).unwrap();
        let expected = KernelOptions { family: "math".to_owned(), count: 3, seed: 9, out: "a/b".into() };
        assert_eq!(options, expected);
        for missing in (0..full.len()).step_by(2) {
            let rest: Vec<&str> =
                full.iter().enumerate().filter(|(place, _)| place / 2 != missing / 2).map(|(_, word)| *word).collect();
            let refused = KernelOptions::parse(&rest).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("expected {}", full[missing])), "{refused}");
        }
        assert!(KernelOptions::parse(&full[..7]).is_err());
        assert!(KernelOptions::parse(&["--fast", "1"]).is_err());
    }

    #[test]
    fn unknown_families_and_no_samples_are_refused() {
        let parse = |family, count| {
            KernelOptions::parse(&["--family", family, "--count", count, "--seed", "1", "--out", "out"])
        };
        let refused = parse("maths", "1").unwrap_err().to_string();
        assert!(refused.starts_with("unknown family `maths`; the families are\n    arithmetic  "), "{refused}");
        assert!(FAMILIES.iter().all(|family| refused.contains(family.name)) && refused.contains("each of them"));
        assert_eq!(parse("math", "0").unwrap_err().to_string(), "--count must be at least 1, got 0");
        assert!(parse("math", "x").is_err() && parse("math", "-1").is_err());
        assert_eq!(parse("all", "1").unwrap().families().count(), FAMILIES.len());
        assert_eq!(parse("math", "1").unwrap().families().count(), 1);
    }

    #[test]
    fn the_committed_samples_are_of_their_seeds_and_pass_on_the_simulated_device() {
        let folder = crate::workspace_root().unwrap().join("data/kernels");
        let read = |path: PathBuf| {
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let mut families = Vec::new();
        for line in read(folder.join("index.jsonl")).lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let family = FAMILIES.iter().find(|family| line["family"] == family.name).unwrap();
            let sample =
                family.sample(line["seed"].as_u64().unwrap(), line["index"].as_u64().unwrap() as usize).unwrap();
            let file = |name: &str| read(folder.join(sample.folder()).join(name));
            assert_eq!(file("kernel.rs"), sample.source(), "{}", sample.folder());
            assert_eq!(file("expected.json"), index::expected(&sample).unwrap(), "{}", sample.folder());
            let words = simulate::words(&file("kernel.ptx"), &sample);
            assert_eq!(verdict(&sample, words), PASSED, "{}", sample.folder());
            families.push(family.name);
        }
        let expected: Vec<&str> = FAMILIES.iter().flat_map(|family| [family.name; 3]).collect();
        assert_eq!(families, expected);
    }

    #[test]
    fn a_verdict_names_the_kernel_and_its_first_wrong_word() {
        let sample = FAMILIES[0].sample(4, 0).unwrap();
        let sample::ExpectedResults::Words { words } = &sample.kernels[0].expected else { panic!("words") };
        assert_eq!(verdict(&sample, Ok(vec![words.clone()])), PASSED);
        let mut wrong = words.clone();
        wrong[3] ^= 1;
        let verdict_of_wrong = verdict(&sample, Ok(vec![wrong]));
        assert!(verdict_of_wrong.starts_with("sample_arithmetic_4_0_thread: word 3: "), "{verdict_of_wrong}");
        assert_eq!(verdict(&sample, Err(anyhow::anyhow!("no device"))), "no device");
    }
}
