//! Deals the keys of a plan into folders for each party.

use std::path::{Path, PathBuf};

use backend_api::ops::fss::FssOps;
use pfss::{Dealer, Party, PfssError};
use sha2::{Digest as _, Sha256};

use super::{
    files::{make_folder, sync_folder, write_identity, write_new},
    manifest::{DealPart, FunctionFacts, KeyFile, Manifest, hex, key_name},
    scratch::whole_folder,
};
use crate::{
    InferenceError, Model, ModelFile, Plan,
    keys::{deal::Key, opened::WEIGHTS_STEP},
    tls::Identity,
};

/// Deals keys for one batch, and writes them to folders.
///
/// `out/party0` is for the client and `out/party1` for the server. Each folder has its own
/// certificate. `progress` is called with each step before it is dealt.
///
/// As [`whole_folder`] makes them, there are two complete folders or none. Whoever runs this is the
/// dealer: trusted, and gone afterwards. [`KeyFolder::open_for`](super::KeyFolder::open_for) opens
/// the folder of a model that is a Rust function.
///
/// # Errors
/// [`InferenceError::Exists`] if `out` does, [`InferenceError::Io`] if it cannot be written,
/// [`InferenceError::Folder`] if a model has too many keys for a manifest, before any are dealt,
/// and as [`Model::plan`] and [`Dealer::deal`].
pub fn deal<Q: FssOps>(
    q: &Q,
    model: &Model,
    out: &Path,
    mut progress: impl FnMut(&str),
) -> Result<[Manifest; 2], InferenceError> {
    whole_folder(out, |scratch| fill(q, &mut Dealer::from_os()?, model, scratch, &mut progress))
}

/// Deals keys for `runs` runs on weights that are opened once, and writes them to folders.
///
/// `out/party0` is for the client and `out/party1` for the server, each with a folder of the keys
/// that open the weights and a folder for each run; [`RunsFolder`](super::RunsFolder) reads them.
/// Each party has one certificate. The masks of the weights are not kept: no one can deal further
/// runs. `progress` is called with each step before it is dealt.
///
/// Returns the manifests of both parties, the one of the weights first, then one for each run. As
/// with [`deal`], either all folders are written or none.
///
/// # Errors
/// [`InferenceError::Runs`] for no runs or more than [`DealPart::MAX_RUNS`], and as [`deal`].
pub fn deal_runs<Q: FssOps>(
    q: &Q,
    model: &Model,
    runs: u32,
    out: &Path,
    mut progress: impl FnMut(&str),
) -> Result<[Vec<Manifest>; 2], InferenceError> {
    if !(1..=DealPart::MAX_RUNS).contains(&runs) {
        return Err(InferenceError::Runs { max: DealPart::MAX_RUNS, got: runs });
    }
    whole_folder(out, |scratch| fill_runs(q, &mut Dealer::from_os()?, model, runs, scratch, &mut progress))
}

