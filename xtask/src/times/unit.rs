//! One call of rustc: the unit it compiled, and the time it took.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The product of a call of rustc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Library,
    ProcMacro,
    BuildScript,
    Test,
    Program,
}

impl Kind {
    /// Column text.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Library => "lib",
            Self::ProcMacro => "proc macro",
            Self::BuildScript => "build script",
            Self::Test => "test",
            Self::Program => "bin",
        }
    }
}

/// A compiled crate, one line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Unit {
    pub(super) package: String,
    /// Folder of the package's manifest.
    pub(super) folder: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) wall: f64,
    /// CPU seconds of rustc and its children; `None` elsewhere than Linux.
    pub(super) cpu: Option<f64>,
}

/// Which sum a unit counts towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Libraries,
    Tests,
    Programs,
    Others,
}

impl Group {
    pub(super) const ALL: [Self; 4] = [Self::Libraries, Self::Tests, Self::Programs, Self::Others];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Libraries => "our libraries",
            Self::Tests => "our test programs",
            Self::Programs => "our programs",
            Self::Others => "everything else",
        }
    }
}

impl Unit {
    /// The group of a unit in the workspace at `root`.
    pub(super) fn group(&self, root: &Path) -> Group {
        match self.kind {
            _ if !Path::new(&self.folder).starts_with(root) => Group::Others,
            Kind::Library => Group::Libraries,
            Kind::Test => Group::Tests,
            Kind::Program => Group::Programs,
            Kind::ProcMacro | Kind::BuildScript => Group::Others,
        }
    }

    /// The key that the table is sorted by: CPU seconds, or wall time without them.
    pub(super) fn cost(&self) -> f64 {
        self.cpu.unwrap_or(self.wall)
    }

    /// Package and target, which differ for test programs.
    pub(super) fn title(&self) -> String {
        if self.package.replace('-', "_") == self.name {
            self.package.clone()
        } else {
            format!("{} {}", self.package, self.name)
        }
    }
}

/// Name and kind of the crate that rustc compiles with `args`.
///
/// `None` if rustc only answers questions of cargo.
pub(super) fn describe(args: &[String]) -> Option<(String, Kind)> {
    let after = |flag: &str| args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1));
    let name = after("--crate-name").filter(|name| *name != "___")?;
    let types: Vec<&str> =
        args.windows(2).filter(|pair| pair[0] == "--crate-type").map(|pair| pair[1].as_str()).collect();
    let kind = if args.iter().any(|arg| arg == "--test") {
        Kind::Test
    } else if types.contains(&"proc-macro") {
        Kind::ProcMacro
    } else if types.contains(&"bin") && name.starts_with("build_script_") {
        Kind::BuildScript
    } else if types.contains(&"bin") {
        Kind::Program
    } else {
        Kind::Library
    };
    Some((name.clone(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> Option<Kind> {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        describe(&args).map(|(_, kind)| kind)
    }

    #[test]
    fn arguments_of_rustc_name_the_kind() {
        assert_eq!(kind("--crate-name a src/lib.rs --crate-type lib --emit=link"), Some(Kind::Library));
        assert_eq!(kind("--crate-name a src/lib.rs --crate-type cdylib --crate-type rlib"), Some(Kind::Library));
        assert_eq!(kind("--crate-name a src/lib.rs --emit=link --test"), Some(Kind::Test));
        assert_eq!(kind("--crate-name a src/main.rs --crate-type bin"), Some(Kind::Program));
        assert_eq!(kind("--crate-name build_script_build build.rs --crate-type bin"), Some(Kind::BuildScript));
        assert_eq!(kind("--crate-name a src/lib.rs --crate-type proc-macro"), Some(Kind::ProcMacro));
        assert_eq!(kind("- --crate-name ___ --print=file-names"), None);
        assert_eq!(kind("-vV"), None);
    }

    #[test]
    fn only_packages_below_the_root_are_ours() {
        let unit = |folder: &str, kind| Unit {
            package: "a".into(),
            folder: folder.into(),
            name: "a".into(),
            kind,
            wall: 1.0,
            cpu: None,
        };
        let root = Path::new("/w");
        assert_eq!(unit("/w/crates/a", Kind::Test).group(root), Group::Tests);
        assert_eq!(unit("/w/crates/a", Kind::Library).group(root), Group::Libraries);
        assert_eq!(unit("/w/crates/a", Kind::BuildScript).group(root), Group::Others);
        assert_eq!(unit("/registry/a", Kind::Library).group(root), Group::Others);
    }
}
