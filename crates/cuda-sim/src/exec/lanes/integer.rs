//! Integer and bit operations.
//!
//! PTX shift counts clamp at the width instead of wrapping, and division by zero gives a fixed
//! value instead of a trap.

use super::super::code::{Bin, Tri, Un};
use super::{PerLane, WARP, each1, each2, map1, map2, map3};

macro_rules! binary {
    ($name:ident, $word:ty, $signed:ty, $wide:ty, $wide_signed:ty) => {
        /// `a op b` on whole words, at least in the lanes of `mask`.
        #[inline(always)]
        pub(in crate::exec) fn $name(op: Bin, mask: u32, a: &PerLane<$word>, b: &PerLane<$word>) -> PerLane<$word> {
            const BITS: u32 = <$word>::BITS;
            macro_rules! go {
                ($f:expr) => {
                    map2(a, b, $f)
                };
            }
            // No vector of words is divided.
            macro_rules! divide {
                ($f:expr) => {
                    each2(mask, a, b, $f)
                };
            }
            match op {
                Bin::Add => go!(|a, b| a.wrapping_add(b)),
                Bin::Sub => go!(|a, b| a.wrapping_sub(b)),
                Bin::AddSat => go!(|a, b| (a as $signed).saturating_add(b as $signed) as $word),
                Bin::SubSat => go!(|a, b| (a as $signed).saturating_sub(b as $signed) as $word),
                Bin::MulLo => go!(|a, b| a.wrapping_mul(b)),
                Bin::MulHiU => go!(|a, b| (<$wide>::from(a) * <$wide>::from(b) >> BITS) as $word),
                Bin::MulHiS => go!(|a, b| {
                    (<$wide_signed>::from(a as $signed) * <$wide_signed>::from(b as $signed) >> BITS) as $word
                }),
                Bin::DivU => divide!(|a, b| a.checked_div(b).unwrap_or(<$word>::MAX)),
                Bin::DivS => {
                    divide!(|a, b| if b == 0 {
                        <$word>::MAX
                    } else {
                        (a as $signed).wrapping_div(b as $signed) as $word
                    })
                }
                Bin::RemU => divide!(|a, b| a.checked_rem(b).unwrap_or(a)),
                Bin::RemS => {
                    divide!(|a, b| if b == 0 { a } else { (a as $signed).wrapping_rem(b as $signed) as $word })
                }
                Bin::MinU => go!(|a, b| a.min(b)),
                Bin::MinS => go!(|a, b| (a as $signed).min(b as $signed) as $word),
                Bin::MaxU => go!(|a, b| a.max(b)),
                Bin::MaxS => go!(|a, b| (a as $signed).max(b as $signed) as $word),
                Bin::And => go!(|a, b| a & b),
                Bin::Or => go!(|a, b| a | b),
                Bin::Xor => go!(|a, b| a ^ b),
                Bin::Shl => go!(|a, b| if b < <$word>::from(BITS) { a << (b as u32 & (BITS - 1)) } else { 0 }),
                Bin::ShrU => go!(|a, b| if b < <$word>::from(BITS) { a >> (b as u32 & (BITS - 1)) } else { 0 }),
                Bin::ShrS => {
                    go!(|a, b| ((a as $signed) >> (b.min(<$word>::from(BITS - 1)) as u32 & (BITS - 1))) as $word)
                }
            }
        }
    };
}
binary!(binary32, u32, i32, u64, i64);
binary!(binary64, u64, i64, u128, i128);

/// One-operand operations on 32-bit words.
#[inline(always)]
pub(in crate::exec) fn unary32(op: Un, a: &PerLane<u32>) -> PerLane<u32> {
    match op {
        Un::Not => map1(a, |a| !a),
        Un::LogicalNot => map1(a, |a| u32::from(a == 0)),
        Un::Neg => map1(a, u32::wrapping_neg),
        Un::AbsS => map1(a, |a| (a as i32).wrapping_abs() as u32),
        Un::Brev => map1(a, u32::reverse_bits),
        Un::Popc => map1(a, u32::count_ones),
        Un::Clz => map1(a, u32::leading_zeros),
        Un::BfindU => map1(a, |a| 31_u32.wrapping_sub(a.leading_zeros())),
    }
}

