//! Two processes classify digits privately, and one of them fails.

mod bench;
mod copies;
mod functions;
mod stalled;
mod transformers;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use test_process::{output, output_of, within};

use crate::{LIMIT, program, text};

pub(crate) const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/models/digits.safetensors");
const TRANSFORMER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/models/transformer.safetensors");

/// A subcommand of `pfss`.
pub(crate) fn pfss(command: &str) -> Command {
    let mut pfss = program();
    pfss.args(["pfss", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    pfss
}

/// The standard output of a process that succeeded.
pub(crate) fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// A dealt folder for `count` images and the digits network.
pub(crate) fn deal(count: usize) -> (TempDir, PathBuf) {
    deal_for("digits", count, "rounds")
}

fn deal_for(model: &str, count: usize, prefer: &str) -> (TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    let mut deal = pfss("deal");
    deal.args(["--model", model, "--count", &count.to_string(), "--prefer", prefer, "--out"]).arg(&out);
    succeeded(&output(&mut deal, LIMIT));
    (scratch, out)
}

/// A folder dealt for `runs` runs of the digits network, and the output of `deal`.
pub(crate) fn deal_runs(count: usize, runs: u32) -> (TempDir, PathBuf, String) {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    let mut deal = pfss("deal");
    deal.args(["--count", &count.to_string(), "--runs", &runs.to_string(), "--out"]).arg(&out);
    let shown = succeeded(&output(&mut deal, LIMIT));
    (scratch, out, shown)
}

/// Waits until `folders` are marked as used.
pub(crate) fn wait_for_use(folders: &[PathBuf]) {
    let start = Instant::now();
    while !folders.iter().all(|folder| folder.join("used").exists()) {
        assert!(start.elapsed() < LIMIT, "{folders:?} have not started");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A file of `count` equal images.
pub(crate) fn equal_images(folder: &Path, count: usize) -> PathBuf {
    let path = folder.join("images.npy");
    let array = nn_ops::io::NpyArray { shape: vec![count, 64], data: vec![3u8; count * 64] };
    fs::write(&path, nn_ops::io::write_npy(&array).unwrap()).unwrap();
    path
}

/// A process that is ended with the test.
pub(crate) struct RunningProcess(pub(crate) Option<Child>);

impl RunningProcess {
    pub(crate) fn output(mut self) -> Output {
        output_of(self.0.take().unwrap(), LIMIT)
    }

    pub(crate) fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a server of the digits network and reads its address.
fn serve(keys: &Path, more: &[&str]) -> (RunningProcess, String) {
    serve_weights(DIGITS, keys, more)
}

fn serve_weights(weights: &str, keys: &Path, more: &[&str]) -> (RunningProcess, String) {
    let mut command = pfss("serve");
    command.arg("--keys").arg(keys).args(["--weights", weights]).args(more);
    listen(command)
}

/// Starts a process that listens and reads its address.
pub(crate) fn listen(mut command: Command) -> (RunningProcess, String) {
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let stdout = child.stdout.as_mut().unwrap();
    within(LIMIT, || BufReader::new(stdout).read_line(&mut line)).unwrap();
    let address = line.trim().strip_prefix("listening on ").expect(&line).to_owned();
    (RunningProcess(Some(child)), address)
}

pub(crate) fn infer(keys: &Path, address: &str) -> Command {
    let mut command = pfss("infer");
    command.arg("--keys").arg(keys).args(["--connect", address]);
    command
}

/// Checks that a process failed with this code and a message with one of these `words`.
#[track_caller]
pub(crate) fn expect_failure(output: &Output, code: i32, words: &[&str]) {
    let (got, message) = (output.status.code(), text(&output.stderr));
    assert!(got == Some(code) && words.iter().any(|words| message.contains(words)), "{got:?}: {message}");
}

#[test]
fn the_digits_test_set_is_classified_privately_with_the_plaintext_model_s_exact_logits() {
    let (scratch, out) = deal(360);
    let json = scratch.path().join("client.json");
    let (server, address) = serve(&out.join("party1"), &["--wait", "60"]);
    let mut client = infer(&out.join("party0"), &address);
    let shown = succeeded(&output(client.args(["--compare", DIGITS, "--json"]).arg(&json), LIMIT));
    assert!(shown.contains("0 of 3600 logits differ"), "{shown}");
    assert!(shown.contains("accuracy 98.33 % (354 of 360)"), "{shown}");
    assert!(server.output().status.success());

    let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    // Two products of matrices, a shift by a bit and ReLU by a bit for each of 360 x 64 values, and the digests of
    // seven rounds. The first product, and so its shift, is proven to leave a gap in 35 bits.
    let (values, digests) = (360 * 64, 16 * 7);
    let matrices = 35 * (values + 64 * 64) + 64 * (values + 64 * 10);
    assert_eq!(report["sent_bytes"], (matrices + (35 + 1 + 64 + 1) * values) / 8 + digests);
    assert_eq!(report["received_bytes"], report["sent_bytes"].as_u64().unwrap() + 8 * 3600);
    assert_eq!((report["rounds"].as_u64(), report["steps"].as_array().unwrap().len()), (Some(7), 5));

    expect_failure(&output(&mut infer(&out.join("party0"), &address), LIMIT), 4, &["was used before"]);
    expect_failure(&output(&mut infer(&out.join("party1"), &address), LIMIT), 4, &[""]);
}

#[test]
fn a_transformer_block_classifies_privately_with_the_plaintext_model_s_exact_logits() {
    for prefer in ["rounds", "bytes", "balanced"] {
        let (_scratch, out) = deal_for("transformer", 6, prefer);
        let shown = succeeded(&output(pfss("inspect").arg(out.join("party1")), LIMIT));
        assert!(shown.contains(&format!("prefer {prefer}\n")), "{shown}");
        let (server, address) = serve_weights(TRANSFORMER, &out.join("party1"), &["--wait", "60"]);
        let shown = succeeded(&output(infer(&out.join("party0"), &address).args(["--compare", TRANSFORMER]), LIMIT));
        assert!(shown.contains("0 of 60 logits differ"), "{shown}");
        assert!(shown.contains("attention.softmax"), "{shown}");
        assert!(server.output().status.success());
    }
}

/// The costs that `plan` writes as JSON.
fn plan(more: &[&str]) -> (String, serde_json::Value) {
    let scratch = tempfile::tempdir().unwrap();
    let json = scratch.path().join("plan.json");
    let shown = succeeded(&output(pfss("plan").args(more).arg("--json").arg(&json), LIMIT));
    (shown, serde_json::from_slice(&fs::read(&json).unwrap()).unwrap())
}

#[test]
fn a_dealt_folder_holds_the_keys_that_were_planned() {
    let transformer = ["rounds", "bytes", "balanced"].map(|prefer| ("transformer", prefer));
    for (model, prefer) in [("digits", "rounds")].into_iter().chain(transformer) {
        let (_scratch, out) = deal_for(model, 6, prefer);
        let (shown, cost) = plan(&["--model", model, "--count", "6", "--prefer", prefer]);
        assert_eq!(shown.contains("with fewest bytes of keys\n"), prefer == "bytes", "{shown}");
        for party in [0usize, 1] {
            let mut bytes = 0;
            for entry in fs::read_dir(out.join(format!("party{party}"))).unwrap() {
                let path = entry.unwrap().path();
                let is_identity = path.file_stem().is_some_and(|stem| stem == "identity");
                if !is_identity && path.extension().is_some_and(|extension| extension == "key") {
                    let file = fs::read(&path).unwrap();
                    bytes += match pfss::KeyBundle::from_bytes(&file) {
                        Ok(bundle) => {
                            let sections = bundle.sections().into_iter();
                            sections
                                .filter(|section| section.name != "program")
                                .map(|section| section.bytes)
                                .sum::<u64>()
                        }
                        // a triple after its header of 88 bytes
                        Err(_) => file.len() as u64 - 88,
                    };
                }
            }
            assert_eq!(cost["total"]["key_bytes"][party], bytes, "{model} for {prefer}, party {party}");
        }
    }
}

#[test]
fn published_shapes_are_planned_next_to_their_figures() {
    let (shown, cost) = plan(&["--model", "bert-base"]);
    assert!(shown.contains("SIGMA: 16.8 GB of keys, 0.989 GB sent, 1128 rounds\n"), "{shown}");
    assert!(shown.contains("SUF: 12.7 GB of keys, 0.83 GB sent, 1116 rounds\n"), "{shown}");
    let layer = &cost["cost"]["layers"][0];
    assert_eq!(layer["count"], 12);
    let gates = layer["gates"].as_array().unwrap();
    let elements = |step: &str| {
        let gate = gates.iter().find(|gate| gate["step"] == step && gate["gate"] == "suf");
        gate.unwrap_or_else(|| panic!("{step}"))["elements"].as_u64().unwrap()
    };
    assert_eq!(elements("feed.gelu"), 128 * 3072);
    assert_eq!(elements("attention.softmax"), 12 * 128 * 128 + 12 * 128);
    assert_eq!(cost["published"][1]["rounds"], 1116);
    // by table: GeLU and softmax take five rounds more each, in twelve layers
    let (shown, tables) = plan(&["--model", "bert-base", "--prefer", "bytes"]);
    assert!(shown.contains("SIGMA: 16.8 GB of keys") && shown.contains("feed.gelu"), "{shown}");
    let total = |cost: &serde_json::Value, name: &str| cost["total"][name].as_u64().unwrap();
    assert_eq!(total(&tables, "rounds"), total(&cost, "rounds") + 12 * 2 * 5);
    let lookups = tables["cost"]["layers"][0]["gates"].as_array().unwrap().iter().filter(|gate| gate["gate"] == "lut");
    let elements: Vec<u64> = lookups.map(|gate| gate["elements"].as_u64().unwrap()).collect();
    assert_eq!(elements, [2 * 12 * 128 * 128, 2 * 128 * 3072]);
    // figures are for one sequence of 128 positions
    let (shown, cost) = plan(&["--model", "gpt2", "--sequence", "16", "--count", "2"]);
    assert!(!shown.contains("published") && cost["published"].is_null(), "{shown}");

    for (more, expected) in [
        (&["--model", "bert"][..], "expected one of: digits, transformer, bert-tiny, bert-base, bert-large, gpt2"),
        (&["--model", "digits", "--sequence", "8"], "`--sequence`: the inputs of `digits` have a fixed length"),
        (&["--model", "bert-tiny", "--sequence", "513"], "`--sequence`: positions: expected 1 to 512 for bert-tiny"),
        (&["--model", "bert-tiny", "--count", "17"], "`--count`: expected 1 to 16 inputs, got 17"),
        (
            &["--model", "digits", "--prefer", "speed"],
            "unknown preference `speed`; expected one of: rounds, bytes, balanced",
        ),
        (&["--model", "digits", "--profile", "p.json"], "this command uses no backend"),
    ] {
        expect_failure(&output(pfss("plan").args(more), LIMIT), 2, &[expected]);
    }
}

#[test]
fn when_either_process_dies_the_other_ends_with_a_named_error_and_writes_nothing() {
    let (scratch, out) = deal(4096);
    let (result, json) = (scratch.path().join("classes.npy"), scratch.path().join("run.json"));
    let images = equal_images(scratch.path(), 4096);

    let (server, address) = serve(&out.join("party1"), &[]);
    let mut client = infer(&out.join("party0"), &address);
    client.arg("--images").arg(&images).arg("--out").arg(&result).arg("--json").arg(&json);
    let client = RunningProcess(Some(client.spawn().unwrap()));
    wait_for_use(&[out.join("party1")]);
    server.kill();
    expect_failure(&client.output(), 5, &["peer lost", "TLS handshake"]);
    assert!(!result.exists() && !json.exists());

    let (_scratch, out) = deal(4096);
    let (server, address) = serve(&out.join("party1"), &["--wait", "60", "--json", json.to_str().unwrap()]);
    let client =
        RunningProcess(Some(infer(&out.join("party0"), &address).arg("--images").arg(&images).spawn().unwrap()));
    wait_for_use(&[out.join("party0")]);
    client.kill();
    expect_failure(&server.output(), 5, &["peer lost", "no peer"]);
    assert!(!json.exists());
}

#[test]
fn three_runs_on_one_deal_send_the_weights_once() {
    let (images, hidden) = (8, 64);
    let (scratch, out, dealt) = deal_runs(images, 3);
    let [client_folder, server_folder] = ["party0", "party1"].map(|party| out.join(party));
    let shown = succeeded(&output(pfss("verify").arg(&out), LIMIT));
    assert_eq!(shown.matches("sound with 3 of 3 runs unused: digits for 8 images").count(), 2, "{shown}");
    let digest = dealt.lines().next().unwrap().rsplit(' ').next().unwrap();
    succeeded(&output(pfss("verify").arg(&client_folder).args(["--digest", digest]), LIMIT));
    expect_failure(&output(pfss("verify").arg(&server_folder).args(["--digest", digest]), LIMIT), 4, &["got"]);

    // The factors of two products, a shift by a bit and ReLU by a bit for each of the values, in seven rounds; 37 bytes
    // of the agreement; and once the weights, in two rounds.
    let values = images * hidden;
    let run = ((35 + 64) + (35 + 1 + 64 + 1)) * values / 8 + 16 * 7 + 37;
    let weights = (35 * 64 * hidden + 64 * hidden * 10) / 8 + 16 * 2;
    let (server, address) = serve(&server_folder, &["--wait", "60"]);
    for (index, (sent, rounds)) in [(run + weights, 10), (run, 8), (run, 8)].into_iter().enumerate() {
        let shown = succeeded(&output(pfss("inspect").arg(&server_folder), LIMIT));
        let state = if index == 0 { "not opened" } else { "opened" };
        assert!(shown.contains(&format!(", {index} of 3 runs used, weights {state}\n")), "{shown}");
        let json = scratch.path().join(format!("{index}.json"));
        let mut client = infer(&client_folder, &address);
        let shown = succeeded(&output(client.args(["--compare", DIGITS, "--json"]).arg(&json), LIMIT));
        assert!(shown.contains("0 of 80 logits differ"), "{shown}");
        assert_eq!(shown.contains("open the weights"), index == 0, "{shown}");
        let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        assert_eq!((report["sent_bytes"].as_u64(), report["rounds"].as_u64()), (Some(sent as u64), Some(rounds)));
        assert_eq!(report["received_bytes"], report["sent_bytes"].as_u64().unwrap() + 8 * 80);
    }
    let shown = succeeded(&server.output());
    assert!(shown.ends_with("3 runs served, 0 failed, no run is left\n"), "{shown}");
    expect_failure(&output(&mut infer(&client_folder, "127.0.0.1:1"), LIMIT), 4, &["all 3 runs were used"]);
    expect_failure(&output(pfss("verify").arg(&out), LIMIT), 4, &["all 3 runs were used"]);

    let (shown, cost) = plan(&["--model", "digits", "--count", "8", "--runs", "3"]);
    assert!(shown.contains("3 runs on weights that are opened once:\n"), "{shown}");
    let total = &cost["all_runs"]["total"];
    assert_eq!(total["sent_bytes"], serde_json::json!([3 * run + weights, 3 * (run + 8 * 80) + weights]));
    assert_eq!((cost["all_runs"]["runs"].as_u64(), total["rounds"].as_u64()), (Some(3), Some(26)));
}

#[test]
fn a_killed_run_of_many_is_lost_alone_and_the_next_one_runs() {
    let (scratch, out, _) = deal_runs(4096, 2);
    let [client_folder, server_folder] = ["party0", "party1"].map(|party| out.join(party));
    let images = equal_images(scratch.path(), 4096);
    let (server, address) = serve(&server_folder, &[]);
    let client = RunningProcess(Some(infer(&client_folder, &address).arg("--images").arg(&images).spawn().unwrap()));
    wait_for_use(&[client_folder.join("run-001"), server_folder.join("run-001")]);
    server.kill();
    expect_failure(&client.output(), 5, &["peer lost", "TLS handshake"]);

    // Other weights than those that were opened.
    let others = scratch.path().join("others.safetensors");
    let mut bytes = fs::read(DIGITS).unwrap();
    let last = bytes.len() - 4;
    bytes[last..].copy_from_slice(&1f32.to_le_bytes());
    fs::write(&others, bytes).unwrap();
    let mut server = pfss("serve");
    server.arg("--keys").arg(&server_folder).arg("--weights").arg(&others);
    expect_failure(&output(&mut server, LIMIT), 4, &["expected the weights that were opened, with digest"]);

    let (server, address) = serve(&server_folder, &["--wait", "60"]);
    let mut client = infer(&client_folder, &address);
    let shown = succeeded(&output(client.arg("--images").arg(&images).args(["--compare", DIGITS]), LIMIT));
    assert!(shown.contains("0 of 40960 logits differ") && !shown.contains("open the weights"), "{shown}");
    succeeded(&server.output());
}

#[test]
fn folders_of_many_runs_are_not_mixed() {
    let ((_scratch, out, _), (_other, other, _)) = (deal_runs(1, 2), deal_runs(1, 2));
    let (server, address) = serve(&out.join("party1"), &["--wait", "10"]);
    let client = output(&mut infer(&other.join("party0"), &address), LIMIT);
    expect_failure(&client, 5, &["peer certificate: expected fingerprint"]);
    expect_failure(&server.output(), 5, &["no peer within 10 s; the last refusal: "]);
    for folder in [out.join("party1"), other.join("party0")] {
        assert!(!folder.join("weights/used").exists() && !folder.join("run-001/used").exists());
    }
    // A single run out of many, and the folder of both parties.
    let run = out.join("party0/run-001");
    expect_failure(&output(&mut infer(&run, &address), LIMIT), 4, &["got a part of a deal for many runs"]);
    expect_failure(&output(&mut infer(&out, &address), LIMIT), 2, &["`trefoil pfss infer` takes "]);
}

#[test]
fn a_server_short_of_files_serves_its_client_among_strangers() {
    let (_scratch, out) = deal(1);
    let server = pfss("serve");
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"ulimit -n 40; exec "$0" "$@""#]).arg(server.get_program()).args(server.get_args());
    limited.arg("--keys").arg(out.join("party1")).args(["--weights", DIGITS]);
    for variable in runtime::VARIABLES {
        limited.env_remove(variable.name);
    }
    limited.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (server, address) = listen(limited);
    let strangers: Vec<_> = (0..200).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let start = Instant::now();
    succeeded(&output(&mut infer(&out.join("party0"), &address), LIMIT));
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
    drop(strangers);
    let done = server.output();
    let reported = text(&done.stderr);
    assert!(done.status.success() && reported.contains("Too many open files"), "{reported}");
    let lines = reported.lines().filter(|line| line.starts_with("refused")).count();
    assert!((10..40).contains(&lines), "as many as ten, and one for each doubling: {reported}");
}

#[test]
fn parties_of_different_deals_refuse_each_other() {
    let ((_scratch, out), (_other, other)) = (deal(1), deal(1));
    let (server, address) = serve(&out.join("party1"), &["--wait", "10"]);
    let client = output(&mut infer(&other.join("party0"), &address), LIMIT);
    expect_failure(&client, 5, &["peer certificate: expected fingerprint"]);
    expect_failure(&server.output(), 5, &["no peer within 10 s; the last refusal: "]);
    // No client was served: the keys are still unused.
    assert!(!out.join("party1/used").exists() && !other.join("party0/used").exists());
    let shown = succeeded(&output(pfss("inspect").arg(out.join("party1")), LIMIT));
    assert!(shown.contains("model  digits for 1 images"), "{shown}");
}

#[test]
fn wrong_files_of_a_party_are_refused_before_its_keys_are_used() {
    let (scratch, out) = deal(8);
    let at = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, shape: &[usize], value: u8| {
        let data = vec![value; shape.iter().product()];
        let array = nn_ops::io::NpyArray { shape: shape.to_vec(), data };
        fs::write(at(name), nn_ops::io::write_npy(&array).unwrap()).unwrap();
        at(name)
    };
    let fit = write("fit", &[8, 8, 8], 16);
    let (few, wide, bright) = (write("few", &[5, 64], 1), write("wide", &[64, 8], 1), write("bright", &[8, 64], 17));
    let labels = write("labels", &[7], 1);
    let json = at("none/report.json");
    // No server listens: every case fails before it connects.
    for (more, code, expected) in [
        (&["--images", &few][..], 2, "expected the shape [8, 64] (from the keys), got [5, 64]"),
        (&["--images", &wide], 2, "expected the shape [8, 64] (from the keys), got [64, 8]"),
        (&["--images", &bright], 2, "expected pixels of 0 to 16, image 0 has 17"),
        (&["--images", &fit, "--labels", &labels], 2, "expected 8 labels, one for each image, got the shape [7]"),
        (&["--images", "/dev/zero"], 1, "expected at most 268435456 bytes of a pipe or a device"),
        (&["--images", &fit, "--json", &json], 1, "writing "),
        (&["--images", &fit, "--compare", TRANSFORMER], 1, "weights: "),
    ] {
        expect_failure(&output(infer(&out.join("party0"), "127.0.0.1:1").args(more), LIMIT), code, &[expected]);
    }
    for (weights, more, expected) in [(TRANSFORMER, "", "weights: "), (DIGITS, &json[..], "writing ")] {
        let mut server = pfss("serve");
        server.arg("--keys").arg(out.join("party1")).args(["--weights", weights]);
        server.args(["--json", more].iter().filter(|_| !more.is_empty()));
        expect_failure(&output(&mut server, LIMIT), 1, &[expected]);
    }
    succeeded(&output(pfss("verify").arg(&out), LIMIT));
}

/// The page on models of one's own, whose model and commands are run.
const OWN_MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/own-model.md");

/// The blocks of a language in the page.
fn blocks(language: &str) -> Vec<String> {
    let page = fs::read_to_string(OWN_MODEL).unwrap();
    let start = format!("```{language}\n");
    let rest = page.split(&start).skip(1);
    rest.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A command of the page, in the folder of its files.
fn own(line: &str, folder: &Path) -> Command {
    let mut words = line.strip_prefix("trefoil pfss ").unwrap().split(' ');
    let mut command = pfss(words.next().unwrap());
    command.args(words).current_dir(folder);
    command
}

/// Writes the page's model, weights and inputs; returns both, and the model for two inputs.
fn write_own_model(folder: &Path) -> (inference::Model, inference::Parameters, Vec<f32>) {
    let file = blocks("json").remove(0);
    fs::write(folder.join("model.json"), &file).unwrap();
    let model = inference::Model::new(inference::ModelFile::read(file.as_bytes()).unwrap().into(), 2).unwrap();
    let value = |at: usize| (at * 37 % 101) as f32 / 101.0;
    let tensor = |parameter: inference::Parameter| {
        let data = (0..parameter.len()).map(|at| 0.5 * value(at) - 0.25).collect();
        (parameter.name, nn_ops::io::Tensor { shape: parameter.shape, data })
    };
    let tensors: nn_ops::io::Tensors = model.parameters().into_iter().map(tensor).collect();
    fs::write(folder.join("model.safetensors"), nn_ops::io::write_safetensors(&tensors).unwrap()).unwrap();
    let inputs: Vec<f32> = (0..2 * 64).map(value).collect();
    let array = nn_ops::io::NpyArray { shape: vec![2, 1, 8, 8], data: inputs.clone() };
    fs::write(folder.join("inputs.npy"), nn_ops::io::write_npy(&array).unwrap()).unwrap();
    let raw: Vec<u8> = inputs.iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(folder.join("inputs.f32"), raw).unwrap();
    let weights = inference::Parameters::from_tensors(&model, &tensors).unwrap();
    (model, weights, inputs)
}

#[test]
fn the_model_of_the_page_is_run_by_its_commands() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    let (model, weights, inputs) = write_own_model(folder);
    let page = blocks("sh").concat();
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("trefoil")).collect();
    let [plan, deal, serve, infer] = lines[..] else { panic!("{lines:?}") };
    let shown = succeeded(&output(&mut own(plan, folder), LIMIT));
    assert!(shown.contains("\n14 rounds, "), "{shown}");
    let words = model.encode(&model.input_shapes()[0], &inputs).unwrap();
    let expected = model.decode(&inference::plain::logits(&model, &weights, &words).unwrap());

    // With the array of the page, and with the same numbers without a header.
    for (input, results) in [("inputs.npy", "results.npy"), ("inputs.f32", "results.f32")] {
        let _ = fs::remove_dir_all(folder.join("deal"));
        succeeded(&output(&mut own(deal, folder), LIMIT));
        let shown = succeeded(&output(pfss("inspect").arg(folder.join("deal/party0")), LIMIT));
        let digest = model.architecture().file().unwrap().digest();
        assert!(shown.contains(&format!("for 2 inputs\nfile   {digest}\n")), "{shown}");
        let (server, address) = listen(own(&serve.replace("127.0.0.1:7070", "127.0.0.1:0"), folder));
        let line = infer.replace("127.0.0.1:7070", &address);
        let line = line.replace("inputs.npy", input).replace("results.npy", results);
        let shown = succeeded(&output(own(&line, folder).args(["--compare", "model.safetensors"]), LIMIT));
        assert!(shown.contains("0 of 20 logits differ"), "{shown}");
        let first: Vec<String> = expected[..10].iter().map(|value| format!("{value:.6}")).collect();
        assert!(shown.lines().any(|line| line == first.join(" ")), "{shown}");
        succeeded(&server.output());
    }
    let array = nn_ops::io::read_npy::<f32>(&fs::read(folder.join("results.npy")).unwrap()).unwrap();
    assert_eq!((array.shape, &array.data), (vec![2, 10], &expected));
    let raw: Vec<u8> = expected.iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(fs::read(folder.join("results.f32")).unwrap(), raw);
}

#[test]
fn wrong_files_of_a_described_model_are_refused_before_its_keys_are_used() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    write_own_model(folder);
    let file = blocks("json").remove(0);
    fs::write(folder.join("empty.json"), "{}").unwrap();
    fs::write(folder.join("wide.json"), file.replace(", \"limit\": 64", "")).unwrap();
    fs::write(folder.join("short.f32"), [0; 4]).unwrap();
    succeeded(&output(&mut own("trefoil pfss deal --model model.json --count 2 --out deal", folder), LIMIT));
    let infer = "infer --keys deal/party0 --connect 127.0.0.1:1";
    for (line, code, expected) in [
        ("plan --model none.json".to_owned(), 1, "reading none.json"),
        ("plan --model empty.json".to_owned(), 1, "model file: missing field `version`"),
        ("deal --model wide.json --count 1 --out other".to_owned(), 1, "layers[4] \"gelu\": expected a range within"),
        ("plan --model model.json --sequence 8".to_owned(), 2, "the inputs of `digits-cnn` have a fixed length"),
        ("plan --model model.json --json model.json".to_owned(), 2, "--model and --json are the same file"),
        (infer.to_owned(), 2, "no inputs of `digits-cnn` ship with the program; give --input"),
        (format!("{infer} --images inputs.npy"), 2, "expected --input for `digits-cnn`, got --images"),
        (format!("{infer} --input short.f32"), 2, "expected 32-bit floats, 512 bytes for [2, 1, 8, 8], got 4 bytes"),
        (format!("{infer} --input model.json"), 2, "expected 32-bit floats, 512 bytes for [2, 1, 8, 8], got"),
        (format!("serve --keys deal/party1 --weights {DIGITS}"), 1, "weights: `conv.weight`: missing"),
    ] {
        expect_failure(&output(&mut own(&format!("trefoil pfss {line}"), folder), LIMIT), code, &[expected]);
    }
    succeeded(&output(pfss("verify").arg(folder.join("deal")), LIMIT));
}

/// The command with the default handling of signals: a shell has programs in the background ignore some.
#[cfg(unix)]
pub(crate) fn heeding_signals(command: &Command) -> Command {
    let mut heeding = Command::new("env");
    heeding.args(cfg!(target_os = "linux").then_some("--default-signal=INT,TERM,HUP"));
    heeding.arg(command.get_program()).args(command.get_args());
    heeding.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => heeding.env(name, value),
            None => heeding.env_remove(name),
        };
    }
    heeding
}

#[cfg(unix)]
#[test]
fn an_ended_deal_leaves_no_keys_and_a_killed_one_is_removed_by_the_next() {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    let entries = || fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    // A deal that has written some of its keys.
    let started = || {
        let mut command = heeding_signals(&pfss("deal"));
        let mut deal = command.args(["--model", "transformer", "--count", "64", "--out"]).arg(&out).spawn().unwrap();
        let start = Instant::now();
        loop {
            let keys = entries().first().map(|folder| folder.join("party1/002.key"));
            if keys.is_some_and(|keys| keys.is_file()) {
                return deal;
            }
            assert!(start.elapsed() < LIMIT && deal.try_wait().unwrap().is_none(), "no keys were seen");
        }
    };
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let deal = started();
        kill_process(Pid::from_child(&deal), signal).unwrap();
        assert_eq!(output_of(deal, LIMIT).status.signal(), Some(signal.as_raw()));
        assert!(entries().is_empty(), "{signal:?}: {:?}", entries());
    }
    let killed = started();
    kill_process(Pid::from_child(&killed), Signal::KILL).unwrap();
    assert!(!output_of(killed, LIMIT).status.success());
    let left = entries();
    assert_eq!(left.len(), 1);
    let done = output(pfss("deal").args(["--count", "1", "--out"]).arg(&out), LIMIT);
    let said = text(&done.stderr);
    assert!(done.status.success() && said.contains(&format!("note: removed {}", left[0].display())), "{said}");
    assert_eq!(entries(), [out]);
}
