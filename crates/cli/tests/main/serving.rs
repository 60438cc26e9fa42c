//! A server of several key folders: clients at once, a log, strangers, and clients that break off.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use test_process::output;

use crate::{
    LIMIT, lines,
    private::{
        DIGITS, RunningProcess, deal, deal_runs, equal_images, expect_failure, infer, listen, pfss, succeeded,
        wait_for_use,
    },
};

/// A server of these folders with the weights of the digits network.
fn server(folders: &[&Path], more: &[&str]) -> Command {
    let mut command = pfss("serve");
    command.args(folders).args(["--weights", DIGITS]).args(more);
    command
}

/// A client that compares its logits with the model in the clear.
fn comparing(keys: &Path, address: &str) -> Command {
    let mut command = infer(keys, address);
    command.args(["--compare", DIGITS]);
    command
}

/// Copies a folder with the folders in it.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// The fingerprint that a manifest has for the other party.
fn peer(manifest: &Path) -> Value {
    serde_json::from_slice::<Value>(&fs::read(manifest).unwrap()).unwrap()["peer"].clone()
}

#[test]
fn clients_are_served_at_once_on_different_runs_and_each_run_is_logged() {
    let ((scratch, many, _), (_single, single), (_other, other)) = (deal_runs(8, 3), deal(4096), deal(8));
    let [many_folder, single_folder] = [&many, &single].map(|deal| deal.join("party1"));
    let folders = [many_folder.as_path(), &single_folder];
    let log = scratch.path().join("runs.jsonl");
    let mut command = server(&folders, &["--at-once", "2", "--wait", "300", "--log"]);
    command.arg(&log);
    let (serving, address) = listen(command);

    // The first run opens the weights. A copy of the client's folder is a second client.
    let client = many.join("party0");
    let shown = succeeded(&output(&mut comparing(&client, &address), LIMIT));
    assert!(shown.contains("open the weights") && shown.contains("0 of 80 logits differ"), "{shown}");
    let copy = scratch.path().join("copy");
    copy_folder(&client, &copy);
    let both = [&client, &copy].map(|keys| RunningProcess(Some(comparing(keys, &address).spawn().unwrap())));
    // A stranger meanwhile, whose server has another certificate.
    expect_failure(&output(&mut infer(&other.join("party0"), &address), LIMIT), 5, &["TLS handshake"]);
    for running in both {
        let shown = succeeded(&running.output());
        assert!(shown.contains("0 of 80 logits differ") && !shown.contains("open the weights"), "{shown}");
    }
    // A client that breaks off uses up its run, which is the last one.
    let images = equal_images(scratch.path(), 4096);
    let mut lost = infer(&single.join("party0"), &address);
    let lost = RunningProcess(Some(lost.arg("--images").arg(&images).spawn().unwrap()));
    wait_for_use(&[single.join("party0"), single.join("party1")]);
    lost.kill();
    let done = serving.output();
    expect_failure(&done, 5, &["1 of 4 runs failed, the first of them: "]);
    assert!(String::from_utf8_lossy(&done.stdout).ends_with("3 runs served, 1 failed, no run is left\n"), "{done:?}");

    // A line for each run. Bytes and rounds are derived in `three_runs_on_one_deal_send_the_weights_once`; the server
    // also sends its shares of the logits.
    let mut logged = lines(&log);
    assert_eq!(logged.len(), 4);
    for line in &logged {
        let time = line["time"].as_str().unwrap();
        assert!(time.len() == 20 && time.starts_with("20") && time.ends_with('Z'), "{time}");
        assert!(line["seconds"].as_f64().unwrap() > 0.0 && line["model"] == "digits", "{line}");
    }
    let failed = logged.pop().unwrap();
    assert_eq!((&failed["run"], &failed["images"], &failed["rounds"]), (&Value::Null, &json!(4096), &Value::Null));
    assert_eq!(failed["client"], peer(&folders[1].join("manifest.json")));
    assert_ne!(failed["outcome"], "ok");
    let run = ((35 + 64) + (35 + 1 + 64 + 1)) * 8 * 64 / 8 + 16 * 7 + 37 + 8 * 80;
    let weights = (35 * 64 * 64 + 64 * 64 * 10) / 8 + 16 * 2;
    assert_eq!((&logged[0]["sent_bytes"], &logged[0]["rounds"]), (&json!(run + weights), &json!(10)));
    logged.sort_by_key(|line| line["run"].as_u64());
    for (line, number) in logged.iter().zip(1..) {
        assert_eq!((&line["run"], &line["outcome"], &line["images"]), (&json!(number), &json!("ok"), &json!(8)));
        assert_eq!(line["folder"], folders[0].to_str().unwrap());
        assert_eq!(line["client"], peer(&folders[0].join("weights/manifest.json")));
        if number > 1 {
            assert_eq!((&line["sent_bytes"], &line["rounds"]), (&json!(run), &json!(8)));
        }
    }
    let shown = succeeded(&output(pfss("inspect").arg(folders[0]), LIMIT));
    assert!(shown.contains(", 3 of 3 runs used, weights removed\n"), "{shown}");
    assert!(!folders[0].join("weights/opened").exists());

    // A spent folder, or one whose weights were not opened, is left out if another has a run, and refused otherwise.
    let ((_fresh, fresh), (_lost, lost, _)) = (deal(1), deal_runs(1, 2));
    let lost = lost.join("party1");
    fs::write(lost.join("weights/used"), b"").unwrap();
    let (serving, address) = listen(server(&[folders[0], &lost, &fresh.join("party1")], &["--wait", "60"]));
    succeeded(&output(&mut comparing(&fresh.join("party0"), &address), LIMIT));
    let done = serving.output();
    assert_eq!(String::from_utf8_lossy(&done.stderr).matches("note: key folder ").count(), 2, "{done:?}");
    assert!(succeeded(&done).ends_with("1 run served, 0 failed, no run is left\n"), "{done:?}");
    expect_failure(&output(&mut server(&folders, &[]), LIMIT), 4, &["was used before", "all 3 runs were used"]);
}

