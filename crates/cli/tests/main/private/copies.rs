//! Copies and clears of a party on a device, counted in the profile of its run.

use std::fs;

use serde_json::Value;
use test_process::output;

use crate::{
    LIMIT,
    private::{TRANSFORMER, deal_for, infer, plan, serve_weights, succeeded},
};

/// A party's copies in, copies out and clears on a device with separate memory, by kind of step.
///
/// `crates/pfss/tests/batch/counts.rs` counts the same calls at the driver, and also the calls of ops.
const MATRIX: [u64; 3] = [1, 1, 1];
const GATE: [u64; 3] = [2, 2, 3];

#[test]
fn a_transformer_block_copies_to_and_from_a_device_once_a_round_at_most() {
    let (scratch, out) = deal_for("transformer", 1, "rounds");
    let profile = scratch.path().join("profile.json");
    let (server, address) = serve_weights(TRANSFORMER, &out.join("party1"), &["--wait", "60", "--backend", "cpu"]);
    let mut client = infer(&out.join("party0"), &address);
    client.args(["--compare", TRANSFORMER, "--backend", "sim", "--profile"]).arg(&profile);
    let shown = succeeded(&output(&mut client, LIMIT));
    assert!(shown.contains("0 of 10 logits differ"), "{shown}");
    succeeded(&server.output());

    let events: Vec<Value> = serde_json::from_slice(&fs::read(&profile).unwrap()).unwrap();
    let count = |names: &[&str]| {
        let is_named = |event: &&Value| event["ph"] == "B" && names.iter().any(|name| event["name"] == *name);
        let named: Vec<&Value> = events.iter().filter(is_named).collect();
        assert!(named.iter().all(|event| event["args"]["backend"] == "cuda"), "{named:?}");
        named.len() as u64
    };
    let counted = [&["write", "write_secret"][..], &["read", "read_secret"], &["clear"]].map(count);

    // Products by weights, and of scores and values: embedding, queries, scores, mix, after it, two layers, logits.
    let matrices = 8;
    // Shifts: one after each product but the last, three in each norm, and the mean over positions.
    let shifts = (matrices - 1) + 2 * 3 + 1;
    // Two gates for each root and for GeLU. In the softmax of 8 scores three comparisons, two gates for exponentials and
    // for reciprocals each, and a shift.
    let gates = shifts + 2 * 2 + 2 + (3 + 2 + 2 + 1);
    let mut expected = [0, 1, 2].map(|call| matrices * MATRIX[call] + gates * GATE[call]);
    // The words of three gates are long enough for a device to expand them from a seed, each into a buffer.
    expected[2] += 3;
    assert_eq!(counted, expected, "copies in, copies out, clears");

    // Products of elements, in the norms and the softmax, are on the host. The last round opens the logits.
    let rounds = matrices + 2 * gates + (2 * 2 + 1) + 1;
    let (_, cost) = plan(&["--model", "transformer", "--count", "1"]);
    assert_eq!((cost["total"]["rounds"].as_u64(), rounds), (Some(70), 70));
    let [up, down, _] = counted;
    assert!(up.max(down) <= rounds, "{up} copies in and {down} copies out in {rounds} rounds");
}
