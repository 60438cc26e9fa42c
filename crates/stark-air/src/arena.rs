//! Nodes of recorded expressions, each distinct one stored once.

use core::cell::RefCell;
use std::collections::HashMap;

use core_types::field::QM31;

use crate::RecordError;

/// The most nodes that an AIR or a generator may have.
const MOST_NODES: usize = 1 << 20;

/// The operation of a node, on earlier nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeOp {
    Constant(QM31),
    /// A number in the list of masks.
    Mask(u32),
    /// A slot.
    Challenge(u32),
    Mean,
    /// A column that is not there yet.
    Missing,
    Neg([u32; 1]),
    Add([u32; 2]),
    Sub([u32; 2]),
    Mul([u32; 2]),
    /// A value of the secure field from its coordinates.
    Join([u32; 4]),
    /// Bits of an integer.
    ///
    /// They are computed with [`Instruction::bits`](core_types::params::air::Instruction::bits).
    Bits([u32; 1], u16),
    /// Exclusive ors of integers.
    Xor([u32; 2]),
}

impl NodeOp {
    /// The nodes that it is computed from.
    pub(crate) fn operands(&self) -> &[u32] {
        match self {
            Self::Neg(x) | Self::Bits(x, _) => x,
            Self::Add(pair) | Self::Sub(pair) | Self::Mul(pair) | Self::Xor(pair) => pair,
            Self::Join(coordinates) => coordinates,
            Self::Constant(_) | Self::Mask(_) | Self::Challenge(_) | Self::Mean | Self::Missing => &[],
        }
    }
}

/// A node, with the known facts about its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpressionNode {
    pub(crate) op: NodeOp,
    /// Whether the value is of the secure field and not known to be of the base field.
    pub(crate) secure: bool,
    /// Its degree in the columns.
    pub(crate) degree: u32,
}

/// The nodes of an AIR.
#[derive(Debug, Default)]
pub(crate) struct ExpressionArena(RefCell<ExpressionGraph>);

#[derive(Debug, Default)]
struct ExpressionGraph {
    nodes: Vec<ExpressionNode>,
    ids: HashMap<NodeOp, u32>,
    refused: usize,
}

impl ExpressionArena {
    /// The node that computes `op`.
    pub(crate) fn node(&self, op: NodeOp) -> u32 {
        let nodes = &mut *self.0.borrow_mut();
        if let Some(&id) = nodes.ids.get(&op) {
            return id;
        }
        if nodes.nodes.len() == MOST_NODES {
            // The AIR goes on with a wrong node until it returns; then it is refused.
            nodes.refused += 1;
            return 0;
        }
        let of = |id: u32| nodes.nodes[id as usize];
        let secure = match op {
            NodeOp::Constant(value) => value != QM31::from(value.coordinates()[0]),
            NodeOp::Mask(_) | NodeOp::Bits(..) | NodeOp::Xor(_) => false,
            NodeOp::Challenge(_) | NodeOp::Mean | NodeOp::Missing | NodeOp::Join(_) => true,
            NodeOp::Neg(_) | NodeOp::Add(_) | NodeOp::Sub(_) | NodeOp::Mul(_) => {
                op.operands().iter().any(|&id| of(id).secure)
            }
        };
        let degrees = op.operands().iter().map(|&id| of(id).degree);
        let degree = match op {
            NodeOp::Mask(_) | NodeOp::Missing => 1,
            NodeOp::Mul(_) => degrees.fold(0, u32::saturating_add),
            _ => degrees.max().unwrap_or(0),
        };
        let id = nodes.nodes.len() as u32;
        nodes.nodes.push(ExpressionNode { op, secure, degree });
        nodes.ids.insert(op, id);
        id
    }

    /// A node.
    pub(crate) fn get(&self, id: u32) -> ExpressionNode {
        self.0.borrow().nodes[id as usize]
    }

    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.0.borrow().nodes.len()
    }

    /// Refuses an AIR with more nodes than there may be.
    pub(crate) fn check(&self) -> Result<(), RecordError> {
        match self.0.borrow().refused {
            0 => Ok(()),
            refused => {
                Err(RecordError::TooMany { what: "nodes", most: MOST_NODES, got: MOST_NODES.saturating_add(refused) })
            }
        }
    }
}
