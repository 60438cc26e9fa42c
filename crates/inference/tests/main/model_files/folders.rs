//! Key folders of described models: the file is in them, and parties with different files refuse each other.

use std::fs;

use inference::{
    InferenceError, Limits, ModelFile, Parameters,
    folder::{self, KeyFolder, RunsFolder},
    plain,
};
use pfss::{Party, memory_pair};
use sha2::{Digest as _, Sha256};

use super::{FLAT, IMAGES, inputs, model, tensors};
use crate::common::{PATIENCE, consume, deal, deal_runs, digits, next_run, open, open_runs, run_on};

#[test]
fn folders_hold_the_file_and_run_the_model() {
    let model = model(IMAGES, 2);
    let (_scratch, paths) = deal(&model);
    let [file, other] = paths.each_ref().map(|path| fs::read(path.join("model.json")).unwrap());
    assert_eq!(other, file);
    assert_eq!(Some(&ModelFile::read(&file).unwrap()), model.architecture().file());
    let manifest = KeyFolder::manifest(&paths[0]).unwrap();
    assert_eq!(manifest.model_sha256, Some(folder::hex(&Sha256::digest(&file))));
    assert_eq!((manifest.model.as_str(), manifest.purpose().as_str()), ("images", "images for 2 inputs"));

    let folders = open(&paths);
    let [client, server] = folders.each_ref().map(|folder| folder.endpoint(Limits::default()).protocol);
    assert_eq!(client, server);
    let weights = Parameters::from_tensors(&model, &tensors(&model)).unwrap();
    let (shape, values) = inputs(&model);
    let words = model.encode(&shape, &values).unwrap();
    let read = folders[0].model().clone();
    assert_eq!(read, model);
    let keys = consume(folders, &weights, &words);
    let [client, _] = run_on(&read, keys, memory_pair(PATIENCE).into(), &weights, &words).map(Result::unwrap);
    assert_eq!(client.logits, Some(plain::logits(&model, &weights, &words).unwrap()));
}

#[test]
fn other_missing_and_damaged_files_are_refused() {
    let (_scratch, [folder, _]) = deal(&model(FLAT, 1));
    let (path, manifest) = (folder.join("model.json"), folder.join("manifest.json"));
    let (file, listed) = (fs::read_to_string(&path).unwrap(), fs::read_to_string(&manifest).unwrap());
    let open = || KeyFolder::open(&folder, Party::Zero, |_| ());
    let refused = || match open() {
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
    assert!(open().is_ok());
}

#[test]
fn each_run_of_many_has_the_file_and_a_damaged_one_is_refused() {
    let (_scratch, [folder, _]) = deal_runs(&model(FLAT, 1), 2);
    for part in ["weights", "run-001"] {
        let path = folder.join(part).join("model.json");
        let file = fs::read_to_string(&path).unwrap();
        fs::write(&path, file.replace("\"weight_limit\": 2", "\"weight_limit\": 3")).unwrap();
        let refused = RunsFolder::open(&folder, Party::Zero, |_| ()).unwrap_err().to_string();
        assert!(refused.contains(&format!("{part}: `model.json`: expected SHA-256")), "{refused}");
        fs::write(&path, file).unwrap();
    }
    assert!(RunsFolder::open(&folder, Party::Zero, |_| ()).is_ok());
}

#[test]
fn plans_of_different_files_differ_and_built_in_models_have_none() {
    let plans = [
        FLAT.to_owned(),
        FLAT.replace("\"weight_limit\": 2", "\"weight_limit\": 1"),
        FLAT.replace("\"max\": 1", "\"max\": 2"),
    ]
    .map(|file| model(&file, 1).plan().unwrap().digest());
    assert!(plans[0] != plans[1] && plans[1] != plans[2] && plans[0] != plans[2]);
    // Built-in models have neither the file nor its digest.
    let (_scratch, [folder, _]) = deal(&digits(1));
    let manifest = fs::read_to_string(folder.join("manifest.json")).unwrap();
    assert!(!manifest.contains("model_sha256") && manifest.contains("\"format\": 2"), "{manifest}");
    assert!(!folder.join("model.json").exists());
}

#[test]
fn described_models_run_on_weights_that_are_opened_once() {
    let model = model(IMAGES, 1);
    let (_scratch, paths) = deal_runs(&model, 2);
    let weights = Parameters::from_tensors(&model, &tensors(&model)).unwrap();
    let (shape, values) = inputs(&model);
    let words = model.encode(&shape, &values).unwrap();
    for _ in 0..2 {
        let [client, _] = next_run(open_runs(&paths), &weights, &words).map(Result::unwrap);
        assert_eq!(client.logits, Some(plain::logits(&model, &weights, &words).unwrap()));
    }
}
