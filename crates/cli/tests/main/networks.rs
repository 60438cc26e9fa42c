//! `trefoil nn`: networks that are trained and asked.

mod text;

use std::fs;
#[cfg(unix)]
use std::{
    collections::BTreeSet,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use super::{LIMIT, call, fails, program, stderr_of, stdout_of, text, trefoil};

#[test]
fn a_network_learns_digits_and_says_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut train = call("nn train --epochs 12 --out");
    train.arg(at("model")).arg("--html").arg(at("page"));
    train.arg("--history").arg(at("history"));
    let said = stdout_of(&mut train);
    assert!(said.contains("64-64-10") && said.contains("1437 to train, 360 to test"), "{said}");
    let page = fs::read_to_string(at("page")).unwrap();
    assert!(page.matches("<svg").count() == 4 && !page.contains("NaN"), "{page}");

    let mut predict = trefoil();
    let said = stdout_of(predict.args(["nn", "predict", "--model"]).arg(at("model")).arg("--out").arg(at("classes")));
    let accuracy = said.lines().find_map(|line| line.strip_prefix("accuracy")).unwrap();
    let percent: f64 = accuracy.trim().trim_end_matches(" %").parse().unwrap();
    assert!(percent > 94.0, "{said}");
    assert!(said.contains("label     0     1"), "{said}");
    assert_eq!(fs::metadata(at("classes")).unwrap().len(), 128 + 4 * 360);

    // the training inputs, from files, on a simulated device
    let digits = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/digits/");
    let inputs = ["--inputs".to_owned(), format!("{digits}images.npy")];
    let mut predict = trefoil();
    let said = stdout_of(predict.args(["nn", "predict", "--backend", "sim", "--model"]).arg(at("model")).args(inputs));
    assert_eq!(said.lines().count(), 1 + 1797, "{said}");
}

/// Starts a training and kills it two states after the one before its first step.
#[cfg(unix)]
fn kill_between_states(training: &mut Command, state: &Path) {
    let mut process = training.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let mut states = BTreeSet::new();
    while states.len() < 3 {
        assert!(start.elapsed() < LIMIT && process.try_wait().unwrap().is_none(), "no checkpoint");
        states.extend(fs::read(state));
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn a_training_that_was_killed_is_taken_up_to_the_same_network() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let arguments = ["nn", "train", "--epochs", "40", "--optimizer", "adam-w", "--clip", "5", "--out"];
    trefoil().args(arguments).arg(at("whole")).assert().success();
    let mut killed = program();
    kill_between_states(killed.args(arguments).arg(at("killed")).arg("--checkpoint").arg(at("state")), &at("state"));
    let mut resumed = trefoil();
    resumed.args(arguments).arg(at("resumed")).arg("--checkpoint").arg(at("state")).assert().success();
    assert_eq!(fs::read(at("resumed")).unwrap(), fs::read(at("whole")).unwrap());
    let mut other = trefoil();
    other.args(arguments).arg(at("other")).args(["--seed", "8", "--checkpoint"]).arg(at("state"));
    let error = fails(&mut other, 1, &["it was written with different arguments or rows: expected seed 8, got seed 7"]);
    assert!(!error.contains("epochs"), "{error}");

    // A flipped bit is an error and not another training. The last byte is one of a tensor, however long the history before it is.
    let mut damaged = fs::read(at("state")).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(at("state"), damaged).unwrap();
    let error = stderr_of(trefoil().args(arguments).arg(at("other")).arg("--checkpoint").arg(at("state")), 1);
    assert!(error.contains("state") && error.contains("damaged: expected SHA-256"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn one_training_at_a_time_uses_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let train = |k: usize| {
        let mut train = program();
        train.current_dir(folder.path()).args(["nn", "train", "--epochs", "30", "--checkpoint", "state", "--out"]);
        train.arg(format!("{k}")).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        train.spawn().unwrap()
    };
    let trainings: Vec<_> = (0..6).map(train).collect();
    let outputs: Vec<_> = trainings.into_iter().map(|training| test_process::output_of(training, LIMIT)).collect();
    let (done, refused): (Vec<_>, Vec<_>) = outputs.iter().partition(|output| output.status.success());
    assert_eq!((done.len(), refused.len()), (1, 5));
    for output in refused {
        let said = text(&output.stderr);
        assert!(
            said.contains("another training has locked it") || said.contains("another training created it"),
            "{said}"
        );
    }
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert!(names.len() == 2 && names[1] == "state", "{names:?}");
}

#[test]
fn an_ensemble_learns_how_a_loss_falls_and_goes_on_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // a loss that falls and swings
    let data: Vec<f32> = (0..240).map(|i| (-(i as f32) / 90.0).exp() + 0.3 + 0.1 * (i as f32 / 4.0).sin()).collect();
    let bytes = nn_ops::io::write_npy(&nn_ops::io::NpyArray { shape: vec![240, 1], data }).unwrap();
    fs::write(at("history"), bytes).unwrap();
    let mut rollout = call("nn rollout --hidden 16 --training 400 --history");
    rollout.arg(at("history"));
    rollout.arg("--html").arg(at("page")).arg("--out").arg(at("losses"));
    let said = stdout_of(&mut rollout);
    let errors = said.lines().find_map(|line| line.strip_prefix("error of prediction")).unwrap();
    let numbers: Vec<f64> =
        errors.split(|c: char| !c.is_ascii_digit() && c != '.').filter_map(|word| word.parse().ok()).collect();
    assert!(numbers[0] < 0.5 * numbers[1], "{said}");
    assert!(said.lines().any(|line| line.trim_start().starts_with("239 ")), "{said}");
    assert_eq!(fs::metadata(at("losses")).unwrap().len(), 128 + 4 * 5 * 21);
    let page = fs::read_to_string(at("page")).unwrap();
    assert!(page.matches("<svg").count() == 4 && page.contains("polygon") && !page.contains("NaN"));
}

#[test]
fn what_cannot_be_trained_or_asked_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("bytes"), [0xff; 64]).unwrap();
    let refused =
        |arguments: &[&str], code: i32| stderr_of(trefoil().current_dir(folder.path()).arg("nn").args(arguments), code);
    assert!(refused(&["predict", "--model", "none"], 1).contains("reading none"));
    assert!(refused(&["predict", "--model", "bytes"], 1).contains("safetensors"));
    assert!(refused(&["train", "--out", "m", "--inputs", "bytes", "--labels", "bytes"], 1).contains("reading bytes"));
    refused(&["train", "--out", "m", "--inputs", "bytes"], 2);
    refused(&["train", "--out", "m", "--epochs", "0"], 2);
    assert!(refused(&["train", "--out", "m", "--html", "m"], 2).contains("the same file"));
    assert!(refused(&["train", "--out", "m", "--rate", "nan"], 2).contains("rate"));
    assert!(refused(&["train", "--out", "m", "--rate", "1e30", "--epochs", "2"], 1).contains("try a smaller"));
    assert!(!at("m").exists());
    let array =
        |data: Vec<f32>| nn_ops::io::write_npy(&nn_ops::io::NpyArray { shape: vec![data.len()], data }).unwrap();
    fs::write(at("short"), array(vec![1.0; 20])).unwrap();
    assert!(refused(&["rollout", "--history", "short"], 1).contains("shape [20]"));
}
