//! The scalar types of the programs, their constants and their operations.

use std::fmt;

use super::random::Random;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Unsigned(u32),
    Signed(u32),
    Float(u32),
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(bits) => write!(f, "u{bits}"),
            Self::Signed(bits) => write!(f, "i{bits}"),
            Self::Float(bits) => write!(f, "f{bits}"),
        }
    }
}

/// The integer types that every operation takes.
pub(super) const NARROW: [Type; 4] = [Type::Unsigned(8), Type::Signed(8), Type::Unsigned(16), Type::Signed(16)];
pub(super) const WORDS: [Type; 4] = [Type::Unsigned(32), Type::Signed(32), Type::Unsigned(64), Type::Signed(64)];
/// The integer types that need several registers.
///
/// They are not divided, and their products are not checked.
pub(super) const WIDE: [Type; 2] = [Type::Unsigned(128), Type::Signed(128)];

/// Operations of every integer type.
///
/// `{x}` is a variable of the type, `{y}` a variable or a constant, `{n}` a count of any size,
/// `{t}` the type.
const INTEGER: [&str; 38] = [
    "{x}.wrapping_add({y})",
    "{x}.wrapping_add({y})",
    "{x}.wrapping_sub({y})",
    "{x}.wrapping_mul({y})",
    "{x}.wrapping_mul({y})",
    "{x}.wrapping_neg()",
    "{x}.saturating_add({y})",
    "{x}.saturating_sub({y})",
    "{x}.checked_add({y}).unwrap_or({y})",
    "{x}.checked_sub({y}).unwrap_or({y})",
    "{t}::from({x}.overflowing_add({y}).1)",
    "{t}::from({x}.overflowing_sub({y}).1)",
    "{x} & {y}",
    "{x} | {y}",
    "{x} ^ {y}",
    "!{x}",
    "{x}.wrapping_shl({n})",
    "{x}.wrapping_shr({n})",
    "{x}.checked_shl({n}).unwrap_or({y})",
    "{x}.checked_shr({n}).unwrap_or({y})",
    "{x}.unbounded_shl({n})",
    "{x}.unbounded_shr({n})",
    "{x}.rotate_left({n})",
    "{x}.rotate_right({n})",
    "{x}.min({y})",
    "{x}.max({y})",
    "{x}.abs_diff({y}) as {t}",
    "{x}.swap_bytes()",
    "{x}.reverse_bits()",
    "{x}.count_ones() as {t}",
    "{x}.leading_zeros() as {t}",
    "{x}.trailing_zeros() as {t}",
    "{x}.leading_ones() as {t}",
    "{x}.wrapping_pow(3)",
    "{t}::from({x} < {y})",
    "{t}::from({x} == {y})",
    "if {x} < {x} { {y} } else { {x} }",
    "if {x} >= {y} { {x} } else { !{x} }",
];

/// Operations of integers of at most 64 bits.
const DIVISION: [&str; 9] = [
    "{x}.wrapping_div({x} | 1)",
    "{x}.wrapping_rem({x} | 1)",
    "{x}.checked_div({y}).unwrap_or({x})",
    "{x}.checked_rem({y}).unwrap_or({x})",
    "{x}.wrapping_div_euclid({x} | 1)",
    "{x}.wrapping_rem_euclid({x} | 1)",
    "{x}.saturating_mul({y})",
    "{x}.checked_mul({y}).unwrap_or({y})",
    "{t}::from({x}.overflowing_mul({y}).1)",
];

const SIGNED: [&str; 3] = ["{x}.wrapping_abs()", "{x}.unsigned_abs() as {t}", "{x}.signum()"];

/// Operations of floats; `{m}` is the module of those functions that the core library lacks.
const FLOAT: [&str; 22] = [
    "{x} + {y}",
    "{x} + {y}",
    "{x} - {y}",
    "{x} * {y}",
    "{x} * {y}",
    "{x} / {y}",
    "{m}::fma({x}, {y}, {x})",
    "{m}::fma({x}, {x}, {y})",
    "{m}::sqrt({x})",
    "{m}::sqrt({m}::abs({x}))",
    "{m}::min({x}, {y})",
    "{m}::max({x}, {y})",
    "{m}::abs({x})",
    "-{x}",
    "{m}::copysign({x}, {y})",
    "{m}::floor({x})",
    "{m}::ceil({x})",
    "{m}::trunc({x})",
    "{m}::round_even({x})",
    "if {x} < {y} { {x} } else { {y} }",
    "if {x} == {y} || {x} != {x} { {y} } else { {x} }",
    "if {x} >= {y} { {x} } else { -{x} }",
];

