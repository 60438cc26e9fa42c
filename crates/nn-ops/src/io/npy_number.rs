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

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl FromNpy for $type {
            const NAME: &'static str = stringify!($type);
            const TAKES_FLOATS: bool = true;

            fn from_integer(value: i128) -> Option<Self> {
                Some(value as Self)
            }

            fn from_f32(value: f32) -> Option<Self> {
                Some(value.into())
            }

            fn from_f64(value: f64) -> Option<Self> {
                let rounded = value as Self;
                (rounded.is_finite() || !value.is_finite()).then_some(rounded)
            }
        }
    )*};
}

floats!(f32 f64);

/// NumPy's names of types: a letter and a number of bytes.
const KINDS: [&str; 12] = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"];

/// A type of numbers in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// One of [`KINDS`].
    kind: &'static str,
    bytes: usize,
    big_endian: bool,
}

impl Number {
    /// The type that NumPy describes so: a byte order, a letter and a number of bytes.
    pub(super) fn parse(descr: &str) -> Option<Self> {
        let (order, kind) = descr.split_at_checked(1)?;
        let kind = KINDS.into_iter().find(|&name| name == kind)?;
        let bytes = kind[1..].parse().ok()?;
        let is_known = matches!(order, "<" | ">" | "=") || order == "|" && bytes == 1;
        is_known.then_some(Self { kind, bytes, big_endian: order == ">" })
    }

    pub(super) const fn bytes(self) -> usize {
        self.bytes
    }

    pub(super) fn is_float(self) -> bool {
        self.kind.starts_with('f')
    }

    /// All numbers in `bytes`, converted.
    pub(super) fn read<T: FromNpy>(self, bytes: &[u8]) -> Result<Vec<T>, NpyError> {
        match self.kind {
            "b1" => self.each(bytes, "bool", |[byte]: [u8; 1]| {
                T::from_integer(byte.into()).filter(|_| byte < 2).ok_or_else(|| byte.to_string())
            }),
            "i1" => self.integers(bytes, i8::from_le_bytes),
            "i2" => self.integers(bytes, i16::from_le_bytes),
            "i4" => self.integers(bytes, i32::from_le_bytes),
            "i8" => self.integers(bytes, i64::from_le_bytes),
            "u1" => self.integers(bytes, u8::from_le_bytes),
            "u2" => self.integers(bytes, u16::from_le_bytes),
            "u4" => self.integers(bytes, u32::from_le_bytes),
            "u8" => self.integers(bytes, u64::from_le_bytes),
            "f2" => self.floats(bytes, |word| f16::from_le_bytes(word).to_f32()),
            "f4" => self.floats(bytes, f32::from_le_bytes),
            _ => self.each(bytes, T::NAME, |word| {
                let value = f64::from_le_bytes(word);
                T::from_f64(value).ok_or_else(|| format!("{value:e}"))
            }),
        }
    }

    fn floats<T: FromNpy, const N: usize>(
        self,
        bytes: &[u8],
        decode: impl Fn([u8; N]) -> f32,
    ) -> Result<Vec<T>, NpyError> {
        self.each(bytes, T::NAME, |word| {
            let value = decode(word);
            T::from_f32(value).ok_or_else(|| value.to_string())
        })
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
