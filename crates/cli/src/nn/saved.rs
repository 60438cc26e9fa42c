//! Trainings in files, to be taken up again.

use std::{fs, io::ErrorKind, path::Path};

use anyhow::{Context as _, Result, anyhow, ensure};
use nn_ops::io::Checkpoint;

use super::history::History;
use crate::{output::Output, text::shown};

const ARGUMENTS: &str = "trefoil.arguments";
const HISTORY: &str = "trefoil.history";

/// Writes a training with what it was asked for and how it went. The file is replaced as a whole.
pub(super) fn write(path: &Path, mut checkpoint: Checkpoint, arguments: &str, history: &History) -> Result<()> {
    let History { losses, accuracies, steps } = history;
    checkpoint.text.insert(ARGUMENTS.to_owned(), arguments.to_owned());
    checkpoint.text.insert(HISTORY.to_owned(), serde_json::to_string(&(losses, accuracies, steps))?);
    Output::begin_public(path)?.finish(&checkpoint.to_bytes()?)
}

/// The training in a file that was asked for the same, if there is a file.
pub(super) fn read(path: &Path, arguments: &str) -> Result<Option<(Checkpoint, History)>> {
    let said = || format!("reading {}", shown(&path.to_string_lossy()));
    let bytes = match fs::read(path) {
        Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.with_context(said)?,
    };
    let of_bytes = |bytes: &[u8]| -> Result<_> {
        let checkpoint = Checkpoint::from_bytes(bytes)?;
        let text = |key: &str| checkpoint.text.get(key).with_context(|| format!("it holds no `{key}`"));
        ensure!(
            text(ARGUMENTS)? == arguments,
            "it is of other arguments or rows: {}, not {arguments}",
            text(ARGUMENTS)?
        );
        let (losses, accuracies, steps) = serde_json::from_str(text(HISTORY)?)?;
        Ok((checkpoint, History { losses, accuracies, steps }))
    };
    // messages repeat what stands in the file
    of_bytes(&bytes).map(Some).map_err(|error| anyhow!(shown(&format!("{error:#}")))).with_context(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_comes_back_for_the_arguments_that_it_was_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        assert!(read(&path, "a").unwrap().is_none());
        let history = History { losses: vec![0.1 + 0.2], accuracies: vec![1.0], steps: vec![[1.0e-7, 0.1]] };
        write(&path, Checkpoint::default(), "a", &history).unwrap();
        assert_eq!(read(&path, "a").unwrap().unwrap().1, history);
        assert!(format!("{:#}", read(&path, "b").unwrap_err()).contains("of other arguments"));
        fs::write(&path, [0xff; 20]).unwrap();
        let broken = format!("{:#}", read(&path, "a").unwrap_err());
        assert!(broken.contains("state") && !broken.contains(char::is_control), "{broken}");
    }
}
