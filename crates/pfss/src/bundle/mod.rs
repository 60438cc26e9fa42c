//! One party's keys for a batch of one gate.

mod codec;
mod expand;
mod header;
mod layout;
mod masked;
mod pieces;

use core::{fmt, ops::Range};
use std::sync::Arc;

use bytemuck::Pod;
use core_types::Label;
use zeroize::Zeroize;

pub(crate) use header::{Header, array, check_start, expect};
use layout::BundleLayout;
pub use layout::BundleSection;
pub(crate) use layout::check_size;
pub use masked::MaskedKeys;

use crate::{
    BundleError, Gate, GateKind, Party, PfssError,
    error::check_len,
    lanes::LANES,
    secret::section::Section,
    secret::seed::Seed,
    tree::{KeyTree, TreeRows},
};

/// One party's keys for `count` evaluations of one gate.
///
/// A bundle is used once: [masking](Self::mask) takes it by value and returns [`MaskedKeys`], which
/// evaluation takes by value, and neither can be cloned. The process remembers the nonces of
/// bundles that have masked, so a second copy read from the same bytes is refused as well.
///
/// `Debug` shows only the public header; the keys are wiped when dropped.
pub struct KeyBundle {
    pub(crate) header: Header,
    pub(crate) keys: BundleKeys,
    /// The seed of roots, words and bits, which bytes hold in their place.
    pub(crate) seed: Option<Seed>,
    /// The first element here, as an element of the seed's rows; 0 but in a slice.
    pub(crate) first: usize,
    /// Whether the process accepts the bundle even when its keys are spent.
    pub(crate) reusable: bool,
}

/// The sections, structure-of-arrays.
///
/// They are row-major with the element index innermost, `padded` elements per row.
#[derive(Default)]
pub(crate) struct BundleKeys {
    pub(crate) roots: Section<Label>,
    pub(crate) common: Arc<CommonKeys>,
    pub(crate) leaf: Section<u128>,
    pub(crate) words: Section<u64>,
    pub(crate) bits: Section<u32>,
}

/// Corrections, which both parties have: the process that deals them keeps them once.
#[derive(Default)]
pub(crate) struct CommonKeys {
    pub(crate) cw: Section<u128>,
    pub(crate) vcw: Section<u64>,
    pub(crate) last: Section<u64>,
}

/// One tree's part of the sections.
pub(crate) struct TreeKeys<'a> {
    pub(crate) shape: KeyTree,
    pub(crate) roots: &'a [Label],
    pub(crate) cw: &'a [u128],
    pub(crate) leaf: &'a [u128],
    pub(crate) vcw: &'a [u64],
    pub(crate) last: &'a [u64],
}

