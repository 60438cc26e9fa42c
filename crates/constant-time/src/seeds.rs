//! The expansion of a seed, whose key and first counter are secret.

use core::hint::black_box;

use anyhow::Result;
use backend_api::ops::fss::{ExpandSeed, FssOps as _};
use core_types::{AesKey, params::fss::SeedParams};
use cpu_backend::CpuQueue;

use crate::{Check, memcheck};

pub(crate) fn checks() -> Vec<Check> {
    vec![Check::clean("expand a seed", expand)]
}

fn expand(q: &CpuQueue) -> Result<()> {
    let mut seed = [[11u8; 16], [0xff; 16]];
    memcheck::hide(&mut seed);
    let [key, first] = seed;
    let (key, first) = (AesKey::new(key), u128::from_be_bytes(first));
    // more blocks than a step of vectors, in two rows
    let params = SeedParams { key, first, mask: [!3, u64::MAX], rows: 2, blocks: 67, reserved: [0; 2] };
    let mut words = vec![0; 2 * 2 * 67];
    q.expand_seed(ExpandSeed { params: &params, words: &mut words })?;
    black_box(words);
    Ok(())
}
