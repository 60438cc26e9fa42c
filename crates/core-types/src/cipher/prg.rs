//! The length-extending generator of the key trees: fixed-key AES in Matyas-Meyer-Oseas mode.

use bytemuck::{Pod, Zeroable};

use crate::cipher::aes::{AesKey, Encrypt};

/// The most 128-bit value blocks that one node expands to.
pub const MAX_VALUE_BLOCKS: usize = 4;

/// The most 64-bit payload words of a comparison key: two per value block.
pub const MAX_PAYLOAD_WORDS: usize = 2 * MAX_VALUE_BLOCKS;

/// H(u) = AES(u) xor u, which is hard to invert although the AES key is public.
#[inline]
pub fn hash<E: Encrypt>(cipher: &E, u: u128) -> u128 {
    cipher.encrypt(u) ^ u
}

/// The public AES keys of one bundle of keys.
///
/// A node with seed `s` expands, in direction `c`, to the child `H(s | c)` and to the value blocks
/// `H_j(s | c)`; a last node converts to the value blocks `H_j(s | 2)`. `H` and each `H_j` use
/// different AES keys, and the three inputs made from one seed differ in its two free low bits, so
/// no two uses collide. Both parties must use the same keys.
///
/// The keys are public but should be fresh for each bundle ([`from_nonce`](Self::from_nonce)): an
/// attack on a fixed key then gains nothing across bundles (Guo, Katz, Wang, Yu, "Efficient and
/// Secure Multiparty Computation from Fixed-Key Block Ciphers", 2019).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct PrgKeys {
    /// The key of `H`: children, and with them the leaf blocks of a comparison tree.
    pub child: AesKey,
    /// The keys of `H_j`.
    pub value: [AesKey; MAX_VALUE_BLOCKS],
}

impl PrgKeys {
    /// The keys of the bundle with public nonce `nonce`.
    ///
    /// They are the AES-128 encryptions, under the nonce, of the blocks 0 (for `child`) and 1, 2,
    /// .. (for `value`), little-endian. They are distinct because AES is a permutation.
    #[must_use]
    pub fn from_nonce(nonce: [u8; 16]) -> Self {
        let cipher = AesKey::new(nonce);
        let derived = |i: u128| AesKey::new(cipher.encrypt(i).to_le_bytes());
        Self { child: derived(0), value: core::array::from_fn(|j| derived(j as u128 + 1)) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use core::cell::Cell;

    use super::*;

    /// A cheap cipher, for what holds whatever the cipher is. It counts its blocks.
    #[derive(Default)]
    pub(crate) struct Mix {
        salt: u128,
        blocks: Cell<u64>,
    }

    impl Mix {
        /// A cipher that is unrelated to the ciphers of other salts.
        pub(crate) fn salted(salt: u128) -> Self {
            Self { salt, blocks: Cell::new(0) }
        }

        /// The number of blocks since this was last asked.
        pub(crate) fn taken(&self) -> u64 {
            self.blocks.take()
        }
    }

    impl Encrypt for Mix {
        fn encrypt(&self, block: u128) -> u128 {
            self.blocks.set(self.blocks.get() + 1);
            let mixed = (block ^ self.salt << 32).wrapping_mul(0xd134_2543_de82_ef95_2360_ed05_1fc6_5da5);
            let mixed = (mixed ^ mixed >> 67).wrapping_mul(0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f);
            mixed ^ mixed >> 61
        }
    }

    #[test]
    fn the_keys_of_one_bundle_are_distinct() {
        let keys = PrgKeys::from_nonce([7; 16]);
        let mut first = [keys.child.rounds()[0]; MAX_VALUE_BLOCKS + 1];
        for (slot, key) in first[1..].iter_mut().zip(&keys.value) {
            *slot = key.rounds()[0];
        }
        for i in 0..first.len() {
            assert!(!first[..i].contains(&first[i]));
        }
        assert_ne!(keys, PrgKeys::from_nonce([8; 16]));
    }

    /// H(u) for u = 0, 1, 2 and a label, under the key 00 01 .. 0f.
    #[test]
    fn hashes_are_those_of_the_specification() {
        let key = AesKey::new(core::array::from_fn(|i| i as u8));
        let vectors: [(u128, u128); 4] = [
            (0, 0xc6a1_3b37_878f_5b82_6f4f_8162_a1c8_d879),
            (1, 0xe27c_d363_dd7c_87a0_9aff_0e3e_60e0_9c82),
            (2, 0xf98a_e31b_a5db_9cad_9736_4d87_22d4_7326),
            (0x0123_4567_89ab_cdef_0123_4567_89ab_cdec, 0x7435_947f_c7e2_096f_0e8c_8cfd_2250_f7b8),
        ];
        for (u, hashed) in vectors {
            assert_eq!(hash(&key, u).to_le_bytes(), hashed.to_be_bytes(), "{u:#x}");
        }
    }
}
