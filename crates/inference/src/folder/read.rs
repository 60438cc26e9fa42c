//! A folder of keys for a single run, as a party opens it.

use std::path::Path;

use pfss::Party;

use super::{
    checked::{CheckedFolder, is_used, read_manifest, read_manifest_of, remove_keys, spend},
    files::{digest, refused},
    key_files::CheckedFiles,
    manifest::Manifest,
};
use crate::{
    Architecture, InferenceError, Keys, Limits, Model,
    party::Role,
    tls::{Endpoint, Fingerprint, Identity},
};

/// A folder whose keys were read and checked, but not used yet.
#[derive(Debug)]
pub struct KeyFolder {
    folder: CheckedFolder,
    party: Party,
    identity: Identity,
    peer: Fingerprint,
    keys: CheckedFiles,
}

impl KeyFolder {
    /// Reads and checks every file in the folder of `party`.
    ///
    /// Files are checked against the folder's manifest and the plan of its model. One key at a time
    /// is in memory: a run reads the files again. `progress` is called with the step of each file
    /// of keys before the file is read.
    ///
    /// # Errors
    /// [`InferenceError::Used`] if it was used before, once keys that a killed process left in it
    /// are removed. [`InferenceError::OtherParty`] if it is the other party's,
    /// [`InferenceError::OtherModel`] if its model is a Rust function, and
    /// [`InferenceError::Folder`] or [`InferenceError::Pfss`] if it is one of a deal for many runs
    /// or anything in it differs from the manifest and the plan. [`InferenceError::Io`] if it
    /// cannot be read.
    pub fn open(path: &Path, party: Party, mut progress: impl FnMut(&str)) -> Result<Self, InferenceError> {
        Self::read(path, party, None, &mut progress)
    }

    /// Reads and checks the folder of `party` for a model, which may be a Rust function.
    ///
    /// This is [`open`](Self::open) with a check that the keys are for `architecture`. The folder
    /// of a function does not hold it: dealer, client and server each make it with
    /// [`Model::from_fn`]. The manifest has its name, limits and shapes, and a digest of its
    /// weights and steps with their gates, for the batch and the choice of gates of the deal.
    ///
    /// ```
    /// use inference::{InferenceError, Model, ModelLimits, Parameters, folder::{self, KeyFolder}};
    /// use inference::{party::{self, Role}, plain};
    /// use pfss::{Party, memory_pair};
    ///
    /// // The same in the programs of the dealer, the client and the server.
    /// fn pictures() -> Result<Model, InferenceError> {
    ///     let limits = ModelLimits { weights: 1, inputs: [0, 1] };
    ///     Model::from_fn("pictures", &[8], limits, |layers, images| {
    ///         let x = layers.dense("hidden", images, 8, true)?;
    ///         layers.relu("relu", &x)?.add(images)
    ///     })
    /// }
    ///
    /// let (scratch, dealt) = (tempfile::tempdir()?, Model::new(pictures()?.architecture().clone(), 2)?);
    /// let out = scratch.path().join("deal");
    /// folder::deal(&runtime::cpu()?, &dealt, &out, |_| ())?;
    /// let [zero, one] = ["party0", "party1"].map(|party| out.join(party));
    ///
    /// // Keys for another function are refused by name, before anything is spent.
    /// let limits = ModelLimits { weights: 1, inputs: [0, 1] };
    /// let other = Model::from_fn("pictures", &[8], limits, |layers, x| layers.relu("relu", x))?;
    /// let refused = KeyFolder::open_for(&zero, Party::Zero, other.architecture(), |_| ());
    /// assert!(matches!(refused, Err(InferenceError::OtherModel { .. })));
    ///
    /// let own = [pictures()?, pictures()?];
    /// let client = KeyFolder::open_for(&zero, Party::Zero, own[0].architecture(), |_| ())?;
    /// let server = KeyFolder::open_for(&one, Party::One, own[1].architecture(), |_| ())?;
    /// // The models are on the batch of the deal.
    /// let (model, served) = (client.model().clone(), server.model().clone());
    /// let (weights, images) = (Parameters::zeros(&served), model.encode(&[2, 8], &[0.5; 16])?);
    /// let (client, server) = (client.consume(Role::Client(&images))?, server.consume(Role::Server(&weights))?);
    /// let (to_server, to_client) = memory_pair(std::time::Duration::from_secs(10));
    /// let queues = [runtime::cpu()?, runtime::cpu()?];
    /// let role = Role::Server(&weights);
    /// let results = std::thread::scope(|scope| {
    ///     let serving = scope.spawn(|| party::run(&queues[1], &served, server, to_client, role, |_| ()));
    ///     let role = Role::Client(&images);
    ///     let inferred = party::run(&queues[0], &model, client, to_server, role, |_| ())?;
    ///     serving.join().map_err(|_| "the server ends")??;
    ///     Ok::<_, Box<dyn std::error::Error>>(inferred.logits)
    /// })?;
    /// assert_eq!(results, Some(plain::logits(&model, &weights, &images)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`InferenceError::OtherModel`] if the keys are for another model, and as
    /// [`open`](Self::open) and the function.
    pub fn open_for(
        path: &Path,
        party: Party,
        architecture: &Architecture,
        mut progress: impl FnMut(&str),
    ) -> Result<Self, InferenceError> {
        Self::read(path, party, Some(architecture), &mut progress)
    }

