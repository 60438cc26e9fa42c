//! Operations of several lanes at once, as data; `run::collective` carries them out.

use super::register::{AddressOperand, HalfKind, R};

/// Which lanes take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// The lanes of the mask in a 32-bit register.
    Mask(R),
    /// Every lane of the warp that has not exited.
    Live,
    /// The lanes that arrive together: no waiting for others.
    Arriving,
}

/// A collective and its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectiveOp {
    pub(super) members: Members,
    pub(super) kind: CollectiveKind,
}

/// A collective operation of lanes. Registers are of the 32-bit file unless stated otherwise.
#[derive(Clone, Copy, Debug)]
pub(super) enum CollectiveKind {
    Barrier {
        id: R,
        threads: Option<R>,
        role: BarrierRole,
    },
    WarpBarrier,
    Shuffle {
        mode: Shuffle,
        d: R,
        valid: Option<R>,
        a: R,
        lane: R,
        clamp: R,
    },
    /// `a` and, but for the ballot, `d` are predicates.
    Vote {
        vote: Vote,
        d: R,
        a: R,
    },
    /// `wide`: `a` is of the 64-bit file. `valid` is set for `match.all`.
    Match {
        all: bool,
        wide: bool,
        d: R,
        valid: Option<R>,
        a: R,
    },
    Redux {
        op: Reduction,
        d: R,
        a: R,
    },
    LoadMatrix {
        transposed: bool,
        count: u8,
        d: [R; 4],
        target: AddressOperand,
    },
    Mma {
        shape: Mma,
        d: [R; 4],
        a: [R; 4],
        b: [R; 2],
        c: [R; 4],
    },
}

/// The role of a thread at a block barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierRole {
    Sync,
    Arrive,
    /// `d` is a predicate, but for the population count; `a` is a predicate.
    Reduce {
        op: BarRed,
        d: R,
        a: R,
    },
}

/// Reductions of `bar.red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarRed {
    Popc,
    And,
    Or,
}

/// Which lane a shuffle reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// Operations of `redux.sync`, and of atomics that have no special rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Add,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
}

impl Reduction {
    /// The operation of a modifier, for signed or unsigned numbers.
    pub(super) fn named(modifier: &str, signed: bool) -> Option<Self> {
        Some(match (modifier, signed) {
            ("add", _) => Self::Add,
            ("min", false) => Self::MinU,
            ("min", true) => Self::MinS,
            ("max", false) => Self::MaxU,
            ("max", true) => Self::MaxS,
            ("and", _) => Self::And,
            ("or", _) => Self::Or,
            ("xor", _) => Self::Xor,
            _ => return None,
        })
    }

    /// `a op b` of words of 64 bits if `wide`, else of 32 bits.
    ///
    /// Bits beyond the 32 of a result mean nothing.
    pub(super) fn apply(self, wide: bool, a: u64, b: u64) -> u64 {
        let signed = |word: u64| if wide { word.cast_signed() } else { i64::from(word as i32) };
        match self {
            Self::Add => a.wrapping_add(b),
            Self::MinU => a.min(b),
            Self::MaxU => a.max(b),
            Self::MinS => signed(a).min(signed(b)).cast_unsigned(),
            Self::MaxS => signed(a).max(signed(b)).cast_unsigned(),
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
        }
    }
}

/// Shapes and types of `mma.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mma {
    /// m16n8k16, `f32` accumulation.
    M16N8K16(HalfKind),
    /// m16n8k8, `f32` accumulation.
    M16N8K8(HalfKind),
    /// m16n8k8, `f32` accumulation.
    M16N8K8Tf32,
    /// m16n8k32 of signed bytes, 32-bit accumulation.
    Bytes { saturate: bool },
}
