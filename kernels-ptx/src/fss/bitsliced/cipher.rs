//! AES on planes, under round keys in shared memory.

use core::{
    arch::asm,
    ops::{BitAnd, BitXor, Not},
};

use core_types::{
    AesKey,
    bitsliced::{PLACES, Places, ROUNDS, byte_at, encrypt, xor},
};

use super::sub_bytes::sub_bytes;
use crate::{
    dev::{
        idx,
        memory::smem::{Layout, Region, SharedAddr},
        warp::{FULL, shfl_idx},
    },
    fss::aes::{columns, store},
};

/// One bit for each of a group's 32 keys, in this lane's place.
#[derive(Clone, Copy)]
pub(super) struct Plane(pub(super) u32);

/// The planes of a byte, bit 0 first.
pub(super) type Planes = [Plane; 8];

impl Plane {
    pub(super) const ZEROS: Self = Self(0);

    /// All bits equal to the lowest bit of `bit`.
    #[inline(always)]
    pub(super) const fn spread(bit: u32) -> Self {
        Self((bit & 1).wrapping_neg())
    }

    /// This plane, and `other` where `which` is set.
    #[inline(always)]
    pub(super) fn or(self, other: Self, which: Self) -> Self {
        self ^ (which & (self ^ other))
    }
}

impl BitXor for Plane {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl BitAnd for Plane {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Plane {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl Places for Plane {
    #[inline(always)]
    fn moved(self, from: impl Fn(u32) -> u32) -> Self {
        let lane = idx::lane();
        Self(shfl_idx(FULL, self.0, lane & PLACES | from(lane % PLACES)))
    }

    #[inline(always)]
    fn sub_bytes(planes: [Self; 8]) -> [Self; 8] {
        sub_bytes(planes.map(|plane| plane.0)).map(Self)
    }
}

/// The planes of the round keys of some ciphers in shared memory.
///
/// For each round and half of a byte, there are four words to a place, so that no two places meet
/// in a bank.
#[derive(Clone, Copy)]
pub(super) struct RoundKeys(SharedAddr);

/// Bytes from one place to the next.
const STEP: u32 = 16;

/// Bytes from one round to the next.
const ROUND: u32 = 2 * PLACES * STEP;

/// Bytes of one cipher.
const CIPHER: u32 = (ROUNDS + 1) * ROUND;

impl RoundKeys {
    /// Room for the keys of `ciphers` ciphers.
    pub(super) const fn region(ciphers: u32) -> Region<u128> {
        Layout::new().array(ciphers * CIPHER / STEP)
    }

    /// The keys in `region`.
    ///
    /// # Safety
    /// The launch gives the block the region's bytes.
    #[inline(always)]
    pub(super) unsafe fn at(region: Region<u128>) -> Self {
        Self(region.slice().addr(0))
    }

    /// Writes the round keys of cipher `index`, a thread one place of a round at a time.
    ///
    /// # Safety
    /// All threads of a one-dimensional block call, before a barrier and with an index in the
    /// region.
    #[inline(always)]
    pub(super) unsafe fn write(self, index: u32, key: &AesKey) {
        let own = self.0.offset(index * CIPHER);
        for item in idx::block_stride((ROUNDS + 1) * PLACES) {
            let (round, place) = (item / PLACES, item % PLACES);
            let byte = byte_at(place, round);
            let mut word = 0;
            // written out: the keys of a parameter record are operands only at indices known to the compiler
            macro_rules! each {
                ($($round:literal)*) => {$(
                    let [a, b, c, d] = columns(key.rounds()[$round]);
                    let [low, high] = if byte & 4 == 0 { [a, c] } else { [b, d] };
                    let of_round = if byte & 8 == 0 { low } else { high };
                    word = if round == $round { of_round } else { word };
                )*};
            }
            each!(0 1 2 3 4 5 6 7 8 9 10);
            let bits = word >> (8 * (byte & 3));
            let plane = |bit: u32| Plane::spread(bits >> bit).0;
            let at = own.offset(round * ROUND + place * STEP);
            store(at, [plane(0), plane(1), plane(2), plane(3)]);
            store(at.offset(ROUND / 2), [plane(4), plane(5), plane(6), plane(7)]);
        }
    }

    /// The hashes of a group's labels under cipher `index`: AES(u) ^ u.
    ///
    /// # Safety
    /// As [`encrypt`](Self::encrypt).
    #[inline(always)]
    pub(super) unsafe fn hash(self, index: u32, labels: Planes) -> Planes {
        xor(self.encrypt(index, labels), labels)
    }

    /// The encryptions of a group's blocks under cipher `index`.
    ///
    /// # Safety
    /// All lanes of a warp call, after the barrier that follows [`write`](Self::write), with an
    /// index that was written.
    #[inline(always)]
    pub(super) unsafe fn encrypt(self, index: u32, blocks: Planes) -> Planes {
        let own = self.0.offset(index * CIPHER + idx::lane() % PLACES * STEP);
        // SAFETY: round and place lie in the region.
        let key = |round| unsafe {
            let at = own.offset(round * ROUND);
            let ([a, b, c, d], [e, f, g, h]) = (load(at), load(at.offset(ROUND / 2)));
            [Plane(a), Plane(b), Plane(c), Plane(d), Plane(e), Plane(f), Plane(g), Plane(h)]
        };
        encrypt(blocks, key)
    }
}

/// Reads four words of shared memory, each time anew.
///
/// Kept words would take the registers of the state.
///
/// # Safety
/// The words lie in the block's shared memory at a multiple of 16, and a barrier lies between their
/// writes and this read.
#[inline(always)]
unsafe fn load(address: SharedAddr) -> [u32; 4] {
    let (a, b, c, d);
    asm!("ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
        out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) address.0,
        options(readonly, nostack, preserves_flags));
    [a, b, c, d]
}
