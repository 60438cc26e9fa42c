//! The mutants of a run: chosen sites, replaced by others as long as some do not compile.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ops::Range,
};

use anyhow::{Result, bail};

use super::{
    build::ErrorLocation,
    choice::{Candidate, candidates, shares},
    crates::{Library, SourceFile},
    rewrite::{Chosen, Rewritten, rewrite, selector},
    tree::WorkingCopy,
};

/// Numbers for mutants, as a multiple of the mutants that run.
///
/// The selector's table has this size from the beginning, so that a replacement compiles only its
/// own crate.
const SPARE: u32 = 5;

/// The libraries with chosen mutants.
#[derive(Clone, Debug)]
pub(super) struct MutantPlan {
    libraries: Vec<Library>,
    /// Sites of each library that have not been tried.
    rest: Vec<VecDeque<Candidate>>,
    chosen: BTreeMap<u32, Candidate>,
    next: u32,
    capacity: u32,
    /// How many mutants did not compile.
    pub(super) dropped: usize,
}

impl MutantPlan {
    pub(super) fn new(libraries: Vec<Library>, seed: u64, count: usize) -> Self {
        let rest: Vec<VecDeque<_>> = candidates(&libraries, seed).into_iter().map(VecDeque::from).collect();
        let shares = shares(&rest.iter().map(VecDeque::len).collect::<Vec<_>>(), count);
        let capacity = SPARE * shares.iter().sum::<usize>() as u32;
        let mut plan = Self { libraries, rest, chosen: BTreeMap::new(), next: 0, capacity, dropped: 0 };
        for (library, share) in shares.into_iter().enumerate() {
            (0..share).for_each(|_| plan.add(library));
        }
        plan
    }

    /// Chooses the next site of a library, if there is one.
    fn add(&mut self, library: usize) {
        if self.next == self.capacity {
            return;
        }
        if let Some(candidate) = self.rest[library].pop_front() {
            self.chosen.insert(self.next, candidate);
            self.next += 1;
        }
    }

    /// Numbers of the mutants.
    pub(super) fn ids(&self) -> Vec<u32> {
        self.chosen.keys().copied().collect()
    }

    /// Library, file and site of a mutant.
    pub(super) fn mutant(&self, id: u32) -> (&Library, &SourceFile, &Candidate) {
        let candidate = &self.chosen[&id];
        let library = &self.libraries[candidate.library];
        (library, &library.sources[candidate.file], candidate)
    }

    /// File, line, function and text of a mutant.
    pub(super) fn describe(&self, id: u32) -> String {
        let (_, source, Candidate { site, .. }) = self.mutant(id);
        let [original, mutated] = site.lines(&source.text);
        format!("{}:{} in {}: `{original}` -> `{mutated}`", source.path, site.line, site.function)
    }

    pub(super) fn libraries(&self) -> &[Library] {
        &self.libraries
    }

    /// Names of the libraries with mutants.
    pub(super) fn mutated(&self) -> BTreeSet<String> {
        self.chosen.values().map(|candidate| self.libraries[candidate.library].name.clone()).collect()
    }

    /// Packages that depend in one step on a library with one of the mutants `ids`.
    pub(super) fn dependents(&self, ids: &[u32]) -> BTreeSet<String> {
        let names = ids.iter().flat_map(|&id| &self.mutant(id).0.dependents);
        // The workspace's tasks test the sources as they are.
        names.filter(|name| *name != "xtask").cloned().collect()
    }

    /// Paths of all files that [`write`](Self::write) writes.
    pub(super) fn files(&self) -> BTreeSet<String> {
        let sources = self.libraries.iter().flat_map(|library| &library.sources);
        sources.map(|source| source.path.clone()).chain(self.libraries.iter().map(|l| l.root_file.clone())).collect()
    }

