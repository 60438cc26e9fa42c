//! One call of rustc: the unit it compiled, and the time it took.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// The product of a call of rustc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CrateKind {
    Library,
    ProcMacro,
    BuildScript,
    Test,
    Program,
}

impl CrateKind {
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
pub(super) struct CompiledUnit {
    pub(super) package: String,
    /// Folder of the package's manifest.
    pub(super) folder: String,
    pub(super) name: String,
    pub(super) kind: CrateKind,
    pub(super) wall: f64,
    /// CPU seconds of rustc and its children; `None` elsewhere than Linux.
    pub(super) cpu: Option<f64>,
}

/// Which sum a unit counts towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UnitGroup {
    Libraries,
    Tests,
    Programs,
    Others,
}

impl UnitGroup {
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

impl CompiledUnit {
    /// The group of a unit in the workspace at `root`.
    pub(super) fn group(&self, root: &Path) -> UnitGroup {
        match self.kind {
            _ if !Path::new(&self.folder).starts_with(root) => UnitGroup::Others,
            CrateKind::Library => UnitGroup::Libraries,
            CrateKind::Test => UnitGroup::Tests,
            CrateKind::Program => UnitGroup::Programs,
            CrateKind::ProcMacro | CrateKind::BuildScript => UnitGroup::Others,
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
pub(super) fn describe(args: &[String]) -> Option<(String, CrateKind)> {
    let after = |flag: &str| args.iter().position(|arg| arg == flag).and_then(|at| args.get(at + 1));
    let name = after("--crate-name").filter(|name| *name != "___")?;
    let types: Vec<&str> =
        args.windows(2).filter(|pair| pair[0] == "--crate-type").map(|pair| pair[1].as_str()).collect();
    let kind = if args.iter().any(|arg| arg == "--test") {
        CrateKind::Test
    } else if types.contains(&"proc-macro") {
        CrateKind::ProcMacro
    } else if types.contains(&"bin") && name.starts_with("build_script_") {
        CrateKind::BuildScript
    } else if types.contains(&"bin") {
        CrateKind::Program
    } else {
        CrateKind::Library
    };
    Some((name.clone(), kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> Option<CrateKind> {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        describe(&args).map(|(_, kind)| kind)
    }

    #[test]
    fn arguments_of_rustc_name_the_kind() {
        assert_eq!(kind("--crate-name a src/lib.rs --crate-type lib --emit=link"), Some(CrateKind::Library));
        assert_eq!(kind("--crate-name a src/lib.rs --crate-type cdylib --crate-type rlib"), Some(CrateKind::Library));
        assert_eq!(kind("--crate-name a src/lib.rs --emit=link --test"), Some(CrateKind::Test));
        assert_eq!(kind("--crate-name a src/main.rs --crate-type bin"), Some(CrateKind::Program));
        assert_eq!(kind("--crate-name build_script_build build.rs --crate-type bin"), Some(CrateKind::BuildScript));
        assert_eq!(kind("--crate-name a src/lib.rs --crate-type proc-macro"), Some(CrateKind::ProcMacro));
        assert_eq!(kind("- --crate-name ___ --print=file-names"), None);
        assert_eq!(kind("-vV"), None);
    }

    #[test]
    fn only_packages_below_the_root_are_ours() {
        let unit = |folder: &str, kind| CompiledUnit {
            package: "a".into(),
            folder: folder.into(),
            name: "a".into(),
            kind,
            wall: 1.0,
            cpu: None,
        };
        let root = Path::new("/w");
        assert_eq!(unit("/w/crates/a", CrateKind::Test).group(root), UnitGroup::Tests);
        assert_eq!(unit("/w/crates/a", CrateKind::Library).group(root), UnitGroup::Libraries);
        assert_eq!(unit("/w/crates/a", CrateKind::BuildScript).group(root), UnitGroup::Others);
        assert_eq!(unit("/registry/a", CrateKind::Library).group(root), UnitGroup::Others);
    }
}
