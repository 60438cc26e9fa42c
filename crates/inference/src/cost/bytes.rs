//! Bytes of keys in the files of a folder, computed from a plan alone.

use core::ops::RangeInclusive;

use pfss::Party;

use crate::{Deal, OpenedPlan, Plan};

/// Bytes of `party`'s keys for a deal.
///
/// They are the sections of its file that hold keys: elements padded to words of bits, and the
/// seed. Headers, the encoding of a descriptor and gaps between sections are not counted.
///
/// Source: `docs/key-bundles.md`, and the documentation of [`MatrixTriple::to_bytes`].
///
/// [`MatrixTriple::to_bytes`]: pfss::MatrixTriple::to_bytes
#[must_use]
pub fn key_bytes(deal: &Deal, party: Party) -> u64 {
    deal.key_bytes(party)
}

/// The fewest and the most bytes of `party`'s files of keys for a plan.
///
/// The fewest are [`key_bytes`]; headers, descriptors and gaps are added for the most.
#[must_use]
pub fn folder_bytes(plan: &Plan, party: Party) -> RangeInclusive<u64> {
    sum(plan.deals().map(|deal| deal.file_bytes(party)))
}

/// [`folder_bytes`] of a run on weights that were opened before.
#[must_use]
pub fn run_folder_bytes(plan: &OpenedPlan, party: Party) -> RangeInclusive<u64> {
    let products = plan.products().iter().map(|product| product.file_bytes(party));
    sum(products.chain([folder_bytes(plan.others(), party)]))
}

/// The sums of the fewest and the most bytes.
fn sum(files: impl Iterator<Item = RangeInclusive<u64>>) -> RangeInclusive<u64> {
    let (fewest, most) = files.fold((0, 0), |(fewest, most), file| (fewest + file.start(), most + file.end()));
    fewest..=most
}

#[cfg(test)]
mod tests {
    use pfss::{Dealer, KeyBundle};

    use super::*;
    use crate::{Architecture, Key, Model, Preference, keys::deal::TRIPLE_OVERHEAD};

    /// Bytes of the sections of a bundle that hold keys.
    fn sections(bundle: &KeyBundle) -> u64 {
        bundle.sections().iter().filter(|section| section.name != "program").map(|section| section.bytes).sum()
    }

    #[test]
    fn keys_take_the_planned_bytes() {
        let q = runtime::cpu().unwrap();
        let all = Architecture::ALL
            .into_iter()
            .flat_map(|model| Preference::ALL.map(|preference| (model.clone(), preference)));
        for (architecture, preference) in all {
            // whole words of bits, and a rest
            for count in [1, 5] {
                let plan = Model::new(architecture.clone(), count).unwrap().preferring(preference).plan().unwrap();
                let keys = plan.deal(&q, &mut Dealer::insecure_from_seed(1), |_| ()).unwrap();
                for (party, keys) in Party::BOTH.into_iter().zip(keys) {
                    let mut files = 0;
                    for (deal, key) in plan.deals().zip(&keys) {
                        let (bytes, stored) = match key {
                            Key::Gate(bundle) => (sections(bundle), bundle.to_bytes().len()),
                            Key::Matrix(triple) => {
                                let bytes = triple.to_bytes().len();
                                (bytes as u64 - TRIPLE_OVERHEAD, bytes)
                            }
                        };
                        assert_eq!(key_bytes(deal, party), bytes, "{architecture} {count} {party}: {deal:?}");
                        files += stored as u64;
                    }
                    assert!(folder_bytes(&plan, party).contains(&files), "{architecture} {count} {party}: {files}");
                }
            }
        }
    }
}
