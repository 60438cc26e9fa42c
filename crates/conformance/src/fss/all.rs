//! `cmp_eval_all`.

use core::ops::Range;
use core_types::cmp::cmp_blocks;

use super::{
    batch::{GeneratedCmp, NONCE, bit, words},
    model::Prg,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// The unit vectors of `alphas`, `[blocks][keys]`.
fn unit_vectors(bits: u32, alphas: &[u64]) -> Vec<u128> {
    let block = |index: u64| alphas.iter().map(move |&a| if a / 128 == index { 1 << (a % 128) } else { 0 });
    (0..cmp_blocks(bits)).flat_map(block).list()
}

fn xor(first: &[u128], second: &[u128]) -> Vec<u128> {
    first.iter().zip(second).map(|(a, b)| a ^ b).list()
}

/// Reconstruction of the unit vector of every α.
fn expect_every_alpha(q: &Conditioned, bits: u32) -> Result<(), Failure> {
    let all: Vec<u64> = (0..1 << bits).list();
    let batch = GeneratedCmp::random(q, bits, &all)?;
    let keys = 0..all.len() as u32;
    let [first, second] = [batch.evaluate_all(q, 0, keys.clone())?, batch.evaluate_all(q, 1, keys)?];
    Failure::unless_equal(&unit_vectors(bits, &all), &xor(&first, &second))
}

/// Compares each party's shares with the model, bit for bit, and reconstructs.
///
/// The shares are for the keys in `range` of `count`.
fn expect_model(q: &Conditioned, bits: u32, count: u32, range: Range<u32>) -> Result<(), Failure> {
    let alphas: Vec<u64> = words(u64::from(count) + 50, count as usize).into_iter().map(|a| a % (1 << bits)).list();
    let batch = GeneratedCmp::random(q, bits, &alphas)?;
    let (prg, keys) = (Prg::from_nonce(NONCE), batch.model(&alphas));
    let taken = range.start as usize..range.end as usize;
    let mut sums = unit_vectors(bits, &alphas[taken.clone()]);
    for party in 0..2 {
        let shares = batch.evaluate_all(q, party, range.clone())?;
        let block = |index: u64| {
            let share = |e: usize| keys[e].units(&prg, bits, party, batch.seed(party, e), index);
            taken.clone().map(share).list()
        };
        let expected: Vec<u128> = (0..cmp_blocks(bits)).flat_map(block).list();
        Failure::unless_equal(&expected, &shares)?;
        sums = xor(&sums, &shares);
    }
    Failure::unless_equal(&vec![0; sums.len()], &sums)
}

/// Checks prefix parities of the shares at all points.
///
/// They are shares of the comparison, for the same keys.
fn expect_comparisons(q: &Conditioned, bits: u32) -> Result<(), Failure> {
    let alphas: Vec<u64> = words(9, 33).into_iter().map(|a| a % (1 << bits)).list();
    let batch = GeneratedCmp::random(q, bits, &alphas)?;
    let [first, second] = [batch.evaluate_all(q, 0, 0..33)?, batch.evaluate_all(q, 1, 0..33)?];
    let units = xor(&first, &second);
    let ys = [0, 1, 127, (1 << bits) - 1, (1 << bits) / 2];
    let points: Vec<u64> = ys.iter().flat_map(|&y| [y % (1 << bits); 33]).list();
    let [first, second] = [batch.evaluate(q, 0, &points)?, batch.evaluate(q, 1, &points)?];
    for (i, &y) in points.iter().enumerate() {
        let (j, e) = (i / 33, i % 33);
        let compared = bit(&first, 33, j, e) ^ bit(&second, 33, j, e);
        let below = (0..=y).filter(|&point| units[point as usize / 128 * 33 + e] >> (point % 128) & 1 == 1).count();
        if compared != (below == 1) || below > 1 {
            return Err(Failure::Broken(format!("key {e} has {below} points up to {y} and compares as {compared}")));
        }
    }
    Ok(())
}

pub(super) fn specs() -> OpSpec {
    let mut cases: Vec<Case> = Vec::new();
    for bits in 1..=10 {
        let case = Case::new(format!("every alpha of {bits} bits"), move |q| expect_every_alpha(q, bits));
        cases.push(case.on_elements(1 << (2 * bits)));
    }
    for bits in [5, 8, 11] {
        let name = format!("comparisons of {bits} bits are sums of units");
        cases.push(Case::new(name, move |q| expect_comparisons(q, bits)));
    }
    for bits in [8, 10] {
        for count in BATCHES {
            let name = format!("all points of {count} keys of {bits} bits are the model's");
            cases.push(Case::new(name, move |q| expect_model(q, bits, count, 0..count)));
        }
    }
    for (bits, count, range) in
        [(9, 257, 32..257), (10, 100, 64..97), (8, 64, 32..32), (13, 33, 0..33), (13, 70, 64..65)]
    {
        let name = format!("all points of keys {range:?} of {count} of {bits} bits are the model's");
        cases.push(Case::new(name, move |q| expect_model(q, bits, count, range.clone())));
    }
    OpSpec { op: "fss.cmp_all", cases }
}
