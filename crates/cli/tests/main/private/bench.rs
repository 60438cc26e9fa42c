//! `trefoil pfss bench`: measurements of a run next to its plan, and the memory of keys.

use std::{fs, path::Path};

use serde_json::Value;
use test_process::output;

use crate::{
    LIMIT,
    private::{expect_failure, pfss, succeeded},
};

/// The printed output of a command, and its JSON report.
fn measured(command: &str, more: &[&str]) -> (String, Value) {
    let scratch = tempfile::tempdir().unwrap();
    let json = scratch.path().join("report.json");
    let shown = succeeded(&output(pfss(command).args(more).arg("--json").arg(&json), LIMIT));
    (shown, serde_json::from_slice(&fs::read(&json).unwrap()).unwrap())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The step of this name in a report.
fn step<'a>(report: &'a Value, name: &str) -> &'a Value {
    let found = report["steps"].as_array().unwrap().iter().find(|step| step["step"] == name);
    found.unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn every_step_is_measured_next_to_its_plan() {
    let run = ["--model", "transformer", "--count", "2", "--backend", "cpu"];
    let (shown, report) = measured("bench", &[&["--layer"][..], &run[..]].concat());
    let (_, plan) = measured("plan", &run[..4]);
    for party in [0usize, 1] {
        let sent = &plan["total"]["sent_bytes"][party];
        assert_eq!(&report["total"][party]["sent_bytes"], sent);
        assert_eq!(&report["planned"]["sent_bytes"][party], sent);
        assert_eq!(report["total"][party]["rounds"], plan["total"]["rounds"]);
        for step in report["steps"].as_array().unwrap() {
            let measured = &step["parties"][party];
            assert_eq!(measured["sent_bytes"], step["planned"]["sent_bytes"][party], "{step}");
            assert_eq!(measured["rounds"], step["planned"]["rounds"], "{step}");
            if step["planned"]["rounds"] == 0 {
                continue;
            }
            // One thread does one thing at a time, and a clock has its resolution.
            let activities = measured["activities"].as_object().unwrap().values().map(number).sum::<f64>();
            assert!(activities > 0.0 && activities <= number(&measured["seconds"]) + 1e-3, "{step}");
            assert!(number(&measured["overlap"]) < 0.5, "{step}");
        }
    }
    let client = |name: &str, activity: &str| number(&step(&report, name)["parties"][0]["activities"][activity]);
    assert!(client("feed.gelu", "walk") > 0.0 && client("feed.hidden", "products") > 0.0);
    assert!(client("feed.hidden", "walk") < f64::EPSILON && client("feed.gelu", "exchange") > 0.0);
    // The ideal: AES blocks of the plan at the measured rate.
    let (rate, gelu) = (number(&report["walk_rate"]), &step(&report, "feed.gelu")["planned"]);
    assert!(rate > 1e5, "{rate}");
    assert!((number(&gelu["walk_seconds"]) * rate / number(&gelu["aes_blocks"]) - 1.0).abs() < 1e-6, "{gelu}");
    assert_eq!(report["planned"]["aes_blocks"], plan["total"]["aes_blocks"]);

    for expected in ["feed.gelu", "suf x 512", "matrix product x ", "reveal", "all steps", "AES blocks/s"] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let (sums, _) = measured("bench", &run);
    assert!(sums.contains("all steps") && !sums.contains("feed.gelu"), "{sums}");
}

#[test]
fn a_layer_of_a_published_shape_runs() {
    let layer = ["--model", "bert-tiny", "--sequence", "4", "--prefer", "bytes", "--layer", "--backend", "cpu"];
    let (shown, report) = measured("bench", &layer);
    assert!(shown.contains("2 such layers take") && shown.contains("lut x "), "{shown}");
    assert_eq!(report["layers"], 2);
    for (more, expected) in [
        (&["--model", "digits", "--sequence", "8"][..], "`--sequence`: the inputs of `digits` have a fixed length"),
        (&["--model", "bert-tiny", "--sequence", "513"], "`--sequence`: positions: expected 1 to 512 for bert-tiny"),
        (&["--model", "bert"], "expected one of: digits, transformer, bert-tiny"),
    ] {
        expect_failure(&output(pfss("bench").args(more), LIMIT), 2, &[expected]);
    }
}

#[test]
fn model_files_are_measured_on_inputs_that_they_take() {
    let scratch = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    // Zero is not in the range of the first, and rows of the second are one-hot.
    let above = r#"{"version": 1, "name": "above", "weight_limit": 1,
        "input": {"shape": [4], "fraction_bits": 12, "min": 1, "max": 3},
        "layers": [{"name": "relu", "kind": {"activation": "relu"}}]}"#;
    let tokens = r#"{"version": 1, "name": "tokens", "weight_limit": 1,
        "input": {"shape": [3, 5], "fraction_bits": 12, "min": 0, "max": 1},
        "layers": [{"name": "words", "kind": {"embedding": {"outputs": 4}}}, {"name": "mean", "kind": "mean_pool"}]}"#;
    let run = |path: &Path| measured("bench", &["--model", path.to_str().unwrap(), "--backend", "cpu"]).1;
    for (name, text) in [("above.json", above), ("tokens.json", tokens)] {
        let report = run(&file(name, text));
        assert_eq!(report["total"][0]["sent_bytes"], report["planned"]["sent_bytes"][0], "{name}");
    }
}

#[test]
fn plans_state_the_keys_in_memory() {
    // For each of 64 units of 32 images a ReLU of 22 bits: trees of 256 bytes, 3 words, 1 bit; a seed for party 0.
    let (shown, plan) = measured("plan", &["--model", "digits", "--count", "32"]);
    let relu = 32 * 64 * (256 + 24) + 32 * 64 / 8;
    assert_eq!(plan["key_memory_bytes"], serde_json::json!([relu + 32, relu]));
    assert!(shown.contains("a run has at most 0.001 GB of party 0's keys in memory at once, 0.001 GB"), "{shown}");
}
