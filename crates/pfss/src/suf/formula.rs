//! Boolean formulas of the predicates of a piece.

use core::ops::{BitAnd, BitOr, BitXor, Not};

/// A Boolean formula over the predicates of a descriptor.
///
/// ```
/// use pfss::suf::BoolExpr;
///
/// let [a, b] = [BoolExpr::Var(0), BoolExpr::Var(1)];
/// let differs_or_first = (a.clone() ^ b) | a;
/// assert!(differs_or_first.eval(&[true, true]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BoolExpr {
    /// A constant.
    Const(bool),
    /// The predicate of this position.
    Var(usize),
    /// Negation.
    Not(Box<Self>),
    /// Exclusive or.
    Xor(Box<Self>, Box<Self>),
    /// Conjunction.
    And(Box<Self>, Box<Self>),
    /// Disjunction.
    Or(Box<Self>, Box<Self>),
}

impl BoolExpr {
    /// The most nodes of one formula.
    pub const MAX_NODES: usize = 64;
    /// The most nodes on a path from the root to a leaf.
    pub const MAX_DEPTH: usize = 16;

    /// The value, given the values of the predicates; missing predicates count as false.
    #[must_use]
    pub fn eval(&self, preds: &[bool]) -> bool {
        match self {
            Self::Const(value) => *value,
            Self::Var(index) => preds.get(*index).copied().unwrap_or(false),
            Self::Not(a) => !a.eval(preds),
            Self::Xor(a, b) => a.eval(preds) ^ b.eval(preds),
            Self::And(a, b) => a.eval(preds) & b.eval(preds),
            Self::Or(a, b) => a.eval(preds) | b.eval(preds),
        }
    }

    /// The operands of the node.
    pub(super) fn operands(&self) -> [Option<&Self>; 2] {
        match self {
            Self::Const(_) | Self::Var(_) => [None, None],
            Self::Not(a) => [Some(a), None],
            Self::Xor(a, b) | Self::And(a, b) | Self::Or(a, b) => [Some(a), Some(b)],
        }
    }

    /// Calls `visit` with every node and its depth, the root's being 1, until it fails.
    ///
    /// Needs no stack per level, so a formula of any depth can be refused.
    pub(super) fn walk<E>(&self, mut visit: impl FnMut(&Self, usize) -> Result<(), E>) -> Result<(), E> {
        let mut open = vec![(self, 1)];
        while let Some((node, depth)) = open.pop() {
            visit(node, depth)?;
            open.extend(node.operands().into_iter().flatten().map(|operand| (operand, depth + 1)));
        }
        Ok(())
    }
}

impl Not for BoolExpr {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl BitXor for BoolExpr {
    type Output = Self;

    fn bitxor(self, other: Self) -> Self {
        Self::Xor(Box::new(self), Box::new(other))
    }
}

impl BitAnd for BoolExpr {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self::And(Box::new(self), Box::new(other))
    }
}

impl BitOr for BoolExpr {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::Or(Box::new(self), Box::new(other))
    }
}
