//! The bodies of messages: dense little-endian bit streams without spare bits.

use backend_api::{
    BackendError,
    ops::fss::{FssOps, PackBits, UnpackBits},
};
use core_types::{
    Ring,
    pack::{packed_word, packed_words, unpacked_element},
    params::fss::PackParams,
};

use crate::{ChannelError, Pending, PfssError, Step, channel::check_message, secret::staging::write_secret_into};

/// Elements that are packed at once: ops count them in 32 bits.
///
/// Whole words for every ring.
const PACKED_AT_ONCE: usize = 1 << 20;

/// Encodes the opening of a gate: its masked bits, then its masked words.
pub(crate) fn opening_to_bytes<Q: FssOps>(q: &Q, pending: &Pending) -> Result<Vec<u8>, PfssError> {
    let mut bytes = bits_to_bytes(pending.masked_bits(), pending.count());
    bytes.extend(words_to_bytes(q, pending.word_ring(), pending.masked_words())?);
    Ok(bytes)
}

/// The gate's next step, from the peer's message made by [`opening_to_bytes`].
pub(crate) fn finish_opening<Q: FssOps>(q: &Q, pending: Pending, theirs: &[u8]) -> Result<Step, PfssError> {
    let (bits, words) = opening_from_bytes(q, &pending, theirs)?;
    pending.finish_with(q, &bits, &words)
}

/// The peer's masked bits and words, from its message made by [`opening_to_bytes`].
pub(crate) fn opening_from_bytes<Q: FssOps>(
    q: &Q,
    pending: &Pending,
    theirs: &[u8],
) -> Result<(Vec<u32>, Vec<u64>), PfssError> {
    let (count, ring, words) = (pending.count(), pending.word_ring(), pending.masked_words().len());
    let rows = pending.masked_bits().len().checked_div(count.div_ceil(32)).unwrap_or(0);
    let bit_bytes = rows * count.div_ceil(8);
    check_message(bit_bytes + byte_len(words, ring), theirs.len())?;
    let (bits, packed) = theirs.split_at(bit_bytes);
    let words = words_from_bytes(q, ring, packed, words)?;
    Ok((bits_from_bytes(bits, count)?, words))
}

/// Ring elements, `n` bits each, in `ceil(count * n / 8)` bytes.
pub(crate) fn words_to_bytes<Q: FssOps>(q: &Q, ring: Ring, words: &[u64]) -> Result<Vec<u8>, PfssError> {
    let bytes = byte_len(words.len(), ring);
    let mut packed = Vec::with_capacity(word_len(words.len(), ring));
    for words in words.chunks(PACKED_AT_ONCE) {
        if ring.bits() == 64 {
            packed.extend_from_slice(words);
            continue;
        }
        packed.extend(pack(q, ring, words)?);
    }
    let mut out: Vec<u8> = packed.iter().flat_map(|word| word.to_le_bytes()).collect();
    out.truncate(bytes);
    Ok(out)
}

/// The inverse of [`words_to_bytes`] for a message of the right length.
pub(crate) fn words_from_bytes<Q: FssOps>(
    q: &Q,
    ring: Ring,
    bytes: &[u8],
    count: usize,
) -> Result<Vec<u64>, PfssError> {
    check_message(byte_len(count, ring), bytes.len())?;
    check_tail(bytes, count as u64 * u64::from(ring.bits()))?;
    let mut packed: Vec<u64> = Vec::with_capacity(word_len(count, ring));
    for chunk in bytes.chunks(8) {
        packed.push(chunk.iter().enumerate().fold(0, |word, (i, &byte)| word | u64::from(byte) << (8 * i)));
    }
    if ring.bits() == 64 {
        return Ok(packed);
    }
    let mut words = Vec::with_capacity(count);
    for packed in packed.chunks(word_len(PACKED_AT_ONCE, ring)) {
        words.extend(unpack(q, ring, packed, PACKED_AT_ONCE.min(count - words.len()))?);
    }
    Ok(words)
}

/// The stream of at most [`PACKED_AT_ONCE`] elements, as whole words.
///
/// Messages are made and read in the host's memory. A queue packs words that it can read there; a
/// device with separate memory would need a copy each way, which takes longer than packing.
fn pack<Q: FssOps>(q: &Q, ring: Ring, words: &[u64]) -> Result<Vec<u64>, BackendError> {
    let (params, len) = (params(words.len(), ring), word_len(words.len(), ring));
    let Some(elements) = q.host_view(words) else {
        let word = |index| packed_word(index, params.count, ring, |element| words[element as usize]);
        return Ok((0..len as u32).map(word).collect());
    };
    let mut packed = vec![0; len];
    write_secret_into(q, &mut packed, |target| {
        q.pack_bits(PackBits { params: &params, elements: q.shorten(elements), words: q.shorten_mut(target) })
    })?;
    Ok(packed)
}

/// The inverse of [`pack`] for `count` elements.
fn unpack<Q: FssOps>(q: &Q, ring: Ring, packed: &[u64], count: usize) -> Result<Vec<u64>, BackendError> {
    let Some(words) = q.host_view(packed) else {
        let element = |index| unpacked_element(index, ring, |word| packed[word as usize]);
        return Ok((0..count as u64).map(element).collect());
    };
    let (params, mut elements) = (params(count, ring), vec![0; count]);
    write_secret_into(q, &mut elements, |target| {
        q.unpack_bits(UnpackBits { params: &params, words: q.shorten(words), elements: q.shorten_mut(target) })
    })?;
    Ok(elements)
}

