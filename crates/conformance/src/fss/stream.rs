//! `aes_ctr_fill`, `pack_bits` and `unpack_bits`.

use backend_api::{
    Buffer as _,
    ops::fss::{AesCtrFill, FssOps, PackBits, UnpackBits},
};
use core_types::{
    AesKey,
    params::fss::{AesCtrParams, PackParams},
};

use super::{
    batch::words,
    model::{Block, encrypt},
};
use crate::{Case, Failure, OpSpec, spec::BATCHES};

fn stream<Q: FssOps>(q: &Q, key: Block, first: u128, len: usize) -> Result<Vec<u64>, Failure> {
    let mut words = q.upload(&vec![0xdead_beef_u64; len])?;
    let params = AesCtrParams { key: AesKey::new(key), first };
    q.aes_ctr_fill(AesCtrFill { params: &params, words: words.view_mut() })?;
    Ok(q.download(&words)?)
}

fn block(words: &[u64]) -> u128 {
    u128::from(words[0]) | u128::from(words[1]) << 64
}

/// NIST SP 800-38A, F.5.1: key, and per block the counter, the plaintext and the ciphertext.
fn expect_nist_vectors<Q: FssOps>(q: &Q) -> Result<(), Failure> {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let vectors: [[u128; 3]; 4] = [
        [
            0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff,
            0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a,
            0x874d_6191_b620_e326_1bef_6864_990d_b6ce,
        ],
        [
            0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_ff00,
            0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51,
            0x9806_f66b_7970_fdff_8617_187b_b9ff_fdff,
        ],
        [
            0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_ff01,
            0x30c8_1c46_a35c_e411_e5fb_c119_1a0a_52ef,
            0x5ae4_df3e_dbd5_d35e_5b4f_0902_0db0_3eab,
        ],
        [
            0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_ff02,
            0xf69f_2445_df4f_9b17_ad2b_417b_e66c_3710,
            0x1e03_1dda_2fbe_03d1_7921_70a0_f300_9cee,
        ],
    ];
    for [counter, plaintext, ciphertext] in vectors {
        // the standard counts big-endian, so each of its counters is a first block here
        let got = block(&stream(q, key, counter.swap_bytes(), 2)?).swap_bytes() ^ plaintext;
        Failure::unless_equal(&[ciphertext], &[got])?;
    }
    Ok(())
}

/// H(u) = AES(u) xor u for u = 0, 1, 2 and a label, under the key 00 01 .. 0f.
fn expect_hash_vectors<Q: FssOps>(q: &Q) -> Result<(), Failure> {
    let key = core::array::from_fn(|i| i as u8);
    let vectors: [(u128, u128); 4] = [
        (0, 0xc6a1_3b37_878f_5b82_6f4f_8162_a1c8_d879),
        (1, 0xe27c_d363_dd7c_87a0_9aff_0e3e_60e0_9c82),
        (2, 0xf98a_e31b_a5db_9cad_9736_4d87_22d4_7326),
        (0x0123_4567_89ab_cdef_0123_4567_89ab_cdec, 0x7435_947f_c7e2_096f_0e8c_8cfd_2250_f7b8),
    ];
    for (u, hash) in vectors {
        let got = (block(&stream(q, key, u, 2)?) ^ u).swap_bytes();
        Failure::unless_equal(&[hash], &[got])?;
    }
    Ok(())
}

fn expect_counted_blocks<Q: FssOps>(q: &Q, first: u128, len: usize) -> Result<(), Failure> {
    let key = *b"a seed of a test";
    let blocks = (0..len.div_ceil(2) as u128).map(|i| encrypt(key, first.wrapping_add(i).to_le_bytes()));
    let words = blocks.map(u128::from_le_bytes).flat_map(|block| [block as u64, (block >> 64) as u64]);
    Failure::unless_equal(&words.take(len).collect::<Vec<_>>(), &stream(q, key, first, len)?)
}

pub(super) fn ctr_specs<Q: FssOps + 'static>() -> OpSpec<Q> {
    let mut cases = vec![
        Case::new("counter vectors of NIST SP 800-38A", expect_nist_vectors),
        Case::new("vectors of the fixed-key hash", expect_hash_vectors),
    ];
    for (name, first) in [("zero", 0), ("the last 64-bit counter", u128::from(u64::MAX) - 3), ("the last", u128::MAX)] {
        cases.extend(BATCHES.into_iter().chain([2, 3, 63, 64, 65, 1000, 40_001]).map(|len| {
            Case::new(format!("{len} words from {name}"), move |q: &Q| expect_counted_blocks(q, first, len as usize))
        }));
    }
    OpSpec { op: "fss.aes_ctr_fill", cases }
}

/// The stream, made bit by bit.
fn packed(elements: &[u64], bits: u32) -> Vec<u64> {
    let mut words = vec![0; (elements.len() * bits as usize).div_ceil(64)];
    for (i, element) in elements.iter().enumerate() {
        for k in 0..bits as usize {
            let at = i * bits as usize + k;
            words[at / 64] |= (element >> k & 1) << (at % 64);
        }
    }
    words
}

fn expect_packing<Q: FssOps>(q: &Q, bits: u32, count: u32) -> Result<(), Failure> {
    let params = PackParams { count, bits };
    let elements = words(u64::from(bits), count as usize);
    let expected = packed(&elements, bits);
    let source = q.upload(&elements)?;
    let mut stream = q.upload(&vec![0xdead_beef_u64; expected.len()])?;
    q.pack_bits(PackBits { params: &params, elements: source.view(), words: stream.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&stream)?)?;
    let mut back = q.upload(&vec![0xdead_beef_u64; elements.len()])?;
    q.unpack_bits(UnpackBits { params: &params, words: stream.view(), elements: back.view_mut() })?;
    let low: Vec<u64> = elements.iter().map(|element| element & u64::MAX >> (64 - bits)).collect();
    Failure::unless_equal(&low, &q.download(&back)?)
}

pub(super) fn pack_specs<Q: FssOps + 'static>() -> OpSpec<Q> {
    let widths = (1..=64).map(|bits| {
        Case::new(format!("every size near a word's edge, {bits} bits"), move |q: &Q| {
            BATCHES.into_iter().chain([2, 63, 64, 65]).try_for_each(|count| expect_packing(q, bits, count))
        })
    });
    OpSpec { op: "fss.pack_bits", cases: widths.collect() }
}
