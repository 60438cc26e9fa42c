//! `cmp_gen`, and `cmp_eval_window` at points that may lie anywhere.

use core_types::{
    AesKey, Label,
    params::fss::{CmpGenParams, padded},
};
use sha2::{Digest as _, Sha256};

use super::{
    batch::{GeneratedCmp, NONCE, bit, every_point, levels, mixed_rows, words},
    model::Prg,
};
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// Reconstruction at every α and y.
fn expect_every_pair(q: &Conditioned, bits: u32) -> Result<(), Failure> {
    let all: Vec<u64> = (0..1 << bits).list();
    let batch = GeneratedCmp::random(q, bits, &all)?;
    // bits above the width must not matter
    let (x_hat, offsets) = (all.iter().map(|e| e << bits).list(), every_point(1 << bits));
    let [first, second] = [0, 1].map(|party| batch.evaluate_window(q, party, bits, &x_hat, &offsets));
    let (first, second) = (first?, second?);
    for y in 0..all.len() {
        for alpha in 0..all.len() {
            let got = bit(&first, batch.params.count, y, alpha) ^ bit(&second, batch.params.count, y, alpha);
            if got != (alpha <= y) {
                return Err(Failure::Broken(format!("shares of alpha {alpha} at {y} reconstruct to {got}")));
            }
        }
    }
    Ok(())
}

/// Points that matter for α: its neighbours, the ends, and others.
fn points_for(bits: u32, alphas: &[u64]) -> Vec<u64> {
    let kinds: [fn(u64, u64) -> u64; 6] =
        [|a, _| a, |a, _| a.wrapping_sub(1), |a, _| a.wrapping_add(1), |_, _| 0, |_, _| u64::MAX, |_, r| r];
    mixed_rows(kinds, alphas, 11).into_iter().map(|y| y & u64::MAX >> (64 - bits)).list()
}

/// Sections and each party's shares equal the model's, bit for bit.
///
/// Bits of secrets above the width do not matter.
fn expect_model(q: &Conditioned, bits: u32, count: u32) -> Result<(), Failure> {
    let alphas = words(u64::from(count) + 100, count as usize);
    let batch = GeneratedCmp::random(q, bits, &alphas)?;
    let (row, prg, keys) = (padded(count), Prg::from_nonce(NONCE), batch.model(&alphas));
    let [corrections, leaves] = batch.sections(q)?;
    let levels = 0..bits as usize - 8;
    let expected: Vec<u128> = levels.flat_map(|level| keys.iter().map(move |key| key.corrections[level])).list();
    Failure::unless_equal(&expected, &corrections)?;
    let expected: Vec<u128> = [0, 1].into_iter().flat_map(|side| keys.iter().map(move |key| key.leaves[side])).list();
    Failure::unless_equal(&expected, &leaves)?;
    let points = points_for(bits, &alphas);
    for party in 0..2 {
        let shares = batch.evaluate(q, party, &points)?;
        let expected: Vec<bool> = points
            .iter()
            .enumerate()
            .map(|(i, &y)| {
                let e = i % alphas.len();
                keys[e].evaluate(&prg, bits, party, batch.seed(party, e), y)
            })
            .list();
        let got: Vec<bool> = (0..points.len()).map(|i| bit(&shares, count, i / alphas.len(), i % alphas.len())).list();
        Failure::unless_equal(&expected, &got)?;
        let unused = (0..shares.len() * 32).filter(|i| i % row >= alphas.len());
        if unused.into_iter().any(|i| shares[i / 32] >> (i % 32) & 1 == 1) {
            return Err(Failure::Broken("bits past the last key are not zero".to_owned()));
        }
    }
    Ok(())
}

/// Both parties' truth tables and their shares are the model's, bit for bit.
///
/// The first table has the bits of the first root; the second has the comparison added. A share of
/// the unit vector of α is where neighbouring bits of a table differ.
fn expect_tables(q: &Conditioned, bits: u32, count: u32) -> Result<(), Failure> {
    let (size, row) = (1u64 << bits, padded(count));
    let used = u128::MAX >> (128 - size);
    let alphas = words(u64::from(count) + 100, count as usize);
    let batch = GeneratedCmp::random(q, bits, &alphas)?;
    let compared = |e: usize| {
        let alpha = alphas.get(e).copied().unwrap_or(0) % size;
        (alpha..size).fold(0, |table, y| table | 1u128 << y)
    };
    let first: Vec<u128> = batch.roots[..row].iter().map(|root| root.bits() & used).list();
    let second: Vec<u128> = first.iter().enumerate().map(|(e, table)| table ^ compared(e)).list();
    let [corrections, leaves] = batch.sections(q)?;
    Failure::unless_equal(&[], &corrections)?;
    Failure::unless_equal(&[&first[..], &second].concat(), &leaves)?;
    let points = points_for(bits, &alphas);
    for (party, tables) in [first, second].into_iter().enumerate() {
        let tables = &tables[..alphas.len()];
        let shares = batch.evaluate(q, party, &points)?;
        let at = |i: usize| (i / tables.len(), i % tables.len());
        let expected: Vec<bool> = points.iter().enumerate().map(|(i, &y)| tables[at(i).1] >> y & 1 == 1).list();
        let got: Vec<bool> = (0..points.len()).map(|i| bit(&shares, count, at(i).0, at(i).1)).list();
        Failure::unless_equal(&expected, &got)?;
        let units: Vec<u128> = tables.iter().map(|table| (table ^ table << 1) & used).list();
        Failure::unless_equal(&units, &batch.evaluate_all(q, party, 0..count)?)?;
    }
    Ok(())
}

