//! `--profile FILE`: its table, its file and its counts, also of a program that is interrupted or cannot write.
//! `trefoil nn profile`.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use test_process::wait;

use super::{LIMIT, call, program, stderr_of, stdout_of, text, trefoil};

/// The events of a profile.
fn events(path: &Path) -> Vec<Value> {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Names of the spans that begin. Each of them ends.
fn spans(events: &[Value]) -> Vec<&str> {
    let names = |phase: &str| -> Vec<_> {
        events.iter().filter(|event| event["ph"] == phase).map(|event| event["name"].as_str().unwrap()).collect()
    };
    let (begun, ended) = (names("B"), names("E"));
    assert_eq!(begun.len(), ended.len());
    begun
}

/// The names of all ops.
fn all_ops() -> BTreeSet<&'static str> {
    let mut names = BTreeSet::new();
    macro_rules! collect {
        ($(#[$doc:meta])* $module:ident::$set:ident: $super:ident {
            $($method:ident $(<$t:ident>)? ($record:ident) $(-> $shape:ident)?,)*
        }) => {
            $(names.insert(stringify!($method));)*
        };
    }
    backend_api::op_sets!(collect);
    names
}

/// Ops with a number of operations for each element of a view: the op, the view, the number.
const PER_ELEMENT: [(&str, &str, u64); 24] = [
    ("activate", "y", 1),
    ("activate_backward", "dx", 2),
    ("adam_step", "w", 12),
    ("add_layer_norm", "y", 8),
    ("axpby", "y", 3),
    ("binary", "y", 1),
    ("binary_scalar", "y", 1),
    ("cross_entropy", "dlogits", 6),
    ("cross_entropy_probs", "dlogits", 10),
    ("dropout", "y", 1),
    ("layer_norm", "y", 7),
    ("layer_norm_backward", "dx", 13),
    ("map", "y", 1),
    ("reduce", "x", 1),
    ("rms_norm", "y", 4),
    ("rms_norm_backward", "dx", 9),
    ("scale_columns", "y", 1),
    ("scale_loss", "y", 1),
    ("scatter_add", "g", 1),
    ("sgd_step", "w", 4),
    ("softmax", "y", 5),
    ("softmax_backward", "dx", 4),
    ("square_sums", "g", 2),
    ("sum_axis", "x", 1),
];

/// The floating-point operations of a call, from the sizes that its span shows.
fn flop(op: &str, args: &Value) -> Option<u64> {
    let text = |field: &str| args[field].as_str().unwrap().to_owned();
    // ` m=3 ` in ` batch=[1, 2] m=3 n=5 `
    let shown = |field: &str, name: &str| {
        let (list, name) = (format!(" {} ", text(field)), format!(" {name}="));
        let (_, rest) = list.split_once(&name).unwrap_or_else(|| panic!("{name} in {list}"));
        let end = if rest.starts_with('[') { rest.find(']').unwrap() + 1 } else { rest.find(' ').unwrap() };
        rest[..end].to_owned()
    };
    let size = |name: &str| shown("params", name).parse::<u64>().unwrap();
    let product = |names: &[&str]| names.iter().map(|name| size(name)).product::<u64>();
    let is_constant = || ["Constant", "MemberConstants"].contains(&&shown("params", "inputs")[..]);
    let gru = |inputs: u64| {
        6 * product(&["members", "batch", "hidden"]) * (inputs * size("input") + size("steps") * size("hidden"))
    };
    if let Some((_, view, each)) = PER_ELEMENT.iter().find(|(name, ..)| *name == op) {
        return Some(each * shown("views", view).parse::<u64>().unwrap());
    }
    Some(match op {
        "gemm" => {
            let batch = shown("params", "batch");
            let matrices =
                batch.trim_matches(['[', ']']).split(", ").map(|n| n.parse::<u64>().unwrap()).product::<u64>();
            2 * matrices * product(&["m", "n", "k"])
        }
        "attention" => 4 * product(&["batch", "heads", "queries", "keys", "dim"]),
        "attention_backward" => 10 * product(&["batch", "heads", "queries", "keys", "dim"]),
        "gru_forward" => gru(if is_constant() { size("steps").min(1) } else { size("steps") }),
        "gru_backward" => gru(0),
        "rssm_rollout" => {
            let (rows, steps) = (2 * product(&["members", "batch"]), size("steps"));
            let back = shown("params", "feedback") == "State";
            let inputs = if is_constant() && !back { steps.min(1) } else { steps };
            let states_back = if back { steps.saturating_sub(1) } else { 0 };
            let head = steps * (size("hidden") + size("stochastic"));
            gru(inputs) + rows * (head + states_back * product(&["hidden", "input"]))
        }
        "rssm_loss" => 2 * product(&["members", "rows"]) * (size("hidden") + size("stochastic")),
        "tall_gram" => product(&["rows", "cols"]) * (size("cols") + 1),
        "tall_product" => 2 * product(&["rows", "inner", "cols"]),
        "chol_inverse" => 2 * size("side").pow(3) / 3,
        _ => return None,
    })
}

