//! Folders of a deal: used once, private, and refused by name where they are wrong or damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use inference::{
    Architecture, InferenceError, Limits, Model, Outcome, Parameters, Preference,
    cost::run_folder_bytes,
    folder::{
        self, KeyFolder, RunsFolder,
        files::{read_identity, write_identity},
    },
    party::Role,
    tls::Identity,
};
use pfss::{Channel as _, Party, PfssError, memory_pair};

use crate::common::{PATIENCE, consume, deal, deal_runs, digits, images, next_run, open, open_runs, run, weights};

/// Opening must be refused for the reason in `text`, as a matter of keys.
fn refused(path: &Path, party: Party, text: &str) {
    let error = KeyFolder::open(path, party, |_| ()).map(drop).unwrap_err();
    assert!(error.to_string().contains(text), "{error}, expected `{text}`");
    assert_eq!(error.outcome(), Outcome::KeysRefused);
}

#[test]
fn two_folders_run_the_model_once_and_only_once() {
    let model = digits(2);
    let (_scratch, paths) = deal(&model);
    let (folders, late) = (open(&paths), open(&paths));
    assert_eq!(folders[0].endpoint(Limits::default()).protocol, folders[1].endpoint(Limits::default()).protocol);
    let (weights, images) = (weights(&model), images(&model));
    let [client, _] = run(&model, consume(folders, &weights, &images), &weights).map(Result::unwrap);
    assert_eq!(client.logits, Some(inference::plain::logits(&model, &weights, &images).unwrap()));

    let roles = [Role::Client(&images), Role::Server(&weights)];
    for (path, (role, late)) in paths.iter().zip(roles.into_iter().zip(late)) {
        refused(path, role.party(), "was used before");
        // read before the first use, and consumed after it
        assert!(matches!(late.consume(role), Err(InferenceError::Used { .. })));
        let left: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("00")), "{left:?}");
    }
}

#[test]
fn inputs_that_the_model_does_not_take_leave_the_folder_unused() {
    let model = digits(2);
    let (_scratch, paths) = deal(&model);
    let open = |party: Party| KeyFolder::open(&paths[party.index()], party, |_| ()).unwrap();
    let (fit, transformer) = (images(&model), Model::new(Architecture::Transformer, 2).unwrap());
    let (short, mut bright, others) = (&fit[..fit.len() - 1], fit.clone(), weights(&transformer));
    bright[70] = 4097;

    let count = open(Party::Zero).consume(Role::Client(short)).unwrap_err();
    assert!(matches!(count, InferenceError::Images { expected: 128, got: 127 }), "{count}");
    let pixel = open(Party::Zero).consume(Role::Client(&bright)).unwrap_err();
    assert!(matches!(pixel, InferenceError::Pixel { at: 70, max: 4096, got: 4097 }), "{pixel}");
    let parameters = open(Party::One).consume(Role::Server(&others)).unwrap_err();
    assert!(matches!(parameters, InferenceError::Parameters { .. }), "{parameters}");
    let party = open(Party::One).consume(Role::Client(&fit)).unwrap_err();
    assert!(matches!(party, InferenceError::OtherParty { .. }), "{party}");
    for party in Party::BOTH {
        open(party);
    }
}

#[test]
fn every_changed_bit_of_a_certificate_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let identity = Identity::generate().unwrap();
    write_identity(scratch.path(), &identity).unwrap();
    let (path, pinned) = (scratch.path().join("identity.der"), identity.fingerprint());
    let original = fs::read(&path).unwrap();
    assert!(read_identity(scratch.path(), pinned).is_ok());
    for bit in 0..8 * original.len() {
        let mut changed = original.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, changed).unwrap();
        let error = read_identity(scratch.path(), pinned).unwrap_err();
        assert!(error.to_string().contains("`identity.der`: expected SHA-256"), "bit {bit}: {error}");
    }
}

#[test]
fn folders_are_whole_and_private() {
    let (scratch, _) = deal(&digits(2));
    let out = scratch.path().join("deal");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "nothing half-written is left");
    are_private(&out);
    let again = folder::deal(&runtime::cpu().unwrap(), &digits(1), &out, |_| ());
    assert!(matches!(again, Err(InferenceError::Exists { .. })));
}

/// An edit of the bytes of a file.
type Edit<'a> = &'a dyn Fn(Vec<u8>) -> Vec<u8>;

/// Runs a check while a file is edited.
fn change(file: &Path, edit: Edit<'_>, check: impl FnOnce()) {
    let original = fs::read(file).unwrap();
    fs::write(file, edit(original.clone())).unwrap();
    check();
    fs::write(file, original).unwrap();
}

