//! Trainings in files, to be taken up again.

use std::{
    fs::{self, File, TryLockError},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use nn_ops::io::Checkpoint;

use super::history::TrainingHistory;
use crate::{
    files::{self, resolved, same_file},
    output::Incomplete,
    text::shown,
};

const ARGUMENTS: &str = "trefoil.arguments";
/// Between two arguments.
pub(super) const SEPARATOR: &str = "; ";
const HISTORY: &str = "trefoil.history";

/// The file of a training, which one process uses at a time.
///
/// The file that has the name is locked, also after each write, which replaces the file.
#[derive(Debug)]
pub(super) struct TrainingFile {
    path: PathBuf,
    /// The locked file that has the name, if there is one.
    file: Option<File>,
}

impl TrainingFile {
    /// Locks the file at `path` and reads its training, which must have the same arguments.
    pub(super) fn open(path: &Path, arguments: &str) -> Result<(Self, Option<(Checkpoint, TrainingHistory)>)> {
        let said = || format!("reading {}", shown(&path.to_string_lossy()));
        let at = resolved(path).with_context(said)?;
        let Some(file) = lock(&at).with_context(said)? else { return Ok((Self { path: at, file: None }, None)) };
        let bytes = files::read(&at).with_context(said)?;
        // Messages repeat text of the file.
        let found =
            parse(&bytes, arguments).map_err(|error| anyhow!(shown(&format!("{error:#}")))).with_context(said)?;
        Ok((Self { path: at, file: Some(file) }, Some(found)))
    }

    /// Writes a training with its arguments and history. The file is replaced as a whole.
    pub(super) fn write(
        &mut self,
        mut checkpoint: Checkpoint,
        arguments: &str,
        history: &TrainingHistory,
    ) -> Result<()> {
        let TrainingHistory { losses, accuracies, steps } = history;
        checkpoint.text.insert(ARGUMENTS.to_owned(), arguments.to_owned());
        checkpoint.text.insert(HISTORY.to_owned(), serde_json::to_string(&(losses, accuracies, steps))?);
        let bytes = checkpoint.to_bytes()?;
        self.replace(&bytes).with_context(|| format!("writing {}", shown(&self.path.to_string_lossy())))
    }

    fn replace(&mut self, bytes: &[u8]) -> Result<()> {
        let mut new = Incomplete::beside(&self.path, true)?;
        new.write(bytes)?;
        // Locked before it has the name. Where files cannot be locked, every process may go on.
        if let Err(TryLockError::WouldBlock) = new.file().try_lock() {
            bail!("its replacement is locked by another process");
        }
        self.file = Some(match self.file {
            Some(_) => new.name(&self.path)?,
            None => match new.name_new(&self.path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    bail!("another training created it meanwhile")
                }
                named => named?,
            },
        });
        Ok(())
    }
}

/// Opens and locks a file; `None` if there is none.
fn lock(path: &Path) -> Result<Option<File>> {
    loop {
        let file = match File::open(path) {
            Err(missing) if missing.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        ensure!(file.metadata()?.is_file(), "expected a regular file");
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!("another training has locked it");
        }
        // Another process may have replaced it before it was locked.
        if same_file(&file.metadata()?, &fs::metadata(path)?) {
            return Ok(Some(file));
        }
    }
}

/// Parses a training and compares its arguments.
fn parse(bytes: &[u8], arguments: &str) -> Result<(Checkpoint, TrainingHistory)> {
    let checkpoint = Checkpoint::from_bytes(bytes)?;
    let text = |key: &str| checkpoint.text.get(key).with_context(|| format!("it has no `{key}`"));
    let (saved, separated) =
        (text(ARGUMENTS)?, |text: &str| text.split(SEPARATOR).map(str::to_owned).collect::<Vec<_>>());
    if saved != arguments {
        let (expected, got) = (separated(arguments), separated(saved));
        let missing = |of: &[String], others: &[String]| {
            let missing: Vec<_> = of.iter().filter(|argument| !others.contains(argument)).cloned().collect();
            if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") }
        };
        bail!(
            "it was written with different arguments or rows: expected {}, got {}",
            missing(&expected, &got),
            missing(&got, &expected)
        );
    }
    let (losses, accuracies, steps) = serde_json::from_str(text(HISTORY)?)?;
    Ok((checkpoint, TrainingHistory { losses, accuracies, steps }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_comes_back_for_the_arguments_that_it_was_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let (mut saved, found) = TrainingFile::open(&path, "a 1; b 2; c 3").unwrap();
        assert!(found.is_none() && !path.exists());
        let history = TrainingHistory { losses: vec![0.1 + 0.2], accuracies: vec![1.0], steps: vec![[1.0e-7, 0.1]] };
        for _ in 0..2 {
            saved.write(Checkpoint::default(), "a 1; b 2; c 3", &history).unwrap();
            let busy = format!("{:#}", TrainingFile::open(&path, "a 1; b 2; c 3").unwrap_err());
            assert!(busy.contains("another training has locked it"), "{busy}");
        }
        drop(saved);
        assert_eq!(TrainingFile::open(&path, "a 1; b 2; c 3").unwrap().1.unwrap().1, history);
        let other = format!("{:#}", TrainingFile::open(&path, "a 1; b 7; c 3").unwrap_err());
        assert!(other.ends_with("it was written with different arguments or rows: expected b 7, got b 2"), "{other}");
        // Two trainings that began without a file.
        let unmade = folder.path().join("unmade");
        let [mut first, mut second] = [(); 2].map(|()| TrainingFile::open(&unmade, "a").unwrap().0);
        first.write(Checkpoint::default(), "a", &history).unwrap();
        let late = format!("{:#}", second.write(Checkpoint::default(), "a", &history).unwrap_err());
        assert!(late.contains("another training created it meanwhile"), "{late}");
        fs::write(&path, [0xff; 20]).unwrap();
        let broken = format!("{:#}", TrainingFile::open(&path, "a").unwrap_err());
        assert!(broken.contains("state") && !broken.contains(char::is_control), "{broken}");
    }
}
