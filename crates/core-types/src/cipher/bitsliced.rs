//! AES-128 on bit planes, 32 blocks at once.
//!
//! It uses no table, and no branch or address depends on the blocks.
//!
//! A *plane* holds one bit of one byte of the state for each of 32 blocks. The 16 bytes of the
//! state are in 16 *places* that compute side by side, the lanes of half a warp: each holds the
//! eight planes of its byte, bit 0 first. SubBytes is then a Boolean circuit within a place, and
//! MixColumns an exchange of planes between places ([`Places`]).
//!
//! ShiftRows moves nothing. Bytes stay where they are, and after k shifts the place of column p and
//! row r holds the byte of column p - k r modulo 4 ([`byte_at`]); MixColumns and round keys follow.
//! Only the ciphertext is put in order.
//!
//! A round exchanges 16 planes per place, and a block of 32 encryptions exchanges 9 * 16 + 8 = 152;
//! a round's circuits have 113 gates for SubBytes, and 35 exclusive ors for MixColumns and the
//! round key.
//!
//! 16-byte values of 32 owners, such as blocks or correction words, become planes in two steps: the
//! places of a column exchange bytes until each has its own byte of every owner, four to a word
//! ([`owner_at`] gives the order); then [`transposed`] turns the bits into planes.

#[cfg(test)]
mod tests;

mod sub_bytes;

use core::ops::{BitAnd, BitXor, Not};

pub use sub_bytes::sub_bytes;

/// Rounds of AES-128.
pub const ROUNDS: u32 = 10;

/// Places of a group: bytes of the state.
pub const PLACES: u32 = 16;

/// One bit for each of 32 blocks, in one place or in all of them.
pub trait Plane: Copy + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self> {}

impl<T: Copy + BitXor<Output = Self> + BitAnd<Output = Self> + Not<Output = Self>> Plane for T {}

/// A plane in each place of a group; places can exchange them.
pub trait Places: Plane {
    /// In each place `at`, the plane of place `from(at)`.
    #[must_use]
    fn moved(self, from: impl Fn(u32) -> u32) -> Self;

    /// SubBytes in each place, as [`sub_bytes`].
    ///
    /// A processor with gates of three inputs needs fewer gates.
    #[inline(always)]
    #[must_use]
    fn sub_bytes(planes: [Self; 8]) -> [Self; 8] {
        sub_bytes(planes)
    }
}

/// The byte of the state that is in place `at` after `shifts` ShiftRows.
#[inline]
#[must_use]
pub const fn byte_at(at: u32, shifts: u32) -> u32 {
    let row = at & 3;
    (at.wrapping_sub(4 * shifts * row) & 12) | row
}

/// The place, after `shifts` ShiftRows, of the byte that belongs in place `at`.
#[inline]
const fn place_of(at: u32, shifts: u32) -> u32 {
    let row = at & 3;
    (at.wrapping_add(4 * shifts * row) & 12) | row
}

/// The place of the byte `rows` rows below the byte of place `at`, after `shifts` ShiftRows.
///
/// Both bytes are in the same column.
#[inline]
const fn below(at: u32, rows: u32, shifts: u32) -> u32 {
    (at.wrapping_add(4 * shifts * rows) & 12) | (at.wrapping_add(rows) & 3)
}

/// The owner of bit `bit` of a plane.
///
/// Word j holds bytes of the owners 4 j to 4 j + 3.
#[inline]
#[must_use]
pub const fn owner_at(bit: u32) -> u32 {
    4 * (bit & 7) + (bit >> 3)
}

/// The bit of a plane that belongs to `owner`.
#[inline]
#[must_use]
pub const fn bit_of(owner: u32) -> u32 {
    8 * (owner & 3) + (owner >> 2)
}

/// `of` each of eight planes.
#[inline]
pub fn each<P, T>([p0, p1, p2, p3, p4, p5, p6, p7]: [P; 8], of: impl Fn(P) -> T) -> [T; 8] {
    [of(p0), of(p1), of(p2), of(p3), of(p4), of(p5), of(p6), of(p7)]
}

/// Plane-wise xor of `a` and `b`.
#[inline]
#[must_use]
pub fn xor<P: Plane>(a: [P; 8], b: [P; 8]) -> [P; 8] {
    let ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3, b4, b5, b6, b7]) = (a, b);
    [a0 ^ b0, a1 ^ b1, a2 ^ b2, a3 ^ b3, a4 ^ b4, a5 ^ b5, a6 ^ b6, a7 ^ b7]
}

