//! Traces from NumPy files.

use std::{fs::File, io::BufReader, path::Path};

use anyhow::{Context as _, Result, bail, ensure};
use core_types::field::P;
use npyz::{DType, NpyFile, Order, TypeChar};
use stark::{Columns, M31};

/// The columns of a trace of `2^log_rows` rows in an array `[rows][columns]` of integers below 2^31 - 1, each in the order of its rows.
pub(crate) fn read(path: &Path, log_rows: u32, columns: usize) -> Result<Columns> {
    let said = || format!("reading {}", path.display());
    let file = NpyFile::new(BufReader::new(File::open(path).with_context(said)?)).with_context(said)?;
    let rows = 1usize << log_rows;
    ensure!(
        file.shape() == [rows as u64, columns as u64],
        "{} has shape {:?}, expected [{rows}, {columns}]",
        path.display(),
        file.shape()
    );
    let by_column = file.order() == Order::Fortran;
    let words = words(file).with_context(said)?;
    let mut trace = vec![vec![M31::ZERO; rows]; columns];
    for (place, word) in words.into_iter().enumerate() {
        let (row, column) = if by_column { (place % rows, place / rows) } else { (place / columns, place % columns) };
        let Some(word) = u32::try_from(word).ok().filter(|&word| word < P) else {
            bail!("{}: {word} in row {row} and column {column} is not below 2^31 - 1", path.display());
        };
        trace[column][row] = M31::from_u32(word);
    }
    Ok(trace)
}

fn words(file: NpyFile<BufReader<File>>) -> Result<Vec<i128>> {
    let DType::Plain(kind) = file.dtype() else { bail!("expected an array of integers") };
    Ok(match (kind.type_char(), kind.size_field()) {
        (TypeChar::Uint, 4) => file.into_vec::<u32>()?.into_iter().map(i128::from).collect(),
        (TypeChar::Uint, 8) => file.into_vec::<u64>()?.into_iter().map(i128::from).collect(),
        (TypeChar::Int, 4) => file.into_vec::<i32>()?.into_iter().map(i128::from).collect(),
        (TypeChar::Int, 8) => file.into_vec::<i64>()?.into_iter().map(i128::from).collect(),
        _ => bail!("expected integers of 32 or 64 bits, got {kind}"),
    })
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
        assert!(read(file.path(), 2, 1).unwrap_err().to_string().contains("expected [4, 1]"));
        let message = read(file.path(), 1, 2).unwrap_err().to_string();
        assert!(message.contains("2147483647 in row 1 and column 1"), "{message}");
    }
}
