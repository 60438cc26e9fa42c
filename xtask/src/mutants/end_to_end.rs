//! A small workspace with mutants of every kind of end.

use std::{collections::BTreeMap, path::Path};

use xshell::{Shell, cmd};

use super::{
    crates::libraries,
    known::KnownEquivalents,
    plan::MutantPlan,
    report::Verdict::{self, Equivalent, Killed, NotReached, Survived},
    tree::WorkingCopy,
    try_all,
};

/// The library with mutants.
const LIBRARY: &str = r#"#![forbid(unsafe_code)]
#![deny(unused_parens)]
pub fn own(a: u32, b: u32) -> u32 { a & b }
pub fn by_dependent(a: u32, b: u32) -> u32 { a << b }
pub fn unreached(a: u32, b: u32) -> u32 { a | b }
pub fn survivor(a: u32, b: u32) -> u32 { a >> b }
pub fn listed(a: u32, b: u32) -> u32 { a - b }
pub fn text(a: &str) -> String { a.to_owned() + "x" }
pub fn constant(a: &'static u32) -> &'static u32 { if *a >= 7 { a } else { &7 } }
pub fn checked(a: u32) -> Result<(), u32> {
    if a == 9 {
        return Err(a);
    }
    Ok(())
}
pub fn called(a: u32) -> Result<bool, u32> {
    checked(a)?;
    Ok(true)
}
pub fn is_small(a: u32) -> bool { matches!(a, 0..5) }

#[cfg(test)]
mod tests {
    #[test]
    fn holds() {
        assert_eq!(super::own(6, 3), 2);
        assert_eq!(super::survivor(0, 3), 0);
        assert_eq!(super::listed(0, 0), 0);
        assert_eq!(super::text("a"), "ax");
        assert_eq!(super::constant(&8), &8);
        assert_eq!(super::called(9), Err(9));
        assert!(super::is_small(1));
    }
}
"#;

const DEPENDENT: &str = "#[test]\nfn holds() { assert_eq!(a::by_dependent(1, 3), 8); }\n";

const LISTED: &str = r#"[[equivalent]]
file = "crates/a/src/lib.rs"
function = "listed"
original = "pub fn listed(a: u32, b: u32) -> u32 { a - b }"
mutated = "pub fn listed(a: u32, b: u32) -> u32 { a + b }"
reason = "both numbers are 0"
"#;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The verdicts of all mutants of [`LIBRARY`] by function and mutated line.
fn verdicts() -> BTreeMap<(String, String), Verdict> {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    write(root, "Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
    write(root, "crates/a/Cargo.toml", &package("a"));
    write(root, "crates/a/src/lib.rs", LIBRARY);
    let dependent = format!("{}[dev-dependencies]\na = {{ path = \"../a\" }}\n", package("b"));
    write(root, "crates/b/Cargo.toml", &dependent);
    write(root, "crates/b/src/lib.rs", "");
    write(root, "crates/b/tests/holds.rs", DEPENDENT);
    write(root, "ci/mutants.toml", LISTED);
    let sh = Shell::new().unwrap();
    sh.change_dir(root);
    cmd!(sh, "git init --quiet").quiet().run().unwrap();

    let mut plan = MutantPlan::new(libraries(root, Some("a")).unwrap(), 1, 1000);
    let tree = WorkingCopy::copy(&sh, &root.join("target"), &plan.files()).unwrap();
    let known = KnownEquivalents::read(root).unwrap();
    assert_eq!(known.stale(root), Vec::<String>::new());
    let results = try_all(&mut plan, &tree, &known, false).unwrap();
    let ids = plan.ids();
    assert_eq!(results.len(), ids.len());
    let mutant = |(id, result): (u32, super::report::MutantResult)| {
        let (_, source, candidate) = plan.mutant(id);
        let [_, mutated] = candidate.site.lines(&source.text);
        ((candidate.site.function.clone(), mutated), result.verdict)
    };
    ids.into_iter().zip(results).map(mutant).collect()
}

#[test]
fn mutants_end_as_the_tests_of_the_crate_and_its_dependents_decide() {
    let verdicts = verdicts();
    let of = |function: &str, part: &str| {
        let mut found = verdicts.iter().filter(|((name, line), _)| name == function && line.contains(part));
        let verdict = found.next().map(|(_, verdict)| *verdict);
        assert!(found.next().is_none(), "{function} {part}");
        verdict
    };
    assert_eq!(of("own", "a | b"), Some(Killed));
    assert_eq!(of("by_dependent", "a >> b"), Some(Killed));
    assert_eq!(of("unreached", "a & b"), Some(NotReached));
    assert_eq!(of("survivor", "a << b"), Some(Survived));
    assert_eq!(of("listed", "a + b"), Some(Equivalent));
    assert_eq!(of("text", "a"), None, "strings have no difference");
    assert_eq!(of("constant", "&8"), None, "a choice at run time is no constant");
    assert_eq!(of("checked", "false"), Some(Killed));
    assert_eq!(of("called", ""), Some(Killed));
    assert_eq!(of("is_small", "!("), Some(Killed));
}