/// Bytes with the last bit flipped.
fn flip(mut bytes: Vec<u8>) -> Vec<u8> {
    *bytes.last_mut().unwrap() ^= 1;
    bytes
}

/// An edit that replaces the first `from` of a text.
fn replace(from: &'static str, to: &'static str) -> impl Fn(Vec<u8>) -> Vec<u8> {
    move |bytes| String::from_utf8(bytes).unwrap().replacen(from, to, 1).into_bytes()
}

#[test]
fn wrong_and_damaged_folders_are_refused_by_name() {
    let (scratch, [path, _]) = deal(&digits(2));
    refused(&path, Party::One, "expected keys of party 1, got keys of party 0");

    let change = |file: &str, edit: Edit<'_>, text: &str| {
        change(&path.join(file), edit, || refused(&path, Party::Zero, text));
    };
    let cut = |mut bytes: Vec<u8>| {
        bytes.pop();
        bytes
    };
    let longer = |mut bytes: Vec<u8>| {
        bytes.push(0);
        bytes
    };
    change("001.key", &flip, "expected SHA-256");
    change("001.key", &cut, "bytes (from the manifest)");
    change("002.key", &longer, "bytes (from the manifest)");
    change("identity.key", &flip, "`identity.key`");
    change("identity.der", &cut, "`identity.der`: expected SHA-256");
    change("manifest.json", &cut, "`manifest.json`");
    fs::rename(path.join("001.key"), path.join("gone")).unwrap();
    refused(&path, Party::Zero, "`001.key`: is missing");
    fs::rename(path.join("gone"), path.join("001.key")).unwrap();
    change("manifest.json", &replace("\"count\": 2", "\"count\": 3"), "different plan");
    change("manifest.json", &replace("\"digits\"", "\"letters\""), "unknown model `letters`");
    change("manifest.json", &replace("\"prefer\": \"rounds\"", "\"prefer\": \"bytes\""), "different plan");
    change("manifest.json", &replace("\"prefer\": \"rounds\"", "\"prefer\": \"speed\""), "unknown variant `speed`");
    change("manifest.json", &replace("000.key", "../000.key"), "expected the name `000.key`");
    change("manifest.json", &replace("\"format\": 2", "\"format\": 1"), "expected format 2");

    // Keys and manifest copied over the other party's: the same masks twice.
    let (_other, [other, _]) = deal(&digits(2));
    let out = scratch.path().join("deal");
    for file in ["001.key", "manifest.json"] {
        fs::copy(out.join("party1").join(file), other.join(file)).unwrap();
    }
    refused(&other, Party::Zero, "got keys of party 1");
    assert!(KeyFolder::open(&path, Party::Zero, |_| ()).is_ok());
    assert!(matches!(KeyFolder::open(&out, Party::Zero, |_| ()), Err(InferenceError::Io { .. })));
}

#[test]
fn folders_hold_the_choice_of_gates() {
    let model = Model::new(Architecture::Transformer, 1).unwrap().preferring(Preference::KeyBytes);
    let (_scratch, paths) = deal(&model);
    let folders = open(&paths);
    assert_eq!(folders.each_ref().map(KeyFolder::model), [&model; 2]);
    let (weights, images) = (weights(&model), images(&model));
    let [client, _] = run(&model, consume(folders, &weights, &images), &weights).map(Result::unwrap);
    assert_eq!(client.logits, Some(inference::plain::logits(&model, &weights, &images).unwrap()));

    // A manifest without the choice is from before there was one.
    let (_old, [path, _]) = deal(&digits(2));
    let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
    let old: Vec<&str> = manifest.lines().filter(|line| !line.contains("\"prefer\"")).collect();
    assert_eq!(old.len() + 1, manifest.lines().count());
    fs::write(path.join("manifest.json"), old.join("\n")).unwrap();
    assert_eq!(KeyFolder::open(&path, Party::Zero, |_| ()).unwrap().model(), &digits(2));
}

/// The error for a fresh folder whose manifest was edited.
fn refusal(edit: impl FnOnce(String) -> String) -> String {
    let (_scratch, [path, _]) = deal(&digits(2));
    let manifest = path.join("manifest.json");
    fs::write(&manifest, edit(fs::read_to_string(&manifest).unwrap())).unwrap();
    KeyFolder::open(&path, Party::Zero, |_| ()).map(drop).unwrap_err().to_string()
}

