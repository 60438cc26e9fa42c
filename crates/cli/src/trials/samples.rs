//! Samples of the families of kernels, from a folder that `cargo xtask kernels` wrote.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, bail, ensure};
use backend_api::{Buffer as _, Queue as _};
use cuda_backend::{CudaQueue, ModuleText, launch_sample};
use runtime::{Choice, Settings};
use serde::{Deserialize, de::DeserializeOwned};

use super::trial::verdict;
use crate::{conformance::CaseVerdict, exit::UsageError, output::print, text::shown};

/// The file with a line for each sample.
const INDEX: &str = "index.jsonl";

/// A line of the index, without the figures of the build.
#[derive(Deserialize)]
struct IndexLine {
    family: String,
    folder: String,
}

/// The file `expected.json` of a sample.
#[derive(Deserialize)]
struct ExpectedFile {
    module: String,
    launches: Vec<SampleLaunch>,
}

/// A launch, with the words to read and the results.
#[derive(Deserialize)]
struct SampleLaunch {
    kernel: String,
    threads: u32,
    from: Vec<u32>,
    #[serde(flatten)]
    expected: ExpectedResults,
}

/// The words that a kernel writes.
#[derive(Deserialize)]
#[serde(untagged)]
enum ExpectedResults {
    /// Words, to be equal.
    Words { words: Vec<u32> },
    /// Real values, with the greatest errors of f32.
    Floats { values: Vec<f64>, bounds: Vec<f64> },
}

/// A sample as it was read.
struct Sample {
    line: IndexLine,
    text: ModuleText,
    launches: Vec<SampleLaunch>,
}

/// Runs the samples of the families whose names contain `filter`.
///
/// Prints a line for each family.
pub(super) fn run(settings: &Settings, choice: Choice, folder: &Path, filter: &str) -> Result<()> {
    let samples = read(folder, filter)?;
    if samples.is_empty() {
        let message = format!("no family of the samples in {} contains `{filter}`", folder.display());
        return Err(UsageError(message).into());
    }
    // All modules are loaded at once.
    let queue = runtime::cuda_queue(settings, choice, samples.iter().map(|sample| sample.text.clone()).collect())?;
    // A verdict for each family.
    let families = families(&samples);
    let mut failed = 0;
    for &family in &families {
        let mut samples = samples.iter().filter(|sample| sample.line.family == family);
        let count = samples.clone().count();
        let outcome = samples.try_for_each(|sample| sample.run(&queue));
        let Err(error) = outcome else {
            print(&format!("{:<12} passed, {count} samples\n", shown(family)))?;
            continue;
        };
        failed += 1;
        print(&format!("{:<12} FAILED, {}\n", shown(family), shown(&format!("{error:#}"))))?;
        if verdict(&error) == CaseVerdict::Lost {
            bail!("the device is lost");
        }
    }
    // The simulated device reports when its queue is gone.
    drop(queue);
    let reports = runtime::simulator_reports();
    for report in &reports {
        print(&format!("FAILED: {report}\n"))?;
    }
    ensure!(failed == 0, "{failed} of {} families failed", families.len());
    ensure!(reports.is_empty(), "the simulated device has {} reports", reports.len());
    Ok(())
}

/// The families of samples, each once, in the order of the index.
fn families(samples: &[Sample]) -> Vec<&str> {
    let mut families: Vec<&str> = Vec::new();
    for sample in samples {
        if !families.contains(&&*sample.line.family) {
            families.push(&sample.line.family);
        }
    }
    families
}

/// The samples of the families whose names contain `filter`, in the order of the index.
fn read(folder: &Path, filter: &str) -> Result<Vec<Sample>> {
    let index = text(&folder.join(INDEX))?;
    let lines = index.lines().map(|line| parse::<IndexLine>(line, &folder.join(INDEX)));
    let mut samples = Vec::new();
    for line in lines {
        let line = line?;
        if !line.family.contains(filter) {
            continue;
        }
        let path = folder.join(&line.folder);
        let expected = path.join("expected.json");
        let ExpectedFile { module, launches } = parse(&text(&expected)?, &expected)?;
        let ptx = text(&path.join("kernel.ptx"))?.into();
        let manifest = text(&path.join("kernel.json"))?.into();
        samples.push(Sample { line, text: ModuleText { name: module.into(), ptx, manifest }, launches });
    }
    Ok(samples)
}

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn parse<T: DeserializeOwned>(text: &str, path: &Path) -> Result<T> {
    serde_json::from_str(text).with_context(|| format!("cannot parse {}", path.display()))
}

