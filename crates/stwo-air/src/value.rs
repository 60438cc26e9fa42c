//! The values that a recorded AIR computes with.
//!
//! One type has the operations that stwo requires of the base field and of the secure field.

use alloc::rc::Rc;
use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub};

use core_types::field::{M31, QM31};
use num_traits::{One, Zero};
use stwo::core::fields::{FieldExpOps, m31::BaseField, qm31::SecureField};

use crate::{
    FrameworkError,
    free::Free,
    step::{BinaryOperation, TapeStep},
    tape::AirTape,
};

/// A value of an AIR that is recorded.
///
/// It is a constant of the base field, an expression of constants, or a value of the recording.
#[derive(Clone, Debug)]
pub(crate) enum TapeValue<'t> {
    Word(M31),
    Free(Rc<Free>),
    Node(&'t AirTape, u32),
}

/// A word of stwo's here.
pub(crate) fn word(value: BaseField) -> M31 {
    M31::from_u32(value.0)
}

/// An element of stwo's secure field here.
pub(crate) fn secure(value: SecureField) -> QM31 {
    QM31::from_coordinates(value.to_m31_array().map(word))
}

impl<'t> TapeValue<'t> {
    /// A value that is refused if a constraint uses it.
    fn refused(error: FrameworkError) -> Self {
        Self::Free(Free::refused(error))
    }

    /// Its number on `tape`.
    pub(crate) fn id(&self, tape: &AirTape) -> u32 {
        match self {
            Self::Word(value) => tape.value(TapeStep::Word(*value)),
            Self::Free(free) => tape.free(free),
            Self::Node(_, id) => *id,
        }
    }

    /// The tape it is on.
    const fn tape(&self) -> Option<&'t AirTape> {
        match self {
            Self::Node(tape, _) => Some(tape),
            Self::Word(_) | Self::Free(_) => None,
        }
    }

    /// The value with these coordinates.
    pub(crate) fn join(coordinates: [Self; 4]) -> Self {
        if let Some(tape) = coordinates.iter().find_map(Self::tape) {
            let coordinates = coordinates.map(|coordinate| coordinate.id(tape));
            return Self::Node(tape, tape.value(TapeStep::Join(coordinates)));
        }
        let [x0, x1, x2, x3] = coordinates;
        let [i, u, iu] = [QM31::I, QM31::U, QM31::I * QM31::U].map(|unit| Self::Free(Free::constant(unit)));
        x0 + x1 * i + x2 * u + x3 * iu
    }

    fn binary(self, op: BinaryOperation, rhs: Self) -> Self {
        let on = |tape: &'t AirTape, operands| Self::Node(tape, tape.value(TapeStep::Binary(op, operands)));
        let free = |operands| Self::Free(Free::binary(op, operands));
        match (self, rhs) {
            (Self::Word(left), Self::Word(right)) => Self::Word(op.apply(left, right)),
            (Self::Node(tape, left), right) => on(tape, [left, right.id(tape)]),
            (left, Self::Node(tape, right)) => on(tape, [left.id(tape), right]),
            (Self::Free(left), Self::Free(right)) => free([left, right]),
            (Self::Free(left), Self::Word(right)) => free([left, Free::constant(right.into())]),
            (Self::Word(left), Self::Free(right)) => free([Free::constant(left.into()), right]),
        }
    }
}

macro_rules! operations {
    ($($operation:ident::$method:ident),*) => {$(
        impl $operation for TapeValue<'_> {
            type Output = Self;
            fn $method(self, rhs: Self) -> Self {
                self.binary(BinaryOperation::$operation, rhs)
            }
        }

        impl $operation<BaseField> for TapeValue<'_> {
            type Output = Self;
            fn $method(self, rhs: BaseField) -> Self {
                self.binary(BinaryOperation::$operation, rhs.into())
            }
        }

        impl $operation<SecureField> for TapeValue<'_> {
            type Output = Self;
            fn $method(self, rhs: SecureField) -> Self {
                self.binary(BinaryOperation::$operation, rhs.into())
            }
        }
    )*};
}

operations!(Add::add, Sub::sub, Mul::mul);

impl Neg for TapeValue<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        match self {
            Self::Word(value) => Self::Word(-value),
            Self::Free(free) => Self::Free(free.neg()),
            Self::Node(tape, id) => Self::Node(tape, tape.value(TapeStep::Neg(id))),
        }
    }
}

impl AddAssign for TapeValue<'_> {
    fn add_assign(&mut self, rhs: Self) {
        *self = self.clone() + rhs;
    }
}

impl AddAssign<BaseField> for TapeValue<'_> {
    fn add_assign(&mut self, rhs: BaseField) {
        *self = self.clone() + rhs;
    }
}

impl MulAssign for TapeValue<'_> {
    fn mul_assign(&mut self, rhs: Self) {
        *self = self.clone() * rhs;
    }
}

impl From<BaseField> for TapeValue<'_> {
    fn from(value: BaseField) -> Self {
        Self::Word(word(value))
    }
}

impl From<SecureField> for TapeValue<'_> {
    fn from(value: SecureField) -> Self {
        let value = secure(value);
        match value.coordinates() {
            [value, M31::ZERO, M31::ZERO, M31::ZERO] => Self::Word(value),
            _ => Self::Free(Free::constant(value)),
        }
    }
}

impl Zero for TapeValue<'_> {
    fn zero() -> Self {
        Self::Word(M31::ZERO)
    }

    fn is_zero(&self) -> bool {
        match self {
            Self::Word(value) => value.is_zero(),
            // Randomly drawn challenges are no root of a nonzero expression in them.
            Self::Free(free) => free.value == QM31::ZERO,
            Self::Node(tape, _) => {
                tape.refuse(FrameworkError::Branch);
                false
            }
        }
    }
}

impl One for TapeValue<'_> {
    fn one() -> Self {
        Self::Word(M31::ONE)
    }
}

impl FieldExpOps for TapeValue<'_> {
    fn inverse(&self) -> Self {
        match self {
            Self::Word(value) => value.inverse().map_or_else(|| Self::refused(FrameworkError::Inverse), Self::Word),
            Self::Free(_) | Self::Node(..) => Self::refused(FrameworkError::Inverse),
        }
    }
}
