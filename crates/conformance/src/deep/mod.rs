//! Specifications of the `deep` op set.
//!
//! The oracle is the definition, position by position, with divisions in the secure field. There is also what the quotients are
//! for: those of true claims are of low degree, and those of false claims are not.

mod lines;
mod numerators;
mod points;
mod quotients;

use crate::OpSpec;

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![points::points(), lines::lines(), numerators::numerators(), quotients::quotients()]
}
