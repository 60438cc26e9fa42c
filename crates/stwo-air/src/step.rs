//! The steps of a recording, in stwo's order.

use alloc::vec::Vec;
use core::ops::{Add, Mul, Sub};

use core_types::{
    air::{Fraction, Tree},
    field::{M31, QM31},
};

/// A step. Values have numbers, in the order in which steps make them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TapeStep {
    Word(M31),
    Constant(QM31),
    /// A slot.
    Challenge(u32),
    /// A slot.
    Preprocessed(u32),
    /// The next column of the tree: a value for each offset.
    Column(Tree, Vec<i32>),
    Neg(u32),
    Binary(BinaryOperation, [u32; 2]),
    /// A value of the secure field from its coordinates.
    Join([u32; 4]),
    /// Makes no value.
    Constraint(u32),
    PartialSum(Option<u32>, Fraction<u32>),
    /// Makes no value.
    RunningSum(Option<u32>, Fraction<u32>),
}

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOperation {
    Add,
    Sub,
    Mul,
}

impl BinaryOperation {
    pub(crate) fn apply<A, B, C>(self, left: A, right: B) -> C
    where
        A: Add<B, Output = C> + Sub<B, Output = C> + Mul<B, Output = C>,
    {
        match self {
            Self::Add => left + right,
            Self::Sub => left - right,
            Self::Mul => left * right,
        }
    }
}
