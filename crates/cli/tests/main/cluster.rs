//! The scripts of a job array: proofs by line, none twice, and the list of remaining lines.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use super::{LIMIT, text};

/// A proof that takes no time.
const SMALL: &str = "--air state-machine --log-rows 4 --queries 3 --pow-bits 0";

/// Has a task that makes a digest wait until another makes one, too, a minute at most.
const MEET: &str = r#"
sha256sum() {
    if [ $# -eq 1 ]; then
        : > "../digest.$$"
        for _ in {1..600}; do
            [ "$(ls .. | grep -c '^digest')" -lt 2 ] || break
            sleep 0.1
        done
    fi
    command sha256sum "$@"
}
export -f sha256sum
"#;

/// A script of the folder `ci/cluster`, with the program on the path, after what bash does `first`.
fn command(first: &str, name: &str, folder: &Path, task: u32, arguments: &[&str]) -> Command {
    let program = assert_cmd::cargo::cargo_bin!("trefoil");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/cluster");
    let mut command = Command::new("bash");
    command
        .args(["-c", &format!("{first}PATH=\"$0:$PATH\" exec \"$@\"")])
        .args([program.parent().unwrap(), &scripts.join(name)])
        .args(["jobs", "proofs"])
        .args(arguments)
        .current_dir(folder)
        .env("SLURM_ARRAY_TASK_ID", task.to_string())
        .env("LINES_OF_TASK", "2");
    command
}

fn script(name: &str, folder: &Path, task: u32, arguments: &[&str]) -> Output {
    test_process::output(&mut command("", name, folder, task, arguments), LIMIT)
}

/// What lies in a folder, by name.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn a_job_array_goes_on_where_it_stopped_and_makes_no_proof_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, proofs) = (folder.path(), folder.path().join("proofs"));
    let jobs =
        format!("# proofs\none {SMALL} --seed 1\n\ntwo {SMALL} --seed 2\nbad --air none\nthree {SMALL} --seed 3\n");
    fs::write(folder.join("jobs"), jobs).unwrap();

    // before anything, all is left
    let check = script("check", folder, 1, &[]);
    assert_eq!((check.status.code(), text(&check.stdout).lines().count()), (Some(1), 4));
    // a task has two lines; of the second task's, one fails and the other is proven
    assert_eq!(script("prove", folder, 1, &[]).status.code(), Some(0));
    let second = script("prove", folder, 2, &[]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("bad failed, see proofs/bad.log"), "{}", text(&second.stderr));
    assert!(fs::read_to_string(proofs.join("bad.log")).unwrap().contains("none"));
    assert!(proofs.join("three.proof").exists() && !proofs.join("bad.proof").exists());
    let check = script("check", folder, 1, &["--verify"]);
    assert_eq!((check.status.code(), text(&check.stdout).as_str()), (Some(1), "bad --air none\n"));
    assert_eq!(text(&check.stderr), "3 proofs there, 1 left\n");

    // nothing is made again, except files that do not match their digest
    let made = files(&proofs);
    let time = |name: &str| fs::metadata(proofs.join(name)).unwrap().modified().unwrap();
    let before = time("one.proof");
    fs::write(proofs.join("two.proof"), "half").unwrap();
    assert_eq!(text(&script("check", folder, 1, &[]).stdout), format!("two {SMALL} --seed 2\nbad --air none\n"));
    assert_eq!(script("prove", folder, 1, &[]).status.code(), Some(0));
    assert_eq!(time("one.proof"), before);
    let proofs_of = |files: &[(PathBuf, Vec<u8>)]| -> Vec<_> {
        files.iter().filter(|(path, _)| path.extension().is_some_and(|e| e != "log")).cloned().collect()
    };
    assert_eq!(proofs_of(&files(&proofs)), proofs_of(&made));

    // a digest without its proof, and a list or a number that is none
    fs::remove_file(proofs.join("two.proof")).unwrap();
    assert_eq!(script("check", folder, 1, &[]).status.code(), Some(1));
    assert_eq!(script("prove", folder, 0, &[]).status.code(), Some(2));
    assert_eq!(script("prove", folder, 1, &["more"]).status.code(), Some(2));
    assert_eq!(script("prove", folder, 9, &[]).status.code(), Some(0), "a task beyond the list has nothing to do");
    fs::write(folder.join("jobs"), "../out --air plonk\n").unwrap();
    assert_eq!(script("prove", folder, 1, &[]).status.code(), Some(1));
}

#[test]
fn two_tasks_at_one_line_leave_one_proof_and_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("jobs"), format!("one {SMALL} --seed 1\n")).unwrap();

    let start = || command(MEET, "prove", folder, 1, &[]).stderr(Stdio::piped()).spawn().unwrap();
    for task in [start(), start()] {
        let ended = test_process::output_of(task, LIMIT);
        assert_eq!((ended.status.code(), text(&ended.stderr).as_str()), (Some(0), ""));
    }
    let met = fs::read_dir(folder).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("digest")
    });
    assert_eq!(met.count(), 2, "each has made the proof");

    let left = files(&folder.join("proofs"));
    let names: Vec<_> = left.iter().map(|(path, _)| path.file_name().unwrap()).collect();
    assert_eq!(names, ["one.log", "one.proof", "one.sha256"]);
    let check = script("check", folder, 1, &["--verify"]);
    assert_eq!((check.status.code(), text(&check.stderr).as_str()), (Some(0), "1 proofs there, 0 left\n"));
}

#[test]
fn a_list_that_cannot_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["prove", "check"] {
        let refused = || {
            let ended = script(name, folder, 1, &[]);
            let told = format!("{name}: expected a list of jobs that can be read, got jobs\n");
            assert_eq!((ended.status.code(), text(&ended.stderr)), (Some(2), told));
        };
        refused();
        fs::create_dir(folder.join("jobs")).unwrap();
        refused();
        fs::remove_dir(folder.join("jobs")).unwrap();
    }
    assert!(!folder.join("proofs").exists());
}