#[test]
fn every_op_of_the_suite_is_in_its_profile_with_its_shape() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    call("conformance --condition plain --max-elements 64 --profile").arg(&profile).assert().success();
    let events = events(&profile);
    let ran: BTreeSet<_> = spans(&events).into_iter().collect();
    let missing: Vec<_> = all_ops().difference(&ran).copied().collect();
    assert!(missing.is_empty(), "{missing:?}");
    for event in events.iter().filter(|event| event["ph"] == "B") {
        let (name, args) = (event["name"].as_str().unwrap(), &event["args"]);
        assert!(event["cat"] == "trefoil" && event["ts"].is_number() && args["backend"] == "cpu", "{event}");
        let field = if all_ops().contains(name) { "views" } else { "bytes" };
        assert!(["finish", "fork", "join", "record", "replay"].contains(&name) || !args[field].is_null(), "{event}");
        if field == "views" {
            let counted = args["flop"].as_str().map(|flop| flop.parse::<u64>().unwrap());
            assert_eq!(counted, flop(name, args), "{event}");
        }
    }
    let gemm = events.iter().find(|event| event["ph"] == "B" && event["name"] == "gemm").unwrap();
    assert!(gemm["args"]["params"].as_str().unwrap().contains(" m="), "{gemm}");
    assert!(gemm["args"]["views"].as_str().unwrap().starts_with("a="), "{gemm}");
}

