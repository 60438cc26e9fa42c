//! `dcf_gen`, and `dcf_eval_window` at points that may lie anywhere.

use backend_api::BackendError;
use core_types::params::fss::DcfGenParams;

use super::{
    batch::{GeneratedDcf, NONCE, every_point, levels, mixed_rows, words},
    model::{DcfKey, Prg},
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

fn reduced(width: u32, x: u64) -> u64 {
    x & u64::MAX >> (64 - width)
}

/// Reconstruction at every α and y.
fn expect_every_pair(q: &Conditioned, bits: u32, len: u32, width: u32) -> Result<(), Failure> {
    let all: Vec<u64> = (0..1 << bits).list();
    let betas = words(3, all.len() * len as usize);
    let batch = GeneratedDcf::random(q, (bits, width), len, &all, &betas)?;
    let (x_hat, offsets) = (all.iter().map(|e| e << bits).list(), every_point(1 << bits));
    let [first, second] = [0, 1].map(|party| batch.evaluate_window(q, party, bits, &x_hat, &offsets));
    let got: Vec<u64> = first?.iter().zip(&second?).map(|(a, b)| reduced(width, a.wrapping_add(*b))).list();
    let row = all.len() * len as usize;
    let expected: Vec<u64> =
        (0..got.len()).map(|i| if i / row < i % all.len() { reduced(width, betas[i % row]) } else { 0 }).list();
    Failure::unless_equal(&expected, &got)
}

/// Compares sections and shares with the model, word for word.
///
/// The parties' shares add up to the function. Bits of secrets above the width do not matter.
fn expect_model(q: &Conditioned, (bits, width): (u32, u32), len: u32, count: u32) -> Result<(), Failure> {
    let secrets = words(21, count as usize);
    let betas = words(22, secrets.len() * len as usize);
    let batch = GeneratedDcf::random(q, (bits, width), len, &secrets, &betas)?;
    let alphas: Vec<u64> = secrets.into_iter().map(|a| reduced(bits, a)).list();
    let (len, keys) = (len as usize, batch.model(&alphas, &betas));
    let sections = batch.sections(q)?;
    let levels = 0..bits as usize;
    let expected: Vec<u128> =
        levels.clone().flat_map(|level| keys.iter().map(move |key| key.corrections[level])).list();
    Failure::unless_equal(&expected, &sections.corrections)?;
    let rows = levels.flat_map(|level| (0..len).map(move |word| (level, word)));
    let expected: Vec<u64> = rows.flat_map(|(level, word)| keys.iter().map(move |key| key.values[level][word])).list();
    Failure::unless_equal(&expected, &sections.values)?;
    let expected: Vec<u64> = (0..len).flat_map(|word| keys.iter().map(move |key| key.last[word])).list();
    Failure::unless_equal(&expected, &sections.last)?;

    let points = mixed_rows([|a, _| a, |a, _| a.wrapping_sub(1), |_, r| r], &alphas, 23);
    expect_shares(&batch, &keys, [&alphas, &betas], &points, |party| batch.evaluate(q, party, &points))
}

/// Compares each party's shares at `points`, `[m][keys]`, with the model's.
///
/// They add up to the function. Bits of points above the width do not matter.
pub(super) fn expect_shares(
    batch: &GeneratedDcf,
    keys: &[DcfKey],
    [alphas, betas]: [&[u64]; 2],
    points: &[u64],
    evaluate: impl Fn(usize) -> Result<Vec<u64>, BackendError>,
) -> Result<(), Failure> {
    let DcfGenParams { bits, width, words, .. } = batch.params;
    let (prg, len, count) = (Prg::from_nonce(NONCE), words as usize, alphas.len());
    let mut sums = vec![0u64; points.len() * len];
    for party in 0..2 {
        let shares = evaluate(party)?;
        let mut expected = vec![0; shares.len()];
        for (i, &y) in points.iter().enumerate() {
            let (j, e) = (i / count, i % count);
            let share = keys[e].evaluate(&prg, (bits, width), party, batch.seed(party, e), reduced(bits, y));
            for (word, share) in share.into_iter().enumerate() {
                expected[(j * len + word) * count + e] = share;
            }
        }
        Failure::unless_equal(&expected, &shares)?;
        sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum = reduced(width, sum.wrapping_add(share)));
    }
    let value = |i: usize| {
        let (j, e) = (i / (len * count), i % count);
        let below = reduced(bits, points[j * count + e]) < alphas[e];
        if below { reduced(width, betas[i % (len * count)]) } else { 0 }
    };
    Failure::unless_equal(&(0..sums.len()).map(value).list(), &sums)
}

pub(super) fn specs() -> OpSpec {
    let mut cases = Vec::new();
    for bits in 1..=6 {
        for len in 1..=5 {
            cases.push(Case::new(format!("every alpha and y of {bits} bits, {len} words"), move |q| {
                expect_every_pair(q, bits, len, 64 - 7 * (bits - 1))
            }));
        }
    }
    cases.push(Case::new("every alpha and y of 1 bit, 8 words", |q| expect_every_pair(q, 1, 8, 64)));
    for (bits, width, len) in [(12, 64, 1), (12, 1, 8), (64, 64, 1), (64, 37, 3)] {
        for count in BATCHES {
            let bits = levels(bits, count);
            let name = format!("{count} keys of {bits} bits, {len} words of {width} bits, are the model's");
            cases.push(Case::new(name, move |q| expect_model(q, (bits, width), len, count)));
        }
    }
    OpSpec { op: "fss.dcf", cases }
}
