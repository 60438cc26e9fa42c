//! Arrays of numbers in NumPy's files and in safetensors.

use std::{
    io::{Cursor, Read as _},
    path::Path,
};

use anyhow::{Context as _, Result, bail, ensure};
use nn_ops::io::{FromNpy, NpyArray, read_npy, read_safetensors};
use zip::ZipArchive;

use crate::files::parsed;

/// What files of NumPy begin with.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The first bytes of an archive of `np.savez`.
const ARCHIVE_MAGIC: &[u8] = b"PK\x03\x04";

/// The largest unpacked array. Compressed, it takes as little as a thousandth.
const MOST_UNPACKED: u64 = 1 << 32;

/// Reads the numbers of a NumPy file or of `name` in an archive, converted to f32.
///
/// `name` is an array of a NumPy archive, or a tensor of a safetensors file.
pub(super) fn numbers(path: &Path, name: &str) -> Result<NpyArray<f32>> {
    parsed(path, |bytes| {
        if [MAGIC, ARCHIVE_MAGIC].iter().any(|magic| bytes.starts_with(magic)) {
            return array(bytes, name);
        }
        let mut tensors = read_safetensors(bytes)?;
        let tensor = tensors.remove(name).with_context(|| format!("there is no tensor `{name}`"))?;
        Ok(NpyArray { shape: tensor.shape, data: tensor.data })
    })
}

/// Reads class numbers, integers from 0, from a NumPy file.
///
/// In an archive, they are the array `labels`.
pub(super) fn classes(path: &Path) -> Result<NpyArray<u32>> {
    parsed(path, |bytes| array(bytes, "labels"))
}

/// The array in a NumPy file, or `name` in an archive.
fn array<T: FromNpy>(bytes: &[u8], name: &str) -> Result<NpyArray<T>> {
    Ok(if bytes.starts_with(ARCHIVE_MAGIC) { read_npy(&unpacked(bytes, name)?)? } else { read_npy(bytes)? })
}

/// The file of the array `name` in an archive, or of its only array.
fn unpacked(bytes: &[u8], name: &str) -> Result<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))?;
    let stored = archive.file_names().filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_owned()));
    let stored: Vec<String> = stored.collect();
    let chosen = match &stored[..] {
        [only] => only,
        _ => stored.iter().find(|&stored| stored == name).with_context(|| {
            let stored = stored.join(", ");
            format!("expected an array `{name}`, the archive has: {stored}")
        })?,
    };
    let file = archive.by_name(&format!("{chosen}.npy"))?;
    let mut unpacked = Vec::new();
    let read = file.take(MOST_UNPACKED + 1).read_to_end(&mut unpacked)?;
    ensure!(read as u64 <= MOST_UNPACKED, "array `{chosen}`: expected at most {MOST_UNPACKED} bytes");
    Ok(unpacked)
}

