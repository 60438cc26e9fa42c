//! The choice of sites and libraries to try.
//!
//! The seed determines the order of sites. Each library has a share of the sites.

use sha2::{Digest as _, Sha256};

use super::{crates::Library, site::Site};

/// A site with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Number of the library and of the file in it.
    pub(super) library: usize,
    pub(super) file: usize,
    pub(super) site: Site,
}

/// For each library its candidates in the order in which they are tried.
///
/// Sites are sorted by a hash of the seed and their place: changes in one file leave the order of
/// sites in others alone.
pub(super) fn candidates(libraries: &[Library], seed: u64) -> Vec<Vec<Candidate>> {
    let of = |(number, library): (usize, &Library)| {
        let files = library.sources.iter().enumerate();
        let sites = files.flat_map(|(file, source)| source.sites.iter().map(move |site| (file, &source.path, site)));
        let mut keyed: Vec<_> = sites
            .map(|(file, path, site)| {
                let key = key(seed, path, site);
                (key, Candidate { library: number, file, site: site.clone() })
            })
            .collect();
        keyed.sort_by_key(|(key, _)| *key);
        keyed.into_iter().map(|(_, candidate)| candidate).collect()
    };
    libraries.iter().enumerate().map(of).collect()
}

fn key(seed: u64, path: &str, site: &Site) -> [u8; 32] {
    let place = format!("{seed} {path} {:?} {:?}", site.whole, site.change);
    Sha256::digest(place).into()
}

/// The number of mutants of each library, `count` in all.
///
/// It is proportional to the library's share of all sites, and at least one if the library has any.
pub(super) fn shares(sites: &[usize], count: usize) -> Vec<usize> {
    let all: usize = sites.iter().sum();
    let share = |&own: &usize| (own * count).checked_div(all).unwrap_or(0).max(1).min(own);
    let mut shares: Vec<usize> = sites.iter().map(share).collect();
    // What rounding left goes to the libraries with the most sites.
    let mut order: Vec<usize> = (0..sites.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(sites[index]));
    while shares.iter().sum::<usize>() < count.min(all) {
        for &index in &order {
            if shares.iter().sum::<usize>() < count && shares[index] < sites[index] {
                shares[index] += 1;
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::{
        super::{crates::SourceFile, site::Change},
        *,
    };

    #[test]
    fn shares_follow_sites_and_sum_to_the_count() {
        assert_eq!(shares(&[1000, 100, 1, 0], 20), [18, 1, 1, 0]);
        assert_eq!(shares(&[10, 10, 10], 20), [7, 7, 6]);
        assert_eq!(shares(&[3, 2], 200), [3, 2]);
        assert_eq!(shares(&[], 5), [0usize; 0]);
    }

    #[test]
    fn the_seed_determines_the_order() {
        let site = |at: usize| Site { whole: at..at + 1, change: Change::Negate, line: at, function: "f".into() };
        let source = SourceFile { path: "a.rs".into(), text: String::new(), sites: (0..50).map(site).collect() };
        let library = Library {
            name: "a".into(),
            root_file: "a.rs".into(),
            sources: vec![source],
            dependents: Default::default(),
            left_out: 0,
        };
        let lines = |seed| -> Vec<usize> {
            let candidates = candidates(std::slice::from_ref(&library), seed);
            candidates[0].iter().map(|candidate| candidate.site.line).collect()
        };
        assert_eq!(lines(1), lines(1));
        assert_ne!(lines(1), lines(2));
        let mut sorted = lines(2);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
    }
}
