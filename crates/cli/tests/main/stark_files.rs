//! The files of `trefoil stark`: separate, writable before any work, complete or absent.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use test_process::{output, output_of, wait, within};

use super::{LIMIT, call, program, stderr_of, stdout_of, text, trefoil};

/// A proof that takes no time.
const SMALL: [&str; 9] =
    ["stark", "prove", "--air", "wide-fibonacci", "--log-rows", "4", "--queries", "3", "--pow-bits=1"];

/// A proof that takes longer than anybody waits.
const ENDLESS: [&str; 9] =
    ["stark", "prove", "--air", "wide-fibonacci", "--log-rows", "4", "--queries", "3", "--pow-bits=40"];

/// The contents of a folder and of its files.
fn held(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut held: Vec<_> = entries
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap_or_default()))
        .collect();
    held.sort();
    held
}

/// The proof that [`SMALL`] makes.
fn proof() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof");
    trefoil().args(SMALL).arg("--out").arg(&path).assert().success();
    fs::read(path).unwrap()
}

fn spawned(arguments: &[&str], folder: &Path) -> Command {
    let mut command = program();
    command.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn a_file_has_one_use_however_it_is_spelled() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("there"), b"kept").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("there", at("link")).unwrap();
        fs::hard_link(at("there"), at("hard")).unwrap();
    }
    let before = held(folder.path());
    let npy = ["--trace-npy", "there"];
    let mut lines: Vec<(Vec<&str>, [&str; 2])> = vec![
        ([&SMALL[..], &["--out", "a", "--html", "./a"]].concat(), ["--out", "--html"]),
        ([&SMALL[..], &["--out", "a", "--html", "b", "--profile", "sub/../b"]].concat(), ["--html", "--profile"]),
        ([&SMALL[..], &["--out", "a", "--profile", "a"]].concat(), ["--out", "--profile"]),
        ([&SMALL[..], &npy, &["--out", "sub/../there"]].concat(), ["--trace-npy", "--out"]),
        ([&SMALL[..], &npy, &["--out", "a", "--profile", "there"]].concat(), ["--trace-npy", "--profile"]),
        (vec!["bench", "--json", "a", "--html", "./a"], ["--json", "--html"]),
        (vec!["demo", "--report", "a", "--profile", "./a"], ["--report", "--profile"]),
        (vec!["conformance", "--events", "a", "--profile", "./a"], ["--events", "--profile"]),
        (vec!["pfss", "inspect", "there", "--json", "./there"], ["PATH", "--json"]),
    ];
    if cfg!(unix) {
        for name in ["link", "hard"] {
            lines.push(([&SMALL[..], &npy, &["--out", name]].concat(), ["--trace-npy", "--out"]));
            lines.push(([&SMALL[..], &["--out", "there", "--profile", name]].concat(), ["--out", "--profile"]));
        }
    }
    for (line, [first, second]) in lines {
        let output = trefoil().current_dir(folder.path()).args(&line).assert().code(2).get_output().clone();
        let said = text(&output.stderr);
        assert!(said.contains(&format!("{first} and {second} are the same file, ")), "{line:?}: {said}");
        assert!(output.stdout.is_empty());
        assert_eq!(held(folder.path()), before, "{line:?}");
    }
}

#[test]
fn files_of_proofs_are_not_traced_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof");
    let proof = proof();
    fs::write(&path, &proof).unwrap();
    for command in ["verify", "inspect"] {
        for trace in [&path, &folder.path().join("trace")] {
            let said = stderr_of(trefoil().args(["stark", command]).arg(&path).arg("--profile").arg(trace), 2);
            assert!(said.contains("`--profile` shows the ops") && said.contains("host"), "{said}");
            assert_eq!(held(folder.path()), [("proof".to_owned(), proof.clone())]);
        }
    }
}

