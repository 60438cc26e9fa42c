//! Representations of column elements, as types.

/// The representation of a column's elements.
///
/// It is values in some [`Order`](crate::Order), or [`Coefficients`].
pub trait Representation {}

/// Coefficients in natural order of the basis `y^b0 x^b1 pi(x)^b2 ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coefficients;

impl Representation for Coefficients {}
