//! The AIRs that ship, written again for stwo's constraint framework.
//!
//! Needs no prover: the tests of the verifier include this file too.

use std::ops::{Add, AddAssign, Mul, Sub};

use p3_field::PrimeField32;
use p3_mersenne_31::{
    MERSENNE31_POSEIDON2_RC_16_EXTERNAL_FINAL, MERSENNE31_POSEIDON2_RC_16_EXTERNAL_INITIAL,
    MERSENNE31_POSEIDON2_RC_16_INTERNAL, Mersenne31,
};
use stwo::core::fields::m31::BaseField;
use stwo_constraint_framework::{EvalAtRow, RelationEntry, relation};

use super::airs::{Pair, preprocessed};

relation!(Sixteen, 16);

/// One, as a multiplicity.
fn one<E: EvalAtRow>() -> E::EF {
    E::EF::from(E::F::from(BaseField::from(1)))
}

/// Steps of coordinate `axis` of a pair.
pub fn steps<E: EvalAtRow>(eval: &mut E, axis: usize, states: &Pair) {
    let from = [(); 2].map(|()| eval.next_trace_mask());
    let mut to = from.clone();
    to[axis] += BaseField::from(1);
    eval.add_to_relation(RelationEntry::new(states, one::<E>(), &from));
    eval.add_to_relation(RelationEntry::new(states, -one::<E>(), &to));
    eval.finalize_logup_in_pairs();
}

/// Gates that add or multiply.
pub fn gates<E: EvalAtRow>(eval: &mut E, wires: &Pair) {
    let [wire_a, wire_b, wire_c, adds] =
        ["wire-a", "wire-b", "wire-c", "adds"].map(|id| eval.get_preprocessed_column(preprocessed(id)));
    let [reads, a, b, c] = [(); 4].map(|()| eval.next_trace_mask());
    let multiplies = E::F::from(BaseField::from(1)) - adds.clone();
    let output = adds * (a.clone() + b.clone()) + multiplies * a.clone() * b.clone();
    eval.add_constraint(c.clone() - output);
    eval.add_to_relation(RelationEntry::new(wires, one::<E>(), &[wire_a, a]));
    eval.add_to_relation(RelationEntry::new(wires, one::<E>(), &[wire_b, b]));
    eval.add_to_relation(RelationEntry::new(wires, -E::EF::from(reads), &[wire_c, c]));
    eval.finalize_logup_in_pairs();
}

/// Poseidon2 permutations, with the square and the output of each S-box in columns.
pub fn permutations<E: EvalAtRow>(eval: &mut E, states: &Sixteen) {
    let taken = [(); 16].map(|()| eval.next_trace_mask());
    let made = poseidon2(taken.clone(), &mut |x: E::F| {
        let square = eval.next_trace_mask();
        let output = eval.next_trace_mask();
        eval.add_constraint(square.clone() - x.clone() * x.clone());
        eval.add_constraint(output.clone() - square.clone() * square * x);
        output
    });
    eval.add_to_relation(RelationEntry::new(states, one::<E>(), &taken));
    eval.add_to_relation(RelationEntry::new(states, -one::<E>(), &made));
    eval.finalize_logup_in_pairs();
}

/// The permutation with Plonky3's constants.
///
/// Its matrices work in place and by additions, as in stwo's own example.
pub fn poseidon2<F>(mut state: [F; 16], sbox: &mut impl FnMut(F) -> F) -> [F; 16]
where
    F: Clone + Add<Output = F> + Sub<Output = F> + AddAssign<BaseField> + Mul<BaseField, Output = F>,
{
    external(&mut state);
    for constants in MERSENNE31_POSEIDON2_RC_16_EXTERNAL_INITIAL {
        full_round(&mut state, constants, sbox);
    }
    for element in MERSENNE31_POSEIDON2_RC_16_INTERNAL {
        state[0] += constant(element);
        state[0] = sbox(state[0].clone());
        internal(&mut state);
    }
    for constants in MERSENNE31_POSEIDON2_RC_16_EXTERNAL_FINAL {
        full_round(&mut state, constants, sbox);
    }
    state
}

fn constant(element: Mersenne31) -> BaseField {
    BaseField::from(element.as_canonical_u32())
}

#[inline(always)]
fn full_round<F>(state: &mut [F; 16], constants: [Mersenne31; 16], sbox: &mut impl FnMut(F) -> F)
where
    F: Clone + Add<Output = F> + AddAssign<BaseField>,
{
    for (word, element) in state.iter_mut().zip(constants) {
        *word += constant(element);
        *word = sbox(word.clone());
    }
    external(state);
}

/// Multiplies `state` by the external matrix.
///
/// It is the circulant of 2, 3, 1, 1 twice for the block itself and once for each other block.
#[inline(always)]
fn external<F: Clone + Add<Output = F>>(state: &mut [F; 16]) {
    for block in state.as_chunks_mut::<4>().0 {
        let [a, b, c, d] = block.clone();
        let (ab, cd) = (a.clone() + b.clone(), c.clone() + d.clone());
        let sum = ab.clone() + cd.clone();
        let (sum_b, sum_d) = (sum.clone() + b, sum + d);
        *block = [sum_b.clone() + ab, sum_b + (c.clone() + c), sum_d.clone() + cd, sum_d + (a.clone() + a)];
    }
    for k in 0..4 {
        let sum = state[k].clone() + state[k + 4].clone() + state[k + 8].clone() + state[k + 12].clone();
        for block in state.as_chunks_mut::<4>().0 {
            block[k] = block[k].clone() + sum.clone();
        }
    }
}

/// The internal matrix: ones, and more on the diagonal.
#[inline(always)]
fn internal<F>(state: &mut [F; 16])
where
    F: Clone + Add<Output = F> + Sub<Output = F> + Mul<BaseField, Output = F>,
{
    const DIAGONAL: [u32; 15] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096, 8192, 16384, 32768, 65536];
    let [first, rest @ ..] = state;
    let others = rest[1..].iter().cloned().fold(rest[0].clone(), Add::add);
    let sum = others.clone() + first.clone();
    *first = others - first.clone();
    for (word, entry) in rest.iter_mut().zip(DIAGONAL) {
        *word = word.clone() * BaseField::from(entry) + sum.clone();
    }
}
