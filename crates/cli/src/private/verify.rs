//! `trefoil pfss verify`: keys checked as a run would check them, without using them.

use core::fmt;
use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Result;
use clap::Args;
use inference::{
    InferenceError, Limits,
    folder::{KeyFolder, Manifest, RunsFolder, RunsState},
};
use pfss::Party;

use super::{
    advance, bundle,
    keys::open_runs,
    kind::{KeyPathKind, folder_of, unknown},
    sound::Sound,
    steps_bar,
};
use crate::exit::UsageError;

/// Read all of the keys and check them as a run would, without using any.
///
/// Every file of a party's folder is checked against its digest and its declared purpose; in a
/// folder for both parties, the two must also belong together. With keys for many runs, the weights
/// and all unused runs are checked. Exit code 0: sound and unused, or with a run left. 4: damaged,
/// used, of the other party, of two deals, or with a digest other than --digest. 2: no keys at all.
/// 1: a file cannot be read.
///
/// The digests in a folder are not a signature: whoever can write to the folder can replace all of
/// it. The digest for --digest has to come by a different route, from `deal` or `gen`, which print
/// it.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// A folder with keys, or a bundle such as `keys.pfk`.
    ///
    /// The folder is one that `deal` or `gen` made, or the folder `party0` or `party1` in it.
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// The digest that a party's folder must have.
    #[arg(long, value_name = "HEX")]
    digest: Option<String>,
}

/// Runs the command.
pub(super) fn run(args: &VerifyArgs) -> Result<()> {
    let path = &args.path;
    let kind = KeyPathKind::of(path).ok_or_else(|| unknown(path))?;
    if args.digest.is_some() && !matches!(kind, KeyPathKind::Gate | KeyPathKind::Model | KeyPathKind::Runs) {
        return Err(UsageError(format!("expected one party's folder for --digest, got {}", path.display())).into());
    }
    match kind {
        KeyPathKind::File => say(path, &bundle::verify_bundle(path)?),
        KeyPathKind::Gate | KeyPathKind::Model | KeyPathKind::Runs => {
            let sound = party(kind, path)?;
            match &args.digest {
                Some(expected) if !expected.eq_ignore_ascii_case(&sound.digest) => {
                    let reason = format!("expected digest {}, got {}", expected.escape_debug(), sound.digest);
                    Err(InferenceError::Folder { path: path.clone(), reason }.into())
                }
                _ => say(path, &sound),
            }
        }
        KeyPathKind::Gates => both(KeyPathKind::Gate, path),
        KeyPathKind::Models => both(KeyPathKind::Model, path),
        KeyPathKind::AllRuns => both(KeyPathKind::Runs, path),
    }
}

/// Checks both parties' folders, and that they belong together.
fn both(kind: KeyPathKind, path: &Path) -> Result<()> {
    let mut sound = Vec::new();
    for expected in Party::BOTH {
        let folder = folder_of(path, expected);
        if KeyPathKind::of(&folder).is_some_and(|other| other != kind) {
            let reason = "expected keys of one deal, got keys of two".to_owned();
            return Err(InferenceError::Folder { path: path.to_owned(), reason }.into());
        }
        let found = party(kind, &folder)?;
        if found.party != expected {
            return Err(InferenceError::OtherParty { path: folder, expected, got: found.party }.into());
        }
        say(&folder, &found)?;
        sound.push(found);
    }
    let refused = |reason: &str| InferenceError::Folder { path: path.to_owned(), reason: reason.to_owned() };
    let pinned = sound[0].own == sound[1].peer && sound[1].own == sound[0].peer;
    if sound[0].deal != sound[1].deal || sound[0].purpose != sound[1].purpose {
        return Err(refused("expected keys of one deal, got keys of two").into());
    }
    if !pinned {
        return Err(refused("expected parties that accept each other's certificate").into());
    }
    Ok(())
}

/// Checks one party's folder.
fn party(kind: KeyPathKind, path: &Path) -> Result<Sound> {
    match kind {
        KeyPathKind::Gate => bundle::verify_folder(path),
        KeyPathKind::Runs => runs(path),
        _ => model(path),
    }
}

/// Checks a party's folder of `deal`.
fn model(path: &Path) -> Result<Sound> {
    let manifest = KeyFolder::manifest(path)?;
    let party = owner(path, &manifest)?;
    let folder = super::open(path, party)?;
    let endpoint = folder.endpoint(Limits::default());
    Ok(Sound {
        purpose: manifest.purpose(),
        runs: None,
        party,
        key_bytes: folder.key_bytes(),
        digest: KeyFolder::digest(path)?,
        deal: endpoint.protocol.to_vec(),
        own: endpoint.identity.fingerprint(),
        peer: endpoint.peer,
    })
}

/// Checks a party's folder of `deal --runs`, and the keys of all unused runs.
fn runs(path: &Path) -> Result<Sound> {
    let RunsState { manifest, runs, used, is_opened } = RunsFolder::state(path)?;
    let party = owner(path, &manifest)?;
    let folder = open_runs(path, party)?;
    let bar = steps_bar(0, "read keys of all runs")?;
    let run_bytes = folder.check_runs(|step| advance(&bar, step))?;
    bar.finish_and_clear();
    let weight_bytes: u64 = if is_opened { 0 } else { manifest.keys.iter().map(|key| key.bytes).sum() };
    let endpoint = folder.endpoint(Limits::default());
    Ok(Sound {
        purpose: manifest.purpose(),
        runs: Some([runs - used, runs]),
        party,
        key_bytes: run_bytes + weight_bytes,
        digest: RunsFolder::digest(path)?,
        deal: endpoint.protocol.to_vec(),
        own: endpoint.identity.fingerprint(),
        peer: endpoint.peer,
    })
}

/// The party whose folder this is, by its manifest.
fn owner(path: &Path, manifest: &Manifest) -> Result<Party, InferenceError> {
    let refused = |reason: String| InferenceError::Folder { path: path.to_owned(), reason };
    Party::try_from(manifest.party).map_err(|e| refused(e.to_string()))
}

fn say(path: &Path, sound: &impl fmt::Display) -> Result<()> {
    Ok(writeln!(io::stdout(), "{}  {sound}", path.display())?)
}
