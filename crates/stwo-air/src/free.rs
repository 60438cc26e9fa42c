//! Constants that no recording holds yet.
//!
//! stwo makes a value of a constant alone, `EF::from(z)`, and may compute with such values before
//! it meets a column. Which of them are challenges is known where they come into a recording, so
//! until then what was computed is kept, and not only its result.

use alloc::rc::Rc;

use core_types::field::QM31;

use crate::{FrameworkError, step::BinaryOperation};

/// The most constants that one value may be computed from.
const MOST: usize = 1 << 12;

/// A value computed from constants.
#[derive(Clone, Debug)]
pub(crate) struct Free {
    pub(crate) op: FreeOp,
    /// Its value for the challenges that were drawn for this recording.
    pub(crate) value: QM31,
    /// Constants and operations that it is computed from.
    size: usize,
}

/// How it is computed.
#[derive(Clone, Debug)]
pub(crate) enum FreeOp {
    Constant,
    Neg(Rc<Free>),
    Binary(BinaryOperation, [Rc<Free>; 2]),
    Refused(FrameworkError),
}

impl Free {
    pub(crate) fn constant(value: QM31) -> Rc<Self> {
        Rc::new(Self { op: FreeOp::Constant, value, size: 1 })
    }

    /// A value that is refused if a constraint uses it.
    pub(crate) fn refused(error: FrameworkError) -> Rc<Self> {
        Rc::new(Self { op: FreeOp::Refused(error), value: QM31::ONE, size: 1 })
    }

    pub(crate) fn neg(self: Rc<Self>) -> Rc<Self> {
        let (value, size) = (-self.value, self.size + 1);
        Self::limited(FreeOp::Neg(self), value, size)
    }

    pub(crate) fn binary(op: BinaryOperation, operands: [Rc<Self>; 2]) -> Rc<Self> {
        let [left, right] = &operands;
        let value = op.apply(left.value, right.value);
        let size = left.size + right.size + 1;
        Self::limited(FreeOp::Binary(op, operands), value, size)
    }

    fn limited(op: FreeOp, value: QM31, size: usize) -> Rc<Self> {
        if size > MOST {
            let what = "constants and operations in a value without columns";
            return Self::refused(FrameworkError::TooMany { what, most: MOST });
        }
        Rc::new(Self { op, value, size })
    }
}
