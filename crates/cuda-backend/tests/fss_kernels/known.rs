//! Known answers of the construction's specification and of FIPS 197.

use core_types::{
    AesKey, Label,
    params::fss::{AesCtrParams, CmpParams},
};
use cuda_sim::exec::Options;
use sha2::{Digest, Sha256};

use crate::device::Call;

/// The bytes 00 01 .. 0f.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// AES of one block under `key`, by the kernel that expands seeds.
fn encrypt(key: AesKey, first: u128) -> u128 {
    let call = Call::new("fss_aes_ctr_fill").value(&AesCtrParams { key, first }).output::<u64>(2).value(&2u64);
    let words = call.run([1, 1, 1], &Options::sanitize()).output::<u64>(0);
    u128::from(words[1]) << 64 | u128::from(words[0])
}

#[test]
fn the_examples_of_fips_197_hold() {
    let block = u128::from_le_bytes(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes());
    let expected = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();
    assert_eq!(encrypt(AesKey::new(KEY), block).to_le_bytes(), expected);
    let key = AesKey::new(0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes());
    let block = u128::from_le_bytes(0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128.to_be_bytes());
    assert_eq!(encrypt(key, block).to_le_bytes(), 0x3925_841d_02dc_09fb_dc11_8597_196a_0b32_u128.to_be_bytes());
}

#[test]
fn hashes_are_those_of_the_specification() {
    let vectors: [(u128, u128); 4] = [
        (0, 0xc6a1_3b37_878f_5b82_6f4f_8162_a1c8_d879),
        (1, 0xe27c_d363_dd7c_87a0_9aff_0e3e_60e0_9c82),
        (2, 0xf98a_e31b_a5db_9cad_9736_4d87_22d4_7326),
        (0x0123_4567_89ab_cdef_0123_4567_89ab_cdec, 0x7435_947f_c7e2_096f_0e8c_8cfd_2250_f7b8),
    ];
    for (input, hashed) in vectors {
        let found = encrypt(AesKey::new(KEY), input) ^ input;
        assert_eq!(found.to_le_bytes(), hashed.to_be_bytes(), "{input:#x}");
    }
}

/// A key of 10 bits for α = 0x155, with the roots 10 .. 1f and 20 .. 2f.
#[test]
fn the_key_of_the_specification_is_made_and_evaluated() {
    let root = |first: u8| Label::new(u128::from_le_bytes(core::array::from_fn(|i| first + i as u8))).seed();
    let mut roots = vec![Label::new(0); 64];
    (roots[0], roots[32]) = (root(0x10), root(0x20));
    let params = CmpParams { key: AesKey::new(KEY), bits: 10, party: 0, count: 1, points: 1024 };
    let call = Call::new("fss_cmp_gen").value(&params).input(&[0x155u64]).input(&roots);
    let done = call.output::<u128>(64).output::<u128>(64).run([1, 1, 1], &Options::sanitize());
    let (corrections, leaves) = (done.output::<u128>(0), done.output::<u128>(1));
    let hex = |word: u128| word.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(corrections[0]), "e936ddf09746eea4c13c647f0024315b");
    assert_eq!(hex(corrections[32]), "4eedfde2bd772fe917a9832361f63781");
    assert_eq!(hex(leaves[0]), "7b11bf99f8ffb1cc0db66d8c987aece5");
    assert_eq!(hex(leaves[32]), "cb65f8941f1acc8800862f78777aa90c");
    let points: Vec<u64> = (0..1024).collect();
    let shares = [0, 1].map(|party| {
        let params = CmpParams { party: party as u32, ..params };
        let call = Call::new("fss_cmp_eval").value(&params).input(&roots[32 * party..][..32]).input(&corrections);
        call.input(&leaves).input(&points).output::<u32>(1024).run([1, 64, 1], &Options::default()).output::<u32>(0)
    });
    for (y, (first, second)) in shares[0].iter().zip(&shares[1]).enumerate() {
        assert_eq!(first ^ second, u32::from(y >= 0x155), "{y}");
    }
    let bytes: Vec<u8> =
        shares[0].chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | bit as u8)).collect();
    assert_eq!(bytes[..8], [0xa5, 0xf4, 0xf3, 0xff, 0xd9, 0x57, 0xc6, 0xf8]);
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digest, "7b943bdff2b6a24ae85dfbe329cd0ecc8ed283cf396202f7fbbe3008b240da0f");
}
