//! Traces from NumPy files.

use std::{
    fs::File,
    io::{self, BufReader, ErrorKind, Read},
    path::Path,
};

use anyhow::{Context as _, Result, anyhow, bail};
use core_types::field::P;
use npyz::{DType, Deserialize, NpyFile, Order, TypeChar};
use stark::{Columns, M31};

use crate::text::shown;

/// The most bytes of a header that is read: it is held whole.
const MOST_HEADER: u32 = 1 << 16;

/// The columns of a trace of `2^log_rows` rows in an array `[rows][columns]` of integers below 2^31 - 1, each in the order of its rows.
pub(crate) fn read(path: &Path, log_rows: u32, columns: usize) -> Result<Columns> {
    let said = || format!("reading {}", shown(&path.to_string_lossy()));
    let source = File::open(path).map(BufReader::new).with_context(said)?;
    // Its messages repeat what stands in the file.
    let told = |error: io::Error| anyhow!(shown(&error.to_string()));
    let mut source = checked_header(source).map_err(told).with_context(said)?;
    let file = NpyFile::new(&mut source).map_err(told).with_context(said)?;
    let rows = 1usize << log_rows;
    if file.shape() != [rows as u64, columns as u64] {
        let got = shown(&format!("{:?}", file.shape()));
        return Err(anyhow!("the array has shape {got}, expected [{rows}, {columns}]")).with_context(said);
    }
    let trace = filled(file, rows, columns).with_context(said)?;
    match source.read(&mut [0]).with_context(said)? {
        0 => Ok(trace),
        _ => Err(anyhow!("the file goes on after its array")).with_context(said),
    }
}

/// The file from its beginning, if its header is one that can be held.
fn checked_header(mut source: impl Read) -> io::Result<impl Read> {
    let mut start = [0; 12];
    source.read_exact(&mut start)?;
    // Later versions have a length of four bytes.
    let [.., major, _, a, b, c, d] = start;
    let length = u32::from_le_bytes([a, b, c, d]);
    if major > 1 && length > MOST_HEADER {
        let message = format!("expected a header of at most {MOST_HEADER} bytes, got {length}");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    Ok(io::Cursor::new(start).chain(source))
}

fn filled(file: NpyFile<impl Read>, rows: usize, columns: usize) -> Result<Columns> {
    let DType::Plain(kind) = file.dtype() else { bail!("expected an array of integers") };
    match (kind.type_char(), kind.size_field()) {
        (TypeChar::Uint, 4) => of_type::<u32>(file, rows, columns),
        (TypeChar::Uint, 8) => of_type::<u64>(file, rows, columns),
        (TypeChar::Int, 4) => of_type::<i32>(file, rows, columns),
        (TypeChar::Int, 8) => of_type::<i64>(file, rows, columns),
        _ => bail!("expected integers of 32 or 64 bits, got {}", shown(&kind.to_string())),
    }
}

fn of_type<T: Deserialize + Copy + Into<i128>>(
    file: NpyFile<impl Read>,
    rows: usize,
    columns: usize,
) -> Result<Columns> {
    let by_column = file.order() == Order::Fortran;
    let mut trace = vec![vec![M31::ZERO; rows]; columns];
    for (place, word) in file.data::<T>()?.enumerate() {
        let word: i128 = word?.into();
        let (row, column) = if by_column { (place % rows, place / rows) } else { (place / columns, place % columns) };
        let Some(word) = u32::try_from(word).ok().filter(|&word| word < P) else {
            bail!("{word} in row {row} and column {column} is not in 0..=2147483646");
        };
        trace[column][row] = M31::from_u32(word);
    }
    Ok(trace)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use npyz::WriterBuilder as _;

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
        let file = written(&[0, 1, 2, (1 << 31) - 1], &[2, 2], Order::C);
        let refused = |log_rows, columns| format!("{:#}", read(file.path(), log_rows, columns).unwrap_err());
        assert!(refused(2, 1).contains("shape [2, 2], expected [4, 1]"), "{}", refused(2, 1));
        assert!(refused(1, 2).contains("2147483647 in row 1 and column 1"), "{}", refused(1, 2));
    }

    #[test]
    fn a_file_that_goes_on_after_its_array_is_refused() {
        let file = written(&[0, 1, 2, 3], &[2, 2], Order::C);
        assert!(read(file.path(), 1, 2).is_ok());
        let whole = fs::read(file.path()).unwrap();
        fs::write(file.path(), [&whole[..], b"."].concat()).unwrap();
        assert!(format!("{:#}", read(file.path(), 1, 2).unwrap_err()).contains("goes on after its array"));
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
        assert!(with(&format!("({})", "1, ".repeat(20_000))).contains("more characters"));
        assert!(with("(2, \u{1b}[31m)").contains("could not parse"));
        assert!(with("(2, 2)").contains("fill whole buffer"));
        with(&"(".repeat(30_000));
        assert!(refused(2, &[0xff; 4], "").contains("expected a header of at most 65536 bytes, got 4294967295"));
        assert!(refused(1, &[], "").contains("fill whole buffer"));
    }
}
