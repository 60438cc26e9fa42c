//! Key folders of described models: the file is in them, and parties with different files refuse each other.

use std::{fs, path::Path};

use inference::{
    InferenceError, Limits, Model, ModelFile, Parameters,
    folder::{self, KeyFolder, RunsFolder},
    party::{self, Role},
    plain,
};
use pfss::{Party, memory_pair};
use sha2::{Digest as _, Sha256};

use super::{FLAT, IMAGES, inputs, model, tensors};
use crate::common::{PATIENCE, digits};

fn deal(model: &Model, out: &Path) {
    folder::deal(&runtime::cpu().unwrap(), model, out, |_| ()).unwrap();
}

fn open(out: &Path, party: Party) -> Result<KeyFolder, InferenceError> {
    KeyFolder::open(&out.join(format!("party{}", party.number())), party, |_| ())
}

#[test]
fn folders_hold_the_file_and_run_the_model() {
    let (scratch, model) = (tempfile::tempdir().unwrap(), model(IMAGES, 2));
    let out = scratch.path().join("deal");
    deal(&model, &out);
    let file = fs::read(out.join("party0/model.json")).unwrap();
    assert_eq!(fs::read(out.join("party1/model.json")).unwrap(), file);
    assert_eq!(Some(&ModelFile::read(&file).unwrap()), model.architecture().file());
    let manifest = KeyFolder::manifest(&out.join("party0")).unwrap();
    assert_eq!(manifest.model_sha256, Some(folder::hex(&Sha256::digest(&file))));
    assert_eq!((manifest.model.as_str(), manifest.purpose().as_str()), ("images", "images for 2 inputs"));

    let [client, server] = Party::BOTH.map(|party| open(&out, party).unwrap());
    assert_eq!(client.endpoint(Limits::default()).protocol, server.endpoint(Limits::default()).protocol);
    let weights = Parameters::from_tensors(&model, &tensors(&model)).unwrap();
    let (shape, values) = inputs(&model);
    let words = model.encode(&shape, &values).unwrap();
    let (read, [zero, one]) = (client.model().clone(), [Role::Client(&words), Role::Server(&weights)]);
    assert_eq!(read, model);
    let (keys, server_keys) = (client.consume(zero).unwrap(), server.consume(one).unwrap());
    let (to_server, to_client) = memory_pair(PATIENCE);
    let logits = test_process::scope(|scope| {
        let serving =
            scope.spawn(|| party::run(&runtime::cpu().unwrap(), &read, server_keys, to_client, one, |_| ()).unwrap());
        let inferred = party::run(&runtime::cpu().unwrap(), &read, keys, to_server, zero, |_| ()).unwrap();
        serving.join().unwrap();
        inferred.logits
    });
    assert_eq!(logits, Some(plain::logits(&model, &weights, &words).unwrap()));
}

#[test]
fn other_missing_and_damaged_files_are_refused() {
    let (scratch, model) = (tempfile::tempdir().unwrap(), model(FLAT, 1));
    let out = scratch.path().join("deal");
    deal(&model, &out);
    let (path, manifest) = (out.join("party0/model.json"), out.join("party0/manifest.json"));
    let (file, listed) = (fs::read_to_string(&path).unwrap(), fs::read_to_string(&manifest).unwrap());
    let refused = || match open(&out, Party::Zero) {
        Err(InferenceError::Folder { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let digest = |text: &str| folder::hex(&Sha256::digest(text));

    let other = file.replace("\"weight_limit\": 2", "\"weight_limit\": 3");
    fs::write(&path, &other).unwrap();
    let expected = format!("`model.json`: expected SHA-256 {}, got {}", digest(&file), digest(&other));
    assert_eq!(refused(), expected);
    // A manifest that lists the other file: its plan differs, although shapes are the same.
    fs::write(&manifest, listed.replace(&digest(&file), &digest(&other))).unwrap();
    assert!(refused().contains("dealt for a different plan"), "{}", refused());
    // A file of another name, and a manifest that lists it.
    let renamed = file.replace("\"flat\"", "\"other\"");
    fs::write(&path, &renamed).unwrap();
    fs::write(&manifest, listed.replace(&digest(&file), &digest(&renamed))).unwrap();
    assert_eq!(refused(), "`model.json`: expected the model `flat`, got `other`");
    fs::write(&path, "{").unwrap();
    assert!(refused().starts_with("`model.json`: model file: EOF while parsing"), "{}", refused());
    fs::write(&path, " ".repeat(ModelFile::MAX_BYTES + 1)).unwrap();
    assert_eq!(refused(), "`model.json`: expected at most 1048576 bytes");
    fs::remove_file(&path).unwrap();
    assert_eq!(refused(), "`model.json`: is missing");
    // White space alone is no other file.
    fs::write(&path, file.replace('\n', " ")).unwrap();
    fs::write(&manifest, &listed).unwrap();
    assert!(open(&out, Party::Zero).is_ok());
}

#[test]
fn plans_of_different_files_differ_and_built_in_models_have_none() {
    let scratch = tempfile::tempdir().unwrap();
    let plans = [
        FLAT.to_owned(),
        FLAT.replace("\"weight_limit\": 2", "\"weight_limit\": 1"),
        FLAT.replace("\"max\": 1", "\"max\": 2"),
    ]
    .map(|file| model(&file, 1).plan().unwrap().digest());
    assert!(plans[0] != plans[1] && plans[1] != plans[2] && plans[0] != plans[2]);
    // Built-in models have neither the file nor its digest.
    let out = scratch.path().join("digits");
    deal(&digits(1), &out);
    let manifest = fs::read_to_string(out.join("party0/manifest.json")).unwrap();
    assert!(!manifest.contains("model_sha256") && manifest.contains("\"format\": 2"), "{manifest}");
    assert!(!out.join("party0/model.json").exists());
}

#[test]
fn described_models_run_on_weights_that_are_opened_once() {
    let (scratch, model) = (tempfile::tempdir().unwrap(), model(IMAGES, 1));
    let out = scratch.path().join("runs");
    folder::deal_runs(&runtime::cpu().unwrap(), &model, 2, &out, |_| ()).unwrap();
    let weights = Parameters::from_tensors(&model, &tensors(&model)).unwrap();
    let (shape, values) = inputs(&model);
    let words = model.encode(&shape, &values).unwrap();
    for _ in 0..2 {
        let [client, server] = [Party::Zero, Party::One]
            .map(|party| RunsFolder::open(&out.join(format!("party{}", party.number())), party, |_| ()).unwrap());
        let (to_server, to_client) = memory_pair(PATIENCE);
        let logits = test_process::scope(|scope| {
            let serving = scope.spawn(|| {
                server.run(&runtime::cpu().unwrap(), to_client, Role::Server(&weights), |_| ()).unwrap();
            });
            let inferred = client.run(&runtime::cpu().unwrap(), to_server, Role::Client(&words), |_| ()).unwrap();
            serving.join().unwrap();
            inferred.logits
        });
        assert_eq!(logits, Some(plain::logits(&model, &weights, &words).unwrap()));
    }
}