#[test]
fn a_client_without_a_run_is_refused_at_once_and_keeps_its_keys() {
    let ((scratch, first), (_other, second)) = (deal(8), deal(8));
    let copy = scratch.path().join("copy");
    copy_folder(&first.join("party0"), &copy);
    let folders = [&first, &second].map(|deal| deal.join("party1"));
    let (serving, address) = listen(server(&[&folders[0], &folders[1]], &["--wait", "60"]));
    succeeded(&output(&mut comparing(&first.join("party0"), &address), LIMIT));
    expect_failure(&output(&mut comparing(&copy, &address), LIMIT), 5, &["peer lost"]);
    assert!(!copy.join("used").exists());
    succeeded(&output(&mut comparing(&second.join("party0"), &address), LIMIT));
    let done = serving.output();
    let refused = format!("key folder {}: expected an unused run", folders[0].display());
    assert!(String::from_utf8_lossy(&done.stderr).contains(&refused), "{done:?}");
    assert!(succeeded(&done).ends_with("2 runs served, 0 failed, no run is left\n"), "{done:?}");
}

#[test]
fn folders_in_use_copies_and_options_for_one_run_are_refused_by_name() {
    let (scratch, many, _) = deal_runs(1, 2);
    let folder = many.join("party1");
    let copy = scratch.path().join("copy");
    copy_folder(&folder, &copy);
    let twice = output(&mut server(&[&folder, &copy], &[]), LIMIT);
    expect_failure(&twice, 4, &["expected keys of another deal than "]);
    let same = output(&mut server(&[&folder, &folder], &[]), LIMIT);
    expect_failure(&same, 4, &["or opened twice by this one"]);
    let report = output(&mut server(&[&folder], &["--json", "report.json"]), LIMIT);
    expect_failure(&report, 2, &["expected --log for 2 runs, got --json"]);
    let none = output(pfss("serve").args(["--weights", DIGITS]), LIMIT);
    expect_failure(&none, 2, &["DIR"]);

    let (_serving, _) = listen(server(&[&folder], &[]));
    let expected = format!("key folder {}: in use by another process", folder.display());
    expect_failure(&output(&mut server(&[&folder], &[]), LIMIT), 4, &[&expected]);
    expect_failure(&output(pfss("verify").arg(&folder), LIMIT), 4, &[&expected]);
    assert!(!folder.join("run-001/used").exists());
}

#[cfg(unix)]
#[test]
fn a_signal_ends_a_server_after_its_runs_and_leaves_the_others_unused() {
    use rustix::process::{Pid, Signal, kill_process};

    let (_scratch, many, _) = deal_runs(8, 3);
    for (signal, left) in [(Signal::INT, "2 runs are left"), (Signal::TERM, "1 run is left")] {
        let (serving, address) = listen(crate::private::heeding_signals(&server(&[&many.join("party1")], &[])));
        succeeded(&output(&mut comparing(&many.join("party0"), &address), LIMIT));
        kill_process(Pid::from_child(serving.0.as_ref().unwrap()), signal).unwrap();
        let shown = succeeded(&serving.output());
        assert!(shown.ends_with(&format!("1 run served, 0 failed, {left}\n")), "{shown}");
    }
    let shown = succeeded(&output(pfss("inspect").arg(many.join("party1")), LIMIT));
    assert!(shown.contains(", 2 of 3 runs used, weights opened\n"), "{shown}");
}
