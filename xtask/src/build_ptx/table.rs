//! The kernel table that `kernel_table!` of `kernels-ptx` leaves in the PTX as bytes.

use anyhow::{Result, bail, ensure};
use serde::{Deserialize, Serialize};

/// Symbol of the table.
pub(super) const SYMBOL: &str = "KERNEL_TABLE";

const NAME_BYTES: usize = 48;
const RECORD_BYTES: usize = NAME_BYTES + 7 * 4;

/// What a kernel declares of itself; the layout of `kernels_ptx::table::KernelRecord`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) block: [u32; 3],
    pub(super) min_blocks: u32,
    pub(super) shared: Option<DynamicShared>,
    pub(super) barriers: u32,
}

/// Dynamic shared memory of a block, in bytes: a number, or `{"up_to": most}` where the launch says how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum DynamicShared {
    Bytes(u32),
    UpTo { up_to: u32 },
}

/// Reads the bytes of the table.
pub(super) fn decode(bytes: &[u8]) -> Result<Vec<Record>> {
    ensure!(
        bytes.len().is_multiple_of(RECORD_BYTES),
        "the kernel table has {} bytes, no multiple of {RECORD_BYTES}",
        bytes.len()
    );
    bytes.chunks_exact(RECORD_BYTES).map(record).collect()
}

fn record(bytes: &[u8]) -> Result<Record> {
    let (name, words) = bytes.split_at(NAME_BYTES);
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = String::from_utf8(name.to_vec())?;
    let words: Vec<u32> =
        words.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
    let &[x, y, z, min_blocks, kind, shared_bytes, barriers] = words.as_slice() else {
        bail!("record of `{name}` has {} words, not 7", words.len());
    };
    let shared = match kind {
        0 => None,
        1 => Some(DynamicShared::Bytes(shared_bytes)),
        2 => Some(DynamicShared::UpTo { up_to: shared_bytes }),
        other => bail!("`{name}` declares shared memory of kind {other}"),
    };
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    ensure!((1..=1024).contains(&threads), "`{name}` declares blocks of {threads} threads, outside 1..=1024");
    Ok(Record { name, block: [x, y, z], min_blocks, shared, barriers })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(name: &str, words: [u32; 7]) -> Vec<u8> {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(NAME_BYTES, 0);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    #[test]
    fn records_decode_in_order() {
        let bytes = [encode("first", [256, 1, 1, 2, 1, 4096, 3]), encode("second", [32, 4, 1, 0, 2, 9, 0])].concat();
        let records = decode(&bytes).unwrap();
        let first = Record {
            name: "first".into(),
            block: [256, 1, 1],
            min_blocks: 2,
            shared: Some(DynamicShared::Bytes(4096)),
            barriers: 3,
        };
        assert_eq!(records[0], first);
        assert_eq!((records[1].block, records[1].shared), ([32, 4, 1], Some(DynamicShared::UpTo { up_to: 9 })));
    }

    #[test]
    fn malformed_tables_are_refused() {
        assert!(decode(&[0; RECORD_BYTES - 1]).is_err());
        assert!(decode(&encode("kind", [1, 1, 1, 0, 3, 0, 0])).is_err());
        assert!(decode(&encode("threads", [1024, 2, 1, 0, 0, 0, 0])).is_err());
        assert!(decode(&encode("none", [0, 1, 1, 0, 0, 0, 0])).is_err());
    }
}