#[test]
fn the_demo_profiles_its_own_process_and_both_parties() {
    let folder = tempfile::tempdir().unwrap();
    let demo = |profile: Option<&Path>| {
        let mut demo = trefoil();
        if let Some(profile) = profile {
            demo.arg("--profile").arg(profile);
        }
        demo.args(["demo", "--small", "--report"]).arg(folder.path().join("report.html"));
        demo.current_dir(folder.path()).assert().success();
    };
    demo(Some(&folder.path().join("demo.json")));
    for (name, expected) in [
        ("demo.json", &["circle_extend", "gemm", "cross_entropy", "cmp_gen", "finish"][..]),
        ("demo.infer.json", &["cmp_eval_window", "combine_words", "matmul_words", "write_secret"]),
        ("demo.serve.json", &["cmp_eval_window", "combine_words", "matmul_words", "write_secret"]),
    ] {
        let events = events(&folder.path().join(name));
        let ran = spans(&events);
        assert!(expected.iter().all(|op| ran.contains(op)), "{name}: {:?}", ran.iter().collect::<BTreeSet<_>>());
    }
    for name in ["demo.json", "demo.infer.json", "demo.serve.json"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    demo(None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "only the report is left");
}

/// The sum of a number over all values of a list.
fn sum(list: &Value, name: &str) -> f64 {
    list.as_array().unwrap().iter().map(|item| item[name].as_f64().unwrap()).sum()
}

#[test]
fn the_table_of_a_network_adds_up_on_the_processor_and_a_device() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    for (backend, kind, measured_runs) in [("cpu", "cpu", 3), ("sim", "cuda", 2 * 3)] {
        let mut profile = call("nn profile --mlp 12,7,5 --batch 3 --repeat 3 --json --profile");
        profile.arg(&file).args(["--backend", backend]);
        let output = profile.assert().success().get_output().clone();
        let network: Value = serde_json::from_slice(&output.stdout).unwrap();
        let lines = network["calls"].as_array().unwrap();
        assert!((sum(&network["calls"], "share") - 100.0).abs() < 1e-6, "{network}");
        // Views of a product of 3 rows: the inputs, the weights, the bias, and the results.
        let products = [
            ("layers.0", 2 * 3 * 12 * 7, 4 * (3 * 12 + 12 * 7 + 7 + 3 * 7)),
            ("layers.1", 2 * 3 * 7 * 5, 4 * (3 * 7 + 7 * 5 + 5 + 3 * 5)),
        ];
        let gemms: Vec<_> = lines.iter().filter(|line| line["call"] == "gemm").collect();
        assert_eq!(gemms.len(), 2, "{network}");
        for (line, (layer, flop, bytes)) in gemms.into_iter().zip(products) {
            assert_eq!((&line["layer"], &line["flop"]), (&layer.into(), &flop.into()), "{line}");
            assert_eq!((&line["bytes"], &line["element"]), (&bytes.into(), &"f32".into()), "{line}");
            assert!(line["sizes"].as_str().unwrap().contains("m=3 "), "{line}");
            assert_eq!(line["device_us"].is_null(), backend == "cpu", "{line}");
        }

        // The first run is in the sums of the process, which standard error has too.
        let said = text(&output.stderr);
        let summary: Value = serde_json::from_str(said.lines().last().unwrap()).expect(&said);
        assert_eq!(summary["calls"], network["summary"]["calls"]);
        assert!((sum(&summary["calls"], "share") - 100.0).abs() < 1e-6, "{summary}");
        let gemm = summary["calls"].as_array().unwrap().iter().find(|line| line["call"] == "gemm").unwrap();
        let runs = 1 + measured_runs;
        let [flop, bytes] = [products.map(|of| of.1), products.map(|of| of.2)].map(|of| runs * of.iter().sum::<i32>());
        assert_eq!((&gemm["calls"], &gemm["backend"]), (&(2 * runs).into(), &kind.into()), "{gemm}");
        assert_eq!((&gemm["flop"], &gemm["bytes"]), (&flop.into(), &bytes.into()), "{gemm}");
        assert_eq!(gemm["flop_per_s"].is_null(), backend == "sim", "{gemm}");
        assert!(sum(&summary["memory"], "peak_bytes") >= f64::from(4 * (12 * 7 + 7 + 7 * 5 + 5)), "{summary}");
        assert_eq!(
            (&summary["memory"][0]["backend"], summary["fallbacks"].as_array().unwrap().len()),
            (&kind.into(), 0)
        );
        assert_eq!(spans(&events(&file)).iter().filter(|&&name| name == "gemm").count() as i32, 2 * runs);
    }
}

/// Rows of the table on standard error, as words, and the lines below it.
fn table(said: &str) -> (Vec<Vec<&str>>, Vec<&str>) {
    let mut lines = said.lines().skip_while(|line| !line.trim_start().starts_with("call "));
    let rows = lines.by_ref().take_while(|line| !line.trim_start().starts_with("allocations "));
    (rows.map(|row| row.split_whitespace().collect()).collect(), lines.collect())
}

