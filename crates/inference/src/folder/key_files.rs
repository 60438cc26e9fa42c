//! Files of keys: read once and checked, and read again when a run uses them.
//!
//! The first bytes of a file of keys hold a digest of all others (`docs/key-bundles.md`), which
//! reading compares. They are kept: a file that begins with them and is read without an error is
//! the file that was checked.

use core::fmt;
use std::{
    collections::VecDeque,
    fs::File,
    io::{Error, ErrorKind, Read},
    path::{Path, PathBuf},
};

use pfss::{KeyBundle, MatrixTriple, Party, PfssError};
use zeroize::Zeroizing;

use super::{
    checked::{CheckedFolder, is_used},
    files::{io, missing, refused},
    manifest::key_name,
};
use crate::{
    InferenceError,
    keys::{
        deal::{Deal, Key},
        queue::KeyCheck,
        stored::{KeySource, Keys},
    },
};

/// The first bytes of a file that are kept: the longest header, which a bundle has.
const HEAD: usize = 128;
/// The longest files that are read when a run begins. Others stay open until they are used.
///
/// A model of many steps on few inputs would otherwise need many open files.
const SMALL: u64 = 1 << 16;

/// Files of keys that were read once and checked, in the order of their use.
pub(super) struct CheckedFiles {
    path: PathBuf,
    party: Party,
    files: VecDeque<CheckedFile>,
}

/// A file of keys that was read once and checked.
struct CheckedFile {
    name: String,
    bytes: u64,
    /// Its first [`HEAD`] bytes, or all of them. A short file is a seed in large part.
    head: Zeroizing<Vec<u8>>,
    deal: Deal,
    nonce: [u8; 16],
}

/// Files of keys that a run uses, and that no longer have names.
struct HeldFiles {
    path: PathBuf,
    party: Party,
    files: VecDeque<(CheckedFile, FileRest)>,
}

/// The bytes of a file after its head.
enum FileRest {
    Read(Zeroizing<Vec<u8>>),
    Open(File),
}

impl CheckedFiles {
    /// Reads and checks the files of a folder from number `first`, one for each of `deals`.
    ///
    /// One key at a time is in memory. `progress` is called with the step of each file before the
    /// file is read.
    pub(super) fn read<'a>(
        folder: &CheckedFolder,
        first: usize,
        deals: impl IntoIterator<Item = &'a Deal>,
        party: Party,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, InferenceError> {
        let (path, mut check) = (folder.path.clone(), KeyCheck::new(party));
        let mut files = VecDeque::new();
        for ((index, listed), deal) in folder.manifest.keys.iter().enumerate().skip(first).zip(deals) {
            progress(&listed.step);
            let (name, bytes) = (key_name(index), listed.bytes);
            let mut file = folder.open_file(index, listed)?;
            let failed = |error| failed(&path, &name, error);
            let mut head = Zeroizing::new(vec![0u8; bytes.min(HEAD as u64) as usize]);
            file.read_exact(&mut head).map_err(failed)?;
            let start = &head[..];
            let key = read_key(deal, &mut start.chain(file), bytes, failed)?;
            check.next(deal, &key)?;
            files.push_back(CheckedFile { name, bytes, head, deal: deal.clone(), nonce: key.nonce() });
        }
        Ok(Self { path, party, files })
    }

    /// The number of files.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// The nonces of the keys.
    pub(super) fn nonces(&self) -> impl Iterator<Item = [u8; 16]> + '_ {
        self.files.iter().map(|file| file.nonce)
    }

    /// Opens the files for a run, after which their names may be removed.
    ///
    /// # Errors
    /// [`InferenceError::Used`] if another process has removed them,
    /// [`InferenceError::Folder`] if one is missing or another than the checked one, and
    /// [`InferenceError::Io`].
    pub(super) fn hold(self) -> Result<Keys, InferenceError> {
        let Self { path, party, files } = self;
        let held = files.into_iter().map(|file| file.hold(&path).map(|held| (file, held)));
        let files = held.collect::<Result<VecDeque<_>, InferenceError>>().map_err(|error| match is_used(&path) {
            true => InferenceError::Used { path: path.clone() },
            false => error,
        })?;
        Ok(Keys::from_source(HeldFiles { path, party, files }))
    }
}

