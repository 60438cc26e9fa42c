//! Names of registers: what operations of every kind take their operands from.

/// Index of a register in its file.
pub(super) type R = u16;

/// A register of either file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    W32(R),
    /// A register of the 32-bit file that keeps only this number of low bits: 8 or 16.
    Narrow(R, u8),
    W64(R),
    /// Nothing: the value is dropped.
    None,
}

/// Where an access goes: a register of the 32- or 64-bit file plus bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressOperand {
    pub(super) base: Slot,
    pub(super) offset: i64,
}

/// The two 16-bit floats, alone or in pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HalfKind {
    F16,
    F16x2,
    Bf16,
    Bf16x2,
}

/// A register of one of the three files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileRegister {
    W32(R),
    W64(R),
    Predicate(R),
}

impl FileRegister {
    /// The register that a slot stands for.
    pub(super) fn of(slot: Slot) -> Option<Self> {
        match slot {
            Slot::W32(reg) | Slot::Narrow(reg, _) => Some(Self::W32(reg)),
            Slot::W64(reg) => Some(Self::W64(reg)),
            Slot::None => None,
        }
    }
}