fn expect_reconstruction(q: &Conditioned, bits: u32, count: u32) -> Result<(), Failure> {
    let mask = u64::MAX >> (64 - bits);
    let mut alphas: Vec<u64> = words(7, count as usize).into_iter().map(|a| a & mask).list();
    // Each edge for six keys that follow each other, so that it meets a point of each kind.
    let edges = [0, 1, mask, mask - 1, mask >> 1, (mask >> 1) + 1];
    for (alpha, edge) in alphas.iter_mut().zip(edges.into_iter().flat_map(|edge| [edge; 6])) {
        *alpha = edge;
    }
    let batch = GeneratedCmp::random(q, bits, &alphas)?;
    let points = points_for(bits, &alphas);
    let [first, second] = [batch.evaluate(q, 0, &points)?, batch.evaluate(q, 1, &points)?];
    let at = |i: usize| (i / alphas.len(), i % alphas.len());
    let got: Vec<bool> =
        (0..points.len()).map(|i| bit(&first, count, at(i).0, at(i).1) ^ bit(&second, count, at(i).0, at(i).1)).list();
    let expected: Vec<bool> = points.iter().enumerate().map(|(i, &y)| alphas[at(i).1] <= y).list();
    Failure::unless_equal(&expected, &got)
}

/// A key of 10 bits with α = 0x155, AES key 00 01 ..
///
/// 0f and roots 10 11 .. 1f and 20 21 .. 2f, once for each lane of a warp: each evaluates it at
/// other points. The shares of both parties are the comparison.
fn expect_known_key(q: &Conditioned) -> Result<(), Failure> {
    const LANES: u32 = 32;
    let run = |from: u8| core::array::from_fn(|i| from + i as u8);
    let params = CmpGenParams { key: AesKey::new(run(0)), bits: 10, count: LANES, reserved: [0; 2] };
    let (row, lanes) = (padded(LANES), LANES as usize);
    let mut roots = vec![Label::new(0); 2 * row];
    roots[..lanes].fill(Label::new(u128::from_le_bytes(run(0x10))));
    roots[row..row + lanes].fill(Label::new(u128::from_le_bytes(run(0x20))));
    let batch = GeneratedCmp::generate(q, params, &[0x155; LANES as usize], roots)?;
    let [corrections, leaves] = batch.sections(q)?;
    let got = [corrections[0], corrections[row], leaves[0], leaves[row]].map(u128::swap_bytes);
    let expected = [
        0xe936_ddf0_9746_eea4_c13c_647f_0024_315b,
        0x4eed_fde2_bd77_2fe9_17a9_8323_61f6_3781,
        0x7b11_bf99_f8ff_b1cc_0db6_6d8c_987a_ece5,
        0xcb65_f894_1f1a_cc88_0086_2f78_777a_a90c,
    ];
    Failure::unless_equal(&expected, &got)?;
    let points = 1024 / u64::from(LANES);
    let firsts: Vec<u64> = (0..u64::from(LANES)).map(|lane| lane * points).list();
    let [first, second] = [0, 1].map(|party| batch.evaluate_window(q, party, 10, &firsts, &every_point(points)));
    let (first, second) = (first?, second?);
    let mut bytes = [0u8; 128];
    for y in 0..1024 {
        let (lane, point) = (y / points as usize, y % points as usize);
        let [share, other] = [&first, &second].map(|shares| bit(shares, LANES, point, lane));
        bytes[y / 8] |= u8::from(share) << (y % 8);
        if (share ^ other) != (y >= 0x155) {
            return Err(Failure::Broken(format!("the shares at {y} reconstruct to {}", share ^ other)));
        }
    }
    Failure::unless_equal(&0xa5f4_f3ff_d957_c6f8_u64.to_be_bytes(), &bytes[..8])?;
    let digest = hex(&Sha256::digest(bytes));
    Failure::unless_equal(&["7b943bdff2b6a24ae85dfbe329cd0ecc8ed283cf396202f7fbbe3008b240da0f".to_owned()], &[digest])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn specs() -> OpSpec {
    let mut cases = vec![Case::new("known key of 10 bits", expect_known_key)];
    for bits in 1..=10 {
        let case = Case::new(format!("every alpha and y of {bits} bits"), move |q| expect_every_pair(q, bits));
        cases.push(case.on_elements(1 << (2 * bits)));
    }
    for bits in [1, 7, 8, 12, 32, 63, 64] {
        cases.push(Case::new(format!("edges and random secrets of {bits} bits"), move |q| {
            expect_reconstruction(q, bits, 66)
        }));
    }
    for bits in [1, 5, 7] {
        for count in [0, 1, 33, 257] {
            let name = format!("{count} tables of {bits} bits are the model's");
            cases.push(Case::new(name, move |q| expect_tables(q, bits, count)));
        }
    }
    for bits in [8, 9, 12, 64] {
        for count in BATCHES {
            let bits = levels(bits, count);
            let name = format!("{count} keys of {bits} bits are the model's");
            cases.push(Case::new(name, move |q| expect_model(q, bits, count)));
        }
    }
    OpSpec { op: "fss.cmp", cases }
}