#[test]
fn binary_proofs_are_read_where_text_is() {
    let folder = tempfile::tempdir().unwrap();
    let prove = |format: &str| {
        let mut line = trefoil();
        line.current_dir(folder.path()).args(["stark", "prove", "--air", "wide-fibonacci", "--log-rows", "6"]);
        let said = stdout_of(line.args(["--columns", "10", "--format", format, "--out", format]));
        let of = if format == "json" { "KiB of JSON" } else { "KiB in binary" };
        assert!(said.contains(of), "{format}");
        fs::read(folder.path().join(format)).unwrap()
    };
    let (json, binary) = (prove("json"), prove("binary"));
    assert!(json.starts_with(b"{") && 2 * binary.len() < json.len(), "{} of {}", binary.len(), json.len());
    for command in ["verify", "inspect"] {
        let said = |file: &str| {
            stdout_of(trefoil().current_dir(folder.path()).args(["stark", command, file])).replace(file, "")
        };
        assert_eq!(said("json"), said("binary"));
    }
}

#[test]
fn an_unusable_path_is_told_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("file"), b"kept").unwrap();
    let before = held(folder.path());
    let long = "x".repeat(300);
    for path in ["no/report", "sub", "file/report", "new/", ".", "/", "/proc/report", long.as_str()] {
        for option in ["--out", "--html", "--profile"] {
            let good = if option == "--out" { "--html" } else { "--out" };
            let mut line = trefoil();
            line.current_dir(folder.path()).timeout(Duration::from_secs(60)).args(ENDLESS);
            let output = line.args([option, path, good, "good"]).assert().code(1).get_output().clone();
            let said = text(&output.stderr);
            assert!(said.starts_with("error: writing ") && said.contains(path), "{option} {path}: {said}");
            assert!(output.stdout.is_empty());
            assert_eq!(held(folder.path()), before, "{option} {path}");
        }
    }
    for option in ["--out", "--html", "--profile", "--trace-npy"] {
        trefoil().args(SMALL).args([option, ""]).assert().code(2);
    }
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_written_to_as_they_are() {
    use std::os::unix::fs::FileTypeExt as _;

    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(output(Command::new("mkfifo").arg(&pipe), LIMIT).status.success());
    let mut prover =
        spawned(&[&SMALL[..], &["--out", "pipe", "--html", "/dev/null"]].concat(), folder.path()).spawn().unwrap();
    let read = within(LIMIT, || fs::read(&pipe).unwrap());
    assert!(wait(&mut prover, LIMIT).success());
    let proof = proof();
    assert_eq!(read, proof);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());

    let output = trefoil().args(SMALL).args(["--out", "/dev/stdout"]).assert().success().get_output().clone();
    assert_eq!(output.stdout, proof);
    assert!(text(&output.stderr).contains("security"), "{}", text(&output.stderr));
    // Standard output that is a file holds the proof as well, and nothing else.
    let both = folder.path().join("both");
    let mut prover = spawned(&[&SMALL[..], &["--out", "both"]].concat(), folder.path());
    let mut prover = prover.stdout(fs::File::create(&both).unwrap()).spawn().unwrap();
    assert!(wait(&mut prover, LIMIT).success());
    assert_eq!(fs::read(&both).unwrap(), proof);
    // Who throws both away does not get the facts either.
    let mut prover = spawned(&[&SMALL[..], &["--out", "/dev/null"]].concat(), folder.path());
    assert!(test_process::output(&mut prover, LIMIT).stderr.is_empty());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_that_fails_leaves_nothing_and_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for option in ["--out", "--html"] {
        let good = if option == "--out" { "--html" } else { "--out" };
        let mut line = trefoil();
        line.current_dir(folder.path()).args(SMALL).args([option, "/dev/full", good, "good"]);
        let output = line.assert().code(1).get_output().clone();
        assert!(text(&output.stderr).contains("writing /dev/full: No space left"), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
        // The proof is written first, and is worth keeping.
        let kept: Vec<_> = held(folder.path()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(kept, ["good"][..usize::from(option == "--html")]);
    }
    let proof = folder.path().join("good");
    // A limit on the size of files, which stops the program at a write in the middle.
    let limited = |out: &str, blocks: u32| {
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script, "sh"])
            .arg(program().get_program())
            .args(SMALL)
            .args(["--out", out])
            .current_dir(folder.path());
        output(&mut shell, LIMIT)
    };
    let before = held(folder.path());
    let output = limited("good", 4);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("writing good: "), "{}", text(&output.stderr));
    assert_eq!(held(folder.path()), before, "the old proof is still there, and nothing else");
    assert!(limited("other", 4096).status.success());
    call("stark verify --min-security=0").arg(&proof).assert().success();
    let mut full = program();
    full.args(["stark", "verify", "--min-security=0"]).arg(&proof).stdout(fs::File::create("/dev/full").unwrap());
    let output = output_of(full.stderr(Stdio::piped()).spawn().unwrap(), LIMIT);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("writing to standard output: No space left"), "{}", text(&output.stderr));
}