#[test]
fn the_device_time_of_each_call_is_in_the_table_and_in_the_file() {
    const STARK: &str = "stark prove --air wide-fibonacci --log-rows 4 --out";
    const TRAINING: &str = "nn train --epochs 1 --hidden 4 --batch 720 --out";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile.json");
    for (line, backend) in [STARK, TRAINING].into_iter().flat_map(|line| ["cpu", "sim"].map(|at| (line, at))) {
        let run = |options: &[&str], out: &str| -> (String, Vec<Value>) {
            let mut command = call(line);
            command.arg(folder.path().join(out)).args(["--backend", backend, "--profile"]).arg(&file).args(options);
            (text(&command.assert().success().get_output().stderr), events(&file))
        };
        let ((plain, _), (marked, events)) = (run(&[], "plain"), run(&["--profile-device"], "marked"));
        let device: Vec<_> = events.iter().filter(|event| event["cat"] == "device").collect();
        if backend == "cpu" {
            assert!(device.is_empty() && !marked.contains("device ms"), "{marked}");
            continue;
        }
        assert!(!plain.contains("device ms") && marked.contains("device ms"), "{marked}");

        // Calls, copies and results are the same as without marks.
        let ((plain, below), (marked, marked_below)) = (table(&plain), table(&marked));
        let counts = |rows: &[Vec<&str>]| -> BTreeSet<String> {
            // Before and after time and share: the name, the element, the backend and the number of calls; elements.
            let cut = |row: &[&str]| row.iter().position(|word| word.contains('.')).unwrap_or(row.len());
            rows[1..].iter().map(|row| row[..cut(row)].join(" ")).collect()
        };
        assert_eq!((counts(&plain), below), (counts(&marked), marked_below));
        let [plain_file, marked_file] = ["plain", "marked"].map(|out| fs::read(folder.path().join(out)).unwrap());
        assert!(plain_file == marked_file, "{line}");

        // Each span has an event on the track of its queue, and none overlap.
        let mut spans: Vec<_> = spans(&events);
        let mut named: Vec<_> = device.iter().map(|event| event["name"].as_str().unwrap()).collect();
        spans.sort_unstable();
        named.sort_unstable();
        assert_eq!(spans, named);
        let number = |event: &Value, name: &str| event[name].as_f64().unwrap();
        for pair in device.windows(2) {
            let end = number(pair[0], "ts") + number(pair[0], "dur");
            assert!(pair[0]["tid"] == pair[1]["tid"] && end <= number(pair[1], "ts") + 1e-3, "{pair:?}");
        }

        // The milliseconds of the table are sums of the events.
        let milliseconds = |name: &str| {
            let of_name = device.iter().filter(|event| name == "all" || event["name"] == name);
            of_name.map(|event| number(event, "dur") / 1e3).sum::<f64>()
        };
        for name in named.into_iter().chain(["all"]) {
            let rows: Vec<_> = marked.iter().filter(|row| row[0] == name).collect();
            let shown: f64 = rows.iter().map(|row| row.last().unwrap().parse::<f64>().unwrap()).sum();
            let rounded = 0.00051 * rows.len() as f64;
            assert!(!rows.is_empty() && (shown - milliseconds(name)).abs() <= rounded, "{name}: {shown}");
        }
        assert!(milliseconds("all") > 0.0);
    }
}

#[test]
fn device_times_are_refused_for_commands_with_other_threads_and_without_a_profile() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    for line in [
        "conformance",
        "bench",
        "doctor",
        "demo",
        "nn profile --mlp 4,3",
        "stark bench --air wide-fibonacci --log-rows 4",
        "pfss bench",
    ] {
        let mut command = call(line);
        let refused = stderr_of(command.arg("--profile-device").arg("--profile").arg(&profile), 2);
        assert!(refused.contains("`--profile-device` expects `--profile` and one of"), "{line}: {refused}");
    }
    let refused = stderr_of(&mut call("nn train --profile-device --out model"), 2);
    assert!(refused.contains("`--profile-device` expects `--profile`"), "{refused}");
    assert!(!profile.exists());
}

#[test]
fn a_training_step_is_shown_with_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    call("nn train --epochs 1 --hidden 8 --out").arg(&model).assert().success();
    let mut profile = call("nn profile --train --batch 16 --repeat 2 --device-time");
    let said = stdout_of(profile.arg(&model));
    assert!(said.contains("64-8-10, 16 rows") && said.contains("training step, medians of 2 runs"), "{said}");
    for part in ["layers.0 ", "layers.1 ", "loss ", "layers.1 backward ", "layers.0 backward ", "optimizer "] {
        assert!(said.lines().any(|line| line.trim_start().starts_with(part)), "{part}\n{said}");
    }
    assert!(said.contains("adam_step") && said.contains("cross_entropy"), "{said}");
    assert!(said.contains("memory       queue 0 (cpu): at most") && said.contains("fallbacks    none"), "{said}");
}

#[test]
fn a_profile_of_no_network_is_refused() {
    let refused = |line: &str| stderr_of(&mut call(line), 2);
    assert!(refused("nn profile --mlp 12").contains("expects the inputs and the units of 1 layer or more"));
    assert!(refused("nn profile").contains("FILE"));
    assert!(refused("nn profile model --mlp 12,7").contains("cannot be used with"));
    assert!(refused("nn profile --mlp 12,0").contains("is not in 1..="));
    assert!(stderr_of(&mut call("nn profile no-such-file"), 1).contains("reading no-such-file"));
}

