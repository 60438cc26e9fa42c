//! Variables with their shapes and initial values.

use super::{Linkage, Name, Space, Type};

/// A variable of a module or of a function body.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Line of the declaration, from 1.
    pub line: u32,
    /// How other modules see it; bodies declare internal ones only.
    pub linkage: Linkage,
    /// Where it lives.
    pub space: Space,
    /// `.align`, a power of two.
    pub align: Option<u32>,
    /// Elements per vector, from `.v2` or `.v4`; 1 without.
    pub lanes: u32,
    /// Type of one element.
    pub ty: Type,
    /// Its name.
    pub name: Name,
    /// Number of elements.
    pub shape: Shape,
    /// Initial values of a prefix of the elements; the rest is zero.
    pub initialiser: Vec<Initialiser>,
}

/// The number of elements of a [`Variable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One element.
    Scalar,
    /// `[n]`; several dimensions are multiplied out.
    Array(u64),
    /// `[]`: sized at launch.
    Unsized,
}

/// One initial value.
#[derive(Clone, Debug, PartialEq)]
pub enum Initialiser {
    /// An integer; the low bytes are stored.
    Int(i64),
    /// Bits of an `f32`.
    F32(u32),
    /// Bits of an `f64`.
    F64(u64),
    /// The address of a symbol.
    Address {
        /// The variable or function.
        symbol: Name,
        /// Bytes added to its address.
        offset: i64,
        /// Whether the address is generic, as by `generic(symbol)`.
        generic: bool,
        /// `0xFF00(symbol)`: only these bits, shifted down to the lowest.
        mask: Option<u64>,
    },
}

/// The initial bytes of a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Values of the initialised prefix; zero where a relocation follows.
    pub bytes: Vec<u8>,
    /// Addresses to be stored once the symbols have theirs.
    pub relocations: Vec<Relocation>,
}

/// An address within an [`Image`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// First byte of the place.
    pub at: u64,
    /// Bytes of the place, 1 to 8.
    pub width: u32,
    /// Right shift of the address before its low bytes are stored.
    pub shift: u32,
    /// The variable or function.
    pub symbol: Name,
    /// Bytes added to its address.
    pub offset: i64,
    /// Whether the generic address is meant, not the one within the space.
    pub generic: bool,
}

impl Variable {
    /// Bytes of one element, all lanes.
    #[must_use]
    pub const fn element_bytes(&self) -> u64 {
        self.ty.bytes() * self.lanes as u64
    }

    /// Bytes of the whole variable; 0 for one sized at launch.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        match self.shape {
            Shape::Scalar => self.element_bytes(),
            Shape::Array(count) => self.element_bytes() * count,
            Shape::Unsized => 0,
        }
    }

    /// Alignment in bytes: as declared, else the alignment of one element.
    #[must_use]
    pub const fn alignment(&self) -> u64 {
        match self.align {
            Some(align) => align as u64,
            None => self.element_bytes(),
        }
    }

    /// The initialised prefix as bytes and relocations.
    #[must_use]
    pub fn image(&self) -> Image {
        let width = self.ty.bytes();
        let mut image = Image::default();
        for value in &self.initialiser {
            let at = image.bytes.len() as u64;
            let word = match value {
                Initialiser::Int(word) => word.cast_unsigned(),
                Initialiser::F32(bits) if self.ty == Type::F64 => f64::from(f32::from_bits(*bits)).to_bits(),
                Initialiser::F32(bits) => u64::from(*bits),
                Initialiser::F64(bits) if self.ty == Type::F32 => u64::from((f64::from_bits(*bits) as f32).to_bits()),
                Initialiser::F64(bits) => *bits,
                Initialiser::Address { symbol, offset, generic, mask } => {
                    image.relocations.push(Relocation {
                        at,
                        width: width.min(8) as u32,
                        shift: mask.map_or(0, u64::trailing_zeros),
                        symbol: symbol.clone(),
                        offset: *offset,
                        generic: *generic,
                    });
                    0
                }
            };
            image.bytes.extend_from_slice(&u128::from(word).to_le_bytes()[..width as usize]);
        }
        image
    }
}
