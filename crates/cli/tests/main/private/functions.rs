//! Key folders of models that are Rust functions, which the program does not have.

use inference::{Model, ModelLimits, folder};
use test_process::output;

use super::{DIGITS, expect_failure, infer, pfss, succeeded};
use crate::LIMIT;

#[test]
fn keys_of_a_rust_function_are_shown_and_other_commands_refuse_them_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let (q, limits) = (runtime::cpu().unwrap(), ModelLimits { weights: 1, inputs: [0, 1] });
    let model = Model::from_fn("pairs", &[4], limits, |layers, x| layers.dense("dense", x, 2, true)).unwrap();
    let out = scratch.path().join("deal");
    let [client, _] = folder::deal(&q, &model, &out, |_| ()).unwrap();
    let [zero, one] = ["party0", "party1"].map(|party| out.join(party));

    let shown = succeeded(&output(pfss("inspect").arg(&zero), LIMIT));
    let layers = format!("model  pairs for 1 inputs\nlayers {}\n", client.function.unwrap().sha256);
    assert!(shown.starts_with(&layers), "{shown}");
    let function =
        ["expected the function `pairs` of [4] in 0 to 1, with results of [2], weights of at most 1, got no function"];
    expect_failure(&output(pfss("verify").arg(&zero), LIMIT), 4, &function);
    expect_failure(&output(&mut infer(&zero, "127.0.0.1:1"), LIMIT), 4, &function);
    let mut serve = pfss("serve");
    serve.arg("--keys").arg(&one).args(["--weights", DIGITS, "--listen", "127.0.0.1:0"]);
    expect_failure(&output(&mut serve, LIMIT), 4, &function);
}
