//! Files that are no driver library are refused with a reason, and crash no process.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use cuda_loader::{Source, Unavailable, open};
use test_process::{LIMIT, output};

/// The test that child processes run: each can open one library only.
const CHILD_TEST: &str = "library_files::opens_what_it_is_told";

/// A library that every Linux process has and that is no driver.
fn foreign_library() -> PathBuf {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    paths.find(|path| path.contains("libc.so") || path.contains("libc-")).unwrap().into()
}

/// The verdict of a fresh process on `library`.
fn verdict(library: &Path) -> String {
    let dir = tempfile::tempdir().unwrap();
    let request = dir.path().join("request");
    std::fs::write(&request, library.to_str().unwrap()).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([CHILD_TEST, "--exact", "--nocapture", "--test-threads=1"]).current_dir(dir.path());
    let output = output(&mut child, LIMIT);
    assert!(output.status.success(), "{output:?}");
    std::fs::read_to_string(dir.path().join("answer")).unwrap()
}

/// In a child process (which finds a request in its directory): opens the library and writes down the outcome.
#[test]
fn opens_what_it_is_told() {
    let Ok(library) = std::fs::read_to_string("request") else { return };
    let kind = match open(&Source::Path(library.into())) {
        Ok(_) => "opened",
        Err(Unavailable::Library { reason, .. }) => &format!("library: {reason}"),
        Err(Unavailable::NotADriver { function, .. }) => &format!("not a driver: {function}"),
        Err(other) => &format!("other: {other}"),
    };
    std::fs::write("answer", kind).unwrap();
}

#[test]
fn an_absent_file_is_refused() {
    assert!(verdict(Path::new("/nowhere/libcuda.so.1")).starts_with("library: No such file"));
}

#[test]
fn a_text_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("libcuda.so.1");
    std::fs::write(&path, "not a library").unwrap();
    assert_eq!(verdict(&path), "library: not an ELF file");
}

#[test]
fn a_truncated_library_is_refused() {
    let whole = std::fs::read(foreign_library()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("libcuda.so.1");
    for len in [5, 63, 100, whole.len() / 2] {
        std::fs::write(&path, &whole[..len]).unwrap();
        let verdict = verdict(&path);
        assert!(
            verdict.starts_with("library: expected ") && verdict.contains(" bytes (from its headers), got "),
            "{len} bytes: {verdict}"
        );
    }
}

#[test]
fn a_library_of_another_kind_is_no_driver() {
    assert_eq!(verdict(&foreign_library()), "not a driver: cuInit");
}
