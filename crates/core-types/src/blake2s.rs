//! Blake2s-256 on words: the hash of commitment trees and transcripts.
//!
//! <https://www.rfc-editor.org/rfc/rfc7693>, without a key. Messages here are whole words, as field
//! elements and digests are.

use bytemuck::{Pod, Zeroable};

/// A digest: eight words, each holding four bytes in little-endian order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Digest(pub [u32; 8]);

/// Words of a message block.
pub const BLOCK_WORDS: usize = 16;

/// Bytes of a message block.
pub const BLOCK_BYTES: u64 = 64;

/// The initialisation vector.
pub const IV: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// The order in which a round takes the words of a block.
pub const SIGMA: [[u8; BLOCK_WORDS]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The chaining value before the first block of a 32-byte digest without a key.
pub const START: [u32; 8] = [IV[0] ^ 0x0101_0020, IV[1], IV[2], IV[3], IV[4], IV[5], IV[6], IV[7]];

macro_rules! mix {
    ($v:ident, $a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
        $v[$a] = $v[$a].wrapping_add($v[$b]).wrapping_add($x);
        $v[$d] = ($v[$d] ^ $v[$a]).rotate_right(16);
        $v[$c] = $v[$c].wrapping_add($v[$d]);
        $v[$b] = ($v[$b] ^ $v[$c]).rotate_right(12);
        $v[$a] = $v[$a].wrapping_add($v[$b]).wrapping_add($y);
        $v[$d] = ($v[$d] ^ $v[$a]).rotate_right(8);
        $v[$c] = $v[$c].wrapping_add($v[$d]);
        $v[$b] = ($v[$b] ^ $v[$c]).rotate_right(7);
    };
}

macro_rules! round {
    ($v:ident, $m:ident, $r:literal) => {
        mix!($v, 0, 4, 8, 12, $m[SIGMA[$r][0] as usize], $m[SIGMA[$r][1] as usize]);
        mix!($v, 1, 5, 9, 13, $m[SIGMA[$r][2] as usize], $m[SIGMA[$r][3] as usize]);
        mix!($v, 2, 6, 10, 14, $m[SIGMA[$r][4] as usize], $m[SIGMA[$r][5] as usize]);
        mix!($v, 3, 7, 11, 15, $m[SIGMA[$r][6] as usize], $m[SIGMA[$r][7] as usize]);
        mix!($v, 0, 5, 10, 15, $m[SIGMA[$r][8] as usize], $m[SIGMA[$r][9] as usize]);
        mix!($v, 1, 6, 11, 12, $m[SIGMA[$r][10] as usize], $m[SIGMA[$r][11] as usize]);
        mix!($v, 2, 7, 8, 13, $m[SIGMA[$r][12] as usize], $m[SIGMA[$r][13] as usize]);
        mix!($v, 3, 4, 9, 14, $m[SIGMA[$r][14] as usize], $m[SIGMA[$r][15] as usize]);
    };
}

/// Compresses one block into the chaining value and returns the next one.
///
/// The block ends at byte `bytes` of the message; `last` marks the end of the message.
///
/// The function is always inlined: on a GPU, a block passed by reference would leave the registers.
#[inline(always)]
#[must_use]
pub fn compress(chain: [u32; 8], block: &[u32; BLOCK_WORDS], bytes: u64, last: bool) -> [u32; 8] {
    let [h0, h1, h2, h3, h4, h5, h6, h7] = chain;
    let end = if last { u32::MAX } else { 0 };
    let mut v = [
        h0,
        h1,
        h2,
        h3,
        h4,
        h5,
        h6,
        h7,
        IV[0],
        IV[1],
        IV[2],
        IV[3],
        IV[4] ^ bytes as u32,
        IV[5] ^ (bytes >> 32) as u32,
        IV[6] ^ end,
        IV[7],
    ];
    let m = block;
    round!(v, m, 0);
    round!(v, m, 1);
    round!(v, m, 2);
    round!(v, m, 3);
    round!(v, m, 4);
    round!(v, m, 5);
    round!(v, m, 6);
    round!(v, m, 7);
    round!(v, m, 8);
    round!(v, m, 9);
    [
        h0 ^ v[0] ^ v[8],
        h1 ^ v[1] ^ v[9],
        h2 ^ v[2] ^ v[10],
        h3 ^ v[3] ^ v[11],
        h4 ^ v[4] ^ v[12],
        h5 ^ v[5] ^ v[13],
        h6 ^ v[6] ^ v[14],
        h7 ^ v[7] ^ v[15],
    ]
}

/// The digest of a message of at most one block.
///
/// The message is the first `bytes` bytes of `block`; the rest of `block` is zero.
#[inline(always)]
#[must_use]
pub fn one_block(block: &[u32; BLOCK_WORDS], bytes: u32) -> Digest {
    Digest(compress(START, block, bytes as u64, true))
}

/// A node of a tree: the digest of its two children, one after the other.
#[inline]
#[must_use]
pub fn node(left: Digest, right: Digest) -> Digest {
    let ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]) = (left.0, right.0);
    one_block(&[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p], 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_rfc() {
        // RFC 7693, appendix B: "abc".
        let mut block = [0; 16];
        block[0] = u32::from_le_bytes(*b"abc\0");
        let expected =
            [0x8c5e_8c50, 0xe214_7c32, 0xa32b_a7e1, 0x2f45_eb4e, 0x208b_4537, 0x293a_d69e, 0x4c9b_994d, 0x8259_6786];
        assert_eq!(one_block(&block, 3).0, expected);
    }
}
