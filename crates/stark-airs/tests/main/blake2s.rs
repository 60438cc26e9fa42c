//! Messages hashed with Blake2s, with the hash of `core-types` as the oracle.

use core_types::blake2s::{Digest, START, compress};
use stark_airs::{AirError, Blake2s, Statement};

use crate::check::{assert_does_not_add_up, assert_every_cell_matters, assert_holds};

/// A message of `2^log_blocks` blocks.
fn message(log_blocks: u32) -> Vec<[u32; 16]> {
    let mut rng = fastrand::Rng::with_seed(1);
    (0..1 << log_blocks).map(|_| [(); 16].map(|()| rng.u32(..))).collect()
}

fn digest(blocks: &[[u32; 16]]) -> Digest {
    let rounds = (1..).zip(blocks);
    Digest(rounds.fold(START, |chain, (k, block)| compress(chain, block, 64 * k, k == blocks.len() as u64)))
}

#[test]
fn digests_are_those_of_the_hash() {
    for log_blocks in 1..=5 {
        let (statement, trace) = Blake2s::run(&message(log_blocks)).unwrap();
        assert_eq!(statement.digest(), digest(&message(log_blocks)));
        assert_eq!(statement.heights(), [log_blocks, log_blocks + 3, log_blocks + 1, 10, 10, 10, 8]);
        let widths: Vec<_> = trace.iter().map(Vec::len).collect();
        assert_eq!(widths, [192, 481, 481, 64, 16, 1, 1]);
        // 78 fractions of a compression, 64 sums and 163 fractions of a round, 64, 16, 1 and 1 of the tables
        assert_holds(&statement, &trace, &[39, 64 + 82, 64 + 82, 32, 8, 1, 1]);
    }
    for blocks in [[[0; 16]; 2], [[u32::MAX; 16]; 2]] {
        let (statement, trace) = Blake2s::run(&blocks).unwrap();
        assert_eq!(statement.digest(), digest(&blocks));
        assert_holds(&statement, &trace, &[39, 64 + 82, 64 + 82, 32, 8, 1, 1]);
    }
}

#[test]
fn a_changed_cell_is_noticed() {
    let (statement, trace) = Blake2s::run(&message(1)).unwrap();
    // one of each column at least of what does not look up alike on all rows
    assert_every_cell_matters(&statement, &trace, &[1, 15, 3, 4099, 1021, 101, 31]);
}

#[test]
fn other_digests_do_not_add_up() {
    let (statement, trace) = Blake2s::run(&message(2)).unwrap();
    for k in 0..8 {
        let mut digest = statement.digest();
        digest.0[k] ^= 1 << (4 * k);
        assert_does_not_add_up(&Blake2s::new(2, digest).unwrap(), &trace);
    }
}

#[test]
fn sizes_without_proofs_are_refused() {
    for log_rows in [0, 21] {
        let refused = Blake2s::new(log_rows, Digest::default());
        assert_eq!(refused, Err(AirError::Rows { log_rows, least: 1, most: 20 }));
    }
    assert!(matches!(Blake2s::run(&message(0)), Err(AirError::Rows { .. })));
    let refused = Blake2s::run(&message(2)[..3]).unwrap_err();
    assert_eq!(refused, AirError::Length { what: "blocks", expected: 4, got: 3 });
}