#[test]
fn rejects_batch_larger_than_its_keys_before_planning() {
    let error = refusal(|manifest| manifest.replace("\"count\": 2", "\"count\": 65536"));
    assert!(error.contains("expected at least 33554432 bytes of keys for 65536 images, got"), "{error}");
}

#[test]
fn quotes_manifest_on_one_short_line() {
    let model = refusal(|manifest| manifest.replace("\"digits\"", r#""a\nb""#));
    assert!(model.contains(r"unknown model `a\nb`"), "{model}");
    let peer = refusal(|manifest| manifest.replace("\"peer\": \"", r#""peer": "\u001b["#));
    assert!(peer.contains(r"got `\u{1b}["), "{peer}");
    let field = refusal(|manifest| manifest.replacen('{', &format!("{{\"{}\": 1,", "a".repeat(9000)), 1));
    assert!(field.ends_with("..") && field.len() < 1000, "{field}");
    let file = refusal(|manifest| manifest.replace("000.key", &"a".repeat(9000)));
    assert!(file.ends_with("..") && file.len() < 1000, "{file}");
}

/// Opening a folder of many runs must be refused for this reason, as a matter of keys.
#[track_caller]
pub(crate) fn refused_runs(path: &Path, party: Party, text: &str) {
    let error = RunsFolder::open(path, party, |_| ()).map(drop).unwrap_err();
    assert!(error.to_string().contains(text), "{error}, expected `{text}`");
    assert_eq!(error.outcome(), Outcome::KeysRefused);
}

/// The names of the files of keys in a folder.
pub(crate) fn key_files(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".key") && name != "identity.key").collect()
}

/// Checks that only the owner may enter a folder and those in it, and read their files.
#[cfg(unix)]
fn are_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder), 0o700);
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            are_private(&path);
        } else {
            assert_eq!(mode(&path), 0o600);
        }
    }
}

#[cfg(not(unix))]
fn are_private(folder: &Path) {
    assert!(folder.is_dir());
}

#[test]
fn many_runs_open_the_weights_once_and_send_what_was_planned() {
    let transformer = Model::new(Architecture::Transformer, 1).unwrap().preferring(Preference::KeyBytes);
    for model in [digits(2), transformer] {
        let (_scratch, paths) = deal_runs(&model, 3);
        let (weights, images, plan) = (weights(&model), images(&model), model.opened_plan().unwrap());
        let expected = inference::plain::logits(&model, &weights, &images).unwrap();
        let digests = || paths.each_ref().map(|path| RunsFolder::digest(path).unwrap());
        let (dealt, mut sent) = (digests(), Vec::new());
        for used in 0..3 {
            let folders = open_runs(&paths);
            for (folder, party) in folders.iter().zip(Party::BOTH) {
                assert!(run_folder_bytes(&plan, party).contains(&folder.key_bytes()), "{party}");
                assert_eq!(folder.check_runs(|_| ()).unwrap(), folder.key_bytes() * (3 - used));
            }
            let (planned, steps) = (folders.each_ref().map(RunsFolder::traffic), folders[0].steps());
            drop(folders);
            let done = next_run(open_runs(&paths), &weights, &images).map(Result::unwrap);
            assert_eq!(done.each_ref().map(|inferred| inferred.traffic), planned);
            assert_eq!(done.each_ref().map(|inferred| inferred.steps.len()), [steps; 2]);
            for inferred in &done {
                assert_eq!(inferred.steps.iter().map(|step| step.sent_bytes).sum::<u64>(), inferred.traffic.sent_bytes);
            }
            let [client, server] = done;
            assert_eq!((client.logits, server.logits), (Some(expected.clone()), None));
            sent.push([client.traffic.sent_bytes, server.traffic.sent_bytes]);
            if used < 2 {
                paths.iter().for_each(|path| are_private(&RunsFolder::opened_path(path)));
            }
        }
        let opening = plan.opening_traffic().sent_bytes;
        assert_eq!(sent[0].map(|bytes| bytes - opening), sent[1]);
        assert_eq!(sent[1], sent[2]);
        assert_eq!(digests(), dealt);
        for (path, party) in paths.iter().zip(Party::BOTH) {
            refused_runs(path, party, "all 3 runs were used");
            for part in ["weights", "run-001", "run-002", "run-003"] {
                assert_eq!(key_files(&path.join(part)), [""; 0], "{part}");
            }
            assert!(!RunsFolder::opened_path(path).exists(), "no run needs the opened weights");
        }
    }
}

