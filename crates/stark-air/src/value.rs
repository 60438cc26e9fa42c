//! The values that a recorded AIR computes with: constants, and nodes of an arena.

use core::ops::{Add, Mul, Neg, Sub};

use core_types::{
    air::{BaseValue, ExtensionValue},
    field::{M31, QM31},
};

use crate::arena::{ExpressionArena, NodeOp};

/// A constant or a node, of either field.
///
/// The arena tracks which values are of the base field, whatever type the AIR gives them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExpressionValue<'a> {
    Constant(QM31),
    Node(&'a ExpressionArena, u32),
}

use ExpressionValue::{Constant, Node};

impl<'a> ExpressionValue<'a> {
    /// The node of `op`.
    fn new(arena: &'a ExpressionArena, op: NodeOp) -> Self {
        Node(arena, arena.node(op))
    }

    /// Its node in `arena`.
    pub(crate) fn id(self, arena: &ExpressionArena) -> u32 {
        match self {
            Constant(value) => arena.node(NodeOp::Constant(value)),
            Node(_, id) => id,
        }
    }

    /// Bits of an integer.
    pub(crate) fn bits(self, arena: &'a ExpressionArena, bits: u16) -> Self {
        Self::new(arena, NodeOp::Bits([self.id(arena)], bits))
    }

    /// The exclusive or of two integers.
    pub(crate) fn xor(self, rhs: Self, arena: &'a ExpressionArena) -> Self {
        Self::new(arena, NodeOp::Xor(sorted([self.id(arena), rhs.id(arena)])))
    }

    /// The operand, if the value is a negation.
    fn negated(self) -> Option<Self> {
        match self {
            Node(arena, id) => match arena.get(id).op {
                NodeOp::Neg([x]) => Some(Node(arena, x)),
                _ => None,
            },
            Constant(_) => None,
        }
    }

    /// The two nodes with their arena; `None` for two constants.
    fn nodes(self, rhs: Self) -> Option<(&'a ExpressionArena, [u32; 2])> {
        let ((Node(arena, _), _) | (_, Node(arena, _))) = (self, rhs) else { return None };
        Some((arena, [self.id(arena), rhs.id(arena)]))
    }
}

/// Operands of what commutes, in the order in which they are stored.
fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

impl Add for ExpressionValue<'_> {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        match (self, rhs) {
            (Constant(a), Constant(b)) => return Constant(a + b),
            (Constant(zero), x) | (x, Constant(zero)) if zero == QM31::ZERO => return x,
            _ => {}
        }
        if let Some(x) = rhs.negated() {
            return self - x;
        }
        if let Some(x) = self.negated() {
            return rhs - x;
        }
        self.nodes(rhs).map_or(self, |(arena, pair)| Self::new(arena, NodeOp::Add(sorted(pair))))
    }
}

impl Sub for ExpressionValue<'_> {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        match (self, rhs) {
            (Constant(a), Constant(b)) => return Constant(a - b),
            (x, Constant(zero)) if zero == QM31::ZERO => return x,
            (Constant(zero), x) if zero == QM31::ZERO => return -x,
            (Node(_, a), Node(_, b)) if a == b => return Constant(QM31::ZERO),
            _ => {}
        }
        if let Some(x) = rhs.negated() {
            return self + x;
        }
        self.nodes(rhs).map_or(self, |(arena, pair)| Self::new(arena, NodeOp::Sub(pair)))
    }
}

impl Mul for ExpressionValue<'_> {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        match (self, rhs) {
            (Constant(a), Constant(b)) => return Constant(a * b),
            (Constant(c), x) | (x, Constant(c)) => {
                if c == QM31::ZERO {
                    return Constant(c);
                } else if c == QM31::ONE {
                    return x;
                } else if c == -QM31::ONE {
                    return -x;
                }
            }
            _ => {}
        }
        self.nodes(rhs).map_or(self, |(arena, pair)| Self::new(arena, NodeOp::Mul(sorted(pair))))
    }
}

impl Neg for ExpressionValue<'_> {
    type Output = Self;

    fn neg(self) -> Self {
        match self {
            Constant(value) => Constant(-value),
            Node(arena, id) => match arena.get(id).op {
                NodeOp::Neg([x]) => Node(arena, x),
                NodeOp::Sub([a, b]) => Self::new(arena, NodeOp::Sub([b, a])),
                _ => Self::new(arena, NodeOp::Neg([id])),
            },
        }
    }
}

macro_rules! with_words {
    ($($operation:ident :: $method:ident),*) => {
        $(
            impl $operation<M31> for ExpressionValue<'_> {
                type Output = Self;
                fn $method(self, rhs: M31) -> Self {
                    $operation::$method(self, Self::from(rhs))
                }
            }
        )*
    };
}

with_words!(Add::add, Sub::sub, Mul::mul);

impl From<M31> for ExpressionValue<'_> {
    fn from(value: M31) -> Self {
        Constant(QM31::from(value))
    }
}

impl From<QM31> for ExpressionValue<'_> {
    fn from(value: QM31) -> Self {
        Constant(value)
    }
}

impl BaseValue for ExpressionValue<'_> {}

impl ExtensionValue<Self> for ExpressionValue<'_> {
    fn from_coordinates(coordinates: [Self; 4]) -> Self {
        let arena = coordinates.iter().find_map(|value| match value {
            Node(arena, _) => Some(*arena),
            Constant(_) => None,
        });
        let [x0, x1, x2, x3] = coordinates;
        let zero = |value: Self| matches!(value, Constant(value) if value == QM31::ZERO);
        match arena {
            Some(arena) if !(zero(x1) && zero(x2) && zero(x3)) => {
                Self::new(arena, NodeOp::Join(coordinates.map(|value| value.id(arena))))
            }
            Some(_) => x0,
            None => x0 + x1 * Constant(QM31::I) + x2 * Constant(QM31::U) + x3 * Constant(QM31::I * QM31::U),
        }
    }
}
