//! Traces from NumPy files.

use std::path::Path;

use anyhow::{Result, ensure};
use core_types::field::P;
use nn_ops::io::{FromNpy, NpyArray, read_npy};
use stark::{M31, TraceColumns};

use crate::files::parsed;

/// A field element that is stored as an integer.
#[derive(Clone, Copy)]
struct StoredElement(M31);

impl FromNpy for StoredElement {
    const NAME: &'static str = "0..=2147483646";
    const TAKES_FLOATS: bool = false;

    fn from_integer(value: i128) -> Option<Self> {
        u32::try_from(value).ok().filter(|&word| word < P).map(|word| Self(M31::from_u32(word)))
    }

    fn from_f32(_: f32) -> Option<Self> {
        None
    }

    fn from_f64(_: f64) -> Option<Self> {
        None
    }
}

/// Reads the columns of a trace of `2^log_rows` rows, each in row order.
///
/// The array is `[rows][columns]` of integers below 2^31 - 1.
pub(crate) fn read(path: &Path, log_rows: u32, columns: usize) -> Result<TraceColumns> {
    let rows = 1usize << log_rows;
    let data = parsed(path, |bytes| {
        let NpyArray { shape, data } = read_npy::<StoredElement>(bytes)?;
        ensure!(shape == [rows, columns], "the array has shape {shape:?}, expected [{rows}, {columns}]");
        Ok(data)
    })?;
    let column =
        |place: usize| data.iter().skip(place).step_by(columns).map(|&StoredElement(element)| element).collect();
    Ok((0..columns).map(column).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use npyz::{Order, WriterBuilder as _};

    use super::*;

    fn written(words: &[i64], shape: &[u64], order: Order) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let options = npyz::WriteOptions::new().default_dtype().shape(shape).order(order);
        let mut writer = options.writer(fs::File::create(file.path()).unwrap()).begin_nd().unwrap();
        writer.extend(words.iter().copied()).unwrap();
        writer.finish().unwrap();
        file
    }

    #[test]
    fn columns_are_read_in_either_order() {
        let by_row = written(&[0, 10, 1, 11, 2, 12, 3, 13], &[4, 2], Order::C);
        let by_column = written(&[0, 1, 2, 3, 10, 11, 12, 13], &[4, 2], Order::Fortran);
        let columns = read(by_row.path(), 2, 2).unwrap();
        assert_eq!(read(by_column.path(), 2, 2).unwrap(), columns);
        let words: Vec<Vec<u32>> =
            columns.iter().map(|column| column.iter().map(|word| word.word()).collect()).collect();
        assert_eq!(words, [[0, 1, 2, 3], [10, 11, 12, 13]]);
    }

    #[test]
    fn other_shapes_and_words_outside_the_field_are_named() {
        let refused = |words: &[i64], shape: &[u64]| {
            let file = written(words, shape, Order::C);
            format!("{:#}", read(file.path(), 1, 2).unwrap_err())
        };
        let said = refused(&[0, 1, 2, 3], &[4, 1]);
        assert!(said.contains("shape [4, 1], expected [2, 2]"), "{said}");
        let said = refused(&[0, 1, 2, (1 << 31) - 1], &[2, 2]);
        assert!(said.contains("element 3: expected a value of 0..=2147483646, got 2147483647"), "{said}");
    }

    #[test]
    fn a_file_that_goes_on_after_its_array_is_refused() {
        let file = written(&[0, 1, 2, 3], &[2, 2], Order::C);
        assert!(read(file.path(), 1, 2).is_ok());
        let whole = fs::read(file.path()).unwrap();
        fs::write(file.path(), [&whole[..], b"."].concat()).unwrap();
        assert!(format!("{:#}", read(file.path(), 1, 2).unwrap_err()).contains("has 33 data bytes, expected 32"));
    }

    #[test]
    fn hostile_files_are_refused_in_a_few_words() {
        let refused = |version: u8, length: &[u8], text: &str| {
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), [&b"\x93NUMPY"[..], &[version, 0], length, text.as_bytes()].concat()).unwrap();
            let message = format!("{:#}", read(file.path(), 1, 2).unwrap_err());
            assert!(message.len() < 500 && !message.contains(char::is_control), "{message}");
            message
        };
        let with = |shape: &str| {
            let text = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}, }}");
            refused(1, &(text.len() as u16).to_le_bytes(), &text)
        };
        assert!(with(&format!("({})", "1, ".repeat(20_000))).contains("expected"));
        assert!(with("(2, \u{1b}[31m)").contains("npy header at byte"));
        assert!(with("(2, 2)").contains("npy file is truncated"));
        with(&"(".repeat(30_000));
        assert!(
            refused(2, &[0xff; 4], "").contains("npy file is truncated: expected at least 4294967307 bytes, got 12")
        );
        assert!(refused(1, &[], "").contains("npy file is truncated"));
    }
}
