//! Rows that satisfy constraints.
//!
//! The search begins with a row of zeros, and then with one of ones. Where constraints do not hold
//! on it, they are solved one after the other, each for a column in which it is linear and whose
//! change leaves those before it satisfied. Then column by column is set to a random word, or to
//! the other bit, where all constraints still hold.

use num_traits::{One, Zero};
use rand_chacha::{ChaCha8Rng, rand_core::Rng as _};
use stwo::core::fields::{FieldExpOps, m31::BaseField, qm31::SecureField};
use stwo_constraint_framework::FrameworkEval;

use crate::row::residuals;

/// A row of `columns` words that satisfies `eval`, if these steps lead to one.
pub(crate) fn first(eval: &impl FrameworkEval, columns: usize) -> Option<Vec<BaseField>> {
    [BaseField::zero(), BaseField::one()].into_iter().find_map(|word| satisfied(eval, vec![word; columns]))
}

/// A row with all constraints solved, from the first to the last.
fn satisfied(eval: &impl FrameworkEval, mut row: Vec<BaseField>) -> Option<Vec<BaseField>> {
    while let Some(constraint) = violated(eval, &row) {
        row = (0..row.len()).rev().find_map(|column| solved(eval, &row, constraint, column))?;
    }
    Some(row)
}

/// The first constraint that a row violates.
fn violated(eval: &impl FrameworkEval, row: &[BaseField]) -> Option<usize> {
    residuals(eval, row, 0).iter().position(|residual| !residual.is_zero())
}

/// The row with another word in `column`, such that `constraint` holds and all before it do.
fn solved(eval: &impl FrameworkEval, row: &[BaseField], constraint: usize, column: usize) -> Option<Vec<BaseField>> {
    let with = |word: BaseField| {
        let mut row = row.to_vec();
        row[column] = word;
        row
    };
    let residual = |word: u32| residuals(eval, &with(BaseField::from(word)), 0)[constraint];
    let [at_zero, at_one, at_two] = [0, 1, 2].map(residual);
    let slope = at_one - at_zero;
    if slope.is_zero() && at_two == at_zero {
        return None;
    }
    let root = (at_two - at_one == slope).then(|| -at_zero * slope.inverse());
    let roots = root.and_then(|root| root.try_into().ok()).into_iter();
    let words = roots.chain([BaseField::zero(), BaseField::one(), BaseField::from(2)]);
    let holds = |row: &Vec<BaseField>| violated(eval, row).is_none_or(|first| first > constraint);
    words.map(with).find(holds)
}

/// Row `number`, like `row` but with random words wherever the constraints allow.
pub(crate) fn randomised(
    eval: &impl FrameworkEval,
    row: &[BaseField],
    number: u32,
    random: &mut ChaCha8Rng,
) -> Vec<BaseField> {
    let mut row = row.to_vec();
    let is_free = residuals(eval, &row, number).is_empty();
    let holds = |row: &[BaseField]| is_free || residuals(eval, row, number).iter().all(SecureField::is_zero);
    for column in 0..row.len() {
        let was = row[column];
        for word in [BaseField::from(random.next_u32() >> 1), BaseField::one() - was, was] {
            row[column] = word;
            if holds(&row) {
                break;
            }
        }
    }
    assert!(holds(&row), "row {number} satisfies its constraints");
    row
}
