//! The committed files of stwo's prover, and their JSON. Shared with other tests of proofs.

use std::{fs, path::PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::statement::VectorLine;

/// A file of the vectors.
pub(crate) fn file(name: &str) -> Vec<u8> {
    fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/stark").join(name)).unwrap()
}

/// All vectors.
pub(crate) fn vectors<C: DeserializeOwned>() -> Vec<VectorLine<C>> {
    serde_json::from_slice(&file("vectors.json")).unwrap()
}

/// Every object within a value, by its pointer.
pub(crate) fn objects(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| objects(field, format!("{at}/{name}"), found));
            found.push(at);
        }
        Value::Array(list) => {
            (0..).zip(list).for_each(|(k, item): (usize, _)| objects(item, format!("{at}/{k}"), found));
        }
        _ => {}
    }
}