#[test]
fn a_run_that_one_party_has_used_is_skipped_by_both() {
    let model = digits(1);
    let (_scratch, paths) = deal_runs(&model, 3);
    let (weights, images) = (weights(&model), images(&model));
    let expected = inference::plain::logits(&model, &weights, &images).unwrap();
    // before the weights are opened, by a process that was killed before it had removed all keys
    fs::write(paths[1].join("run-001/used"), b"").unwrap();
    fs::remove_file(paths[1].join("run-001/000.key")).unwrap();
    let [client, server] = next_run(open_runs(&paths), &weights, &images).map(Result::unwrap);
    assert_eq!((client.logits, server.logits), (Some(expected.clone()), None));
    for path in &paths {
        assert_eq!(key_files(&path.join("run-001")), [""; 0]);
    }
    let used = |path: &PathBuf| RunsFolder::state(path).unwrap().used;
    assert_eq!(paths.each_ref().map(used), [2; 2]);
    assert_eq!(next_run(open_runs(&paths), &weights, &images).map(Result::unwrap)[0].logits, Some(expected));
    assert_eq!(paths.each_ref().map(used), [3; 2]);
}

#[test]
fn a_failed_opening_spends_the_keys_of_the_weights_and_no_run() {
    let model = digits(1);
    let (_scratch, paths) = deal_runs(&model, 2);
    let weights = weights(&model);
    let [_, server] = open_runs(&paths);
    let (mut to_server, to_client) = memory_pair(PATIENCE);
    let error = test_process::scope(|scope| {
        let serving = scope.spawn(|| server.run(&runtime::cpu().unwrap(), to_client, Role::Server(&weights), |_| ()));
        // A client that agrees on run 1 and is lost.
        let mut agreement = [0; 37];
        agreement[32] = 1;
        to_server.exchange(&agreement).unwrap();
        drop(to_server);
        serving.join().unwrap().unwrap_err()
    });
    assert!(matches!(error, InferenceError::Opening { .. }), "{error}");
    assert!(error.to_string().ends_with("their keys are spent, deal again"), "{error}");
    assert_eq!(error.outcome(), Outcome::PeerFailed);
    refused_runs(&paths[1], Party::One, "the keys of the weights are spent and no opened weights were kept");
    let state = RunsFolder::state(&paths[1]).unwrap();
    assert_eq!((state.runs, state.used, state.is_opened), (2, 0, false));
}

#[test]
fn parties_that_have_not_opened_the_same_weights_refuse_to_run() {
    let model = digits(1);
    let (scratch, paths) = deal_runs(&model, 3);
    let (weights, images) = (weights(&model), images(&model));
    // The server's folder comes back in its state before the first run.
    let copy = scratch.path().join("copy");
    copy_folder(&paths[1], &copy);
    let _ = next_run(open_runs(&paths), &weights, &images).map(Result::unwrap);
    let restored = [paths[0].clone(), copy];
    let used = |path: &PathBuf| RunsFolder::state(path).unwrap().used;
    for error in next_run(open_runs(&restored), &weights, &images).map(Result::unwrap_err) {
        assert!(matches!(error, InferenceError::OpenedDiffer { .. }), "{error}");
        assert_eq!(error.outcome(), Outcome::KeysRefused);
    }
    assert_eq!(restored.each_ref().map(used), [1, 0]);
    assert!(!restored[1].join("weights/used").exists());

    // The server ended between the opening and the writing of the opened weights.
    fs::rename(RunsFolder::opened_path(&paths[1]), scratch.path().join("lost")).unwrap();
    refused_runs(&paths[1], Party::One, "deal again");
    assert!(RunsFolder::open(&paths[0], Party::Zero, |_| ()).is_ok());
}

#[test]
fn weights_other_than_the_opened_ones_are_refused_before_anything_is_sent() {
    let model = digits(1);
    let (_scratch, paths) = deal_runs(&model, 2);
    let (weights, others, images) = (weights(&model), Parameters::zeros(&model), images(&model));
    let [_, server] = open_runs(&paths);
    assert!(server.check(Role::Server(&others)).is_ok(), "no weights were opened");
    drop(server);
    let _ = next_run(open_runs(&paths), &weights, &images).map(Result::unwrap);
    let [_, server] = open_runs(&paths);
    assert!(server.check(Role::Server(&weights)).is_ok());
    let refused = server.check(Role::Server(&others)).unwrap_err();
    let InferenceError::OtherWeights { expected, got, .. } = &refused else { panic!("{refused}") };
    assert!(expected != got && refused.to_string().contains(expected) && refused.to_string().contains(got));
    assert_eq!(refused.outcome(), Outcome::KeysRefused);
    // the channel is never read
    let (_to_server, to_client) = memory_pair(PATIENCE);
    let run = server.run(&runtime::cpu().unwrap(), to_client, Role::Server(&others), |_| ());
    assert!(matches!(run, Err(InferenceError::OtherWeights { .. })));
    let [client, server] = open_runs(&paths);
    assert!(matches!(client.check(Role::Server(&weights)), Err(InferenceError::OtherParty { .. })));
    assert!(matches!(server.check(Role::Client(&images)), Err(InferenceError::OtherParty { .. })));
    assert!(matches!(client.check(Role::Client(&images[1..])), Err(InferenceError::Images { .. })));
}