/// One-operand operations on 64-bit words, in the lanes of `mask`.
#[inline(always)]
pub(in crate::exec) fn unary64(op: Un, mask: u32, a: &PerLane<u64>) -> PerLane<u64> {
    each1(mask, a, |a| match op {
        Un::Not => !a,
        Un::LogicalNot => u64::from(a == 0),
        Un::Neg => a.wrapping_neg(),
        Un::AbsS => (a as i64).wrapping_abs() as u64,
        Un::Brev => a.reverse_bits(),
        Un::Popc | Un::Clz | Un::BfindU => u64::from(count64(op, a)),
    })
}

/// `clz` or `popc` of a 64-bit word.
pub(in crate::exec) fn count64(op: Un, a: u64) -> u32 {
    match op {
        Un::Clz => a.leading_zeros(),
        _ => a.count_ones(),
    }
}

/// Three-operand operations on 32-bit words.
#[inline(always)]
pub(in crate::exec) fn ternary32(op: Tri, a: &PerLane<u32>, b: &PerLane<u32>, c: &PerLane<u32>) -> PerLane<u32> {
    macro_rules! go {
        ($f:expr) => {
            map3(a, b, c, $f)
        };
    }
    match op {
        Tri::Mad => go!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        Tri::MadHiU => go!(|a, b, c| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c)),
        Tri::MadHiS => {
            go!(|a, b, c| (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32).wrapping_add(c))
        }
        Tri::SadU => go!(|a, b, c| a.abs_diff(b).wrapping_add(c)),
        Tri::SadS => go!(|a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c)),
        Tri::BfeU => go!(|a, b, c| bfe(u64::from(a), b, c, 32, false) as u32),
        Tri::BfeS => go!(|a, b, c| bfe(u64::from(a), b, c, 32, true) as u32),
        Tri::Bfi => go!(|a, b, c| bfi(a, b, c & 0xffff, c >> 16)),
        Tri::Prmt if c.0.iter().all(|&selector| selector == c.0[0]) => permuted(a, b, c.0[0]),
        #[expect(clippy::redundant_closure, reason = "a function given by its name is not inlined")]
        Tri::Prmt => go!(|a, b, c| prmt(a, b, c)),
        Tri::PrmtF4e => go!(|a, b, c| bytes(a, b, |i| i + (c & 3))),
        Tri::PrmtB4e => go!(|a, b, c| bytes(a, b, |i| (c & 3).wrapping_sub(i) & 7)),
        Tri::PrmtRc8 => go!(|a, b, c| bytes(a, b, |_| c & 3)),
        Tri::PrmtEcl => go!(|a, b, c| bytes(a, b, |i| i.max(c & 3))),
        Tri::PrmtEcr => go!(|a, b, c| bytes(a, b, |i| i.min(c & 3))),
        Tri::PrmtRc16 => go!(|a, b, c| bytes(a, b, |i| (c & 1) * 2 + (i & 1))),
        Tri::ShfLWrap => go!(|a, b, c| funnel_left(a, b, c & 31)),
        Tri::ShfLClamp => go!(|a, b, c| funnel_left(a, b, c.min(32))),
        Tri::ShfRWrap => go!(|a, b, c| funnel_right(a, b, c & 31)),
        Tri::ShfRClamp => go!(|a, b, c| funnel_right(a, b, c.min(32))),
    }
}

/// `bfe`: the field of `len` bits at `pos` of the low `width` bits, sign extended or not.
///
/// A field past the end of the word is filled with the sign.
#[inline(always)]
pub(in crate::exec) fn bfe(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if len == 0 {
        return 0;
    }
    let value = if signed { ((a << (64 - width)) as i64 >> (64 - width)) as u64 } else { a };
    // Bits past the word repeat the sign when signed, else are zero.
    let shifted = match (pos < 64, signed) {
        (true, true) => (value as i64 >> pos) as u64,
        (true, false) => value >> pos,
        (false, true) => (value as i64 >> 63) as u64,
        (false, false) => 0,
    };
    if len >= width {
        return shifted;
    }
    let field = shifted & ((1 << len) - 1);
    if signed { ((field << (64 - len)) as i64 >> (64 - len)) as u64 } else { field }
}

/// `bfi`: `b` with `len` bits at `pos` replaced by the low bits of `a`.
#[inline(always)]
fn bfi(a: u32, b: u32, pos: u32, len: u32) -> u32 {
    let (pos, len) = (pos & 0xff, len & 0xff);
    if pos > 31 {
        return b;
    }
    let field = if len > 31 { u32::MAX } else { (1 << len) - 1 } << pos;
    b & !field | a << pos & field
}