/// Writes the folders of both parties for a single run to `scratch`.
fn fill<Q: FssOps>(
    q: &Q,
    dealer: &mut Dealer,
    model: &Model,
    scratch: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<[Manifest; 2], InferenceError> {
    let plan = model.plan()?;
    let deal = DealFacts::new(model, plan.digest())?;
    let parties = party_folders(scratch);
    deal.check(&parties, None, |party| plan.files(party))?;
    let mut folders = FolderPair::make(parties)?;
    folders.deal(q, dealer, &plan, progress)?;
    deal.write_identities(&folders)?;
    deal.finish(folders, None)
}

/// Writes the folders of both parties for many runs to `scratch`.
fn fill_runs<Q: FssOps>(
    q: &Q,
    dealer: &mut Dealer,
    model: &Model,
    runs: u32,
    scratch: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<[Vec<Manifest>; 2], InferenceError> {
    let parties = party_folders(scratch);
    parties.iter().try_for_each(|party| make_folder(party))?;
    let make = |part: DealPart| FolderPair::make(parties.each_ref().map(|party| party.join(part.folder_name())));
    let plan = model.opened_plan()?;
    let deal = DealFacts::new(model, plan.digest())?;

    // The manifest of the last run is the longest of all runs.
    let part = DealPart::Weights { runs };
    deal.check(&parties, Some(part), |_| plan.weight_files())?;
    deal.check(&parties, Some(DealPart::Run { index: runs }), |party| plan.run_files(party))?;

    // The keys of the weights. Their masks are dropped with this function.
    progress(WEIGHTS_STEP);
    let mut weights = make(part)?;
    let (keys, masks) = plan.deal_weights(dealer)?;
    for (party, keys) in Party::BOTH.into_iter().zip(keys) {
        keys.iter().try_for_each(|key| weights.add(party, WEIGHTS_STEP, &key.to_bytes()))?;
    }
    deal.write_identities(&weights)?;
    let mut written = deal.finish(weights, Some(part))?.map(|manifest| vec![manifest]);

    // The keys of each run.
    for index in 1..=runs {
        progress(WEIGHTS_STEP);
        let part = DealPart::Run { index };
        let mut run = make(part)?;
        for (party, triples) in Party::BOTH.into_iter().zip(plan.deal_triples(q, dealer, &masks)?) {
            triples.iter().try_for_each(|triple| run.add(party, WEIGHTS_STEP, &triple.to_bytes()))?;
        }
        run.deal(q, dealer, plan.others(), progress)?;
        written.iter_mut().zip(deal.finish(run, Some(part))?).for_each(|(all, manifest)| all.push(manifest));
    }
    parties.iter().try_for_each(|party| sync_folder(party))?;
    Ok(written)
}

/// The folders of both parties in the folder of a deal.
fn party_folders(out: &Path) -> [PathBuf; 2] {
    Party::BOTH.map(|party| out.join(format!("party{}", party.number())))
}

/// Facts that all folders of a deal have in common.
struct DealFacts<'a> {
    model: &'a Model,
    /// The facts of the model, if it is a function.
    function: Option<FunctionFacts>,
    /// Digest of the plan, in hexadecimal.
    plan: String,
    /// Its random name.
    name: String,
    identities: [Identity; 2],
}

impl<'a> DealFacts<'a> {
    fn new(model: &'a Model, plan: [u8; 32]) -> Result<Self, InferenceError> {
        let identities = [Identity::generate()?, Identity::generate()?];
        Ok(Self { model, function: FunctionFacts::of(model)?, plan: hex(&plan), name: deal_name()?, identities })
    }

    fn write_identities(&self, folders: &FolderPair) -> Result<(), InferenceError> {
        folders.paths.iter().zip(&self.identities).try_for_each(|(path, identity)| write_identity(path, identity))
    }

    /// Refuses files of keys that are not dealt yet, if a manifest has no room for them.
    ///
    /// `files` are the steps and the fewest bytes of a party's files: their names take most of it.
    fn check<'p, F: Iterator<Item = (&'p str, u64)>>(
        &self,
        parties: &[PathBuf; 2],
        part: Option<DealPart>,
        files: impl Fn(Party) -> F,
    ) -> Result<(), InferenceError> {
        let file = |(index, (step, bytes)): (usize, (&str, u64))| KeyFile {
            file: key_name(index),
            step: step.to_owned(),
            bytes,
            sha256: hex(&[0; 32]),
        };
        let manifests = self.manifests(Party::BOTH.map(|party| files(party).enumerate().map(file).collect()), part);
        parties.iter().zip(&manifests).try_for_each(|(path, manifest)| text_for(path, manifest).map(drop))
    }

    /// Writes the manifests of two folders that are otherwise complete.
    fn finish(&self, folders: FolderPair, part: Option<DealPart>) -> Result<[Manifest; 2], InferenceError> {
        let FolderPair { paths, files } = folders;
        let manifests = self.manifests(files, part);
        for (path, manifest) in paths.iter().zip(&manifests) {
            let text = text_for(path, manifest)?;
            if let Some(file) = self.model.architecture().file() {
                write_new(&path.join(Manifest::MODEL_FILE), file.json())?;
            }
            write_new(&path.join(Manifest::FILE), &text)?;
            sync_folder(path)?;
        }
        Ok(manifests)
    }

    /// The manifests of both parties for these files of keys.
    fn manifests(&self, files: [Vec<KeyFile>; 2], part: Option<DealPart>) -> [Manifest; 2] {
        let fingerprints = self.identities.each_ref().map(|identity| identity.fingerprint().to_string());
        let [zero, one] = files;
        [(Party::Zero, zero), (Party::One, one)].map(|(party, keys)| Manifest {
            format: Manifest::FORMAT,
            model: self.model.architecture().name().to_owned(),
            model_sha256: self.model.architecture().file().map(ModelFile::digest),
            function: self.function.clone(),
            count: self.model.count(),
            prefer: self.model.preference(),
            party: party.number(),
            deal: self.name.clone(),
            plan: self.plan.clone(),
            certificate: fingerprints[party.index()].clone(),
            peer: fingerprints[party.peer().index()].clone(),
            part,
            keys,
        })
    }
}

/// The text of the manifest of the folder `path`.
fn text_for(path: &Path, manifest: &Manifest) -> Result<Vec<u8>, InferenceError> {
    manifest.text().map_err(|reason| InferenceError::Folder { path: path.to_owned(), reason })
}

/// A folder for each party, whose keys are being written.
struct FolderPair {
    paths: [PathBuf; 2],
    files: [Vec<KeyFile>; 2],
}

impl FolderPair {
    fn make(paths: [PathBuf; 2]) -> Result<Self, InferenceError> {
        paths.iter().try_for_each(|path| make_folder(path))?;
        Ok(Self { paths, files: [Vec::new(), Vec::new()] })
    }

    /// Writes the next file of keys of `party`.
    fn add(&mut self, party: Party, step: &str, bytes: &[u8]) -> Result<(), InferenceError> {
        let (path, files) = (&self.paths[party.index()], &mut self.files[party.index()]);
        let file = key_name(files.len());
        write_new(&path.join(&file), bytes)?;
        let sha256 = hex(&Sha256::digest(bytes));
        files.push(KeyFile { file, step: step.to_owned(), bytes: bytes.len() as u64, sha256 });
        Ok(())
    }

