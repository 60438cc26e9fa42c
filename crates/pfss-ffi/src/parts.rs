//! Several byte strings in one: everything that a party gets for one computation.
//!
//! The magic, then each part after its length in 8 bytes, little-endian.

use zeroize::Zeroizing;

use crate::status::{CallFailure, Status};

const MAGIC: [u8; 8] = *b"pfssset1";

/// One byte string with all parts, wiped when dropped.
pub(crate) fn join(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    let len = parts.iter().map(|part| 8 + part.len()).sum::<usize>();
    let mut out: Zeroizing<Vec<u8>> = Zeroizing::new(Vec::with_capacity(MAGIC.len() + len)); // never moved
    out.extend_from_slice(&MAGIC);
    for part in parts {
        out.extend_from_slice(&(part.len() as u64).to_le_bytes());
        out.extend_from_slice(part);
    }
    out
}

/// The parts of [`join`], whatever the bytes are.
pub(crate) fn split(bytes: &[u8]) -> Result<Vec<&[u8]>, CallFailure> {
    let refused = |expected: &str, got: usize| {
        let message = format!("expected {expected}, got {got} bytes");
        CallFailure::new(Status::TREFOIL_PFSS_BUNDLE, message)
    };
    let mut rest = match bytes.split_first_chunk::<8>() {
        Some((magic, rest)) if *magic == MAGIC => rest,
        _ => return Err(refused("keys of a plan or of SUF's calls", bytes.len())),
    };
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let (len, body) = rest.split_first_chunk::<8>().ok_or_else(|| refused("the length of a part", rest.len()))?;
        let len = u64::from_le_bytes(*len);
        let part = usize::try_from(len).ok().and_then(|len| body.split_at_checked(len));
        let (part, after) = part.ok_or_else(|| refused(&format!("a part of {len} bytes"), body.len()))?;
        parts.push(part);
        rest = after;
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_and_every_cut_within_one_is_refused() {
        let parts: [&[u8]; 3] = [b"abc", b"", b"defgh"];
        let bytes = join(&parts);
        assert_eq!(bytes.capacity(), bytes.len());
        assert_eq!(split(&bytes).unwrap(), parts);
        // After the magic and after each whole part there are fewer parts.
        let whole = [8, 8 + 11, 8 + 11 + 8, bytes.len()];
        for len in 0..bytes.len() {
            assert_eq!(split(&bytes[..len]).is_ok(), whole.contains(&len), "{len}");
        }
        let mut hostile = bytes.to_vec();
        hostile[8..16].fill(0xff);
        assert!(
            format!("{:?}", split(&hostile).unwrap_err()).contains("expected a part of 18446744073709551615 bytes")
        );
    }
}
