//! `trefoil nn text` and `trefoil nn sample`: a tiny transformer on a repeating text.

use std::{fs, path::Path};

use crate::{call, fails, stdout_of, text, trefoil};

/// The period of the text: the byte after a digit depends on the letter before it.
const PATTERN: &str = "1a2b1c2d";

/// A training of seconds, without its files.
const TRAIN: &str = "nn text train text --width 32 --heads 2 --layers 2 --context 16 --batch 8 --steps 400 --rate 0.01";

/// A folder with the text, 800 bytes.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), PATTERN.repeat(100)).unwrap();
    folder
}

/// The number after the name of a fact.
fn number(said: &str, name: &str) -> f64 {
    fact(said, name).split_whitespace().next().unwrap().parse().unwrap()
}

/// The text after the name of a fact.
fn fact<'a>(said: &'a str, name: &str) -> &'a str {
    said.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim()
}

/// The bytes that `sample` writes for a prompt.
fn sampled(folder: &Path, prompt: &str, more: &[&str]) -> String {
    let mut sample = trefoil();
    sample.current_dir(folder).args(["nn", "sample", "model", "--prompt", prompt, "--out", "sampled"]).args(more);
    stdout_of(&mut sample);
    text(&fs::read(folder.join("sampled")).unwrap())
}

#[test]
fn a_transformer_learns_a_repeating_text_and_continues_it() {
    let folder = folder();
    let mut train = call(TRAIN);
    train.current_dir(folder.path()).args(["--out", "model", "--history", "history"]);
    let said = stdout_of(&mut train);
    assert!(said.contains("720 bytes to train, 80 held out"), "{said}");
    // By the last byte alone, half of the bytes have two successors: a loss of ln(2) / 2 = 0.35. The first byte of a
    // window has no other: 0.02 remain.
    assert!(number(&said, "loss") < 0.1 && number(&said, "held-out loss") < 0.1, "{said}");
    assert_eq!(fs::metadata(folder.path().join("history")).unwrap().len(), 128 + 4 * 2 * 40);

    // Far beyond the context of 16 bytes.
    let expected = PATTERN.repeat(8);
    let greedy = ["--length", "60", "--temperature", "0"];
    assert_eq!(sampled(folder.path(), &expected[..4], &greedy), expected);
    let seeded = |seed: &str| {
        let draws = ["--length", "60", "--temperature", "3", "--top-k", "4", "--seed", seed];
        sampled(folder.path(), "1a2b", &draws)
    };
    assert_eq!(seeded("1"), seeded("1"));
    assert_ne!(seeded("1"), seeded("2"));
    let one = ["--length", "60", "--temperature", "1.5", "--top-k", "1"];
    assert_eq!(sampled(folder.path(), &expected[..4], &one), expected);
    // A long prompt, on a simulated device.
    let prompt = PATTERN.repeat(3);
    let on_device = sampled(folder.path(), &prompt, &["--length", "2", "--temperature", "0", "--backend", "sim"]);
    assert_eq!(on_device, format!("{prompt}1a"));
    let mut shown = call("nn sample model --prompt 1a --length 2 --temperature 0");
    assert_eq!(stdout_of(shown.current_dir(folder.path())), "1a2b\n");
}

/// The command of `docs/nn.md` on a text that does not change: the Apache licence.
#[test]
fn a_transformer_learns_the_licence_that_ships_to_the_stated_loss() {
    let licence = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("LICENSE-APACHE")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("text"), &licence).unwrap();
    let mut train = call(TRAIN);
    let said = stdout_of(train.current_dir(folder.path()).args(["--out", "model"]));
    assert!(said.contains("9763 bytes to train, 1084 held out"), "{said}");

    // The loss of the bytes' frequencies, counted from 1, which a model without context cannot go far below.
    let (train, held_out) = licence.split_at(9763);
    let count = |byte: u8| train.iter().filter(|&&other| other == byte).count() + 1;
    let loss = |byte: &u8| (((train.len() + 256) as f64) / count(*byte) as f64).ln();
    let by_frequency = held_out.iter().map(loss).sum::<f64>() / held_out.len() as f64;
    assert!((3.3..3.4).contains(&by_frequency), "{by_frequency}");
    // Stated: 2.88.
    let held_out = number(&said, "held-out loss");
    assert!(held_out < 3.0 && number(&said, "loss") < 2.7, "{said}");
}

#[test]
fn a_transformer_in_bf16_learns_as_in_f32_with_the_same_bits_in_every_run() {
    let folder = folder();
    let trained = |precision: &str, out: &str| {
        let said = stdout_of(call(TRAIN).current_dir(folder.path()).args(["--precision", precision, "--out", out]));
        assert_eq!(fact(&said, "precision"), precision, "{said}");
        (number(&said, "loss"), number(&said, "held-out loss"), fs::read(folder.path().join(out)).unwrap())
    };
    let ((wide, wide_held_out, _), (loss, held_out, model)) = (trained("f32", "wide"), trained("bf16", "model"));
    assert!((loss - wide).abs() < 0.02 && (held_out - wide_held_out).abs() < 0.02, "{loss} {wide}");
    assert_eq!(trained("bf16", "again"), (loss, held_out, model.clone()));
    // The weights in the file are f32.
    assert_eq!(fs::metadata(folder.path().join("wide")).unwrap().len(), model.len() as u64);
    let expected = PATTERN.repeat(8);
    assert_eq!(sampled(folder.path(), &expected[..4], &["--length", "60", "--temperature", "0"]), expected);
}

