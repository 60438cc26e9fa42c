//! A breach of each rule, planted in a copy of the repository.

use std::{fs, path::Path};

use tempfile::TempDir;
use walkdir::WalkDir;

use super::{
    Finding, check_manifests,
    facts::{Fact, What},
    source, visit,
};

/// The repository this crate stands in.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The findings in all files of a copy.
fn check_files(copy: &Path) -> anyhow::Result<Vec<Finding>> {
    Ok(super::check_files(copy, &source::read(copy, "")?))
}

/// A copy of the files at and below `paths`.
///
/// Each rule reads the files of one crate, or manifests.
fn copy_of<P: AsRef<Path>>(paths: &[P]) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    let files = paths.iter().flat_map(|path| WalkDir::new(repository().join(path))).map(Result::unwrap);
    for file in files.filter(|entry| entry.file_type().is_file()) {
        let to = copy.path().join(file.path().strip_prefix(repository()).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file.path(), to).unwrap();
    }
    copy
}

/// A copy of what cargo reads as a workspace.
fn copy_of_workspace() -> TempDir {
    copy_of(&[
        "Cargo.toml",
        "Cargo.lock",
        "rust-toolchain.toml",
        "crates",
        "fuzz/Cargo.toml",
        "fuzz/src",
        "fuzz/fuzz_targets",
        "xtask",
    ])
}

/// Appends `text` to a file of the copy and returns the number of the line where it starts.
fn append(copy: &TempDir, path: &str, text: &str) -> usize {
    let full = copy.path().join(path);
    let old = fs::read_to_string(&full).unwrap();
    fs::write(&full, format!("{old}{text}")).unwrap();
    old.lines().count() + 1
}

/// The findings in one file of `copy`.
fn findings_in(copy: &TempDir, path: &str) -> Vec<Finding> {
    let mut found = check_files(copy.path()).unwrap();
    found.retain(|finding| finding.path == path);
    found
}

/// The findings in a file with this text that is added to its crate.
fn planted(path: &str, text: &str) -> Vec<Finding> {
    let package: Vec<&str> = path.split('/').take(2).collect();
    let copy = copy_of(&[package.join("/")]);
    fs::create_dir_all(copy.path().join(path).parent().unwrap()).unwrap();
    fs::write(copy.path().join(path), text).unwrap();
    findings_in(&copy, path)
}

#[track_caller]
fn assert_finds(found: &[Finding], path: &str, line: usize, part: &str) {
    let hit = found.iter().any(|f| f.path == path && f.line == line && f.message.contains(part));
    assert!(hit, "expected {path}:{line}: ..{part}.., found {found:#?}");
}

#[test]
fn a_forbidden_edge_is_reported() {
    let copy = copy_of_workspace();
    let tests = "\n[target.'cfg(unix)'.dev-dependencies]\nstark-fft.workspace = true\n";
    let edges = [
        ("pfss", "\n[build-dependencies]\ncpu-backend.workspace = true\n", "`pfss` must not depend on `cpu-backend`"),
        ("cpu-backend", tests, "`cpu-backend` must not dev-depend on `stark-fft`"),
    ];
    for (package, text, message) in edges {
        let manifest = format!("crates/{package}/Cargo.toml");
        let line = append(&copy, &manifest, text) + 2;
        assert_finds(&check_manifests(copy.path()).unwrap(), &manifest, line, message);
    }
}

#[test]
fn a_crate_without_an_entry_in_the_table_is_reported() {
    let copy = copy_of_workspace();
    let folder = copy.path().join("crates/stranger");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), "[package]\nname = \"stranger\"\n").unwrap();
    fs::write(folder.join("src/lib.rs"), "").unwrap();
    assert_finds(&check_manifests(copy.path()).unwrap(), "crates/stranger/Cargo.toml", 2, "`stranger` has no entry");
}

#[test]
fn a_library_without_metadata_and_another_oldest_compiler_are_reported() {
    let copy = copy_of_workspace();
    let manifest = "crates/pfss-ffi/Cargo.toml";
    let full = copy.path().join(manifest);
    let text = fs::read_to_string(&full).unwrap();
    fs::write(&full, text.replace("readme.workspace = true\n", "").replace("rust-version.workspace = true\n", ""))
        .unwrap();
    let found = check_manifests(copy.path()).unwrap();
    assert_finds(&found, manifest, 1, "a published crate needs `readme`");
    assert_finds(&found, manifest, 1, "got none");
}