#[test]
fn wrong_and_damaged_folders_of_many_runs_are_refused_by_name() {
    let model = digits(1);
    let (scratch, paths) = deal_runs(&model, 2);
    let path = &paths[0];
    for got in [0, 1000] {
        let error = folder::deal_runs(&runtime::cpu().unwrap(), &model, got, &scratch.path().join("no"), |_| ());
        assert!(matches!(error, Err(InferenceError::Runs { max: 999, got: found }) if found == got));
    }
    refused_runs(path, Party::One, "expected keys of party 1, got keys of party 0");
    refused(&path.join("run-001"), Party::Zero, "got a part of a deal for many runs");
    refused(&path.join("weights"), Party::Zero, "got a part of a deal for many runs");

    let change = |file: &str, edit: Edit<'_>, text: &str| {
        change(&path.join(file), edit, || refused_runs(path, Party::Zero, text));
    };
    change("weights/000.key", &flip, "expected SHA-256");
    change("weights/identity.der", &flip, "`identity.der`: expected SHA-256");
    change(
        "weights/manifest.json",
        &replace("\"runs\": 2", "\"runs\": 0"),
        "expected the keys of weights for 1 to 999 runs",
    );
    change("weights/manifest.json", &replace("\"count\": 1", "\"count\": 2"), "expected a run of the same deal");
    change("run-001/manifest.json", &replace("\"index\": 1", "\"index\": 2"), "expected a run of the same deal");
    change("run-001/000.key", &flip, "expected SHA-256");
    change("run-001/003.key", &flip, "expected SHA-256");
    fs::rename(path.join("run-001"), path.join("gone")).unwrap();
    refused_runs(path, Party::Zero, "`run-001/manifest.json`: is missing");
    // Of another deal.
    let (_others, others) = deal_runs(&model, 2);
    copy_folder(&others[0].join("run-001"), &path.join("run-001"));
    refused_runs(path, Party::Zero, "expected a run of the same deal");
    fs::remove_dir_all(path.join("run-001")).unwrap();
    fs::rename(path.join("gone"), path.join("run-001")).unwrap();

    let _ = next_run(open_runs(&paths), &weights(&model), &images(&model)).map(Result::unwrap);
    change("weights/opened/001.opened", &flip, "`001.opened`: ");
    change("weights/opened/000.opened", &|bytes| [bytes, vec![0]].concat(), "`000.opened`: expected at most");
    fs::copy(paths[1].join("weights/opened/000.opened"), path.join("weights/opened/000.opened")).unwrap();
    refused_runs(path, Party::Zero, "party");
    let digest = paths[1].join("weights/opened/weights.sha256");
    fs::write(&digest, "none").unwrap();
    refused_runs(&paths[1], Party::One, "`weights.sha256`: expected 64 hexadecimal digits, got `none`");
    fs::remove_file(&digest).unwrap();
    refused_runs(&paths[1], Party::One, "`weights.sha256`: is missing");
}

#[test]
fn a_copy_of_another_run_is_found() {
    let (_scratch, paths) = deal_runs(&digits(1), 3);
    let [client, server] = open_runs(&paths);
    assert!(client.check_runs(|_| ()).unwrap() > client.key_bytes() && server.check_runs(|_| ()).is_ok());
    let copy = paths[0].join("run-003");
    fs::remove_dir_all(&copy).unwrap();
    copy_folder(&paths[0].join("run-001"), &copy);
    let manifest = fs::read_to_string(copy.join("manifest.json")).unwrap();
    fs::write(copy.join("manifest.json"), manifest.replacen("\"index\": 1", "\"index\": 3", 1)).unwrap();
    let refused = client.check_runs(|_| ()).unwrap_err();
    assert!(matches!(refused, InferenceError::Pfss(PfssError::ReusedBundle { .. })), "{refused}");
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