/// Writes to a mounted file, as in containers; mounting may fail for lack of permission only.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_cannot_be_replaced_is_written_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let in_namespace = |script: &str| {
        let mut line = Command::new("unshare");
        line.args(["-rm", "sh", "-ec", script, "sh"]).arg(program().get_program());
        line.args(SMALL).args(["--out", "proof"]).current_dir(folder.path());
        line.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        line.spawn().map(|child| output_of(child, LIMIT))
    };
    fs::write(folder.path().join("proof"), b"old").unwrap();
    fs::write(folder.path().join("mounted"), b"old, and longer than the proof is".repeat(1 << 12)).unwrap();
    let mount = "mount --bind mounted proof";
    match in_namespace(mount) {
        Ok(mounted) if mounted.status.success() => {}
        Ok(refused) => {
            let said = text(&refused.stderr).to_lowercase();
            assert!(said.contains("not permitted") || said.contains("denied"), "{said}");
            return;
        }
        Err(error) => return assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}"),
    }
    let output = in_namespace(&format!("{mount}; \"$@\"")).unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = [("mounted".to_owned(), proof()), ("proof".to_owned(), b"old".to_vec())];
    assert_eq!(held(folder.path()), expected);
}

#[cfg(unix)]
#[test]
fn an_interrupted_proof_leaves_nothing() {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let (folder, aside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let trace = aside.path().join("trace");
    let line = [&ENDLESS[..], &["--out", "proof", "--html", "report", "--profile", trace.to_str().unwrap()]].concat();
    let mut prover = spawned(&line, folder.path()).spawn().unwrap();
    let start = Instant::now();
    while !trace.exists() || !held(folder.path()).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60) && prover.try_wait().unwrap().is_none());
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(Duration::from_millis(300));
    // What runs in the background of a script ignores the signal of the keyboard; this one it does not.
    kill_process(Pid::from_child(&prover), Signal::TERM).unwrap();
    assert_eq!(wait(&mut prover, LIMIT).signal(), Some(Signal::TERM.as_raw()));
    assert!(held(folder.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_proof_that_is_killed_while_it_is_written_leaves_all_or_nothing() {
    let mut kills = 0;
    for _ in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let line = [&SMALL[..], &["--out", "proof"]].concat();
        let mut prover = spawned(&line, folder.path()).spawn().unwrap();
        let open = format!("/proc/{}/fd", prover.id());
        // An open file of the folder that has some bytes; a killed program may be gone at any time.
        let writes = || {
            let files = fs::read_dir(&open).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut of_folder = files.filter(|file| fs::read_link(file).is_ok_and(|to| to.starts_with(folder.path())));
            of_folder.any(|file| fs::metadata(file).is_ok_and(|found| found.len() > 0))
        };
        while prover.try_wait().unwrap().is_none() {
            if writes() {
                prover.kill().unwrap();
                kills += 1;
                break;
            }
        }
        wait(&mut prover, LIMIT);
        let left = held(folder.path());
        assert!(left.is_empty() || left == [("proof".to_owned(), proof())], "{} files", left.len());
    }
    assert!(kills > 0, "no proof was killed while it was written");
}

#[test]
fn programs_that_write_one_file_at_once_leave_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let line = [&SMALL[..], &["--out", "proof", "--html", "report"]].concat();
    let provers: Vec<_> = (0..6).map(|_| spawned(&line, folder.path()).spawn().unwrap()).collect();
    for mut prover in provers {
        assert!(wait(&mut prover, LIMIT).success());
    }
    let names: Vec<_> = held(folder.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["proof", "report"]);
    assert_eq!(fs::read(folder.path().join("proof")).unwrap(), proof());
}