#[test]
fn the_table_of_a_secret_command_depends_on_sizes_alone() {
    let folder = tempfile::tempdir().unwrap();
    // Each run draws other keys.
    let [first, second] = ["first", "second"].map(|name| {
        let mut generate = call("pfss gen --gate relu --count 7 --out");
        generate.arg(folder.path().join(name)).arg("--profile").arg(folder.path().join("profile.json"));
        let said = text(&generate.assert().success().get_output().stderr);
        let table = said.lines().skip_while(|line| !line.contains("share")).skip(1);
        let rows = table.map(|line| line.split_whitespace().collect::<Vec<_>>()).take_while(|row| row[0] != "all");
        let kept = rows.map(|row| {
            let is_known = |word: &&str| ["cpu", "%"].contains(word) || word.parse::<f64>().is_ok();
            assert!(row[1..].iter().all(is_known), "{row:?}");
            // The name, the backend, the calls, and after time and share the elements or megabytes.
            [&row[..3], row.get(6).map_or(&[][..], core::slice::from_ref)].concat().join(" ")
        });
        kept.collect::<BTreeSet<_>>()
    });
    assert!(first.iter().any(|row| row.starts_with("cmp_gen cpu ")), "{first:?}");
    assert_eq!(first, second);
}

#[test]
fn a_command_that_fails_leaves_a_whole_profile() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    trefoil().arg("--profile").arg(&profile).args(["conformance", "no-such-op"]).assert().code(2);
    assert!(events(&profile).is_empty());
    fs::remove_file(&profile).unwrap();
    // The name of the option before 0.1.
    trefoil().arg("--trace").arg(&profile).args(["conformance", "no-such-op"]).assert().code(2);
    assert!(events(&profile).is_empty());
    let mut hung = trefoil();
    hung.arg("--profile").arg(&profile).args(["conformance", "--backend", "sim", "--exact", "linalg.axpby"]);
    hung.args(["--condition", "plain", "--max-elements", "0"]);
    hung.env("TREFOIL_SIM", "hang@cuLaunchKernel:4").env("TREFOIL_GPU_TIMEOUT", "0.2").assert().code(1);
    assert!(spans(&events(&profile)).contains(&"axpby"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_command_leaves_a_profile_that_is_read_line_by_line() {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.json");
    let mut suite = program();
    suite.args(["conformance", "--backend", "cpu", "--condition", "plain", "--profile"]).arg(&profile);
    let mut suite = suite.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    while fs::metadata(&profile).map_or(0, |file| file.len()) < 1 << 16 {
        assert!(start.elapsed() < Duration::from_secs(60) && suite.try_wait().unwrap().is_none(), "no profile");
        thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&suite), Signal::TERM).unwrap();
    assert_eq!(wait(&mut suite, LIMIT).signal(), Some(Signal::TERM.as_raw()));
    let text = fs::read_to_string(&profile).unwrap();
    // A file system may cut the last write itself.
    let (lines, _cut) = text.rsplit_once('\n').unwrap();
    let mut lines = lines.lines();
    assert_eq!(lines.next(), Some("["));
    let events: Vec<Value> =
        lines.map(|line| serde_json::from_str(line.strip_suffix(',').unwrap()).expect(line)).collect();
    assert!(events.iter().any(|event| event["ph"] == "B" && event["cat"] == "trefoil"), "{} events", events.len());
}

#[test]
fn a_profile_that_cannot_be_written_ends_the_command_before_it_works() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("no/profile.json");
    let output = call("doctor --profile").arg(&profile).assert().code(1).get_output().clone();
    assert!(output.stdout.is_empty());
    let said = text(&output.stderr);
    assert!(said.contains("writing the profile") && said.contains("no/profile.json"), "{said}");

    let profile = folder.path().join("profile.json");
    for command in [&["conformance", "--isolate"][..], &["bench", "--isolate", "--backend", "cpu"]] {
        let output = trefoil().arg("--profile").arg(&profile).args(command).assert().code(2).get_output().clone();
        assert!(output.stdout.is_empty() && text(&output.stderr).contains("--isolate"));
    }
    assert!(!profile.exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_profile_that_does_not_fit_on_the_disk_is_an_error() {
    let mut suite = call("--profile /dev/full conformance --exact linalg.axpby --condition plain");
    let output = suite.assert().code(1).get_output().clone();
    assert!(text(&output.stdout).contains(" 0 failed"));
    assert!(text(&output.stderr).contains("writing the profile /dev/full"), "{}", text(&output.stderr));
}
