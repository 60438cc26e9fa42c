//! Chains of Poseidon2 permutations, with Plonky3's as the oracle.

use core_types::field::M31;
use p3_field::PrimeField32;
use p3_mersenne_31::{Mersenne31, default_mersenne31_poseidon2_16};
use p3_symmetric::Permutation;
use stark_airs::{AirError, Poseidon2, Poseidon2Chain};

use crate::check::{assert_does_not_add_up, assert_every_cell_matters, assert_holds, holds};

fn theirs(state: [M31; 16]) -> [M31; 16] {
    let state = state.map(|word| Mersenne31::new(word.word()));
    default_mersenne31_poseidon2_16().permute(state).map(|word| M31::from_u32(word.as_canonical_u32()))
}

fn first() -> [M31; 16] {
    core::array::from_fn(|k| M31::from_u32(k as u32))
}

#[test]
fn permutations_are_those_of_plonky3() {
    let mut state = first();
    for _ in 0..100 {
        let made = Poseidon2::permute(state);
        assert_eq!(made, theirs(state));
        state = made;
    }
    // the answer that Plonky3 publishes for the words 0 to 15
    let published = [
        0x0b2c803a, 0x5b1ee4d1, 0x49c6b1e3, 0x2cdc280c, 0x310a60c8, 0x530a729e, 0x4e61bcb4, 0x2e84d3c3, 0x58709c08,
        0x7e82ac42, 0x2162bcef, 0x6d153ab6, 0x742cf0e3, 0x2f21632d, 0x61adce1e, 0x1973d6f1,
    ];
    assert_eq!(Poseidon2::permute(first()).map(M31::word), published);
}

#[test]
fn chains_lead_to_their_last_state() {
    for log_rows in 1..=5 {
        let (chain, trace) = Poseidon2Chain::run(log_rows, first()).unwrap();
        assert_eq!(*chain.last(), (0..1 << log_rows).fold(first(), |state, _| theirs(state)));
        assert_eq!(trace[0].len(), 300);
        assert_holds(&chain, &trace, &[2 * 142 + 1]);
    }
}

#[test]
fn a_changed_cell_is_noticed() {
    let (chain, trace) = Poseidon2Chain::run(1, first()).unwrap();
    assert_every_cell_matters(&chain, &trace, &[1]);
}

#[test]
fn other_ends_do_not_add_up() {
    let (chain, trace) = Poseidon2Chain::run(2, first()).unwrap();
    let mut last = *chain.last();
    last[7] += M31::ONE;
    assert_does_not_add_up(&Poseidon2Chain::new(2, first(), last).unwrap(), &trace);
    assert!(!holds(&Poseidon2Chain::new(2, last, *chain.last()).unwrap(), &trace));
}

#[test]
fn sizes_without_proofs_are_refused() {
    for log_rows in [0, 30] {
        let refused = Poseidon2Chain::new(log_rows, first(), first());
        assert_eq!(refused, Err(AirError::Rows { log_rows, least: 1, most: 29 }));
        assert!(Poseidon2Chain::run(log_rows, first()).is_err());
    }
}
