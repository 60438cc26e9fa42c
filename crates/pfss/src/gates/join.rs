//! Joins the parts of a batch, which were evaluated one after the other.
//!
//! Parts are consecutive elements. Every part but the last has a multiple of 32 of them, all parts
//! have the same number of rows or steps, and there is at least one.

use zeroize::Zeroizing;

use super::shares::{
    bits::BitShares,
    pending::{Pending, Step},
    results::{BoolShares, Shares},
};

impl Step {
    /// The step of all elements, from the steps of `parts` with their numbers of elements.
    ///
    /// The words of an element lie next to each other if `by_element`, and else in different rows.
    pub(crate) fn join(parts: Vec<(usize, Self)>, by_element: bool) -> Self {
        let (mut open, mut done) = (Vec::new(), Vec::new());
        for (count, part) in parts {
            match part {
                Self::Open(pending) => open.push(pending),
                Self::Done(shares) => done.push((count, shares)),
            }
        }
        debug_assert!(open.is_empty() || done.is_empty(), "one program has one number of rounds");
        match (open.len(), done.len()) {
            (0, 1) => Self::Done(done.remove(0).1),
            (0, _) => Self::Done(join_shares(done, by_element)),
            (1, _) => Self::Open(open.remove(0)),
            _ => Self::Open(join_pending(open, by_element)),
        }
    }
}

/// Joins the parts of a batch into one gate, which opens the words of all.
fn join_pending(parts: Vec<Pending>, by_element: bool) -> Pending {
    let first = &parts[0];
    let masked: Vec<_> = parts.iter().map(|part| (part.count(), part.masked_bits())).collect();
    let words = parts.iter().flat_map(|part| part.masked_words().iter().copied()).collect();
    let (party, ring, masked) = (first.party(), first.word_ring(), join_rows(&masked));
    Pending::parts(party, masked, (ring, words), parts, by_element)
}

fn join_shares(parts: Vec<(usize, Shares)>, by_element: bool) -> Shares {
    let (mut words, mut additive, mut bits) = (Vec::new(), Vec::new(), Vec::new());
    for (count, part) in parts {
        words.push((count, Zeroizing::new(part.words)));
        match part.bools {
            BoolShares::Additive(shares) => additive.push(Zeroizing::new(shares)),
            BoolShares::Xor(shares) => bits.push(shares),
        }
    }
    let words = if by_element { end_to_end(words.iter().map(|(_, words)| words)) } else { rows_of_words(&words) };
    let bools = match bits.first() {
        None => BoolShares::Additive(end_to_end(additive.iter())),
        Some(first) => {
            let (party, count) = (first.party(), bits.iter().map(BitShares::count).sum());
            let rows = bits.iter().map(|part| (part.count(), part.words()));
            BoolShares::Xor(BitShares::new(party, count, join_rows(&rows.collect::<Vec<_>>())))
        }
    };
    Shares { words, bools }
}

/// Shares one after the other, in memory of exactly their size.
fn end_to_end<'p>(parts: impl Iterator<Item = &'p Zeroizing<Vec<u64>>>) -> Vec<u64> {
    parts.map(|part| &part[..]).collect::<Vec<_>>().concat()
}

/// Rows of words, from parts with their numbers of elements.
fn rows_of_words(parts: &[(usize, Zeroizing<Vec<u64>>)]) -> Vec<u64> {
    let total = parts.iter().map(|(_, words)| words.len()).sum();
    let rows = parts.iter().filter_map(|(count, words)| words.len().checked_div(*count)).max().unwrap_or_default();
    let mut out = Vec::with_capacity(total);
    for row in 0..rows {
        parts.iter().for_each(|(count, words)| out.extend_from_slice(&words[row * count..][..*count]));
    }
    out
}

/// Rows of bits, 32 elements a word, from parts with their numbers of elements.
fn join_rows(parts: &[(usize, &[u32])]) -> Vec<u32> {
    let per_row = |count: usize| count.div_ceil(32);
    let rows = parts.iter().filter_map(|(count, words)| words.len().checked_div(per_row(*count)));
    let rows = rows.max().unwrap_or_default();
    let mut out = Vec::with_capacity(parts.iter().map(|(_, words)| words.len()).sum());
    for row in 0..rows {
        for (count, words) in parts {
            out.extend_from_slice(&words[row * per_row(*count)..][..per_row(*count)]);
        }
    }
    out
}
