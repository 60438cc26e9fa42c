//! Known answers of the construction's specification.

use core_types::{
    AesKey, Label,
    params::fss::{CmpGenParams, CmpWindowParams},
};
use cuda_sim::exec::Options;
use sha2::{Digest, Sha256};

use crate::fss_kernels::device::Call;

/// The bytes 00 01 .. 0f.
const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// A key of 10 bits for α = 0x155, with the roots 10 .. 1f and 20 .. 2f.
#[test]
fn the_key_of_the_specification_is_made_and_evaluated() {
    let root = |first: u8| Label::new(u128::from_le_bytes(core::array::from_fn(|i| first + i as u8))).seed();
    let mut roots = vec![Label::new(0); 64];
    (roots[0], roots[32]) = (root(0x10), root(0x20));
    let params = CmpGenParams { key: AesKey::new(KEY), bits: 10, count: 1, reserved: [0; 2] };
    let call = Call::new("fss_cmp_gen").value(&params).input(&[0x155u64]).input(&roots);
    let done = call.output::<u128>(64).output::<u128>(64).run([1, 1, 1], &Options::sanitize());
    let (corrections, leaves) = (done.output::<u128>(0), done.output::<u128>(1));
    let hex = |word: u128| word.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(corrections[0]), "e936ddf09746eea4c13c647f0024315b");
    assert_eq!(hex(corrections[32]), "4eedfde2bd772fe917a9832361f63781");
    assert_eq!(hex(leaves[0]), "7b11bf99f8ffb1cc0db66d8c987aece5");
    assert_eq!(hex(leaves[32]), "cb65f8941f1acc8800862f78777aa90c");
    // 0 less each of these is each point
    let offsets: Vec<u64> = (0..1024).map(u64::wrapping_neg).collect();
    for kernel in ["fss_cmp_eval_window", "fss_cmp_eval_window_bitsliced"] {
        let shares = [0, 1].map(|party| {
            let CmpGenParams { key, bits, count, .. } = params;
            let reserved = [0; 3];
            let params = CmpWindowParams { key, bits, party, count, points: 1024, window: bits, reserved };
            let call = Call::new(kernel).value(&params).input(&roots[32 * party as usize..][..32]).input(&corrections);
            let call = call.input(&leaves).input(&[0u64]).input(&offsets).output::<u32>(1024);
            call.run([1, 64, 1], &Options::default()).output::<u32>(0)
        });
        for (y, (first, second)) in shares[0].iter().zip(&shares[1]).enumerate() {
            assert_eq!(first ^ second, u32::from(y >= 0x155), "{kernel} at {y}");
        }
        let byte = |bits: &[u32]| bits.iter().rev().fold(0, |byte, &bit| byte << 1 | bit as u8);
        let bytes: Vec<u8> = shares[0].chunks(8).map(byte).collect();
        assert_eq!(bytes[..8], [0xa5, 0xf4, 0xf3, 0xff, 0xd9, 0x57, 0xc6, 0xf8], "{kernel}");
        let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, "7b943bdff2b6a24ae85dfbe329cd0ecc8ed283cf396202f7fbbe3008b240da0f", "{kernel}");
    }
}