impl Sample {
    /// Runs its kernels and compares the words of each.
    fn run(&self, queue: &CudaQueue) -> Result<()> {
        for launch in &self.launches {
            let from = queue.upload(&launch.from)?;
            let mut to = queue.zeros::<u32>(launch.expected.len())?;
            launch_sample(queue, &launch.kernel, from.view(), &to.view_mut(), launch.threads)?;
            if let Some(mismatch) = launch.expected.mismatch(&queue.download(&to)?) {
                bail!("{}: {mismatch}", launch.kernel);
            }
        }
        Ok(())
    }
}

impl ExpectedResults {
    fn len(&self) -> usize {
        match self {
            Self::Words { words } => words.len(),
            Self::Floats { values, .. } => values.len(),
        }
    }

    /// The first wrong word, in words.
    fn mismatch(&self, got: &[u32]) -> Option<String> {
        got.iter().enumerate().find_map(|(index, &word)| match self {
            Self::Words { words } => {
                let expected = words.get(index)?;
                (word != *expected).then(|| format!("word {index}: expected {expected:#x}, got {word:#x}"))
            }
            Self::Floats { values, bounds } => {
                let (value, bound) = (values.get(index)?, bounds.get(index).copied().unwrap_or(0.0));
                let got = f32::from_bits(word);
                let error = (f64::from(got) - value).abs();
                let wrong = error > bound || error.is_nan();
                wrong.then(|| format!("word {index}: expected {value:e} within {bound:e}, got {got:e}"))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_equal_and_floats_within_their_bounds() {
        let launch = |results: &str| -> SampleLaunch {
            let text = format!(r#"{{"kernel":"sample_a","threads":2,"block":128,"from":[1],{results}}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let words = launch(r#""words":[7,8]"#);
        assert_eq!((words.kernel.as_str(), words.threads, words.expected.len()), ("sample_a", 2, 2));
        assert_eq!(words.expected.mismatch(&[7, 8]), None);
        assert_eq!(words.expected.mismatch(&[7, 9]).unwrap(), "word 1: expected 0x8, got 0x9");
        let floats = launch(r#""values":[1.0,-2.0],"bounds":[0.0,0.5]"#);
        assert_eq!(floats.expected.mismatch(&[1f32, -2.5].map(f32::to_bits)), None);
        assert!(floats.expected.mismatch(&[1f32, -2.6].map(f32::to_bits)).is_some());
        assert!(floats.expected.mismatch(&[f32::NAN, -2.0].map(f32::to_bits)).unwrap().starts_with("word 0: "));
    }

    #[test]
    fn missing_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = format!("{:#}", read(folder.path(), "").err().unwrap());
        assert!(refused.contains("cannot read") && refused.contains(INDEX), "{refused}");
        fs::write(folder.path().join(INDEX), "{\"family\":\"math\",\"folder\":\"math-1-0\"}\n").unwrap();
        let refused = format!("{:#}", read(folder.path(), "").err().unwrap());
        assert!(refused.contains("expected.json"), "{refused}");
        assert!(read(folder.path(), "vector").unwrap().is_empty());
    }

    #[test]
    fn a_family_comes_once_whatever_the_order_of_the_index() {
        let folder = tempfile::tempdir().unwrap();
        let line = |family: &str| format!("{{\"family\":\"{family}\",\"folder\":\"a\"}}\n");
        fs::write(folder.path().join(INDEX), ["math", "pairs", "math"].map(line).concat()).unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        for (file, text) in
            [("expected.json", r#"{"module":"m","launches":[]}"#), ("kernel.ptx", ""), ("kernel.json", "")]
        {
            fs::write(folder.path().join("a").join(file), text).unwrap();
        }
        let samples = read(folder.path(), "").unwrap();
        assert_eq!((samples.len(), families(&samples)), (3, vec!["math", "pairs"]));
    }
}
