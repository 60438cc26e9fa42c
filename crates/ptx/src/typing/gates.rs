//! Versions of PTX and targets that instructions need, beyond PTX 6.0 and `sm_30`.

use super::Reason;
use crate::ast::{Opcode, Special};

/// A version of PTX, and the number of a target: 80 of `sm_80`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release {
    pub(super) version: (u32, u32),
    pub(super) target: u32,
}

impl Release {
    /// The need that this release does not meet, if there is one.
    pub(super) fn lacks(self, version: (u32, u32), target: u32, what: impl FnOnce() -> String) -> Option<Reason> {
        if self.version < version {
            return Some(Reason::TooOld { what: what(), since: version, got: self.version });
        }
        (self.target < target).then(|| Reason::TooSmall { what: what(), since: target, got: self.target })
    }
}

/// Opcodes with one of these names or texts, if they have this modifier.
///
/// A text is the whole opcode.
struct Gate {
    names: &'static [&'static str],
    /// Empty for all of them.
    modifier: &'static str,
    version: (u32, u32),
    target: u32,
}

const fn gate(names: &'static [&'static str], modifier: &'static str, version: (u32, u32), target: u32) -> Gate {
    Gate { names, modifier, version, target }
}

const ACCESS: &[&str] = &["ld", "st", "atom", "red"];
const ATOMIC: &[&str] = &["atom", "red"];
const CACHED: &[&str] = &["ld", "st", "cp"];
const HALF: &[&str] = &["add", "sub", "mul", "fma", "neg", "abs", "setp"];
const BFLOAT: &[&str] = &["fma", "neg", "abs", "cvt", "mma"];
const ANY_VERSION: (u32, u32) = (6, 0);
const ANY_TARGET: u32 = 30;

#[rustfmt::skip]
const GATES: &[Gate] = &[
    gate(ACCESS, "weak", ANY_VERSION, 70),
    gate(ACCESS, "relaxed", ANY_VERSION, 70),
    gate(ACCESS, "acquire", ANY_VERSION, 70),
    gate(ACCESS, "release", ANY_VERSION, 70),
    gate(ACCESS, "acq_rel", ANY_VERSION, 70),
    gate(ATOMIC, "cta", ANY_VERSION, 60),
    gate(ATOMIC, "gpu", ANY_VERSION, 60),
    gate(ATOMIC, "sys", ANY_VERSION, 60),
    gate(ATOMIC, "noftz", (6, 2), 60),
    gate(&["fence"], "", ANY_VERSION, 70),
    gate(CACHED, "L1::evict_normal", (7, 4), 70),
    gate(CACHED, "L1::evict_first", (7, 4), 70),
    gate(CACHED, "L1::evict_last", (7, 4), 70),
    gate(CACHED, "L1::no_allocate", (7, 4), 70),
    gate(CACHED, "L2::64B", (7, 4), 75),
    gate(CACHED, "L2::128B", (7, 4), 75),
    gate(CACHED, "L2::256B", (7, 4), 80),
    gate(&["cp"], "", (7, 0), 80),
    gate(&["ld"], "nc", ANY_VERSION, 32),
    gate(&["shf"], "", ANY_VERSION, 32),
    gate(&["lop3"], "", ANY_VERSION, 50),
    gate(&["cvta"], "param", (7, 7), 70),
    gate(HALF, "f16", ANY_VERSION, 53),
    gate(HALF, "f16x2", ANY_VERSION, 53),
    gate(&["abs.f16"], "", (6, 5), 53),
    gate(BFLOAT, "bf16", (7, 0), 80),
    gate(BFLOAT, "bf16x2", (7, 0), 80),
    gate(&["cvt.f32.bf16"], "", (7, 1), 80),
    gate(&["cvt"], "f16x2", (7, 0), 80),
    gate(&["cvt"], "relu", (7, 0), 80),
    gate(&["cvt"], "tf32", (7, 0), 80),
    gate(&["min", "max"], "NaN", (7, 0), 80),
    gate(&["tanh"], "", (7, 0), 75),
    gate(&["activemask"], "", (6, 2), ANY_TARGET),
    gate(&["match"], "", ANY_VERSION, 70),
    gate(&["redux"], "", (7, 0), 80),
    gate(&["bar", "barrier"], "cta", (7, 8), ANY_TARGET),
    gate(&["ldmatrix"], "", (6, 5), 75),
    gate(&["mma"], "", (6, 5), 75),
    gate(&["mma"], "m16n8k16", (7, 0), 80),
    gate(&["mma"], "m16n8k32", (7, 0), 80),
    gate(&["mma"], "tf32", (7, 0), 80),
];

/// What `opcode` needs and the module does not have.
pub(super) fn lacks(opcode: &Opcode, release: Release) -> Option<Reason> {
    let is_for = |gate: &&Gate| {
        let named = gate.names.contains(&opcode.base()) || gate.names.contains(&opcode.text());
        named && (gate.modifier.is_empty() || opcode.has(gate.modifier))
    };
    GATES.iter().filter(is_for).find_map(|gate| {
        let dot = if gate.modifier.is_empty() { "" } else { "." };
        release.lacks(gate.version, gate.target, || format!("`{}{dot}{}`", opcode.base(), gate.modifier))
    })
}

/// A feature that a special register needs and the module lacks.
pub(super) fn special_lacks(special: Special, release: Release) -> Option<Reason> {
    let (version, target) = match special {
        Special::AggrSmemSize => ((8, 1), 90),
        Special::Clusterid(_)
        | Special::Nclusterid(_)
        | Special::ClusterCtaid(_)
        | Special::ClusterNctaid(_)
        | Special::ClusterCtarank
        | Special::ClusterNctarank
        | Special::IsExplicitCluster => ((7, 8), 90),
        _ => return None,
    };
    release.lacks(version, target, || format!("`{}`", special.name()))
}
