//! Leaves and nodes by a peer's hash, and columns in a buffer.

use core_types::{blake2s::Digest, field::M31, params::columns::ColumnAt};

use crate::{
    channel::model::{hash as blake2s, words_of},
    list::ListIterator as _,
};

/// The digest of some words, each with its lowest byte first.
pub(super) fn hash(words: impl IntoIterator<Item = u32>) -> Digest {
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).list();
    Digest(words_of(blake2s(&[&bytes])))
}

/// The digest that such digits stand for.
pub(super) fn digest(digits: &str) -> Digest {
    let mut digest = Digest::default();
    for (word, digits) in digest.0.iter_mut().zip(digits.as_bytes().chunks(8)) {
        let digits = core::str::from_utf8(digits).expect("digits are ASCII");
        *word = u32::from_str_radix(digits, 16).expect("digits are hexadecimal").swap_bytes();
    }
    digest
}

/// Every level above the leaves appended to them.
pub(super) fn with_nodes(mut nodes: Vec<Digest>) -> Vec<Digest> {
    for parent in 0..nodes.len() - 1 {
        nodes.push(hash([nodes[2 * parent].0, nodes[2 * parent + 1].0].into_iter().flatten()));
    }
    nodes
}

/// Element `i` of test data; many are zero or minus one.
pub(super) fn element(i: usize) -> M31 {
    match i % 13 {
        0 => M31::ZERO,
        1 | 7 => -M31::ONE,
        _ => M31::from_u32((i as u32 + 1).wrapping_mul(0x9e37_79b9).rotate_left(9).wrapping_mul(0x85eb_ca6b)),
    }
}

/// Columns in a buffer.
#[derive(Clone)]
pub(super) struct MerkleColumns {
    /// Where they are.
    pub(super) columns: Vec<ColumnAt>,
    /// The buffer.
    pub(super) values: Vec<M31>,
}

impl MerkleColumns {
    /// Columns of these log sizes, each `gap` words after the one before.
    ///
    /// The last column ends at the end of the buffer.
    pub(super) fn new(log_sizes: &[u32], gap: u64) -> Self {
        let mut end = 0;
        let column = |&log_size: &u32| {
            let first = end + gap;
            end = first + (1 << log_size);
            ColumnAt::new(first, log_size)
        };
        let columns = log_sizes.iter().map(column).list();
        Self { columns, values: (0..end as usize).map(element).list() }
    }

    /// The same values, with the places of the columns the other way round.
    pub(super) fn reversed(self) -> Self {
        let end = self.values.len() as u64;
        let mirrored = |column: &ColumnAt| ColumnAt::new(end - column.first - (1 << column.log_len), column.log_len);
        Self { columns: self.columns.iter().map(mirrored).list(), values: self.values }
    }

    /// All leaves of a tree of this height.
    pub(super) fn leaves(&self, log_leaves: u32) -> Vec<Digest> {
        let leaf = |leaf: u64| {
            // Points come in conjugate pairs; doubling merges 2^(height - log size) pairs that follow each other.
            let value = |column: &ColumnAt| {
                let pair = (leaf / 2) >> (log_leaves - column.log_len);
                let at = if column.log_len == 0 { 0 } else { 2 * pair + leaf % 2 };
                self.values[(column.first + at) as usize].word()
            };
            hash(self.columns.iter().map(value))
        };
        (0..1 << log_leaves).map(leaf).list()
    }
}
