//! Comparison keys of up to seven bits, which are shared truth tables.
//!
//! There is no tree to walk and nothing to encrypt.
//!
//! Bit `y` of the XOR of both tables is `1[α <= y]`; the first table is uniform.

use backend_api::ops::fss::GROUP;
use core_types::cmp::{cmp_table_share, cmp_table_unit, table_shares};

use super::batch::{CmpAllBatch, CmpBatch, CmpSecrets};

/// Evaluates the keys from `first` on that `rows`, one per point, have words for.
pub(super) fn eval(batch: &CmpBatch<'_>, first: usize, rows: &mut [&mut [u32]]) {
    let (bits, shape) = (batch.params.bits, batch.shape);
    for (j, row) in rows.iter_mut().enumerate() {
        for (group, word) in row.iter_mut().enumerate() {
            let start = first + group * GROUP;
            let keys = start..shape.count.min(start + GROUP);
            let share = |e: usize| cmp_table_share(batch.leaves[e], bits, batch.at.of(j, e));
            *word = keys.fold(0, |word, e| word | share(e) << (e - start));
        }
    }
}

/// Evaluates the keys from `first` on that `rows`, the only block of points, has words for.
pub(super) fn eval_all(batch: &CmpAllBatch<'_>, first: usize, rows: &mut [&mut [u128]]) {
    for row in rows {
        for (units, &table) in row.iter_mut().zip(&batch.leaves[first..]) {
            *units = cmp_table_unit(table, batch.params.bits);
        }
    }
}

/// Makes the keys from `first` on that the two rows of `tables` have columns for.
pub(super) fn generate(secrets: &CmpSecrets<'_>, first: usize, tables: &mut [&mut [u128]]) {
    let [zero, one] = tables else { return };
    for (at, (zero, one)) in zero.iter_mut().zip(one.iter_mut()).enumerate() {
        let alpha = secrets.alphas.get(first + at).copied().unwrap_or(0);
        [*zero, *one] = table_shares(secrets.roots[first + at], secrets.params.bits, alpha);
    }
}
