//! Files of integers.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use nn_ops::io::read_npy;
use pfss::Ring;

use crate::files;

/// Reads elements of `ring` from a file of integers.
///
/// The file is an `.npy` array, or text with integers between commas or white space.
///
/// Each is at least `-2^(n-1)` and below `2^n`; negative ones are read in two's complement.
pub(super) fn read(path: &Path, ring: Ring) -> Result<Vec<u64>> {
    let name = path.display();
    let bytes = files::read(path).with_context(|| format!("reading {name}"))?;
    let integers = integers(&bytes).with_context(|| format!("parsing {name}"))?;
    let bits = ring.bits();
    let (least, beyond) = (-(1i128 << (bits - 1)), 1i128 << bits);
    let element = |(index, value): (usize, i128)| {
        ensure!((least..beyond).contains(&value), "{name}: integer {index} does not fit {bits} bits");
        Ok(ring.reduce(value as u64)) // at most 64 bits of two's complement
    };
    integers.into_iter().enumerate().map(element).collect()
}

fn integers(bytes: &[u8]) -> Result<Vec<i128>> {
    const MAGIC: &[u8] = b"\x93NUMPY";
    if !bytes.starts_with(MAGIC) {
        return text(bytes);
    }
    Ok(read_npy(bytes)?.data)
}

fn text(bytes: &[u8]) -> Result<Vec<i128>> {
    let text = str::from_utf8(bytes).context("expected an npy file or text")?;
    let apart = |symbol: char| symbol == ',' || symbol.is_whitespace();
    let words = text.split(apart).filter(|word| !word.is_empty());
    let integer =
        |(index, word): (usize, &str)| word.parse().with_context(|| format!("value {index} is not an integer"));
    words.enumerate().map(integer).collect()
}

#[cfg(test)]
mod tests {
    use nn_ops::io::{NpyArray, write_npy};

    use super::*;

    #[test]
    fn arrays_and_text_give_the_same_integers() {
        let data = vec![-1i64, 5, 7];
        let array = write_npy(&NpyArray { shape: vec![3], data }).unwrap();
        assert_eq!(integers(&array).unwrap(), integers(b"-1, 5\n7\n").unwrap());
        let bytes = write_npy(&NpyArray { shape: vec![1, 2], data: vec![5u8, 7] }).unwrap();
        assert_eq!(integers(&bytes).unwrap(), [5, 7]);
    }

    #[test]
    fn what_is_no_integer_of_the_ring_is_refused() {
        let floats = write_npy(&NpyArray { shape: vec![1], data: vec![1.0f32] }).unwrap();
        assert!(integers(&floats).is_err());
        assert!(format!("{:#}", integers(b"1,x").unwrap_err()).contains("value 1 is not an integer"));
        assert!(integers(b"\xff\xfe").is_err());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("values");
        let ring = Ring::new(8).unwrap();
        for (text, expected) in [("-128,255", Some([128, 255])), ("0,256", None), ("-129,0", None)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(&path, ring).ok(), expected.map(|values| values.to_vec()), "{text}");
        }
    }
}
