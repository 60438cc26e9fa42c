//! Numbers of any of NumPy's types, converted.

use half::f16;

use super::npy_error::NpyError;

/// A type that the numbers of an `.npy` file are converted to.
pub trait FromNpy: Copy {
    /// Its name in messages.
    const NAME: &'static str;
    /// Whether floats are converted too.
    const TAKES_FLOATS: bool;

    /// An integer, if the type has it.
    fn from_integer(value: i128) -> Option<Self>;
    /// A float of 32 bits or less, if the type has it.
    fn from_f32(value: f32) -> Option<Self>;
    /// A float, if the type has it after rounding.
    fn from_f64(value: f64) -> Option<Self>;
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl FromNpy for $type {
            const NAME: &'static str = stringify!($type);
            const TAKES_FLOATS: bool = false;

            fn from_integer(value: i128) -> Option<Self> {
                Self::try_from(value).ok()
            }

            fn from_f32(_: f32) -> Option<Self> {
                None
            }

            fn from_f64(_: f64) -> Option<Self> {
                None
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64);

impl FromNpy for f32 {
    const NAME: &'static str = "f32";
    const TAKES_FLOATS: bool = true;

    fn from_integer(value: i128) -> Option<Self> {
        Some(value as Self)
    }

    fn from_f32(value: f32) -> Option<Self> {
        Some(value)
    }

    fn from_f64(value: f64) -> Option<Self> {
        let rounded = value as Self;
        (rounded.is_finite() || !value.is_finite()).then_some(rounded)
    }
}

impl FromNpy for f64 {
    const NAME: &'static str = "f64";
    const TAKES_FLOATS: bool = true;

    fn from_integer(value: i128) -> Option<Self> {
        Some(value as Self)
    }

    fn from_f32(value: f32) -> Option<Self> {
        Some(value.into())
    }

    fn from_f64(value: f64) -> Option<Self> {
        Some(value)
    }
}

/// A type of numbers in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    kind: NumberKind,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug)]
enum NumberKind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

impl Number {
    /// The type that NumPy describes so: a byte order, a letter and a number of bytes.
    pub(super) fn parse(descr: &str) -> Option<Self> {
        let (order, kind) = descr.split_at_checked(1)?;
        let kind = match kind {
            "b1" => NumberKind::Bool,
            "i1" => NumberKind::I8,
            "i2" => NumberKind::I16,
            "i4" => NumberKind::I32,
            "i8" => NumberKind::I64,
            "u1" => NumberKind::U8,
            "u2" => NumberKind::U16,
            "u4" => NumberKind::U32,
            "u8" => NumberKind::U64,
            "f2" => NumberKind::F16,
            "f4" => NumberKind::F32,
            "f8" => NumberKind::F64,
            _ => return None,
        };
        let number = Self { kind, big_endian: order == ">" };
        let is_known = matches!(order, "<" | ">" | "=") || order == "|" && number.bytes() == 1;
        is_known.then_some(number)
    }

    pub(super) const fn bytes(self) -> usize {
        match self.kind {
            NumberKind::Bool | NumberKind::I8 | NumberKind::U8 => 1,
            NumberKind::I16 | NumberKind::U16 | NumberKind::F16 => 2,
            NumberKind::I32 | NumberKind::U32 | NumberKind::F32 => 4,
            NumberKind::I64 | NumberKind::U64 | NumberKind::F64 => 8,
        }
    }

    pub(super) const fn is_float(self) -> bool {
        matches!(self.kind, NumberKind::F16 | NumberKind::F32 | NumberKind::F64)
    }

    /// All numbers in `bytes`, converted.
    pub(super) fn read<T: FromNpy>(self, bytes: &[u8]) -> Result<Vec<T>, NpyError> {
        match self.kind {
            NumberKind::Bool => self.each(bytes, "bool", |[byte]: [u8; 1]| {
                T::from_integer(byte.into()).filter(|_| byte < 2).ok_or_else(|| byte.to_string())
            }),
            NumberKind::I8 => self.integers(bytes, i8::from_le_bytes),
            NumberKind::I16 => self.integers(bytes, i16::from_le_bytes),
            NumberKind::I32 => self.integers(bytes, i32::from_le_bytes),
            NumberKind::I64 => self.integers(bytes, i64::from_le_bytes),
            NumberKind::U8 => self.integers(bytes, u8::from_le_bytes),
            NumberKind::U16 => self.integers(bytes, u16::from_le_bytes),
            NumberKind::U32 => self.integers(bytes, u32::from_le_bytes),
            NumberKind::U64 => self.integers(bytes, u64::from_le_bytes),
            NumberKind::F16 => self.each(bytes, T::NAME, |word| {
                let value = f16::from_le_bytes(word).to_f32();
                T::from_f32(value).ok_or_else(|| value.to_string())
            }),
            NumberKind::F32 => self.each(bytes, T::NAME, |word| {
                let value = f32::from_le_bytes(word);
                T::from_f32(value).ok_or_else(|| value.to_string())
            }),
            NumberKind::F64 => self.each(bytes, T::NAME, |word| {
                let value = f64::from_le_bytes(word);
                T::from_f64(value).ok_or_else(|| format!("{value:e}"))
            }),
        }
    }

    fn integers<T: FromNpy, V: Into<i128>, const N: usize>(
        self,
        bytes: &[u8],
        decode: impl Fn([u8; N]) -> V,
    ) -> Result<Vec<T>, NpyError> {
        self.each(bytes, T::NAME, |word| {
            let value = decode(word).into();
            T::from_integer(value).ok_or_else(|| value.to_string())
        })
    }

    /// Each word of `N` little-endian bytes converted, or else the value that cannot be.
    fn each<T, const N: usize>(
        self,
        bytes: &[u8],
        expected: &'static str,
        convert: impl Fn([u8; N]) -> Result<T, String>,
    ) -> Result<Vec<T>, NpyError> {
        let words = bytes.as_chunks::<N>().0;
        // `collect` of results has no size hint: its vector would grow to twice the memory.
        let mut numbers = Vec::with_capacity(words.len());
        for (index, &word) in words.iter().enumerate() {
            let mut word = word;
            if self.big_endian {
                word.reverse();
            }
            numbers.push(convert(word).map_err(|value| NpyError::Value { index, value, expected })?);
        }
        Ok(numbers)
    }
}
