//! Arrays of numbers in NumPy's files and in safetensors.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use nn_ops::io::{NpyArray, NpyElement, NpyError, read_npy, read_safetensors};

use crate::{files, text::shown};

/// What files of NumPy begin with.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The numbers in a file of NumPy, converted to f32 if they are bytes or f64, or of the tensor `name` in safetensors.
pub(super) fn numbers(path: &Path, name: &str) -> Result<NpyArray<f32>> {
    read(path, |bytes| {
        if !bytes.starts_with(MAGIC) {
            let mut tensors = read_safetensors(bytes)?;
            let tensor = tensors.remove(name).with_context(|| format!("there is no tensor `{name}`"))?;
            return Ok(NpyArray { shape: tensor.shape, data: tensor.data });
        }
        match read_npy::<f32>(bytes) {
            Err(NpyError::DType { got, .. }) if got == u8::DESCR => converted(bytes, |byte: u8| Ok(f32::from(byte))),
            Err(NpyError::DType { got, .. }) if got == f64::DESCR => converted(bytes, |wide: f64| Ok(wide as f32)),
            found => Ok(found?),
        }
    })
}

/// The class numbers in a file of NumPy: integers of 8, 32 or 64 bits.
pub(super) fn classes(path: &Path) -> Result<NpyArray<u32>> {
    read(path, |bytes| match read_npy::<i64>(bytes) {
        Err(NpyError::DType { got, .. }) if got == u8::DESCR => converted(bytes, |label: u8| Ok(u32::from(label))),
        Err(NpyError::DType { got, .. }) if got == i32::DESCR => converted(bytes, |label: i32| class(label.into())),
        Err(error) => Err(error.into()),
        Ok(_) => converted(bytes, class),
    })
}

fn class(label: i64) -> Result<u32> {
    u32::try_from(label).map_err(|_| anyhow!("{label} is no class: expected 0 or more"))
}

fn converted<T: NpyElement, U>(bytes: &[u8], convert: impl Fn(T) -> Result<U>) -> Result<NpyArray<U>> {
    let NpyArray { shape, data } = read_npy::<T>(bytes)?;
    Ok(NpyArray { shape, data: data.into_iter().map(convert).collect::<Result<_>>()? })
}

/// What `parse` makes of a file, whose errors name it and show what stands in it as text that is safe to print.
fn read<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let said = || format!("reading {}", shown(&path.to_string_lossy()));
    let bytes = files::read(path).with_context(said)?;
    parse(&bytes).map_err(|error| anyhow!(shown(&format!("{error:#}")))).with_context(said)
}

/// The extents of a matrix, or else an error that names what it should have been.
pub(super) fn matrix<T>(array: &NpyArray<T>, what: &str) -> Result<[usize; 2]> {
    match array.shape[..] {
        [rows, columns] => Ok([rows, columns]),
        // images and sequences count as rows of all their elements
        [rows, .., _] => Ok([rows, array.data.len().checked_div(rows).unwrap_or(0)]),
        _ => bail!("{what} have shape {:?}, expected rows of features", array.shape),
    }
}

#[cfg(test)]
mod tests {
    use nn_ops::io::{Tensor, Tensors, write_npy, write_safetensors};

    use super::*;

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn array<T: NpyElement>(data: Vec<T>) -> tempfile::NamedTempFile {
        file(&write_npy(&NpyArray { shape: vec![data.len()], data }).unwrap())
    }

    #[test]
    fn numbers_of_every_kind_are_read() {
        for file in [array(vec![3u8]), array(vec![3.0f32]), array(vec![3.0f64])] {
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
        for file in [array(vec![3u8]), array(vec![3i32]), array(vec![3i64])] {
            assert_eq!(classes(file.path()).unwrap().data, [3]);
        }
        let negative = format!("{:#}", classes(array(vec![-1i64]).path()).unwrap_err());
        assert!(negative.contains("-1 is no class"), "{negative}");
        let other = format!("{:#}", classes(array(vec![1.0f32]).path()).unwrap_err());
        assert!(other.contains("<f4"), "{other}");
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