impl KeyBundle {
    /// The gate and its public parameters.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.header.gate
    }

    /// The party whose keys these are.
    #[must_use]
    pub fn party(&self) -> Party {
        self.header.party
    }

    /// Number of elements that can be evaluated.
    #[must_use]
    pub fn count(&self) -> usize {
        self.header.count
    }

    /// The public nonce, equal in both parties' bundles and different for every deal.
    #[must_use]
    pub fn nonce(&self) -> [u8; 16] {
        self.header.nonce
    }

    /// The sections of [`to_bytes`](Self::to_bytes), in their order.
    #[must_use]
    pub fn sections(&self) -> Vec<BundleSection> {
        self.layout().sections
    }

    /// Length of [`to_bytes`](Self::to_bytes).
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.layout().total_len
    }

    /// Bytes of the keys in memory, all sections together; keys of a seed are expanded.
    ///
    /// This is [`Gate::key_bits_per_element`] for each element, up to padding, and the seed.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let BundleKeys { roots, common, leaf, words, bits } = &self.keys;
        let corrections = size_of_val(&common.cw[..]) + size_of_val(&common.vcw[..]) + size_of_val(&common.last[..]);
        let rows = size_of_val(&roots[..]) + size_of_val(&leaf[..]);
        let shares = size_of_val(&words[..]) + size_of_val(&bits[..]);
        let seed = if self.seed.is_some() { Seed::BYTES } else { 0 };
        (corrections + rows + shares + seed) as u64
    }

    /// Elements per row of every section: the count, rounded up to whole 32-bit words of bits.
    pub(crate) fn padded(&self) -> usize {
        self.header.count.next_multiple_of(LANES as usize)
    }

    /// The sections of tree `index` of the gate.
    pub(crate) fn tree(&self, index: usize) -> TreeKeys<'_> {
        let trees = self.gate().trees();
        let (before, rows) = (TreeRows::of(&trees[..index]), trees[index].rows());
        let padded = self.padded();
        let range = |before: u64, rows: u64| before as usize * padded..(before + rows) as usize * padded;
        TreeKeys {
            shape: trees[index],
            roots: &self.keys.roots[range(before.root, rows.root)],
            cw: &self.keys.common.cw[range(before.cw, rows.cw)],
            leaf: &self.keys.leaf[range(before.leaf, rows.leaf)],
            vcw: &self.keys.common.vcw[range(before.vcw, rows.vcw)],
            last: &self.keys.common.last[range(before.last, rows.last)],
        }
    }

    /// Row `row` of the additive shares, without padding.
    pub(crate) fn word_row(&self, row: usize) -> &[u64] {
        &self.keys.words[row * self.padded()..][..self.header.count]
    }

    /// Rows of additive shares.
    pub(crate) fn word_rows(&self) -> usize {
        self.gate().word_rows() as usize
    }

    /// The bundle without its trees, for when they have been walked.
    pub(crate) fn walked(self) -> Self {
        let BundleKeys { words, bits, .. } = self.keys;
        Self { keys: BundleKeys { words, bits, ..BundleKeys::default() }, ..self }
    }

    /// Row `row` of the XOR shares, 32 elements a word, with padding.
    pub(crate) fn bit_row(&self, row: usize) -> &[u32] {
        let words = self.padded() / LANES as usize;
        &self.keys.bits[row * words..][..words]
    }

    /// Whether these are keys for `count` elements of a gate of kind `kind`.
    pub(crate) fn check_use(&self, kind: GateKind, count: usize) -> Result<(), PfssError> {
        if self.gate().kind() != kind {
            return Err(PfssError::Kind { expected: kind, got: self.gate().kind() });
        }
        check_len("elements", self.count(), count)
    }

    /// Checks that the bundle belongs to `party`.
    pub(crate) fn check_party(&self, party: Party) -> Result<(), PfssError> {
        self.header.check_party(party)
    }

    /// A copy of the keys of the elements `range`.
    ///
    /// The range starts at a multiple of [`LANES`] and lies in the batch.
    ///
    /// The copy has the nonce of the whole bundle: it may only be used in place of the whole.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let (padded, lanes) = (self.padded(), LANES as usize);
        let columns = range.start..range.start + range.len().next_multiple_of(lanes);
        let words = columns.start / lanes..columns.end / lanes;
        let keys = &self.keys;
        Self {
            header: Header { count: range.len(), ..self.header.clone() },
            keys: BundleKeys {
                roots: columns_of(&keys.roots, padded, &columns),
                common: Arc::new(CommonKeys {
                    cw: columns_of(&keys.common.cw, padded, &columns),
                    vcw: columns_of(&keys.common.vcw, padded, &columns),
                    last: columns_of(&keys.common.last, padded, &columns),
                }),
                leaf: columns_of(&keys.leaf, padded, &columns),
                words: columns_of(&keys.words, padded, &columns),
                bits: columns_of(&keys.bits, padded / lanes, &words),
            },
            seed: self.seed.clone(),
            first: self.first + range.start,
            reusable: self.reusable,
        }
    }

    /// Bytes of the key trees, padding included: the part of the bundle that a device sees.
    pub(crate) fn device_bytes(&self) -> u64 {
        TreeRows::of(&self.gate().trees()).bytes() * self.padded() as u64
    }

    fn layout(&self) -> BundleLayout {
        // A reader expands rows from their start. The dealer and the reader have both built this layout before, or a
        // longer one.
        let seeded = self.seed.is_some() && self.first == 0;
        BundleLayout::new(&self.header.gate, self.header.count as u64, seeded)
            .unwrap_or_else(|_| unreachable!("a bundle that exists has a layout"))
    }
}

/// The given columns of rows of `width` elements, at least one.
fn columns_of<T: Pod + Zeroize>(rows: &[T], width: usize, columns: &Range<usize>) -> Section<T> {
    let len = rows.len() / width * columns.len();
    Section::of_rows(len, rows.chunks(width).map(|row| &row[columns.clone()]))
}

impl BundleKeys {
    /// The conditions on values that lengths do not show.
    fn check(&self, header: &Header) -> Result<(), BundleError> {
        let gate = &header.gate;
        if let Some(index) = self.roots.iter().position(|root| *root != root.seed()) {
            return Err(BundleError::Root { index });
        }
        let padded = header.count.next_multiple_of(LANES as usize);
        for (row, words) in self.words.chunks(padded.max(LANES as usize)).enumerate() {
            let ring = gate.word_ring(row);
            if let Some(index) = words.iter().position(|&word| word > ring.mask()) {
                return Err(BundleError::Share { bits: ring.bits(), row, index });
            }
        }
        Ok(())
    }
}

impl fmt::Debug for KeyBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyBundle")
            .field("gate", &self.header.gate)
            .field("party", &self.header.party)
            .field("count", &self.header.count)
            .finish_non_exhaustive()
    }
}