    /// Writes every source of the libraries to the copy, and returns where mutants stand.
    pub(super) fn write(&self, tree: &WorkingCopy) -> Result<BTreeMap<String, Rewritten>> {
        let mut places = BTreeMap::new();
        for (number, library) in self.libraries.iter().enumerate() {
            let is_mutated = self.chosen.values().any(|candidate| candidate.library == number);
            for (file, source) in library.sources.iter().enumerate() {
                let here = self.chosen.iter().filter(|(_, other)| (other.library, other.file) == (number, file));
                let chosen: Vec<_> = here.map(|(&id, other)| Chosen { id, site: other.site.clone() }).collect();
                let mut rewritten = rewrite(&source.text, &chosen);
                if is_mutated && source.path == library.root_file {
                    rewritten.text.push_str(&selector(self.capacity));
                }
                tree.write(&source.path, rewritten.text.as_bytes())?;
                places.insert(source.path.clone(), rewritten);
            }
        }
        Ok(places)
    }

    /// Replaces the mutants that the compiler rejects.
    pub(super) fn drop_faults(
        &mut self,
        faults: &[ErrorLocation],
        error: &str,
        files: &BTreeMap<String, Rewritten>,
    ) -> Result<()> {
        let ids = rejected(faults, files);
        if ids.is_empty() {
            bail!("the copy does not compile, and no mutant stands where the compiler found errors\n{error}");
        }
        self.dropped += ids.len();
        for id in ids {
            if let Some(candidate) = self.chosen.remove(&id) {
                self.add(candidate.library);
            }
        }
        Ok(())
    }
}

/// How far around an error mutants are looked for.
#[derive(Clone, Copy)]
enum Around {
    Exactly,
    Lines,
    File,
}

impl Around {
    fn bytes(self, ErrorLocation { bytes, .. }: &ErrorLocation, text: &str) -> Range<usize> {
        match self {
            Self::Exactly => bytes.clone(),
            Self::Lines => {
                let start = text.get(..bytes.start).and_then(|before| before.rfind('\n')).unwrap_or(0);
                let rest = text.get(bytes.end..).and_then(|after| after.find('\n')).unwrap_or(0);
                start..bytes.end + rest
            }
            Self::File => 0..text.len(),
        }
    }
}

/// Mutants at the places of errors.
///
/// If there is none, mutants on the same lines; if there is none, mutants of the same files.
fn rejected(faults: &[ErrorLocation], files: &BTreeMap<String, Rewritten>) -> BTreeSet<u32> {
    for around in [Around::Exactly, Around::Lines, Around::File] {
        let mut ids = BTreeSet::new();
        for fault in faults {
            let Some(file) = files.get(&fault.file) else { continue };
            let bytes = around.bytes(fault, &file.text);
            let meets = file.places.iter().filter(|(_, place)| place.start < bytes.end && bytes.start < place.end);
            ids.extend(meets.map(|(id, _)| *id));
        }
        if !ids.is_empty() {
            return ids;
        }
    }
    BTreeSet::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_reject_the_mutants_at_their_places_first() {
        let text = "0123\n56 89\nxyz".to_owned();
        let files =
            BTreeMap::from([("a.rs".to_owned(), Rewritten { text, places: vec![(1, 0..2), (2, 5..7), (3, 8..10)] })]);
        let fault = |bytes: Range<usize>| ErrorLocation { file: "a.rs".into(), bytes };
        let rejected = |faults: &[ErrorLocation]| rejected(faults, &files).into_iter().collect::<Vec<_>>();
        assert_eq!(rejected(&[fault(5..6)]), [2]);
        assert_eq!(rejected(&[fault(5..6), fault(0..1), fault(11..12)]), [1, 2]);
        assert_eq!(rejected(&[fault(7..8)]), [2, 3], "the mutants of the line");
        assert_eq!(rejected(&[fault(12..13)]), [1, 2, 3], "the mutants of the file");
        assert_eq!(rejected(&[ErrorLocation { file: "b.rs".into(), bytes: 0..1 }]), [0u32; 0]);
    }
}
