//! Results as rows, one for each element.
//!
//! A row has the words of the element and then its bits, in the order of [`Computation::eval`].

use nn_ops::io::{NpyArray, NpyError, write_npy};
use pfss::{BoolShares, Shares};

use super::computation::Computation;

/// One party's shares; a bit that is XOR-shared is 0 or 1.
pub(super) fn of_party(count: usize, shares: &Shares) -> Vec<Vec<u64>> {
    let words = &shares.words;
    let (stride, per_row) = (words.len() / count.max(1), count.div_ceil(32));
    let bits: Vec<Vec<u64>> = match &shares.bools {
        BoolShares::Additive(bools) => {
            let bits = bools.len() / count.max(1);
            (0..count).map(|e| bools[e * bits..][..bits].to_vec()).collect()
        }
        BoolShares::Xor(bools) => {
            let bit = |row: &[u32], e: usize| u64::from((row[e / 32] >> (e % 32)) & 1);
            let rows = || bools.words().chunks(per_row.max(1));
            (0..count).map(|e| rows().map(|row| bit(row, e)).collect()).collect()
        }
    };
    let row = |(e, bits): (usize, &Vec<u64>)| [&words[e * stride..][..stride], bits].concat();
    bits.iter().enumerate().map(row).collect()
}

/// Opens the rows of both parties.
pub(super) fn open(computation: &Computation, [zero, one]: [&[Vec<u64>]; 2]) -> Vec<Vec<u64>> {
    let (ring, xor, words) = (computation.out_ring(), computation.xor_bits(), computation.names()[0].len());
    let value = |(at, (&a, &b)): (usize, (&u64, &u64))| if xor && at >= words { a ^ b } else { ring.add(a, b) };
    zero.iter().zip(one).map(|(zero, one)| zero.iter().zip(one).enumerate().map(value).collect()).collect()
}

/// Rows of equal length as the bytes of a file.
pub(super) fn npy(rows: &[Vec<u64>]) -> Result<Vec<u8>, NpyError> {
    let shape = vec![rows.len(), rows.first().map_or(0, Vec::len)];
    let array = NpyArray { shape, data: rows.concat() };
    write_npy(&array)
}
