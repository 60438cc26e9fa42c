//! One key at a time, by the scalar formulas that host and kernels share.

use backend_api::ops::fss::GROUP;
use core_types::{
    AesKey, Encrypt, Label, MAX_PAYLOAD_WORDS,
    cmp::{cmp_eval, cmp_eval_all, cmp_gen},
    dcf::{DcfCiphers, DcfDealer, DcfWalk},
};

use super::batch::{CmpAllBatch, CmpBatch, CmpSecrets, DcfBatch, DcfSecrets, DcfSections};

/// Evaluates the keys from `first` on that `rows`, one per point, have words for.
pub(super) fn eval_cmp(batch: &CmpBatch<'_>, first: usize, rows: &mut [&mut [u32]]) {
    let (params, shape) = (batch.params, batch.shape);
    for (row, points) in rows.iter_mut().zip(batch.points.chunks(shape.count.max(1))) {
        for (group, word) in row.iter_mut().enumerate() {
            let start = first + group * GROUP;
            let keys = start..(start + GROUP).min(shape.count);
            *word = keys.rev().fold(0, |bits, e| {
                let share = cmp_eval(
                    &params.key,
                    (params.bits, params.party),
                    batch.roots[e],
                    |level| batch.corrections[level as usize * shape.row + e],
                    |side| batch.leaves[side as usize * shape.row + e],
                    points[e],
                );
                bits << 1 | share
            });
        }
    }
}

/// Evaluates the keys from `first` on that `rows`, one per block of points, have words for.
pub(super) fn eval_all_cmp(batch: &CmpAllBatch<'_>, first: usize, rows: &mut [&mut [u128]]) {
    let (params, shape) = (batch.params, batch.shape);
    for at in 0..rows.first().map_or(0, |row| row.len()) {
        let e = first + at;
        cmp_eval_all(
            &params.key,
            (params.bits, params.party),
            batch.roots[e],
            |level| batch.corrections[level as usize * shape.row + e],
            |side| batch.leaves[side as usize * shape.row + e],
            |block, units| rows[block as usize][at] = units,
        );
    }
}

/// Makes the keys from `first` on that `corrections` and the two rows of `leaves` have columns for.
pub(super) fn gen_cmp(
    secrets: &CmpSecrets<'_>,
    first: usize,
    corrections: &mut [&mut [u128]],
    leaves: &mut [&mut [u128]],
) {
    let (params, shape) = (secrets.params, secrets.shape);
    for at in 0..leaves.first().map_or(0, |row| row.len()) {
        let e = first + at;
        let alpha = secrets.alphas.get(e).copied().unwrap_or(0);
        let roots = [secrets.roots[e], secrets.roots[shape.row + e]];
        let made =
            cmp_gen(&params.key, params.bits, alpha, roots, |level, word| corrections[level as usize][at] = word);
        for (row, word) in leaves.iter_mut().zip(made) {
            row[at] = word;
        }
    }
}

/// Evaluates the keys from `first` on that `rows`, one per point and payload word, have elements for.
pub(super) fn eval_dcf(batch: &DcfBatch<'_>, first: usize, rows: &mut [&mut [u64]]) {
    let (params, shape) = (batch.params, batch.shape);
    let ciphers = DcfCiphers { child: &params.keys.child, value: &params.keys.value };
    for (rows, points) in rows.chunks_mut(shape.words).zip(batch.points.chunks(shape.count.max(1))) {
        for at in 0..rows.first().map_or(0, |row| row.len()) {
            let e = first + at;
            let mut all = [0; MAX_PAYLOAD_WORDS];
            let sums = &mut all[..shape.words];
            let mut walk = DcfWalk::start(batch.roots[e], params.party);
            for level in 0..shape.levels {
                let c = (points[e] >> (shape.levels - 1 - level)) as u32 & 1;
                let value = |word: usize| batch.values[(level * shape.words + word) * shape.row + e];
                walk.step(&ciphers, c, batch.corrections[level * shape.row + e], value, sums);
            }
            walk.finish(&ciphers, shape.width, |word| batch.last[word * shape.row + e], sums);
            for (row, sum) in rows.iter_mut().zip(sums) {
                row[at] = *sum;
            }
        }
    }
}

/// Makes the keys from `first` on that `sections` has columns for.
pub(super) fn gen_dcf(secrets: &DcfSecrets<'_>, first: usize, sections: &mut DcfSections<'_>) {
    let (params, shape) = (secrets.params, secrets.shape);
    let ciphers = DcfCiphers { child: &params.keys.child, value: &params.keys.value };
    for at in 0..sections.last.first().map_or(0, |row| row.len()) {
        let e = first + at;
        let alpha = secrets.alphas.get(e).copied().unwrap_or(0);
        let mut beta = [0; MAX_PAYLOAD_WORDS];
        if e < shape.count {
            for (word, row) in beta.iter_mut().zip(secrets.betas.chunks_exact(shape.count)) {
                *word = row[e];
            }
        }
        let roots: [Label; 2] = [secrets.roots[e], secrets.roots[shape.row + e]];
        let mut dealer = DcfDealer::start(roots, &beta[..shape.words], shape.width);
        for level in 0..shape.levels {
            let a = (alpha >> (shape.levels - 1 - level)) as u32 & 1;
            let (correction, values) = dealer.level(&ciphers, a);
            sections.corrections[level][at] = correction;
            for (row, value) in sections.values[level * shape.words..][..shape.words].iter_mut().zip(values) {
                row[at] = value;
            }
        }
        for (row, value) in sections.last.iter_mut().zip(dealer.last(&ciphers)) {
            row[at] = value;
        }
    }
}

/// Fills `words` with the blocks from counter `first` on.
pub(super) fn ctr_fill(key: &AesKey, first: u128, words: &mut [u64]) {
    for (i, pair) in words.chunks_mut(2).enumerate() {
        let block = core_types::block_words(key.encrypt(first.wrapping_add(i as u128)));
        for (word, half) in pair.iter_mut().zip(block) {
            *word = half;
        }
    }
}