#[test]
fn an_environment_read_in_a_domain_is_reported_however_it_is_spelt() {
    let path = "crates/nn-ops/src/planted.rs";
    let text = "use std::env;\n\
                use std::env::var as look;\n\
                fn a() -> bool { env::var(\"A\").is_ok() }\n\
                fn b() -> bool { look(\"B\").is_ok() }\n\
                fn c() { assert!(std::env::var_os(\"C\").is_some()); }\n\
                const D: Option<&str> = option_env!(\"D\");\n\
                const E: &str = env!(\"CARGO_PKG_VERSION\");\n";
    let found = planted(path, text);
    for line in [2, 3, 4, 5, 6] {
        assert_finds(&found, path, line, "only crate `runtime` may");
    }
    assert!(found.iter().all(|finding| finding.line != 7), "a fact of the build is allowed: {found:#?}");
}

#[test]
fn a_clock_a_thread_and_a_print_in_a_domain_are_reported_outside_tests() {
    let path = "crates/stark-fft/src/planted.rs";
    let body = "fn a() { let _ = std::time::Instant::now(); }\n\
                fn b() { std::thread::yield_now(); }\n\
                fn c() { println!(); }\n";
    let found = planted(path, &format!("{body}#[cfg(test)]\nmod tests {{\n{body}}}\n"));
    assert_finds(&found, path, 1, "reads the clock");
    assert_finds(&found, path, 2, "threads");
    assert_finds(&found, path, 3, "prints");
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn memory_that_a_domain_fills_with_zeros_is_reported_outside_tests_and_homes() {
    let path = "crates/pfss/src/planted.rs";
    let body = "fn a(q: &Q) {\n    q.zeros::<u64>(3);\n}\n";
    let found = planted(path, &format!("{body}#[cfg(test)]\nmod tests {{\n{body}}}\n"));
    assert_finds(&found, path, 2, "`zeros` fills memory");
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn an_undocumented_unsafe_is_reported_even_inside_a_macro() {
    let path = "crates/cpu-backend/src/circle/planted.rs";
    let text = "fn a(p: *const u8) -> u8 {\n    unsafe { *p }\n}\n\
                macro_rules! m {\n    ($p:expr) => {\n        unsafe { *$p }\n    };\n}\n\
                fn b(p: *const u8) -> u8 {\n    // SAFETY: `p` is valid.\n    let x =\n        unsafe { *p };\n    x\n}\n\
                unsafe fn c() {}\n\
                /// Reads.\n///\n/// # Safety\n/// `p` is valid.\n#[inline]\npub unsafe fn d() {}\n";
    let found = planted(path, text);
    for line in [2, 6, 15] {
        assert_finds(&found, path, line, "undocumented `unsafe`");
    }
    assert_eq!(found.len(), 3, "documented ones pass: {found:#?}");
}

#[test]
fn a_file_or_a_trait_may_state_the_contract_of_its_unsafe_functions_once() {
    let contract = "//! Steps.\n//!\n//! # Safety\n//! The processor has AVX2.\n";
    let trait_contract = "/// Lanes.\n///\n/// # Safety\n/// AVX2.\ntrait T {\n    unsafe fn f();\n}\n";
    for (text, documented) in [
        (format!("{contract}unsafe fn f() {{}}\n"), true),
        (trait_contract.to_owned(), true),
        ("//! Steps.\nunsafe fn f() {}\n".to_owned(), false),
        (format!("{contract}fn f(p: *const u8) -> u8 {{ unsafe {{ *p }} }}\n"), false),
    ] {
        let facts = visit::facts(&syn::parse_file(&text).unwrap(), &text, false);
        let found: Vec<_> = facts.iter().filter(|fact| matches!(fact.what, What::Unsafe { .. })).collect();
        assert!(
            matches!(found[..], [Fact { what: What::Unsafe { documented: d, .. }, .. }] if *d == documented),
            "{text}"
        );
    }
}

#[test]
fn unsafe_outside_its_homes_is_reported_even_with_a_reason() {
    let path = "crates/pfss/src/planted.rs";
    let text = "fn a(p: *const u8) -> u8 {\n    // SAFETY: it is not.\n    unsafe { *p }\n}\n";
    assert_finds(&planted(path, text), path, 3, "outside its homes");
}

#[test]
fn a_crate_root_that_lost_its_promise_is_reported() {
    let promises = [
        ("crates/runtime/src/lib.rs", "#![forbid(unsafe_code)]"),
        ("crates/core-types/src/lib.rs", "#![no_std]"),
        ("crates/stark-verifier/src/lib.rs", "#![no_std]"),
    ];
    let copy = copy_of(&promises.map(|(path, _)| path));
    for (path, attribute) in promises {
        let full = copy.path().join(path);
        let text = fs::read_to_string(&full).unwrap().replace(attribute, "");
        fs::write(full, text).unwrap();
    }
    let found = check_files(copy.path()).unwrap();
    for (path, attribute) in promises {
        assert_finds(&found, path, 1, attribute);
    }
}

#[test]
fn bad_habits_and_dead_links_are_reported() {
    let copy = copy_of(&["crates/runtime", "README.md", "CHANGELOG.md"]);
    let path = "crates/runtime/src/planted.rs";
    let text = "pub use std::fmt::*;\nfn a() { todo!() }\n#[test]\n#[ignore = \"slow\"]\nfn t() { dbg!(1); }\n";
    fs::write(copy.path().join(path), format!("{text}{}", "//\n".repeat(600))).unwrap();
    let link = append(&copy, "README.md", "\n[nowhere](docs/nowhere.md)\n");
    fs::remove_file(copy.path().join("CHANGELOG.md")).unwrap();
    let folder = copy.path().join("crates/nn-ops/src/many");
    fs::create_dir_all(&folder).unwrap();
    (0..16).for_each(|file| fs::write(folder.join(format!("file{file}.rs")), "").unwrap());
    let found = check_files(copy.path()).unwrap();
    assert_finds(&found, "crates/nn-ops/src/many", 1, "16 Rust files");
    assert_finds(&found, path, 1, "glob re-export");
    assert_finds(&found, path, 2, "`todo!`");
    assert_finds(&found, path, 4, "`#[ignore]`");
    assert_finds(&found, path, 5, "`dbg!`");
    assert_finds(&found, path, 601, "605 lines");
    assert_finds(&found, "README.md", link + 1, "docs/nowhere.md");
    assert_finds(&found, "CHANGELOG.md", 1, "is missing");
}

#[test]
fn modules_that_import_each_other_are_reported() {
    let copy = copy_of(&["crates/cuda-sim/src/exec"]);
    let code = "crates/cuda-sim/src/exec/code.rs";
    append(&copy, "crates/cuda-sim/src/exec/register.rs", "\npub(super) type Steps = Vec<super::code::Step>;\n");
    let text = fs::read_to_string(repository().join(code)).unwrap();
    let line = text.lines().position(|line| line.starts_with("use super::register::")).unwrap() + 1;
    assert_finds(&findings_in(&copy, code), code, line, "`exec::register` needs `super::code::Step`");
}

#[test]
fn folders_whose_files_import_from_each_other_are_reported() {
    let copy = copy_of(&["crates/inference/src"]);
    // `folder` needs `tls`, but no file of it needs this one
    append(&copy, "crates/inference/src/tls/crowd.rs", "\ntype Folder = crate::folder::KeyFolder;\n");
    let found = check_files(copy.path()).unwrap();
    assert!(found.iter().any(|f| f.message.contains("`tls::crowd` needs `crate::folder::KeyFolder`")), "{found:#?}");
}

#[test]
fn imports_are_resolved_through_groups_and_renames() {
    let text =
        "use std::{self as s, thread::{self, spawn as go}};\nfn f() { thread::yield_now(); go(s::process::exit) }";
    let facts = visit::facts(&syn::parse_file(text).unwrap(), text, false);
    let paths: Vec<_> = facts
        .iter()
        .filter_map(|fact| match &fact.what {
            What::Path(path) if fact.line == 2 => Some(path.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(paths, ["std::thread::yield_now", "std::thread::spawn", "std::process::exit"]);
}
