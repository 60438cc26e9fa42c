//! One key at a time, by the scalar formulas that host and kernels share.

use backend_api::ops::fss::GROUP;
use core_types::{
    Label, MAX_PAYLOAD_WORDS,
    cmp::{cmp_eval_all, cmp_eval_window, cmp_gen},
    dcf::{DcfCiphers, DcfDealer, dcf_eval_window},
};

use super::batch::{CmpAllBatch, CmpBatch, CmpSecrets, DcfBatch, DcfSecrets, DcfSections};

/// Evaluates the keys from `first` on that `rows`, one per point, have words for.
pub(super) fn eval_cmp(batch: &CmpBatch<'_>, first: usize, rows: &mut [&mut [u32]]) {
    let (params, shape) = (batch.params, batch.shape);
    for group in 0..rows.first().map_or(0, |row| row.len()) {
        rows.iter_mut().for_each(|row| row[group] = 0);
        let start = first + group * GROUP;
        for e in start..(start + GROUP).min(shape.count) {
            cmp_eval_window(
                &params.key,
                (params.bits, params.party, params.window),
                batch.roots[e],
                |level| batch.corrections[level as usize * shape.row + e],
                |side| batch.leaves[side as usize * shape.row + e],
                0..params.points,
                |j| batch.at.of(j as usize, e),
                |j, share| rows[j as usize][group] |= share << (e - start),
            );
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
    for at in 0..rows.first().map_or(0, |row| row.len()) {
        let e = first + at;
        dcf_eval_window(
            |cipher, input| ciphers.hash(cipher, input),
            (params.bits, params.party, params.window),
            (params.words, shape.width),
            batch.roots[e],
            |level| batch.corrections[level as usize * shape.row + e],
            |level, block| {
                let (section, level) =
                    if level as usize == shape.levels { (batch.last, 0) } else { (batch.values, level as usize) };
                let word = 2 * block as usize;
                let at = |word: usize| section[(level * shape.words + word) * shape.row + e];
                [at(word), if word + 1 < shape.words { at(word + 1) } else { 0 }]
            },
            0..params.points,
            |j| batch.at.of(j as usize, e),
            |j, word, share| rows[j as usize * shape.words + word as usize][at] = share,
        );
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
