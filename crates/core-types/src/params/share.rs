//! Parameter records of the ops on shares.

use bytemuck::{Pod, Zeroable};

use super::sizes::{list_sizes, sizes};
use crate::keys::cmp::CMP_TABLE_BITS;

/// Stands for no row.
pub const NO_ROW: u32 = u32::MAX;

/// Stands for the row of the public constant 1; party 0 has the share 1, party 1 the share 0.
pub const ONE_ROW: u32 = u32::MAX - 1;

/// A comparison of public words: 1 where `(x + shift) mod 2^bits` is below `bound`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Threshold {
    /// Added to the word.
    pub shift: u64,
    /// Compared with the sum.
    pub bound: u64,
    /// Width of the comparison, 1 to 64; zero stands for no comparison.
    pub bits: u32,
    /// In a condition, the outcome that it asks for, 0 or 1; not used otherwise.
    pub wanted: u32,
}

/// A combination of rows of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BitParams {
    /// Elements in a row.
    pub count: u32,
    /// Party whose shares are combined, 0 or 1.
    pub party: u32,
}

sizes!(BitParams { count, party });

/// One bit of a sum of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct BitTerm {
    /// The public bit to add, if there is a comparison.
    pub public: Threshold,
    /// The row of shares to add, or [`NO_ROW`].
    pub row: u32,
    /// 1 if this is the last term of its sum, else 0.
    pub last: u32,
}

list_sizes!(BitTerm);

/// A combination of rows of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WordParams {
    /// Added to the public words x before they are shifted.
    pub offset: u64,
    /// Elements in a row.
    pub count: u32,
    /// Party whose shares are combined, 0 or 1.
    pub party: u32,
    /// Width of x, 1 to 64.
    pub bits: u32,
    /// The variable of the sums is `((x + offset) mod 2^bits) >> shift`, `shift` below 64.
    pub shift: u32,
    /// Width of the results, 1 to 64.
    pub width: u32,
    /// Rows of padded words.
    pub padded_rows: u32,
    /// Rows of words without padding; their numbers continue the numbers of the padded rows.
    pub rows: u32,
    /// Rows of opened bits.
    pub opened_rows: u32,
    /// 1 if results are `[count][sums]`, 0 if they are `[sums][count]`.
    pub interleaved: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

sizes!(WordParams { count, party, bits, shift, width, padded_rows, rows, opened_rows });

/// One word of a sum of words: `constant X^power s`, for a share s.
///
/// X is the variable of [`WordParams`]. The share s is row `value` or, if there is an opened bit w,
/// `w [value] + (1 - 2w) [product]`.
///
/// With an opened bit `w = b ^ c`, a row `[v]` and a row `[c v]`, s is a share of `b v`: a
/// selection by a secret bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct WordTerm {
    /// The condition on x under which the term counts, if there is one.
    pub when: Threshold,
    /// Public factor.
    pub constant: u64,
    /// Row of words, [`ONE_ROW`], or [`NO_ROW`] for the share 0.
    pub value: u32,
    /// Row of words, or [`NO_ROW`] for the share 0; not used without an opened bit.
    pub product: u32,
    /// Row of opened bits, or [`NO_ROW`].
    pub opened: u32,
    /// Row of opened bits whose bit has to be `is` for the term to count, or [`NO_ROW`].
    pub given: u32,
    /// 0 or 1.
    pub is: u32,
    /// Power of the variable, at most [`MAX_POWER`].
    pub power: u32,
    /// 1 if this is the last term of its sum, else 0.
    pub last: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

list_sizes!(WordTerm);

/// Sums of words and a row that repeats over them, with public factors.
///
/// `out[i] = (alpha x[i] + beta row[i mod period] + constant) mod 2^bits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct LinearWordsParams {
    /// Multiplies the words of x or, in place, of `out`.
    pub alpha: u64,
    /// Multiplies the words of the row.
    pub beta: u64,
    /// Added to each sum.
    pub constant: u64,
    /// Words of the result.
    pub count: u32,
    /// Words of the row; not used without a row.
    pub period: u32,
    /// Width of the results, 1 to 64.
    pub bits: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

