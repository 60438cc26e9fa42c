//! Row-major sections and planes, cut for tasks.
//!
//! A task gets the same range of every row: its keys, or a tile of every plane of coordinates.

/// Cuts the rows of `data` into pieces of `width` columns.
///
/// Entry `i` holds columns `i * width ..` of every row.
///
/// There is one entry for each piece begun, `ceil(row_len / width)`, even if there are no rows.
pub(crate) fn cut_columns<T>(data: &mut [T], row_len: usize, width: usize) -> Vec<Vec<&mut [T]>> {
    let pieces = row_len.div_ceil(width);
    let rows = data.len().checked_div(row_len).unwrap_or(0);
    let mut columns: Vec<_> = (0..pieces).map(|_| Vec::with_capacity(rows)).collect();
    if row_len > 0 {
        for row in data.chunks_exact_mut(row_len) {
            for (column, piece) in columns.iter_mut().zip(row.chunks_mut(width)) {
                column.push(piece);
            }
        }
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_of_every_row_appears_once_in_order() {
        let mut data: Vec<usize> = (0..3 * 10).collect();
        let columns = cut_columns(&mut data, 10, 4);
        assert_eq!(columns.len(), 3);
        assert_eq!(columns[1], [&[4, 5, 6, 7][..], &[14, 15, 16, 17], &[24, 25, 26, 27]]);
        assert_eq!(columns[2], [&[8, 9][..], &[18, 19], &[28, 29]]);
    }

    #[test]
    fn sections_without_rows_still_have_their_pieces() {
        assert_eq!(cut_columns::<u8>(&mut [], 64, 32), [Vec::<&mut [u8]>::new(), Vec::new()]);
        assert_eq!(cut_columns::<u8>(&mut [], 0, 32).len(), 0);
    }
}