    /// Reads and checks a folder for a model, or for the one that the folder holds.
    fn read(
        path: &Path,
        party: Party,
        given: Option<&Architecture>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, InferenceError> {
        let manifest = read_manifest_of(path, party)?;
        if manifest.part.is_some() {
            return Err(refused(path, "expected keys of a single run, got a part of a deal for many runs"));
        }
        if is_used(path) {
            // The process that used it may have been killed before it had removed all keys.
            remove_keys(path, manifest.keys.len())?;
            return Err(InferenceError::Used { path: path.to_owned() });
        }
        let folder = CheckedFolder::new(path, manifest, given)?;
        folder.check_size()?;
        let plan = folder.model.plan()?;
        folder.check_plan(plan.digest(), plan.deals().count())?;
        let keys = CheckedFiles::read(&folder, 0, plan.deals(), party, progress)?;
        let (identity, peer) = folder.identity()?;
        Ok(Self { folder, party, identity, peer, keys })
    }

    /// The manifest of a folder, of either party.
    ///
    /// # Errors
    /// [`InferenceError::Folder`] if it is malformed or of another format, [`InferenceError::Io`]
    /// if it cannot be read.
    pub fn manifest(path: &Path) -> Result<Manifest, InferenceError> {
        read_manifest(path)
    }

    /// Whether the keys of a folder were used.
    #[must_use]
    pub fn is_used(path: &Path) -> bool {
        is_used(path)
    }

    /// A digest of a party's folder.
    ///
    /// It is a digest of the manifest, and so of the keys and of both parties' certificates.
    ///
    /// # Errors
    /// [`InferenceError::Io`].
    pub fn digest(path: &Path) -> Result<String, InferenceError> {
        digest(path, [Manifest::FILE])
    }

    /// The model that the keys are for.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.folder.model
    }

    /// Bytes of keys on disk.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        self.folder.key_bytes()
    }

    /// This party's side of a connection to the party of the other folder.
    #[must_use]
    pub fn endpoint(&self, limits: Limits) -> Endpoint<'_> {
        let protocol = self.folder.protocol();
        Endpoint { party: self.party, identity: &self.identity, peer: self.peer, protocol, limits }
    }

    /// Marks the folder as used, for good, removes the files of keys, and returns the keys.
    ///
    /// The inputs of the run are checked first. Call this before anything that depends on the keys
    /// leaves this party. Whatever happens afterwards, they cannot be used again.
    ///
    /// The keys stay in their files, which have no names any more, until a step reads them. They
    /// are gone when the keys are dropped, or with the process. Nothing protects against a copy of
    /// the folder made earlier.
    ///
    /// # Errors
    /// With the folder unused: [`InferenceError::OtherParty`] if `role` is the other party's, as
    /// [`Role::check`], and [`InferenceError::Folder`] if a file is not the one that was checked.
    /// [`InferenceError::Used`] if another process got there first, [`InferenceError::Io`] if a
    /// file cannot be opened or the mark cannot be made.
    pub fn consume(self, role: Role<'_>) -> Result<Keys, InferenceError> {
        let Self { folder, party, keys, .. } = self;
        if role.party() != party {
            return Err(InferenceError::OtherParty { path: folder.path, expected: role.party(), got: party });
        }
        role.check(&folder.model)?;
        let (files, keys) = (keys.len(), keys.hold()?);
        spend(&folder.path, files)?;
        Ok(keys)
    }
}
