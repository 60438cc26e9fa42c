//! Folders of a deal: used once, private, and refused by name where they are wrong or damaged.

use std::{fs, path::Path};

use inference::{
    Architecture, InferenceError, Limits, Model, Outcome, Preference,
    folder::{
        self, KeyFolder,
        files::{read_identity, write_identity},
    },
    party::Role,
    tls::Identity,
};
use pfss::Party;

use crate::common::{digits, images, run, weights};

fn deal(out: &Path) {
    folder::deal(&runtime::cpu().unwrap(), &digits(2), out, |_| ()).unwrap();
}

/// Opening must be refused for the reason in `text`, as a matter of keys.
fn refused(path: &Path, party: Party, text: &str) {
    let error = KeyFolder::open(path, party, |_| ()).map(drop).unwrap_err();
    assert!(error.to_string().contains(text), "{error}, expected `{text}`");
    assert_eq!(error.outcome(), Outcome::KeysRefused);
}

#[test]
fn two_folders_run_the_model_once_and_only_once() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    deal(&out);
    let paths = Party::BOTH.map(|party| out.join(format!("party{}", party.number())));
    let open = || [0, 1].map(|b| KeyFolder::open(&paths[b], Party::BOTH[b], |_| ()).unwrap());
    let (folders, late) = (open(), open());
    assert_eq!(folders[0].endpoint(Limits::default()).protocol, folders[1].endpoint(Limits::default()).protocol);
    let model = digits(2);
    let weights = weights(&model);
    let images = images(&model);
    let roles = [Role::Client(&images), Role::Server(&weights)];
    let [zero, one] = folders;
    let keys = [zero.consume(roles[0]).unwrap(), one.consume(roles[1]).unwrap()];
    let [client, _] = run(&model, keys, &weights).map(Result::unwrap);
    assert_eq!(client.logits, Some(inference::plain::logits(&model, &weights, &images).unwrap()));

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
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    deal(&out);
    let paths = Party::BOTH.map(|party| out.join(format!("party{}", party.number())));
    let open = |party: Party| KeyFolder::open(&paths[party.index()], party, |_| ()).unwrap();
    let model = digits(2);
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
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    deal(&out);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1, "nothing half-written is left");
    #[cfg(unix)]
    for party in ["party0", "party1"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&out), mode(&out.join(party))), (0o700, 0o700));
        for file in fs::read_dir(out.join(party)).unwrap() {
            assert_eq!(mode(&file.unwrap().path()), 0o600);
        }
    }
    let again = folder::deal(&runtime::cpu().unwrap(), &digits(1), &out, |_| ());
    assert!(matches!(again, Err(InferenceError::Exists { .. })));
}

#[test]
fn wrong_and_damaged_folders_are_refused_by_name() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    deal(&out);
    let path = out.join("party0");
    refused(&path, Party::One, "expected keys of party 1, got keys of party 0");

    let change = |file: &str, edit: &dyn Fn(Vec<u8>) -> Vec<u8>, text: &str| {
        let file = path.join(file);
        let original = fs::read(&file).unwrap();
        fs::write(&file, edit(original.clone())).unwrap();
        refused(&path, Party::Zero, text);
        fs::write(&file, original).unwrap();
    };
    let flip = |mut bytes: Vec<u8>| {
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        bytes
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
    let replace = |from: &'static str, to: &'static str| {
        move |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replacen(from, to, 1).into_bytes()
    };
    change("manifest.json", &replace("\"count\": 2", "\"count\": 3"), "different plan");
    change("manifest.json", &replace("\"digits\"", "\"letters\""), "unknown model `letters`");
    change("manifest.json", &replace("\"prefer\": \"rounds\"", "\"prefer\": \"bytes\""), "different plan");
    change("manifest.json", &replace("\"prefer\": \"rounds\"", "\"prefer\": \"speed\""), "unknown variant `speed`");
    change("manifest.json", &replace("000.key", "../000.key"), "expected the name `000.key`");
    change("manifest.json", &replace("\"format\": 2", "\"format\": 1"), "expected format 2");

    // Keys and manifest copied over the other party's: the same masks twice.
    let other = scratch.path().join("other");
    deal(&other);
    for file in ["001.key", "manifest.json"] {
        fs::copy(out.join("party1").join(file), other.join("party0").join(file)).unwrap();
    }
    refused(&other.join("party0"), Party::Zero, "got keys of party 1");
    assert!(KeyFolder::open(&path, Party::Zero, |_| ()).is_ok());
    assert!(matches!(KeyFolder::open(&out, Party::Zero, |_| ()), Err(InferenceError::Io { .. })));
}

#[test]
fn folders_hold_the_choice_of_gates() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    let model = Model::new(Architecture::Transformer, 1).unwrap().preferring(Preference::KeyBytes);
    folder::deal(&runtime::cpu().unwrap(), &model, &out, |_| ()).unwrap();
    let open = |party: Party| KeyFolder::open(&out.join(format!("party{}", party.number())), party, |_| ()).unwrap();
    let [zero, one] = Party::BOTH.map(open);
    assert_eq!([zero.model(), one.model()], [&model; 2]);
    let (weights, images) = (weights(&model), images(&model));
    let roles = [Role::Client(&images), Role::Server(&weights)];
    let keys = [zero.consume(roles[0]).unwrap(), one.consume(roles[1]).unwrap()];
    let [client, _] = run(&model, keys, &weights).map(Result::unwrap);
    assert_eq!(client.logits, Some(inference::plain::logits(&model, &weights, &images).unwrap()));

    // A manifest without the choice is from before there was one.
    let out = scratch.path().join("old");
    deal(&out);
    let path = out.join("party0");
    let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
    let old: Vec<&str> = manifest.lines().filter(|line| !line.contains("\"prefer\"")).collect();
    assert_eq!(old.len() + 1, manifest.lines().count());
    fs::write(path.join("manifest.json"), old.join("\n")).unwrap();
    assert_eq!(KeyFolder::open(&path, Party::Zero, |_| ()).unwrap().model(), &digits(2));
}

/// The error for a fresh folder whose manifest was edited.
fn refusal(edit: impl FnOnce(String) -> String) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("deal");
    deal(&out);
    let (path, manifest) = (out.join("party0"), out.join("party0/manifest.json"));
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
