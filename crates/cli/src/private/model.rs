//! The model that an option names: a known one, or the file that describes it.

use core::str::FromStr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use inference::{Architecture, ModelFile};

use crate::files;

/// The end of the name of a model file.
const MODEL_FILE: &str = ".json";

/// A known model, or the path of a model file: any name that ends in `.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ModelArg<T> {
    /// A known model.
    Known(T),
    /// A model file.
    File(PathBuf),
}

impl<T: FromStr> FromStr for ModelArg<T> {
    type Err = T::Err;

    fn from_str(name: &str) -> Result<Self, T::Err> {
        if name.ends_with(MODEL_FILE) { Ok(Self::File(name.into())) } else { name.parse().map(Self::Known) }
    }
}

/// Reads and checks a model file.
pub(super) fn described(path: &Path) -> Result<Architecture> {
    files::parsed(path, |bytes| Ok(ModelFile::read(bytes)?.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_told_from_names_by_their_end() {
        let known: ModelArg<Architecture> = "transformer".parse().unwrap();
        assert_eq!(known, ModelArg::Known(Architecture::Transformer));
        let file: ModelArg<Architecture> = "folder/digits.json".parse().unwrap();
        assert_eq!(file, ModelArg::File("folder/digits.json".into()));
        assert!("digits.onnx".parse::<ModelArg<Architecture>>().is_err());
    }

    #[test]
    fn errors_of_a_file_name_it_on_one_line() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("model.json");
        fs::write(&path, br#"{"version": 1, "a\u001b[2J": 2}"#).unwrap();
        let error = format!("{:#}", described(&path).unwrap_err());
        assert!(error.contains("model.json") && error.contains("unknown field"), "{error}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}
