//! Specifications of the `deep` op set.
//!
//! The oracle is the definition, position by position, with divisions in the secure field. Further
//! cases check the purpose of quotients: a true claim has a quotient of low degree, and a false
//! claim does not.

mod lines;
mod numerators;
mod points;
mod quotients;

use crate::OpSpec;

/// A change of valid inputs that an op refuses, and its name.
type NamedChange<T> = (&'static str, fn(&mut T));

/// Every specification of the op set.
#[must_use]
pub fn specs() -> Vec<OpSpec> {
    vec![points::points(), lines::lines(), numerators::numerators(), quotients::quotients()]
}
