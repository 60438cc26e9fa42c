//! The kinds of paths that the commands make.

use std::path::{Path, PathBuf};

use anyhow::Result;
use pfss::Party;

use crate::exit::UsageError;

/// A folder of keys, or a file of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyPathKind {
    /// One party's folder, of `deal`.
    Model,
    /// One party's folder, of `deal --runs`.
    Runs,
    /// One party's folder, of `gen`.
    Gate,
    /// The folder that `deal` made, with the folders of both parties.
    Models,
    /// The folder that `deal --runs` made, with the folders of both parties.
    AllRuns,
    /// The folder that `gen` made, with the folders of both parties.
    Gates,
    /// A file, such as a bundle.
    File,
}

impl KeyPathKind {
    /// What `path` holds; `None` if it is none of these.
    pub(super) fn of(path: &Path) -> Option<Self> {
        if path.is_file() {
            return Some(Self::File);
        }
        let of_party = |folder: &Path| {
            let holds = |file: &str| folder.join(file).is_file();
            let kinds =
                [("manifest.json", Self::Model), ("weights/manifest.json", Self::Runs), ("gate.json", Self::Gate)];
            kinds.into_iter().find_map(|(file, kind)| holds(file).then_some(kind))
        };
        of_party(path).or_else(|| {
            let within = Party::BOTH.into_iter().find_map(|party| of_party(&folder_of(path, party)))?;
            Some(match within {
                Self::Model => Self::Models,
                Self::Runs => Self::AllRuns,
                _ => Self::Gates,
            })
        })
    }

    /// Refuses a path that holds something else, and names the command that takes that.
    pub(super) fn expect(self, path: &Path) -> Result<()> {
        let got = Self::of(path).ok_or_else(|| unknown(path))?;
        if got == self {
            return Ok(());
        }
        let shown = path.display();
        let takes = match got {
            Self::Model | Self::Runs => {
                "`trefoil pfss infer` takes the keys of party 0, `serve` the keys of party 1".to_owned()
            }
            Self::Models | Self::AllRuns => {
                format!("`trefoil pfss infer` takes {shown}/party0, `serve` {shown}/party1")
            }
            Self::Gate => "`trefoil pfss eval` takes it with --listen or --connect".to_owned(),
            Self::Gates => "`trefoil pfss eval` takes it; with --listen or --connect it takes one party's".to_owned(),
            Self::File => "`trefoil pfss inspect` and `verify` take a bundle".to_owned(),
        };
        Err(UsageError(format!("{shown}: expected {}, got {}; {takes}", self.name(), got.name())).into())
    }

    /// Its description, with an article.
    fn name(self) -> &'static str {
        match self {
            Self::Model => "one party's keys for a model (from `deal`)",
            Self::Models => "both parties' keys for a model (from `deal`)",
            Self::Runs => "one party's keys for runs of a model (from `deal --runs`)",
            Self::AllRuns => "both parties' keys for runs of a model (from `deal --runs`)",
            Self::Gate => "one party's keys for a gate (from `gen`)",
            Self::Gates => "both parties' keys for a gate (from `gen`)",
            Self::File => "a file",
        }
    }
}

/// The folder of `party` in one for both.
pub(super) fn folder_of(both: &Path, party: Party) -> PathBuf {
    both.join(format!("party{}", party.number()))
}

/// The error for a path that is neither a folder of keys nor a bundle.
pub(super) fn unknown(path: &Path) -> anyhow::Error {
    let shown = path.display();
    if !path.exists() {
        return UsageError(format!("{shown} does not exist")).into();
    }
    UsageError(format!(
        "{shown} is not a key folder: expected a `manifest.json` (from `deal`), a `weights/manifest.json` (from `deal --runs`) or a \
         `gate.json` (from `gen`) in it"
    ))
    .into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_path_holds_is_said_with_the_command_that_takes_it() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |path: &str| scratch.path().join(path);
        for (folder, file) in [
            ("deal/party1", "manifest.json"),
            ("runs/party0/weights", "manifest.json"),
            ("gen/party0", "gate.json"),
            ("other/party0", "x"),
        ] {
            fs::create_dir_all(at(folder)).unwrap();
            fs::write(at(folder).join(file), "").unwrap();
        }
        for (path, kind, takes) in [
            ("deal", KeyPathKind::Models, "`trefoil pfss infer` takes "),
            (
                "deal/party1",
                KeyPathKind::Model,
                "`trefoil pfss infer` takes the keys of party 0, `serve` the keys of party 1",
            ),
            ("runs", KeyPathKind::AllRuns, "`trefoil pfss infer` takes "),
            ("runs/party0", KeyPathKind::Runs, "`trefoil pfss infer` takes the keys of party 0"),
            ("gen", KeyPathKind::Gates, "`trefoil pfss eval` takes it; with --listen"),
            ("gen/party0", KeyPathKind::Gate, "`trefoil pfss eval` takes it with --listen or --connect"),
            ("other/party0/x", KeyPathKind::File, "`trefoil pfss inspect` and `verify` take a bundle"),
        ] {
            assert_eq!(KeyPathKind::of(&at(path)), Some(kind), "{path}");
            assert!(kind.expect(&at(path)).is_ok());
            let other = if kind == KeyPathKind::Model { KeyPathKind::Gate } else { KeyPathKind::Model };
            let refused = other.expect(&at(path)).unwrap_err();
            assert!(refused.is::<UsageError>() && refused.to_string().contains(takes), "{refused}");
        }
        for path in ["other", "other/party0", "none"] {
            assert_eq!(KeyPathKind::of(&at(path)), None);
            let refused = KeyPathKind::Gate.expect(&at(path)).unwrap_err().to_string();
            assert!(
                refused.contains(if path == "none" { "does not exist" } else { "is not a key folder" }),
                "{refused}"
            );
        }
    }
}
