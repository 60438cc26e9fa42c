//! Fundamental types, state spaces, linkage and names.

use std::sync::Arc;

/// An identifier; equal names of one module share their text.
pub type Name = Arc<str>;

/// A fundamental type, as in `.b32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    Tf32,
    F32,
    F64,
}

/// The class of a register's values, whatever its declared type.
///
/// Loads and stores follow this, not the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A predicate.
    Pred,
    /// 8 bits.
    B8,
    /// 16 bits.
    B16,
    /// 32 bits.
    B32,
    /// 64 bits.
    B64,
    /// 128 bits.
    B128,
}

const TYPES: [(Type, &str); 21] = [
    (Type::Pred, "pred"),
    (Type::B8, "b8"),
    (Type::B16, "b16"),
    (Type::B32, "b32"),
    (Type::B64, "b64"),
    (Type::B128, "b128"),
    (Type::U8, "u8"),
    (Type::U16, "u16"),
    (Type::U32, "u32"),
    (Type::U64, "u64"),
    (Type::S8, "s8"),
    (Type::S16, "s16"),
    (Type::S32, "s32"),
    (Type::S64, "s64"),
    (Type::F16, "f16"),
    (Type::F16x2, "f16x2"),
    (Type::Bf16, "bf16"),
    (Type::Bf16x2, "bf16x2"),
    (Type::Tf32, "tf32"),
    (Type::F32, "f32"),
    (Type::F64, "f64"),
];

impl Type {
    /// The type written `.name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|(_, text)| *text == name).map(|(ty, _)| *ty)
    }

    /// The name without its dot.
    #[must_use]
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(ty, _)| *ty == self).map_or("", |(_, text)| text)
    }

    /// The width of the storage; a predicate counts as one byte.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Pred | Self::B8 | Self::U8 | Self::S8 => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 | Self::Tf32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }

    /// The register class of a register declared with this type.
    #[must_use]
    pub const fn class(self) -> Class {
        match self {
            Self::Pred => Class::Pred,
            Self::B8 | Self::U8 | Self::S8 => Class::B8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => Class::B16,
            Self::B32 | Self::U32 | Self::S32 | Self::F32 | Self::F16x2 | Self::Bf16x2 | Self::Tf32 => Class::B32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => Class::B64,
            Self::B128 => Class::B128,
        }
    }
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are PTX's own")]
pub enum Space {
    Global,
    Const,
    Shared,
    Local,
    Param,
}

impl Space {
    /// The space written `.name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "global" => Self::Global,
            "const" => Self::Const,
            "shared" => Self::Shared,
            "local" => Self::Local,
            "param" => Self::Param,
            _ => return None,
        })
    }

    /// The name without its dot.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Const => "const",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Param => "param",
        }
    }
}

/// How a name is seen by other modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Seen by this module only.
    #[default]
    Internal,
    /// `.visible`.
    Visible,
    /// `.extern`: defined elsewhere, or sized at launch for shared memory.
    Extern,
    /// `.weak`.
    Weak,
    /// `.common`.
    Common,
}

impl Linkage {
    /// The linkage written `.name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "visible" => Self::Visible,
            "extern" => Self::Extern,
            "weak" => Self::Weak,
            "common" => Self::Common,
            _ => return None,
        })
    }

    /// The directive without its dot, empty for internal names.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Internal => "",
            Self::Visible => "visible",
            Self::Extern => "extern",
            Self::Weak => "weak",
            Self::Common => "common",
        }
    }
}