sizes!(LinearWordsParams { count, period, bits });

/// A batch of products of matrices of words, `out = alpha x y + beta out` modulo 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MatmulWordsParams {
    /// Number of products.
    pub batch: u64,
    /// Rows of x and of the product.
    pub rows: u64,
    /// Columns of x and rows of y.
    pub inner: u64,
    /// Columns of y and of the product.
    pub cols: u64,
    /// Multiplies the products.
    pub alpha: u64,
    /// Multiplies what `out` held; with 0, `out` is not read.
    pub beta: u64,
}

sizes!(MatmulWordsParams { batch, rows, inner, cols });

/// Most tables of one op.
pub const MAX_TABLES: u32 = 8;

/// Sums of tables over the set bits of shares of unit vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct TableSumsParams {
    /// Elements.
    pub count: u32,
    /// Width of a position, 1 to [`CMP_ALL_BITS`](crate::cmp::CMP_ALL_BITS).
    ///
    /// A table has `2^bits` entries.
    pub bits: u32,
    /// Tables, 1 to [`MAX_TABLES`].
    pub tables: u32,
}

sizes!(TableSumsParams { count, bits, tables });

impl TableSumsParams {
    /// The bits of a block of 128 points that belong to points below `2^bits`.
    #[inline]
    #[must_use]
    pub const fn counted(&self, block: u128) -> u128 {
        let points = if self.bits < CMP_TABLE_BITS { 1u32 << self.bits } else { 128 };
        block & u128::MAX >> (128 - points)
    }

    /// The entry for a point, `(x - point) mod 2^bits`.
    #[inline]
    #[must_use]
    pub const fn place(&self, x: u64, point: u32) -> u32 {
        let last = u32::MAX >> (32u32.wrapping_sub(self.bits) & 31);
        (x as u32).wrapping_sub(point) & last
    }
}

impl WordTerm {
    /// A term without rows or conditions, whose share is 0: other terms are made from it.
    pub const NONE: Self = Self {
        when: Threshold { shift: 0, bound: 0, bits: 0, wanted: 0 },
        constant: 1,
        value: NO_ROW,
        product: NO_ROW,
        opened: NO_ROW,
        given: NO_ROW,
        is: 0,
        power: 0,
        last: 0,
        reserved: 0,
    };

    /// The public constant 1.
    pub const ONE: Self = Self { value: ONE_ROW, ..Self::NONE };

    /// The word of row `row`.
    #[must_use]
    pub const fn word(row: u32) -> Self {
        Self { value: row, ..Self::NONE }
    }

    /// The secret bit `b`, opened as `w = b ^ c` in row `opened`: `w + (1 - 2w) [c]`.
    ///
    /// Row `mask` holds `[c]`.
    #[must_use]
    pub const fn bit(opened: u32, mask: u32) -> Self {
        Self::selected(opened, ONE_ROW, mask)
    }

    /// `b v` for the secret bit `b`, opened as `w = b ^ c` in row `opened`.
    ///
    /// It is `w [v] + (1 - 2w) [c v]`. Row `value` holds `[v]`, and row `product` holds `[c v]`.
    #[must_use]
    pub const fn selected(opened: u32, value: u32, product: u32) -> Self {
        Self { value, product, opened, ..Self::NONE }
    }

    /// The term times a public constant.
    #[must_use]
    pub const fn times(self, constant: u64) -> Self {
        Self { constant: self.constant.wrapping_mul(constant), ..self }
    }

    /// The term with the opposite sign.
    #[must_use]
    pub const fn minus(self) -> Self {
        self.times(u64::MAX)
    }

    /// The term times a power of the variable.
    #[must_use]
    pub const fn power(self, power: u32) -> Self {
        Self { power, ..self }
    }

    /// The term where a comparison of x comes out as wanted.
    #[must_use]
    pub const fn when(self, when: Threshold) -> Self {
        Self { when, ..self }
    }

    /// The term where the opened bit of row `given` is `is`.
    #[must_use]
    pub const fn given(self, given: u32, is: u32) -> Self {
        Self { given, is, ..self }
    }
}

/// Greatest power of a variable.
pub const MAX_POWER: u32 = 7;
