//! Checks of bundles and of the folders of `gen`, for `trefoil pfss verify`.

use std::path::Path;

use anyhow::Result;
use inference::Limits;
use pfss::KeyBundle;

use super::folder::{PartyFolder, read_bundle};
use crate::private::{advance, sound::Sound, steps_bar};

/// Checks a bundle and returns its description.
pub(crate) fn bundle(path: &Path) -> Result<String> {
    let bundle = read_bundle(path)?;
    let (kind, count, party) = (bundle.gate().kind(), bundle.count(), bundle.party());
    Ok(format!("sound: {kind} for {count} elements, {party}, {} bytes", bundle.byte_len()))
}

/// Checks a party's folder.
pub(crate) fn folder(path: &Path) -> Result<Sound> {
    let bar = steps_bar(2, "read keys")?;
    advance(&bar, "bundles");
    let folder = PartyFolder::open(path)?;
    advance(&bar, "digest");
    let endpoint = folder.endpoint(Limits::default());
    let sound = Sound {
        purpose: format!("{} for {} elements", folder.computation.name(), folder.count()),
        runs: None,
        party: folder.party(),
        key_bytes: folder.key_bytes() as u64,
        digest: folder.digest()?,
        deal: folder.bundles.iter().flat_map(KeyBundle::nonce).collect(),
        own: endpoint.identity.fingerprint(),
        peer: endpoint.peer,
    };
    bar.finish_and_clear();
    Ok(sound)
}