    /// Deals and writes the keys of all steps of a plan.
    fn deal<Q: FssOps>(
        &mut self,
        q: &Q,
        dealer: &mut Dealer,
        plan: &Plan,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), InferenceError> {
        for step in plan.steps() {
            progress(&step.name);
            for deal in &step.deals {
                for (party, key) in Party::BOTH.into_iter().zip(deal.make(q, dealer)?) {
                    let bytes = match key {
                        Key::Gate(bundle) => bundle.to_bytes(),
                        Key::Matrix(triple) => triple.to_bytes(),
                    };
                    self.add(party, &step.name, &bytes)?;
                }
            }
        }
        Ok(())
    }
}

fn deal_name() -> Result<String, InferenceError> {
    let mut name = [0; 16];
    getrandom::fill(&mut name).map_err(|e| PfssError::Entropy { reason: e.to_string() })?;
    Ok(hex(&name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Architecture, Layers, ModelLimits, Value};

    /// Asserts that the files of a manifest are the planned ones, of at least the planned bytes.
    fn assert_planned<'p>(manifest: &Manifest, planned: impl Iterator<Item = (&'p str, u64)>) {
        let planned: Vec<_> = planned.collect();
        assert_eq!(manifest.keys.len(), planned.len());
        for (file, (step, fewest)) in manifest.keys.iter().zip(planned) {
            assert!(file.step == step && file.bytes >= fewest, "{file:?}: {step}, {fewest}");
            assert!(file.bytes - fewest < 1 << 13, "{file:?}: {fewest}");
        }
    }

    #[test]
    fn files_of_a_deal_are_those_of_its_plan() {
        let q = runtime::cpu().unwrap();
        for architecture in Architecture::ALL {
            let model = Model::new(architecture, 1).unwrap();
            let scratch = tempfile::tempdir().unwrap();
            let single = deal(&q, &model, &scratch.path().join("single"), |_| ()).unwrap();
            let many = deal_runs(&q, &model, 2, &scratch.path().join("many"), |_| ()).unwrap();
            let (plan, opened) = (model.plan().unwrap(), model.opened_plan().unwrap());
            for ((party, single), many) in Party::BOTH.into_iter().zip(&single).zip(&many) {
                assert_planned(single, plan.files(party));
                assert_planned(&many[0], opened.weight_files());
                many[1..].iter().for_each(|run| assert_planned(run, opened.run_files(party)));
            }
        }
    }

    #[test]
    fn a_model_of_too_many_keys_is_refused_before_the_first_key() {
        let (q, limits) = (runtime::cpu().unwrap(), ModelLimits { weights: 1, inputs: [0, 1] });
        // A manifest has more than 150 bytes for each file.
        let function = |layers: &mut Layers<'_>, x: &Value| {
            (0..7000).try_fold(x.clone(), |x, layer| layers.relu(&format!("relu{layer}"), &x))
        };
        let model = Model::from_fn("deep", &[1], limits, function).unwrap();
        let (scratch, mut steps) = (tempfile::tempdir().unwrap(), 0);
        let single = deal(&q, &model, &scratch.path().join("single"), |_| steps += 1).map(drop).unwrap_err();
        let many = deal_runs(&q, &model, 2, &scratch.path().join("many"), |_| steps += 1).map(drop).unwrap_err();
        for error in [single, many] {
            let text = error.to_string();
            assert!(text.contains("`manifest.json`: expected at most 1048576 bytes, got 1"), "{text}");
            assert!(text.ends_with("for 7000 files of keys"), "{text}");
        }
        assert_eq!((steps, fs::read_dir(scratch.path()).unwrap().count()), (0, 0));
    }

    #[test]
    fn folders_hold_the_bytes_of_keys_dealt_in_memory_with_the_same_seed() {
        let q = runtime::cpu().unwrap();
        let limits = ModelLimits { weights: 1, inputs: [0, 1] };
        let function = Model::from_fn("function", &[4], limits, |layers, x| {
            let x = layers.dense("dense", x, 3, true)?;
            layers.gelu("gelu", &x)
        });
        let dealer = || Dealer::insecure_from_seed(3);
        for model in [function.unwrap(), Model::new(Architecture::Digits, 1).unwrap()] {
            let scratch = tempfile::tempdir().unwrap();
            let manifests = fill(&q, &mut dealer(), &model, scratch.path(), &mut |_| ()).unwrap();
            let plan = model.plan().unwrap();
            let keys = plan.deal(&q, &mut dealer(), |_| ()).unwrap();
            for ((path, manifest), keys) in party_folders(scratch.path()).iter().zip(manifests).zip(keys) {
                assert_eq!(manifest.keys.len(), keys.len());
                for (file, key) in manifest.keys.iter().zip(keys) {
                    let expected = match key {
                        Key::Gate(bundle) => bundle.to_bytes().to_vec(),
                        Key::Matrix(triple) => triple.to_bytes().to_vec(),
                    };
                    assert_eq!(fs::read(path.join(&file.file)).unwrap(), expected, "{}", file.file);
                }
            }
        }
    }
}