impl CheckedFile {
    /// Opens the file, and compares its length and its first bytes.
    fn hold(&self, folder: &Path) -> Result<FileRest, InferenceError> {
        let Self { name, bytes, .. } = self;
        let path = folder.join(name);
        let mut file = File::open(&path).map_err(io("opening", &path)).map_err(missing(folder, name))?;
        let failed = |error| failed(folder, name, error);
        let mut head = Zeroizing::new(vec![0u8; self.head.len()]);
        let has_length = file.metadata().map_err(io("reading", &path))?.len() == *bytes;
        if has_length {
            file.read_exact(&mut head).map_err(failed)?;
        }
        if !has_length || *head != *self.head {
            return Err(changed(folder, name, "expected the file that was checked, got another"));
        }
        if *bytes > SMALL {
            return Ok(FileRest::Open(file));
        }
        let mut rest = Zeroizing::new(vec![0u8; *bytes as usize - head.len()]);
        file.read_exact(&mut rest).map_err(failed)?;
        Ok(FileRest::Read(rest))
    }
}

impl KeySource for HeldFiles {
    fn party(&self) -> Party {
        self.party
    }

    fn deals(&self) -> Vec<&Deal> {
        self.files.iter().map(|(file, _)| &file.deal).collect()
    }

    fn next_key(&mut self) -> Result<Option<Key>, InferenceError> {
        let Some((CheckedFile { name, bytes, head, deal, .. }, held)) = self.files.pop_front() else {
            return Ok(None);
        };
        let (folder, head) = (&self.path, &head[..]);
        let failed = |error| failed(folder, &name, error);
        let key = match held {
            FileRest::Read(rest) => read_key(&deal, &mut head.chain(&rest[..]), bytes, failed),
            FileRest::Open(file) => read_key(&deal, &mut head.chain(file), bytes, failed),
        };
        key.map(Some).map_err(|error| match error {
            InferenceError::Pfss(PfssError::Bundle(reason)) => changed(folder, &name, &reason.to_string()),
            other => other,
        })
    }
}

/// Shows the number of files: their first bytes may be secret.
impl fmt::Debug for CheckedFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedFiles").field("path", &self.path).field("len", &self.len()).finish_non_exhaustive()
    }
}

/// Reads the key that `deal` makes from the `len` bytes of `source`.
fn read_key(
    deal: &Deal,
    source: &mut impl Read,
    len: u64,
    failed: impl Fn(Error) -> InferenceError,
) -> Result<Key, InferenceError> {
    let len = usize::try_from(len).map_err(|_| failed(ErrorKind::FileTooLarge.into()))?;
    match deal {
        Deal::Gate(..) | Deal::Alongside(..) => {
            let fill = |piece: &mut [u8]| source.read_exact(piece).map_err(&failed);
            KeyBundle::read_pieces(len, fill).map(Key::Gate)
        }
        Deal::Matrix(..) => {
            let mut bytes = Zeroizing::new(vec![0u8; len]);
            source.read_exact(&mut bytes).map_err(&failed)?;
            Ok(Key::Matrix(MatrixTriple::from_bytes(&bytes)?))
        }
    }
}

/// The error of a file of keys that could not be read.
fn failed(folder: &Path, name: &str, error: Error) -> InferenceError {
    if error.kind() == ErrorKind::UnexpectedEof {
        return changed(folder, name, "it ends too early");
    }
    io("reading", &folder.join(name))(error)
}

/// The error of a file of keys that is not the one that was checked.
fn changed(folder: &Path, name: &str, reason: &str) -> InferenceError {
    refused(folder, &format!("`{name}`: changed since it was checked: {reason}"))
}