/// The product of each byte with x in the field of AES.
#[inline]
#[must_use]
pub fn double<P: Plane>([b0, b1, b2, b3, b4, b5, b6, b7]: [P; 8]) -> [P; 8] {
    [b7, b0 ^ b7, b1, b2 ^ b7, b3 ^ b7, b4, b5, b6]
}

/// MixColumns after `shifts` ShiftRows: 2a + 3b + c + d for the bytes of a column.
///
/// a, b, c and d are the bytes of the column from this place down.
#[inline]
fn mix_columns<P: Places>(own: [P; 8], shifts: u32) -> [P; 8] {
    let next = each(own, |plane| plane.moved(|at| below(at, 1, shifts)));
    let pair = xor(own, next);
    let opposite = each(pair, |plane| plane.moved(|at| below(at, 2, shifts)));
    xor(xor(double(pair), next), opposite)
}

/// Encrypts 32 blocks, given the planes of the round keys.
///
/// `key(k)` returns the planes added in round k, from 0 on. In each place these are the bits of
/// byte [`byte_at`]`(at, k)`, each as all ones or zero.
#[inline]
pub fn encrypt<P: Places>(blocks: [P; 8], key: impl Fn(u32) -> [P; 8]) -> [P; 8] {
    let mut state = xor(blocks, key(0));
    let mut round = 1;
    while round < ROUNDS {
        state = xor(mix_columns(P::sub_bytes(state), round), key(round));
        round += 1;
    }
    let shifted = xor(P::sub_bytes(state), key(ROUNDS));
    each(shifted, |plane| plane.moved(|at| place_of(at, ROUNDS)))
}

/// Compares bit indices with the owners' positions: the planes of one byte of a prefix mask.
///
/// Plane j holds, for bit b = 8 `place` + j of 128, whether b is at most the position of each
/// owner; computed from the seven planes of the positions and the four of the place's number.
#[inline]
pub fn prefix<P: Plane>([p0, p1, p2, high @ ..]: [P; 7], place: [P; 4]) -> [P; 8] {
    let [h0, h1, h2, h3] = high;
    let [e0, e1, e2, e3] = [!(h0 ^ place[0]), !(h1 ^ place[1]), !(h2 ^ place[2]), !(h3 ^ place[3])];
    let (e32, e321) = (e3 & e2, e3 & e2 & e1);
    // the highest bit that differs is one of the position: at most one of the terms holds
    let beyond = (h3 & !place[3]) ^ (e3 & h2 & !place[2]) ^ (e32 & h1 & !place[1]) ^ (e321 & h0 & !place[0]);
    let equal = e321 & e0;
    let either = |a: P, b: P| !(!a & !b);
    let reach = |low: P| beyond ^ (equal & low);
    let (low, both) = (either(p0, p1), p0 & p1);
    [
        beyond ^ equal,
        reach(either(low, p2)),
        reach(either(p1, p2)),
        reach(either(both, p2)),
        reach(p2),
        reach(p2 & low),
        reach(p2 & p1),
        reach(p2 & both),
    ]
}

/// The planes of 32 bytes: bit j of byte b of plane k is bit k of byte b of word j.
///
/// Its own inverse.
#[inline]
#[must_use]
pub fn transposed(words: [u32; 8]) -> [u32; 8] {
    let [w0, w1, w2, w3, w4, w5, w6, w7] = words;
    let ((w0, w1), (w2, w3), (w4, w5), (w6, w7)) =
        (swapped::<1>(w0, w1), swapped::<1>(w2, w3), swapped::<1>(w4, w5), swapped::<1>(w6, w7));
    let ((w0, w2), (w1, w3), (w4, w6), (w5, w7)) =
        (swapped::<2>(w0, w2), swapped::<2>(w1, w3), swapped::<2>(w4, w6), swapped::<2>(w5, w7));
    let ((w0, w4), (w1, w5), (w2, w6), (w3, w7)) =
        (swapped::<4>(w0, w4), swapped::<4>(w1, w5), swapped::<4>(w2, w6), swapped::<4>(w3, w7));
    [w0, w1, w2, w3, w4, w5, w6, w7]
}

/// Swaps groups of bits between `a` and `b`.
///
/// The higher half of each group of 2 `N` bits of `a` is swapped with the lower half of the group
/// of `b`.
#[inline]
const fn swapped<const N: u32>(a: u32, b: u32) -> (u32, u32) {
    let low = match N {
        1 => 0x5555_5555,
        2 => 0x3333_3333,
        _ => 0x0f0f_0f0f,
    };
    ((a & low) | ((b << N) & !low), ((a >> N) & low) | (b & !low))
}
