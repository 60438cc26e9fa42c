//! The records that `kernel_table!` of `kernels-ptx` leaves in the PTX as bytes.

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// Prefix of the symbol of a record; the kernel's name follows.
pub(super) const PREFIX: &str = "KERNEL_RECORD_";

/// The declaration of a kernel; the layout of `kernels_ptx::table::KernelRecord`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) block: [u32; 3],
    pub(super) min_blocks: u32,
    pub(super) shared: Option<DynamicShared>,
    pub(super) barriers: u32,
}

/// Dynamic shared memory of a block, in bytes.
///
/// It is a number, or `{"up_to": most}` if the launch sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum DynamicShared {
    Bytes(u32),
    UpTo { up_to: u32 },
}

/// Reads the bytes of the record of the kernel `name`.
pub(super) fn decode(name: &str, bytes: &[u8]) -> Result<Record> {
    let (words, rest) = bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
    let (&[x, y, z, min_blocks, kind, shared_bytes, barriers], []) = (words.as_slice(), rest) else {
        bail!("the record of `{name}` has {} bytes, not seven words", bytes.len());
    };
    let shared = match kind {
        0 => None,
        1 => Some(DynamicShared::Bytes(shared_bytes)),
        2 => Some(DynamicShared::UpTo { up_to: shared_bytes }),
        other => bail!("`{name}` declares shared memory of kind {other}"),
    };
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    ensure!((1..=1024).contains(&threads), "`{name}` declares blocks of {threads} threads, outside 1..=1024");
    Ok(Record { name: name.to_owned(), block: [x, y, z], min_blocks, shared, barriers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(words: [u32; 7]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn records_decode() {
        let first = Record {
            name: "first".into(),
            block: [256, 1, 1],
            min_blocks: 2,
            shared: Some(DynamicShared::Bytes(4096)),
            barriers: 3,
        };
        assert_eq!(decode("first", &encode([256, 1, 1, 2, 1, 4096, 3])).unwrap(), first);
        let second = decode("second", &encode([32, 4, 1, 0, 2, 9, 0])).unwrap();
        assert_eq!((second.block, second.shared), ([32, 4, 1], Some(DynamicShared::UpTo { up_to: 9 })));
    }

    #[test]
    fn malformed_records_are_refused() {
        assert!(decode("short", &[0; 7 * 4 - 1]).is_err());
        assert!(decode("long", &[1; 7 * 4 + 1]).is_err());
        assert!(decode("kind", &encode([1, 1, 1, 0, 3, 0, 0])).is_err());
        assert!(decode("threads", &encode([1024, 2, 1, 0, 0, 0, 0])).is_err());
        assert!(decode("none", &encode([0, 1, 1, 0, 0, 0, 0])).is_err());
    }
}