impl Type {
    pub(super) const fn is_float(self) -> bool {
        matches!(self, Self::Float(_))
    }

    /// Module of the functions of a float type.
    pub(super) const fn float_module(self) -> &'static str {
        match self {
            Self::Float(32) => "single",
            _ => "double",
        }
    }

    /// A form of some operation with a result of this type.
    pub(super) fn form(self, random: &mut Random) -> &'static str {
        match self {
            Self::Float(_) => random.of(&FLOAT),
            Self::Unsigned(bits) | Self::Signed(bits) => match random.below(12) {
                0..=2 if bits <= 64 => random.of(&DIVISION),
                3 if matches!(self, Self::Signed(_)) => random.of(&SIGNED),
                _ => random.of(&INTEGER),
            },
        }
    }

    /// A constant: often one at an end of the range.
    pub(super) fn constant(self, random: &mut Random) -> String {
        match self {
            Self::Float(_) => {
                let fixed = ["0.0", "-0.0", "1.0", "-1.5", "3.0", "0.1", "1e10", "-1e-30", "6.5", "0.5"];
                match random.below(13) {
                    0 => format!("{self}::MIN_POSITIVE"),
                    1 => format!("{self}::MAX"),
                    2 => format!("{self}::INFINITY"),
                    _ => random.of(&fixed).to_owned(),
                }
            }
            Self::Unsigned(bits) | Self::Signed(bits) => match random.below(8) {
                0 => format!("{self}::MAX"),
                1 => format!("{self}::MIN"),
                2 | 3 => (1 + random.below(15)).to_string(),
                4 if matches!(self, Self::Signed(_)) => format!("-{}", 1 + random.below(100)),
                5 => format!("{self}::MAX >> {}", 1 + random.below(bits as usize - 2)),
                _ => {
                    let free = bits.min(64) - u32::from(matches!(self, Self::Signed(_)));
                    format!("{:#x}", random.word() >> (64 - free))
                }
            },
        }
    }

    /// A constant that values are on both sides of.
    pub(super) fn middle(self, random: &mut Random) -> String {
        match self {
            Self::Float(_) => random.of(&["0.0", "1.0", "-1.5", "1e10"]).to_owned(),
            Self::Unsigned(bits) => format!("{self}::MAX >> {}", 1 + random.below(bits as usize / 2)),
            Self::Signed(_) => random.of(&["0", "1", "-1", "25", "-60"]).to_owned(),
        }
    }

    /// How an input word, given as an expression, becomes a value of this type.
    pub(super) fn of_word(self, word: &str, random: &mut Random) -> String {
        match self {
            Self::Unsigned(128) => format!("u128::from({word}) << {} | u128::from({word})", random.below(100)),
            Self::Signed(128) => format!("i128::from({word} as i64) << {}", random.below(64)),
            Self::Unsigned(64) => word.to_owned(),
            Self::Signed(64) => format!("{word} as i64"),
            Self::Unsigned(bits) | Self::Signed(bits) => match random.below(3) {
                0 => format!("({word} >> {}) as {self}", random.below(64 - bits as usize)),
                _ => format!("{word} as {self}"),
            },
            Self::Float(32) => match random.below(4) {
                0 => format!("{word} as i64 as f32"),
                1 => format!("f32::from_bits(({word} >> 32) as u32)"),
                _ => format!("f32::from_bits({word} as u32)"),
            },
            Self::Float(_) => match random.below(4) {
                0 => format!("{word} as i32 as f64"),
                1 => format!("f32::from_bits({word} as u32) as f64"),
                _ => format!("f64::from_bits({word})"),
            },
        }
    }

    /// How a variable of this type is taken into the result, as a word.
    pub(super) fn to_word(self, variable: &str) -> String {
        match self {
            Self::Unsigned(64) => variable.to_owned(),
            Self::Unsigned(128) | Self::Signed(128) => format!("({variable} >> 64) as u64 ^ {variable} as u64"),
            Self::Unsigned(_) | Self::Signed(_) => format!("{variable} as u64"),
            Self::Float(64) => format!("double::bits({variable})"),
            Self::Float(_) => format!("u64::from(single::bits({variable}))"),
        }
    }
}
