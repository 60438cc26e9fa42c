//! The bodies of messages: dense little-endian bit streams without spare bits.

use backend_api::{Buffer, ops::fss::FssOps};
use core_types::{Ring, pack::packed_words, params::fss::PackParams};

use crate::{ChannelError, PfssError};

/// Ring elements, `n` bits each, in `ceil(count * n / 8)` bytes.
pub(crate) fn words_to_bytes<Q: FssOps>(q: &Q, ring: Ring, words: &[u64]) -> Result<Vec<u8>, PfssError> {
    let bytes = byte_len(words.len(), ring);
    let packed = if ring.bits() == 64 {
        words.to_vec()
    } else {
        let source = q.upload(words)?;
        let mut packed = q.zeros::<u64>(word_len(words.len(), ring))?;
        q.pack_bits(&params(words.len(), ring), source.view(), packed.view_mut())?;
        q.download(&packed)?
    };
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
    let expected = byte_len(count, ring);
    if bytes.len() != expected {
        return Err(ChannelError::Length { expected, got: bytes.len() as u64 }.into());
    }
    check_tail(bytes, count as u64 * u64::from(ring.bits()))?;
    let mut packed: Vec<u64> = Vec::with_capacity(word_len(count, ring));
    for chunk in bytes.chunks(8) {
        packed.push(chunk.iter().enumerate().fold(0, |word, (i, &byte)| word | u64::from(byte) << (8 * i)));
    }
    if ring.bits() == 64 {
        return Ok(packed);
    }
    let source = q.upload(&packed)?;
    let mut words = q.zeros::<u64>(count)?;
    q.unpack_bits(&params(count, ring), source.view(), words.view_mut())?;
    Ok(q.download(&words)?)
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

/// Refuses bits behind the first `bits` of the last byte.
fn check_tail(bytes: &[u8], bits: u64) -> Result<(), ChannelError> {
    match (bits % 8, bytes.last()) {
        (used @ 1.., Some(last)) if last >> used != 0 => Err(ChannelError::Padding),
        _ => Ok(()),
    }
}

fn params(count: usize, ring: Ring) -> PackParams {
    // the length of a bundle, which fits 32 bits
    PackParams { count: count as u32, bits: ring.bits() }
}

fn word_len(count: usize, ring: Ring) -> usize {
    // count < 2^32 and n <= 64, so the bits fit 64 bits
    packed_words(count as u64, ring).map_or(0, |words| words as usize)
}

fn byte_len(count: usize, ring: Ring) -> usize {
    (count as u64 * u64::from(ring.bits())).div_ceil(8) as usize
}