/// The extents of a matrix, or else an error with the expected shape.
pub(super) fn matrix<T>(array: &NpyArray<T>, what: &str) -> Result<[usize; 2]> {
    match array.shape[..] {
        [rows, columns] => Ok([rows, columns]),
        // What counts as a feature, and in which order, is not for this program to guess.
        [rows, .., _] => {
            let features = array.data.len().checked_div(rows).unwrap_or(0);
            bail!(
                "{what} have shape {:?}, expected [rows, features]; reshape them, for example to [{rows}, {features}]",
                array.shape
            )
        }
        _ => bail!("{what} have shape {:?}, expected [rows, features]", array.shape),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use nn_ops::io::{NpyElement, Tensor, Tensors, write_npy, write_safetensors};
    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn written<T: NpyElement>(data: Vec<T>) -> tempfile::NamedTempFile {
        file(&write_npy(&NpyArray { shape: vec![data.len()], data }).unwrap())
    }

    #[test]
    fn numbers_of_every_kind_are_read() {
        for file in [written(vec![3u8]), written(vec![3i64]), written(vec![3.0f32]), written(vec![3.0f64])] {
            assert_eq!(numbers(file.path(), "inputs").unwrap().data, [3.0]);
        }
        let tensors = Tensors::from([("inputs".to_owned(), Tensor { shape: vec![1], data: vec![3.0] })]);
        let file = file(&write_safetensors(&tensors).unwrap());
        assert_eq!(numbers(file.path(), "inputs").unwrap().data, [3.0]);
        let missing = format!("{:#}", numbers(file.path(), "others").unwrap_err());
        assert!(missing.ends_with("there is no tensor `others`"), "{missing}");
    }

    #[test]
    fn classes_of_every_kind_are_read_and_what_is_none_is_named() {
        for file in [written(vec![3u8]), written(vec![3i32]), written(vec![3i64])] {
            assert_eq!(classes(file.path()).unwrap().data, [3]);
        }
        let negative = format!("{:#}", classes(written(vec![-1i64]).path()).unwrap_err());
        assert!(negative.contains("expected a value of u32, got -1"), "{negative}");
        let other = format!("{:#}", classes(written(vec![1.0f32]).path()).unwrap_err());
        assert!(other.contains("<f4"), "{other}");
    }

    /// An archive as `np.savez` and `np.savez_compressed` write it.
    fn archive(arrays: &[(&str, Vec<u8>)], method: CompressionMethod) -> tempfile::NamedTempFile {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(method);
        for (name, bytes) in arrays {
            archive.start_file(format!("{name}.npy"), options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        file(&archive.finish().unwrap().into_inner())
    }

    #[test]
    fn arrays_are_taken_from_archives_by_their_names() {
        let bytes = |data: Vec<i64>| write_npy(&NpyArray { shape: vec![data.len()], data }).unwrap();
        let (x, y) = (bytes(vec![3; 1000]), bytes(vec![1; 1000]));
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let both = archive(&[("inputs", x.clone()), ("labels", y.clone())], method);
            assert_eq!(numbers(both.path(), "inputs").unwrap().data, vec![3.0; 1000]);
            assert_eq!(classes(both.path()).unwrap().data, vec![1; 1000]);
            let only = archive(&[("arr_0", x.clone())], method);
            assert_eq!(numbers(only.path(), "inputs").unwrap().data, vec![3.0; 1000]);
            let others = archive(&[("x", x.clone()), ("y", y.clone())], method);
            let refused = format!("{:#}", numbers(others.path(), "inputs").unwrap_err());
            assert!(refused.ends_with("expected an array `inputs`, the archive has: x, y"), "{refused}");
            let whole = std::fs::read(both.path()).unwrap();
            for len in (4..whole.len()).step_by(7) {
                assert!(numbers(file(&whole[..len]).path(), "inputs").is_err(), "{len}");
            }
        }
    }

    #[test]
    fn a_third_dimension_is_refused() {
        let shaped = |shape: &[usize]| matrix(&NpyArray { shape: shape.to_vec(), data: vec![0u8; 24] }, "the inputs");
        assert_eq!(shaped(&[4, 6]).unwrap(), [4, 6]);
        let refused = shaped(&[2, 3, 4]).unwrap_err().to_string();
        let expected =
            "the inputs have shape [2, 3, 4], expected [rows, features]; reshape them, for example to [2, 12]";
        assert_eq!(refused, expected);
        assert!(shaped(&[24]).is_err());
    }

    #[test]
    fn hostile_files_are_named_in_a_few_words() {
        for bytes in
            [&b""[..], b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff", &[0xff; 64], b"\x08\0\0\0\0\0\0\0{\"\x1b\":1}"]
        {
            let refused = format!("{:#}", numbers(file(bytes).path(), "inputs").unwrap_err());
            assert!(refused.len() < 500 && !refused.contains(char::is_control), "{refused}");
        }
    }
}
