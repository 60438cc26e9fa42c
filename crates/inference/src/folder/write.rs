//! Deals the keys of a plan into a folder for each party.

use std::path::Path;

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, Party, PfssError};
use sha2::{Digest as _, Sha256};

use super::{
    Manifest,
    files::{make_folder, sync_folder, write_identity, write_new},
    manifest::{KeyFile, hex},
    scratch::whole_folder,
};
use crate::{InferenceError, Model, keys::deal::Key, tls::Identity};

/// Deals keys for one batch, and writes them to folders.
///
/// `out/party0` is for the client and `out/party1` for the server. Each folder has its own
/// certificate. `progress` is called with each step before it is dealt.
///
/// As [`whole_folder`] makes them, there are two complete folders or none. Whoever runs this is the
/// dealer: trusted, and gone afterwards.
///
/// # Errors
/// [`InferenceError::Exists`] if `out` does, [`InferenceError::Io`] if it cannot be written, and as
/// [`Dealer::deal`].
pub fn deal<Q: FssOps>(
    q: &Q,
    model: &Model,
    out: &Path,
    progress: impl FnMut(&str),
) -> Result<[Manifest; 2], InferenceError> {
    whole_folder(out, |scratch| fill(q, model, scratch, progress))
}

/// Writes both folders to `scratch`.
fn fill<Q: FssOps>(
    q: &Q,
    model: &Model,
    scratch: &Path,
    mut progress: impl FnMut(&str),
) -> Result<[Manifest; 2], InferenceError> {
    let folders = Party::BOTH.map(|party| scratch.join(format!("party{}", party.number())));
    folders.iter().try_for_each(|folder| make_folder(folder))?;

    let plan = model.plan()?;
    let mut dealer = Dealer::from_os()?;
    let mut files = [Vec::new(), Vec::new()];
    for step in plan.steps() {
        progress(&step.name);
        for deal in &step.deals {
            for (b, key) in deal.make(q, &mut dealer)?.into_iter().enumerate() {
                let file = format!("{:03}.key", files[b].len());
                let (bytes, sha256) = write_key(&folders[b].join(&file), &key)?;
                files[b].push(KeyFile { file, step: step.name.clone(), bytes, sha256 });
            }
        }
    }
    let identities = [Identity::generate()?, Identity::generate()?];
    let deal = deal_name()?;
    let mut written = Vec::with_capacity(2);
    for (party, keys) in Party::BOTH.into_iter().zip(files) {
        let (folder, identity) = (&folders[party.index()], &identities[party.index()]);
        write_identity(folder, identity)?;
        let manifest = Manifest {
            format: Manifest::FORMAT,
            model: model.architecture().name().to_owned(),
            count: model.count(),
            prefer: model.preference(),
            party: party.number(),
            deal: deal.clone(),
            plan: hex(&plan.digest()),
            certificate: identity.fingerprint().to_string(),
            peer: identities[party.peer().index()].fingerprint().to_string(),
            keys,
        };
        let text = serde_json::to_vec_pretty(&manifest)
            .map_err(|e| InferenceError::Folder { path: folder.clone(), reason: e.to_string() })?;
        write_new(&folder.join(Manifest::FILE), &text)?;
        sync_folder(folder)?;
        written.push(manifest);
    }
    Ok(<[Manifest; 2]>::try_from(written).unwrap_or_else(|_| unreachable!("two parties")))
}

fn write_key(path: &Path, key: &Key) -> Result<(u64, String), InferenceError> {
    let bytes = match key {
        Key::Gate(bundle) => bundle.to_bytes(),
        Key::Matrix(triple) => triple.to_bytes(),
    };
    write_new(path, &bytes)?;
    Ok((bytes.len() as u64, hex(&Sha256::digest(&bytes[..]))))
}

fn deal_name() -> Result<String, InferenceError> {
    let mut name = [0; 16];
    getrandom::fill(&mut name).map_err(|e| PfssError::Entropy { reason: e.to_string() })?;
    Ok(hex(&name))
}