/// Rows of `count` bits, each row in `ceil(count / 8)` bytes.
pub(crate) fn bits_to_bytes(rows: &[u32], count: usize) -> Vec<u8> {
    let (per_row, row_bytes) = (count.div_ceil(32), count.div_ceil(8));
    let mut out = Vec::new();
    for row in rows.chunks(per_row.max(1)) {
        let end = out.len() + row_bytes;
        out.extend(row.iter().flat_map(|word| word.to_le_bytes()));
        out.truncate(end);
    }
    out
}

/// The inverse of [`bits_to_bytes`] for a message of the right length.
pub(crate) fn bits_from_bytes(bytes: &[u8], count: usize) -> Result<Vec<u32>, ChannelError> {
    let mut out = Vec::new();
    for row in bytes.chunks(count.div_ceil(8).max(1)) {
        check_tail(row, count as u64)?;
        let word =
            |chunk: &[u8]| chunk.iter().enumerate().fold(0, |word, (i, &byte)| word | u32::from(byte) << (8 * i));
        out.extend(row.chunks(4).map(word));
    }
    Ok(out)
}

/// Refuses bits past the first `bits` of the last byte.
fn check_tail(bytes: &[u8], bits: u64) -> Result<(), ChannelError> {
    match (bits % 8, bytes.last()) {
        (used @ 1.., Some(last)) if last >> used != 0 => Err(ChannelError::Padding),
        _ => Ok(()),
    }
}

fn params(count: usize, ring: Ring) -> PackParams {
    // at most the elements that are packed at once
    PackParams { count: count as u32, bits: ring.bits() }
}

fn word_len(count: usize, ring: Ring) -> usize {
    // count < 2^32 and n <= 64, so the bits fit 64 bits
    packed_words(count as u64, ring).map_or(0, |words| words as usize)
}

/// Length of the message of `count` elements.
pub(crate) fn byte_len(count: usize, ring: Ring) -> usize {
    (count as u64 * u64::from(ring.bits())).div_ceil(8) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dealer, Gate, Task};

    #[test]
    fn rows_of_bits_have_no_spare_bits_in_any_row() {
        let rows = [0x1ff, 0x0aa, 0x155]; // three rows of 9 bits
        let bytes = bits_to_bytes(&rows, 9);
        assert_eq!(bytes, [0xff, 1, 0xaa, 0, 0x55, 1]);
        assert_eq!(bits_from_bytes(&bytes, 9).unwrap(), rows);
        for row in 0..3 {
            for bit in 1..8 {
                let mut changed = bytes.clone();
                changed[2 * row + 1] |= 1 << bit;
                assert_eq!(bits_from_bytes(&changed, 9), Err(ChannelError::Padding), "bit {bit} of row {row}");
            }
        }
    }

    #[test]
    fn words_are_read_from_messages_of_their_length_without_spare_bits() {
        let q = runtime::cpu().unwrap();
        for (bits, count) in [(3, 5), (9, 3), (63, 7), (64, 4)] {
            let ring = Ring::new(bits).unwrap();
            let mut rng = fastrand::Rng::with_seed(bits.into());
            let words: Vec<u64> = (0..count).map(|_| ring.reduce(rng.u64(..))).collect();
            let bytes = words_to_bytes(&q, ring, &words).unwrap();
            assert_eq!(words_from_bytes(&q, ring, &bytes, count).unwrap(), words);
            let used = (count * bits as usize) % 8;
            for bit in used..if used == 0 { 0 } else { 8 } {
                let mut changed = bytes.clone();
                *changed.last_mut().unwrap() |= 1 << bit;
                let refused = words_from_bytes(&q, ring, &changed, count).unwrap_err();
                assert_eq!(refused, ChannelError::Padding.into(), "{bits} bits, bit {bit}");
            }
            for wrong in [bytes.len() - 1, bytes.len() + 1, bytes.len() + 8] {
                let mut changed = bytes.clone();
                changed.resize(wrong, 0);
                let refused = words_from_bytes(&q, ring, &changed, count).unwrap_err();
                assert_eq!(refused, ChannelError::Length { expected: bytes.len(), got: wrong as u64 }.into());
            }
        }
    }

    #[test]
    fn packing_needs_no_device_memory() {
        let settings = runtime::Settings { mem_limit_bytes: Some(0), ..runtime::Settings::default() };
        let (q, _) = runtime::open_with(&settings, None, Some(runtime::Choice::Cpu)).unwrap();
        for bits in [64, 63, 1] {
            let ring = Ring::new(bits).unwrap();
            let words = [1, u64::MAX, 1 << 40].map(|word| ring.reduce(word));
            let bytes = words_to_bytes(&q, ring, &words).unwrap();
            assert_eq!(words_from_bytes(&q, ring, &bytes, 3).unwrap(), words);
        }
    }

    #[test]
    fn openings_are_read_from_messages_of_their_length() {
        let q = runtime::cpu().unwrap();
        let pending = || {
            let [bundle, _] = Dealer::insecure_from_seed(1).deal(&q, &Gate::lrs(9, 3).unwrap(), 3).unwrap();
            match bundle.with_open_inputs().unwrap().eval(&q, Task::Lrs, &[1, 2, 3]).unwrap() {
                Step::Open(pending) => pending,
                Step::Done(_) => unreachable!("two bits to open"),
            }
        };
        let bytes = opening_to_bytes(&q, &pending()).unwrap();
        assert!(finish_opening(&q, pending(), &bytes).is_ok());
        for wrong in [0, bytes.len() - 1, bytes.len() + 1, 2 * bytes.len()] {
            let mut changed = bytes.clone();
            changed.resize(wrong, 0);
            let refused = finish_opening(&q, pending(), &changed).unwrap_err();
            assert_eq!(refused, ChannelError::Length { expected: bytes.len(), got: wrong as u64 }.into());
        }
    }
}
