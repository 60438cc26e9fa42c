//! Joins the parts of a batch, which were evaluated one after the other.

use zeroize::Zeroizing;

use super::{
    shares::{bits::BitShares, pending::Pending},
    suf::{SufBools, SufShares, SufStep},
};

/// Results of consecutive elements that can be joined.
///
/// Every part but the last has a multiple of 32 elements.
pub(crate) trait Join: Sized + Send + Sync + 'static {
    /// The result of all elements, from the results of `parts` with their numbers of elements.
    ///
    /// All parts have the same number of rows or steps; there is at least one.
    fn join(parts: Vec<(usize, Self)>) -> Self;
}

/// Rows of `count` elements.
impl Join for Vec<u64> {
    fn join(parts: Vec<(usize, Self)>) -> Self {
        let parts: Vec<_> = parts.into_iter().map(|(count, words)| (count, Zeroizing::new(words))).collect();
        let total = parts.iter().map(|(_, words)| words.len()).sum();
        let rows = parts.iter().map(|(count, words)| words.len().checked_div(*count).unwrap_or(0)).max().unwrap_or(0);
        let mut out = Self::with_capacity(total);
        for row in 0..rows {
            parts.iter().for_each(|(count, words)| out.extend_from_slice(&words[row * count..][..*count]));
        }
        out
    }
}

impl Join for SufShares {
    fn join(parts: Vec<(usize, Self)>) -> Self {
        let (mut words, mut additive, mut bits) = (Vec::new(), Vec::new(), Vec::new());
        for (_, part) in parts {
            words.push(Zeroizing::new(part.words));
            match part.bools {
                SufBools::Additive(shares) => additive.push(Zeroizing::new(shares)),
                SufBools::Xor(shares) => bits.push(shares),
            }
        }
        let bools = match bits.first() {
            None => SufBools::Additive(end_to_end(&additive)),
            Some(first) => {
                let (party, count) = (first.party(), bits.iter().map(BitShares::count).sum());
                let rows = bits.iter().map(|part| (part.count(), part.words()));
                SufBools::Xor(BitShares::new(party, count, join_rows(&rows.collect::<Vec<_>>())))
            }
        };
        Self { words: end_to_end(&words), bools }
    }
}

/// Shares one after the other, in memory of exactly their size.
fn end_to_end(parts: &[Zeroizing<Vec<u64>>]) -> Vec<u64> {
    parts.iter().map(|part| &part[..]).collect::<Vec<_>>().concat()
}

impl Join for SufStep {
    fn join(parts: Vec<(usize, Self)>) -> Self {
        let (mut open, mut done) = (Vec::new(), Vec::new());
        for (count, part) in parts {
            match part {
                Self::Open(pending) => open.push(pending),
                Self::Done(shares) => done.push((count, shares)),
            }
        }
        debug_assert!(open.is_empty() || done.is_empty(), "one program has one number of rounds");
        if open.is_empty() { Self::Done(SufShares::join(done)) } else { Self::Open(join_pending(open)) }
    }
}

/// Rows of bits, 32 elements a word, from parts with their numbers of elements.
fn join_rows(parts: &[(usize, &[u32])]) -> Vec<u32> {
    let per_row = |count: usize| count.div_ceil(32);
    let rows = parts.iter().map(|(count, words)| words.len().checked_div(per_row(*count)).unwrap_or(0));
    let rows = rows.max().unwrap_or(0);
    let mut out = Vec::with_capacity(parts.iter().map(|(_, words)| words.len()).sum());
    for row in 0..rows {
        for (count, words) in parts {
            out.extend_from_slice(&words[row * per_row(*count)..][..per_row(*count)]);
        }
    }
    out
}

/// One gate from the parts of its batch; all but the last have a multiple of 32 elements.
///
/// There is at least one.
///
/// It opens and returns exactly the words of the whole batch.
pub(crate) fn join_pending<T: Join>(mut parts: Vec<Pending<T>>) -> Pending<T> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let first = &parts[0];
    let masked: Vec<_> = parts.iter().map(|part| (part.count(), part.masked_bits())).collect();
    let words = parts.iter().flat_map(|part| part.masked_words().iter().copied()).collect();
    let (party, ring, masked) = (first.party(), first.word_ring(), join_rows(&masked));
    Pending::parts(party, masked, (ring, words), parts, T::join)
}
