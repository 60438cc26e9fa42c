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
/// `crates/pfss/tests/batch/counts.rs` counts the same calls at the driver, and also the calls of ops. Clears are of the
/// staged operands and of the result; of a gate, also of bits and of words of keys.
const MATRIX: [u64; 3] = [1, 1, 2];
const GATE: [u64; 3] = [2, 2, 4];
/// Both factors are gathered, for one copy out.
const PRODUCT: [u64; 3] = [1, 1, 3];

/// The calls of one party's run of the small transformer, whose peer is on a processor.
fn counted(is_client: bool) -> [u64; 3] {
    let (scratch, out) = deal_for("transformer", 1, "rounds");
    let profile = scratch.path().join("profile.json");
    let path = profile.to_str().unwrap();
    let (on_device, on_host) = (["--backend", "sim", "--profile", path], ["--backend", "cpu"]);
    let [client_options, server_options] =
        if is_client { [&on_device[..], &on_host] } else { [&on_host[..], &on_device] };
    let server_options = [&["--wait", "60"], server_options].concat();
    let (server, address) = serve_weights(TRANSFORMER, &out.join("party1"), &server_options);
    let mut client = infer(&out.join("party0"), &address);
    client.args(["--compare", TRANSFORMER]).args(client_options);
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
    [&["write", "write_secret"][..], &["read", "read_secret"], &["clear"]].map(count)
}

#[test]
fn a_transformer_block_copies_to_and_from_a_device_once_a_round_at_most() {
    // Products by weights, and of scores and values: embedding, queries, scores, mix, after it, two layers, logits.
    let matrices = 8;
    // Shifts: one after each product but the last, three in each norm, and the mean over positions.
    let shifts = (matrices - 1) + 2 * 3 + 1;
    // Two gates for each root and for GeLU. In the softmax of 8 scores three comparisons, two gates for exponentials and
    // for reciprocals each, and a shift.
    let gates = shifts + 2 * 2 + 2 + (3 + 2 + 2 + 1);
    // Products of elements, in the norms and the softmax.
    let products = 2 * 2 + 1;
    let mut expected = [0, 1, 2].map(|call| matrices * MATRIX[call] + gates * GATE[call] + products * PRODUCT[call]);
    // The inputs of the client, or the biases of the server; the share of the logits.
    expected[0] += 1;
    expected[1] += 1;
    // The last round opens the logits.
    let rounds = matrices + 2 * gates + products + 1;
    let (_, cost) = plan(&["--model", "transformer", "--count", "1"]);
    assert_eq!((cost["total"]["rounds"].as_u64(), rounds), (Some(70), 70));

    // Both factors are gathered for the scores, and for the mix of values.
    expected[2] += 2;
    // In the place of their operands: five shifts of functions, and in the softmax the last shift and three comparisons.
    expected[2] -= 5 + 1 + 3;
    // Local steps: six sums of rows, six repeated rows, both halves of three rounds of a tournament, seven slices and orders
    // of axes, a half added to the softmax's products.
    expected[2] += 6 + 6 + 2 * 3 + 7 + 1;
    // The client's inputs. The server's share of them, and its biases: together, and each.
    for (is_client, local) in [(true, 1), (false, 1 + 1 + 6)] {
        let [up, down, clears] = counted(is_client);
        assert!(up.max(down) <= rounds, "{up} copies in and {down} copies out in {rounds} rounds");
        assert_eq!([up, down, clears], [expected[0], expected[1], expected[2] + local], "client: {is_client}");
    }
}
