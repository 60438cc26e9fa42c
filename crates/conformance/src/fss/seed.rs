//! `expand_seed`: published vectors, and counters encrypted by another implementation.

use backend_api::{
    Buffer as _, Queue,
    ops::fss::{ExpandSeed, FssOps},
};
use core_types::{AesKey, params::fss::SeedParams};

use super::model::encrypt;
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

/// NIST SP 800-38A, F.5.1: the key.
const KEY: u128 = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c;

/// The first counter block there.
const FIRST: u128 = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff;

/// The output blocks there.
const STREAM: [u128; 4] = [
    0xec8c_df73_9860_7cb0_f2d2_1675_ea9e_a1e4,
    0x362b_7c3c_6773_5163_18a0_77d7_fc50_73ae,
    0x6a2c_c378_7889_374f_beb4_c81b_17ba_6c44,
    0xe89c_399f_f0f1_98c6_d40a_31db_156c_abfe,
];

/// FIPS 197, C.1: key, block and ciphertext.
const ONE_BLOCK: [u128; 3] = [
    0x0001_0203_0405_0607_0809_0a0b_0c0d_0e0f,
    0x0011_2233_4455_6677_8899_aabb_ccdd_eeff,
    0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a,
];

/// Keeps every bit.
const ALL: [u64; 2] = [u64::MAX; 2];

fn params(key: u128, first: u128, mask: [u64; 2], [rows, blocks]: [u32; 2]) -> SeedParams {
    SeedParams { key: AesKey::new(key.to_be_bytes()), first, mask, rows, blocks, reserved: [0; 2] }
}

fn expand(q: &Conditioned, params: &SeedParams, len: usize) -> Result<Vec<u64>, Failure> {
    let mut words = q.upload(&vec![0xdead_beef_u64; len])?;
    q.expand_seed(ExpandSeed { params, words: words.view_mut() })?;
    Ok(q.download(&words)?)
}

/// The words of blocks whose bytes are written as big-endian numbers.
fn words_of(blocks: &[u128]) -> Vec<u64> {
    blocks.iter().flat_map(|block| block.to_be_bytes().as_chunks::<8>().0.to_vec()).map(u64::from_le_bytes).list()
}

/// Expects the published blocks in a first row and in later ones, 2^64 blocks further.
fn expect_published(q: &Conditioned) -> Result<(), Failure> {
    Failure::unless_equal(&words_of(&STREAM), &expand(q, &params(KEY, FIRST, ALL, [1, 4]), 8)?)?;
    for row in 0..3 {
        let first = FIRST.wrapping_sub(u128::from(row) << 64);
        let words = expand(q, &params(KEY, first, ALL, [row + 1, 4]), 8 * (row as usize + 1))?;
        Failure::unless_equal(&words_of(&STREAM), &words[8 * row as usize..])?;
    }
    let [key, block, encrypted] = ONE_BLOCK;
    Failure::unless_equal(&words_of(&[encrypted]), &expand(q, &params(key, block, ALL, [1, 1]), 2)?)
}

/// Compares every word with the encryption of its counter.
fn expect_model(q: &Conditioned, first: u128, mask: [u64; 2], [rows, blocks]: [u32; 2]) -> Result<(), Failure> {
    let mut expected = Vec::new();
    for row in 0..rows {
        for block in 0..blocks {
            let counter = first.wrapping_add(u128::from(row) << 64).wrapping_add(u128::from(block));
            let bytes = encrypt(KEY.to_be_bytes(), counter.to_be_bytes());
            let halves = bytes.as_chunks::<8>().0.iter().zip(mask);
            expected.extend(halves.map(|(half, mask)| u64::from_le_bytes(*half) & mask));
        }
    }
    Failure::unless_equal(&expected, &expand(q, &params(KEY, first, mask, [rows, blocks]), expected.len())?)
}

fn expect_refused(q: &Conditioned) -> Result<(), Failure> {
    let mut words = q.zeros::<u64>(2)?;
    for sizes in [[0, 1], [2, 1], [1, 0], [1, 2], [u32::MAX; 2], [1 << 31, u32::MAX]] {
        let params = params(KEY, FIRST, ALL, sizes);
        let refused = q.expand_seed(ExpandSeed { params: &params, words: words.view_mut() });
        Failure::unless_refused(&format!("{sizes:?} rows and blocks in 2 words"), refused)?;
    }
    Ok(())
}

pub(super) fn specs() -> OpSpec {
    // roots of trees, and rings of 10 bits
    let masks = [ALL, [!3, u64::MAX], [1023; 2]];
    let mut cases = vec![Case::new("published vectors", expect_published)];
    for (rows, mask) in [1, 2, 3].into_iter().zip(masks) {
        for blocks in BATCHES {
            let name = format!("{rows} rows of {blocks} blocks are the model's");
            cases.push(Case::new(name, move |q| expect_model(q, FIRST, mask, [rows, blocks])));
        }
    }
    for (name, first) in [
        ("the low half of the counter wraps around", u128::from(u64::MAX) - 20),
        ("the counter wraps around", u128::MAX - 20),
        ("the counter of a later row wraps around", u128::MAX - (1 << 64) - 20),
    ] {
        cases.push(Case::new(name, move |q| expect_model(q, first, ALL, [3, 33])));
    }
    cases.push(Case::new("no rows", |q| expect_model(q, FIRST, ALL, [0, 5])));
    cases.push(Case::new("more rows than blocks", |q| expect_model(q, FIRST, ALL, [70, 3])));
    cases.push(Case::new("several jobs", |q| expect_model(q, FIRST, ALL, [2, 8300])).on_elements(2 * 2 * 8300));
    cases.push(Case::new("other lengths", expect_refused));
    OpSpec { op: "fss.expand_seed", cases }
}
