//! Operands in braces.

use super::{
    operand::Operands,
    types::{Meaning, holds, is_number_of, meaning},
};
use crate::ast::{Operand, Type};

impl Operands<'_> {
    /// One element per lane of the opcode's `.v2` or `.v4`; a single one may do without braces.
    pub(super) fn is_data(&self, operand: &Operand, written: bool, fits: impl Fn(&Operand) -> bool) -> bool {
        match operand {
            Operand::Vector(_) => self.is_vector(operand, self.known.lanes, written, fits),
            _ => self.known.lanes == 1 && fits(operand),
        }
    }

    /// `count` elements in braces that fit and agree. `_` may stand for some that are written.
    pub(super) fn is_vector(
        &self,
        operand: &Operand,
        count: usize,
        written: bool,
        fits: impl Fn(&Operand) -> bool,
    ) -> bool {
        let Operand::Vector(elements) = operand else { return false };
        let sink = |element: &Operand| written && *element == Operand::Sink;
        elements.len() == count
            && elements.iter().all(|element| sink(element) || fits(element))
            && !elements.iter().all(sink)
            && self.agree(elements)
    }

    /// The parts of a value that is moved as a whole: one, two or four of equal size.
    pub(super) fn are_parts(&self, parts: &[Operand], ty: Type, written: bool) -> bool {
        let count = parts.len();
        if meaning(ty) != Meaning::Bits || !matches!(count, 1 | 2 | 4) || !(ty.bytes() as usize).is_multiple_of(count) {
            return false;
        }
        let part = match ty.bytes() as usize / count {
            1 => Type::B8,
            2 => Type::B16,
            4 => Type::B32,
            _ => Type::B64,
        };
        let fits = |element: &Operand| match element {
            Operand::Reg(reg) => holds(self.type_of(*reg), part),
            Operand::Sink => written,
            _ => !written && is_number_of(element, part),
        };
        parts.iter().all(fits) && parts.iter().any(|part| *part != Operand::Sink) && self.agree(parts)
    }

    /// Whether registers have one width, and integers do not mix with floats.
    fn agree(&self, elements: &[Operand]) -> bool {
        let registers = || {
            elements.iter().filter_map(|element| match element {
                Operand::Reg(reg) => Some(self.type_of(*reg)),
                _ => None,
            })
        };
        let mut floats = registers().filter(|ty| meaning(*ty) == Meaning::Float);
        let float = floats.next();
        let number = |element: &Operand| matches!(element, Operand::F32(_) | Operand::F64(_));
        let has_float = float.is_some() || elements.iter().any(number);
        let has_integer = registers().any(|ty| meaning(ty) == Meaning::Integer)
            || elements.iter().any(|element| matches!(element, Operand::Int(_)));
        let width = registers().next().map(Type::bytes);
        !(has_float && has_integer)
            && floats.all(|ty| Some(ty) == float)
            && registers().all(|ty| Some(ty.bytes()) == width)
    }
}