#[test]
fn steps_that_overflow_in_f16_are_counted_and_halve_the_scale() {
    let folder = folder();
    let small = "nn text train text --width 32 --heads 2 --layers 1 --context 1 --batch 1 --steps 20 --out m";
    let said = stdout_of(call(small).current_dir(folder.path()).args(["--precision", "f16"]));
    // One byte is predicted: the gradient of its row of the table is 65536 (1 - 1/256) = 65280 times a layer norm of 32
    // random elements, whose greatest is above 1.01 unless all have one magnitude. The greatest number of f16 is 65504.
    let line = fact(&said, "precision");
    let words: Vec<&str> = line.split(' ').collect();
    let &["f16,", left_out, "of", "20", "steps", "left", "out,", "loss", "scale", scale] = &words[..] else {
        panic!("{line}");
    };
    let left_out: i32 = left_out.parse().unwrap();
    assert!((1..20).contains(&left_out), "{line}");
    assert_eq!(scale.parse::<f32>().unwrap(), 65_536.0 * 2f32.powi(-left_out));
}

#[cfg(unix)]
#[test]
fn a_text_training_that_was_killed_is_resumed_to_the_same_model() {
    let folder = killed_and_resumed(&[]);
    let mut other = resume(folder.path(), &["--seed", "8"], "other");
    fails(&mut other, 1, &["different arguments or rows: expected seed 8, got seed 7"]);
    fs::write(folder.path().join("text"), PATTERN.repeat(101)).unwrap();
    fails(&mut resume(folder.path(), &[], "other"), 1, &["different arguments or rows: expected text "]);
}

#[cfg(unix)]
#[test]
fn a_text_training_in_16_bits_that_was_killed_is_resumed_to_the_same_model() {
    for (precision, other) in [("bf16", "f32"), ("f16", "bf16")] {
        let folder = killed_and_resumed(&["--precision", precision]);
        let files = || ["state", "resumed"].map(|name| fs::read(folder.path().join(name)).unwrap());
        let before = files();
        let named = format!("different arguments or rows: expected precision {other}, got precision {precision}\n");
        fails(&mut resume(folder.path(), &["--precision", other], "resumed"), 1, &[&named]);
        assert!(files() == before);
    }
}

/// The command of a training that is saved to `state`.
#[cfg(unix)]
fn resume(folder: &Path, more: &[&str], out: &str) -> assert_cmd::Command {
    let mut train = call(TRAIN);
    train.current_dir(folder).args(more).args(["--checkpoint", "state", "--out", out]);
    train
}

/// The folder of a training that was killed and resumed, whose model equals an uninterrupted one.
#[cfg(unix)]
fn killed_and_resumed(more: &[&str]) -> tempfile::TempDir {
    use crate::{networks::kill_between_states, program};

    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    call(TRAIN).current_dir(folder.path()).args(more).args(["--out", "whole"]).assert().success();
    let mut killed = program();
    killed.current_dir(folder.path()).args(TRAIN.split(' ')).args(more);
    killed.args(["--out", "killed", "--checkpoint", "state"]);
    kill_between_states(&mut killed, &at("state"));
    resume(folder.path(), more, "resumed").assert().success();
    assert_eq!(fs::read(at("resumed")).unwrap(), fs::read(at("whole")).unwrap());
    folder
}

#[test]
fn text_that_cannot_be_trained_on_and_models_of_other_kinds_are_refused() {
    let folder = folder();
    fs::write(folder.path().join("short"), "x".repeat(169)).unwrap();
    fs::write(folder.path().join("bytes"), b"text \xff").unwrap();
    let refused = |line: &str, code: i32, words: &[&str]| {
        fails(call(line).current_dir(folder.path()), code, words);
    };
    refused("nn text train short --context 16 --out m", 1, &["at least 170 bytes for --context 16", "got 169"]);
    refused("nn text train text bytes --out m", 1, &["reading bytes: expected UTF-8, got another byte at 5"]);
    refused("nn text train none --out m", 1, &["reading none"]);
    refused("nn text train --out m", 2, &[]);
    refused("nn text train text --out text", 2, &["the same file"]);
    let width = "expected a width that is a multiple of 4 heads, got 30";
    refused("nn text train text --width 30 --out m", 2, &[width]);
    refused("nn text train text --heads 1 --out m", 2, &["at most 128 features"]);
    refused("nn text train text --rate nan --out m", 2, &["rate"]);
    let values = ["invalid value 'f64' for '--precision", "[possible values: f32, bf16, f16]"];
    refused("nn text train text --precision f64 --out m", 2, &values);
    let diverging = "nn text train text --context 16 --width 32 --batch 8 --rate 1e30 --out m --steps";
    refused(&format!("{diverging} 30"), 1, &["try a smaller `--rate`"]);
    refused(&format!("{diverging} 1"), 1, &["the held-out loss is", "try a smaller `--rate`"]);
    assert!(!folder.path().join("m").exists());

    refused("nn sample none --prompt a", 1, &["reading none"]);
    refused("nn sample text --prompt a", 1, &["safetensors"]);
    refused("nn sample text", 2, &[]);
    refused("nn sample text --prompt a --top-k 257", 2, &[]);
    refused("nn sample text --prompt a --temperature -1", 2, &["0 or more, got -1"]);
    let mut empty = trefoil();
    fails(empty.args(["nn", "sample", "text", "--prompt", ""]), 2, &["`--prompt` must have at least one byte"]);
    // A network of another kind.
    let perceptron = "nn train --epochs 1 --hidden 4 --out m";
    call(perceptron).current_dir(folder.path()).assert().success();
    refused("nn sample m --prompt a", 1, &["expected a number of heads under `trefoil.text.heads`"]);
}
