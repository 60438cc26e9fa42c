//! Key folders: only the dealer's folder is accepted.
//!
//! Any other folder is rejected in one line. An accepted folder gives its keys once and serves with
//! its certificate. The first byte of an input chooses a file of a folder fresh from the dealer,
//! and whether the rest replaces that file or is XORed with it. The second form of a key file is
//! followed by a manifest that states its new length and digest.

use std::{
    fs,
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
    sync::LazyLock,
};

use inference::{
    Architecture, InferenceError, Limits, Model,
    folder::{self, KeyFolder, Manifest},
    party::Role,
    tls::fuzzing::Acceptor,
};
use pfss::Party;
use sha2::{Digest as _, Sha256};

use super::check_error;
use crate::queue::QUEUE;

const MANIFEST: &str = "manifest.json";

/// The files of a client's folder as the dealer writes them, in the order of their names.
static DEALT: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let scratch = scratch();
    let out = scratch.path().join("deal");
    let model = Model::new(Architecture::Digits, 1).expect("a model");
    folder::deal(&*QUEUE, &model, &out, |_| ()).expect("a deal");
    let mut files: Vec<_> = fs::read_dir(out.join("party0")).expect("a folder").map(|entry| read(&entry)).collect();
    files.sort();
    files
});

fn read(entry: &io::Result<fs::DirEntry>) -> (String, Vec<u8>) {
    let entry = entry.as_ref().expect("an entry");
    (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file"))
}

/// A folder that is gone when it is dropped; in memory, where the system offers that.
fn scratch() -> tempfile::TempDir {
    let parent = ["/dev/shm"].map(PathBuf::from).into_iter().find(|path| path.is_dir());
    tempfile::tempdir_in(parent.unwrap_or_else(std::env::temp_dir)).expect("a folder")
}

/// Checks one input.
pub fn check_input(data: &[u8]) {
    let Some((&mode, input)) = data.split_first() else { return };
    let mut files = DEALT.clone();
    let (index, replace) = (usize::from(mode >> 1) % files.len(), mode & 1 == 0);
    let (name, bytes) = &mut files[index];
    let original = bytes.clone();
    if replace {
        *bytes = input.to_vec();
    } else {
        bytes.iter_mut().zip(input).for_each(|(byte, mask)| *byte ^= mask);
    }
    let (name, bytes) = (name.clone(), bytes.clone());
    if !replace && name.ends_with(".key") && name != "identity.key" {
        state(&mut files, &name, &bytes);
    }
    let scratch = scratch();
    let path = scratch.path();
    for (name, bytes) in &files {
        fs::write(path.join(name), bytes).expect("a file is written");
    }
    check_manifest(path);
    let opened = KeyFolder::open(path, Party::Zero, |_| ());
    if bytes == original {
        assert!(opened.is_ok(), "the dealer's folder is rejected: {opened:?}");
    }
    match opened {
        Ok(folder) => check_folder(path, folder),
        Err(error) => check_error(&error),
    }
}

/// States the length and the digest of a key file in the manifest.
fn state(files: &mut [(String, Vec<u8>)], name: &str, bytes: &[u8]) {
    let Some((_, text)) = files.iter_mut().find(|(name, _)| name == MANIFEST) else { return };
    let mut manifest: Manifest = serde_json::from_slice(text).expect("the dealer's manifest");
    let Some(key) = manifest.keys.iter_mut().find(|key| key.file == name) else { return };
    (key.bytes, key.sha256) = (bytes.len() as u64, folder::hex(&Sha256::digest(bytes)));
    *text = serde_json::to_vec(&manifest).expect("a manifest is written");
}

/// An accepted manifest is written and read again unchanged.
fn check_manifest(path: &Path) {
    match KeyFolder::manifest(path) {
        Ok(manifest) => {
            let text = serde_json::to_vec(&manifest).expect("a manifest is written");
            assert_eq!(serde_json::from_slice::<Manifest>(&text).ok(), Some(manifest));
        }
        Err(error) => check_error(&error),
    }
}

/// An accepted folder serves with its certificate, and gives its keys once.
fn check_folder(path: &Path, folder: KeyFolder) {
    assert!(Acceptor::new(&folder.endpoint(Limits::default()), Silence).is_ok(), "no server with this certificate");
    let (expected, bytes) = (folder.model().plan().expect("a plan").deals().count(), folder.key_bytes());
    let on_disk: u64 = (0..expected).map(|index| size(&path.join(format!("{index:03}.key")))).sum();
    assert_eq!(bytes, on_disk, "bytes of keys");
    let images = vec![0; folder.model().count() * folder.model().input_len()];
    assert_eq!(folder.consume(Role::Client(&images)).expect("fresh keys").len(), expected);
    let left = fs::read_dir(path).expect("a folder").map(|entry| read(&entry).0);
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["identity.der", "identity.key", MANIFEST, "used"]);
    let again = KeyFolder::open(path, Party::Zero, |_| ());
    assert!(matches!(again, Err(InferenceError::Used { .. })), "{again:?}");
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).expect("a key file").len()
}

/// A peer that sends nothing.
struct Silence;

impl Read for Silence {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::WouldBlock.into())
    }
}

impl Write for Silence {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
