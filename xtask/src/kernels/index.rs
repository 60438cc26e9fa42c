//! The files of a folder of samples.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use serde::Serialize;

use super::sample::{BLOCK, ExpectedResults, KernelSample, SampleKernel};

/// The file with a line for each sample.
const INDEX: &str = "index.jsonl";

/// The line of a sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct IndexLine {
    pub(super) family: &'static str,
    pub(super) seed: u64,
    pub(super) index: usize,
    /// The folder of the sample.
    pub(super) folder: String,
    pub(super) kernels: Vec<String>,
    /// Registers of a thread: the most of any kernel on any architecture.
    ///
    /// None without an assembler.
    pub(super) registers: Option<u32>,
    /// Bytes of a thread that are spilled. None without an assembler.
    pub(super) spills: Option<u32>,
    /// The assembler and the architectures, or why there are no figures.
    pub(super) assembler: String,
    /// Instructions of all kernels.
    pub(super) instructions: usize,
    /// Shared memory of a block in bytes.
    pub(super) shared: u64,
    /// Findings of the lints.
    pub(super) lints: Vec<String>,
    /// `passed`, or the first difference.
    pub(super) host: String,
    /// `passed`, or the first difference or fault.
    pub(super) simulator: String,
}

/// The file `expected.json`.
#[derive(Serialize)]
struct ExpectedFile<'a> {
    family: &'static str,
    seed: u64,
    index: usize,
    module: String,
    launches: Vec<SampleLaunch<'a>>,
}

/// A launch, in the order of the file. The words to write are zeros before.
#[derive(Serialize)]
struct SampleLaunch<'a> {
    kernel: String,
    threads: u32,
    block: u32,
    dynamic_shared: u32,
    from: &'a [u32],
    #[serde(flatten)]
    expected: &'a ExpectedResults,
}

/// A folder of samples.
#[derive(Debug)]
pub(super) struct SampleFolder {
    path: PathBuf,
    index: File,
}

impl SampleFolder {
    /// Creates the folder and an empty index.
    ///
    /// # Errors
    /// If there is something in the folder.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let shown = path.display();
        fs::create_dir_all(path).with_context(|| format!("cannot create {shown}"))?;
        let mut entries = fs::read_dir(path).with_context(|| format!("cannot list {shown}"))?;
        ensure!(entries.next().is_none(), "expected an empty or new folder, got {shown} with files in it");
        let index = File::create(path.join(INDEX)).with_context(|| format!("cannot create {INDEX} in {shown}"))?;
        Ok(Self { path: path.to_owned(), index })
    }

    /// Writes the sources and expected results of a sample.
    pub(super) fn write(&self, sample: &KernelSample) -> Result<()> {
        let folder = self.path.join(sample.folder());
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        self.file(sample, "kernel.rs", &sample.source())?;
        self.file(sample, "expected.json", &expected(sample)?)
    }

    /// Writes a file of a sample.
    pub(super) fn file(&self, sample: &KernelSample, name: &str, text: &str) -> Result<()> {
        let path = self.of(sample, name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// The path of a file of a sample.
    pub(super) fn of(&self, sample: &KernelSample, name: &str) -> PathBuf {
        self.path.join(sample.folder()).join(name)
    }

    /// Adds the line of a sample to the index, which holds all finished samples at any time.
    pub(super) fn finish(&mut self, line: &IndexLine) -> Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        self.index.write_all(text.as_bytes()).with_context(|| format!("cannot write {INDEX}"))
    }
}

fn launch<'a>(sample: &KernelSample, kernel: &'a SampleKernel) -> SampleLaunch<'a> {
    SampleLaunch {
        kernel: sample.symbol(kernel),
        threads: kernel.threads,
        block: BLOCK,
        dynamic_shared: kernel.dynamic_shared(),
        from: &kernel.from,
        expected: &kernel.expected,
    }
}

/// The text of `expected.json`.
pub(super) fn expected(sample: &KernelSample) -> Result<String> {
    let launches = sample.kernels.iter().map(|kernel| launch(sample, kernel)).collect();
    let &KernelSample { family, seed, index, .. } = sample;
    let file = ExpectedFile { family, seed, index, module: sample.module(), launches };
    Ok(serde_json::to_string(&file)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::{super::families::FAMILIES, *};

    #[test]
    fn a_folder_with_files_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/b");
        let mut folder = SampleFolder::create(&path).unwrap();
        let refused = SampleFolder::create(&path).unwrap_err().to_string();
        assert!(refused.starts_with("expected an empty or new folder, got "), "{refused}");
        let sample = FAMILIES[0].sample(1, 0).unwrap();
        folder.write(&sample).unwrap();
        assert!(folder.of(&sample, "kernel.rs").is_file() && folder.of(&sample, "expected.json").is_file());
        let line = IndexLine {
            family: "arithmetic",
            seed: 1,
            index: 0,
            folder: sample.folder(),
            kernels: Vec::new(),
            registers: None,
            spills: None,
            assembler: "none".to_owned(),
            instructions: 3,
            shared: 0,
            lints: Vec::new(),
            host: "passed".to_owned(),
            simulator: "passed".to_owned(),
        };
        folder.finish(&line).unwrap();
        folder.finish(&line).unwrap();
        let text = fs::read_to_string(path.join(INDEX)).unwrap();
        assert_eq!(text.lines().count(), 2);
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((&line["folder"], &line["registers"]), (&"arithmetic-1-0".into(), &serde_json::Value::Null));
    }

    #[test]
    fn expected_results_are_words_or_values_with_bounds() {
        for family in FAMILIES {
            let sample = family.sample(1, 0).unwrap();
            let file: serde_json::Value = serde_json::from_str(&expected(&sample).unwrap()).unwrap();
            assert_eq!(file["module"], sample.module());
            let launches = file["launches"].as_array().unwrap();
            assert_eq!(launches.len(), sample.kernels.len());
            for (launch, kernel) in launches.iter().zip(&sample.kernels) {
                let count = |name: &str| launch[name].as_array().map(Vec::len);
                let results = kernel.expected.len();
                let words = matches!(kernel.expected, ExpectedResults::Words { .. });
                assert_eq!(count("words"), words.then_some(results));
                assert_eq!(count("values"), (!words).then_some(results));
                assert_eq!(count("bounds"), count("values"));
                assert_eq!(count("from"), Some(kernel.from.len()));
                assert_eq!(launch["kernel"], sample.symbol(kernel));
            }
        }
    }
}
