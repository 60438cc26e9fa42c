//! `pack_bits` and `unpack_bits`.

use backend_api::{
    Buffer as _, Queue,
    ops::fss::{FssOps, PackBits, UnpackBits},
};
use core_types::params::fss::PackParams;

use super::batch::words;
use crate::{Case, Conditioned, Failure, OpSpec, list::ListIterator as _, spec::BATCHES};

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

fn expect_packing(q: &Conditioned, bits: u32, count: u32) -> Result<(), Failure> {
    let params = PackParams { count, bits };
    let elements = words(u64::from(bits), count as usize);
    let expected = packed(&elements, bits);
    let source = q.upload(&elements)?;
    let mut stream = q.upload(&vec![0xdead_beef_u64; expected.len()])?;
    q.pack_bits(PackBits { params: &params, elements: source.view(), words: stream.view_mut() })?;
    Failure::unless_equal(&expected, &q.download(&stream)?)?;
    let mut back = q.upload(&vec![0xdead_beef_u64; elements.len()])?;
    q.unpack_bits(UnpackBits { params: &params, words: stream.view(), elements: back.view_mut() })?;
    let low: Vec<u64> = elements.iter().map(|element| element & u64::MAX >> (64 - bits)).list();
    Failure::unless_equal(&low, &q.download(&back)?)
}

pub(super) fn specs() -> OpSpec {
    let mut cases = Vec::new();
    for bits in 1..=64 {
        cases.push(Case::new(format!("every size near a word's edge, {bits} bits"), move |q| {
            BATCHES.into_iter().chain([2, 63, 64, 65]).try_for_each(|count| expect_packing(q, bits, count))
        }));
    }
    OpSpec { op: "fss.pack_bits", cases }
}