/// The byte `index` of the pair `b:a`, 0 the lowest of `a`.
#[inline(always)]
fn byte(a: u32, b: u32, index: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> (8 * (index & 7))) as u32 & 0xff
}

#[inline(always)]
fn bytes(a: u32, b: u32, index: impl Fn(u32) -> u32) -> u32 {
    (0..4).fold(0, |word, i| word | byte(a, b, index(i)) << (8 * i))
}

/// Computes `prmt` in its default mode.
///
/// Each nibble selects a byte, and its high bit replicates the sign of that byte.
#[inline(always)]
fn prmt(a: u32, b: u32, selector: u32) -> u32 {
    (0..4).fold(0, |word, i| {
        let nibble = selector >> (4 * i);
        let value = byte(a, b, nibble & 7);
        let value = if nibble & 8 == 0 { value } else { 0xff * (value >> 7) };
        word | value << (8 * i)
    })
}

/// [`prmt`] by one selector for all lanes.
///
/// Most kernels give it as a constant. The loops over lanes vectorise.
#[inline(always)]
fn permuted(a: &PerLane<u32>, b: &PerLane<u32>, selector: u32) -> PerLane<u32> {
    let mut words = PerLane([0; WARP]);
    for i in 0..4 {
        let nibble = selector >> (4 * i);
        let (of, shift) = (if nibble & 4 == 0 { a } else { b }, 8 * (nibble & 3));
        if nibble & 8 == 0 {
            words.0.iter_mut().zip(&of.0).for_each(|(word, of)| *word |= (of >> shift & 0xff) << (8 * i));
        } else {
            words.0.iter_mut().zip(&of.0).for_each(|(word, of)| *word |= (0xff * (of >> shift >> 7 & 1)) << (8 * i));
        }
    }
    words
}

#[inline(always)]
fn funnel_left(lo: u32, hi: u32, count: u32) -> u32 {
    ((u64::from(hi) << 32 | u64::from(lo)) << count >> 32) as u32
}

#[inline(always)]
fn funnel_right(lo: u32, hi: u32, count: u32) -> u32 {
    ((u64::from(hi) << 32 | u64::from(lo)) >> count) as u32
}

/// `lop3`: each result bit is the bit of `lut` that the three operand bits name.
///
/// The outer loop is over the rows of the table, so that the loop over lanes vectorises.
#[inline(always)]
pub(in crate::exec) fn lop3(lut: u8, a: &PerLane<u32>, b: &PerLane<u32>, c: &PerLane<u32>) -> PerLane<u32> {
    let mut words = PerLane([0; WARP]);
    for row in 0..8_u32 {
        if lut >> row & 1 == 1 {
            // An operand whose bit of the row is 0 counts complemented.
            let [of_a, of_b, of_c] = [2, 1, 0].map(|bit| (row >> bit & 1).wrapping_sub(1));
            for (lane, word) in words.0.iter_mut().enumerate() {
                *word |= (a.0[lane] ^ of_a) & (b.0[lane] ^ of_b) & (c.0[lane] ^ of_c);
            }
        }
    }
    words
}

/// Sum or difference with the carry (or borrow) that goes in and comes out.
#[inline(always)]
pub(in crate::exec) fn carry64(a: u64, b: u64, carry: bool, subtract: bool) -> (u64, bool) {
    if subtract {
        let (first, out) = a.overflowing_sub(b);
        let (value, again) = first.overflowing_sub(u64::from(carry));
        (value, out | again)
    } else {
        let (first, out) = a.overflowing_add(b);
        let (value, again) = first.overflowing_add(u64::from(carry));
        (value, out | again)
    }
}

/// As [`carry64`], on 32 bits.
#[inline(always)]
pub(in crate::exec) fn carry32(a: u32, b: u32, carry: bool, subtract: bool) -> (u32, bool) {
    let (value, _) = carry64(u64::from(a), u64::from(b), carry, subtract);
    (value as u32, value >> 32 & 1 == 1)
}

/// The low `bits` bits, zero or sign extended.
#[inline(always)]
pub(in crate::exec) fn extend(a: u32, bits: u8, signed: bool) -> u32 {
    let unused = 32 - u32::from(bits);
    if signed { ((a << unused) as i32 >> unused) as u32 } else { a << unused >> unused }
}
