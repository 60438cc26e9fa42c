//! Blake2s of many messages at once, one in each lane of a vector.

use core_types::blake2s::{BLOCK_WORDS, IV, SIGMA, START};

use crate::simd::{LaneKernel, bits::Bits};

/// The function G of Blake2s (RFC 7693, section 3.1): mixes `x` and `y` into four words.
struct Mix<V> {
    words: [V; 4],
    x: V,
    y: V,
}

impl<L: Bits> LaneKernel<L> for Mix<L::V> {
    type Out = [L::V; 4];

    #[inline(always)]
    fn run(self, l: L) -> [L::V; 4] {
        let Self { words: [mut a, mut b, mut c, mut d], x, y } = self;
        a = l.add(l.add(a, x), b);
        d = l.rotate_16(l.xor(d, a));
        c = l.add(c, d);
        b = l.rotate_12(l.xor(b, c));
        a = l.add(l.add(a, y), b);
        d = l.rotate_8(l.xor(d, a));
        c = l.add(c, d);
        b = l.rotate_7(l.xor(b, c));
        [a, b, c, d]
    }
}

macro_rules! mix {
    ($l:ident, $v:ident, $a:literal, $b:literal, $c:literal, $d:literal, $x:expr, $y:expr) => {
        [$v[$a], $v[$b], $v[$c], $v[$d]] = $l.inline(Mix { words: [$v[$a], $v[$b], $v[$c], $v[$d]], x: $x, y: $y });
    };
}

macro_rules! round {
    ($l:ident, $v:ident, $m:ident, $r:literal) => {
        mix!($l, $v, 0, 4, 8, 12, $m[SIGMA[$r][0] as usize], $m[SIGMA[$r][1] as usize]);
        mix!($l, $v, 1, 5, 9, 13, $m[SIGMA[$r][2] as usize], $m[SIGMA[$r][3] as usize]);
        mix!($l, $v, 2, 6, 10, 14, $m[SIGMA[$r][4] as usize], $m[SIGMA[$r][5] as usize]);
        mix!($l, $v, 3, 7, 11, 15, $m[SIGMA[$r][6] as usize], $m[SIGMA[$r][7] as usize]);
        mix!($l, $v, 0, 5, 10, 15, $m[SIGMA[$r][8] as usize], $m[SIGMA[$r][9] as usize]);
        mix!($l, $v, 1, 6, 11, 12, $m[SIGMA[$r][10] as usize], $m[SIGMA[$r][11] as usize]);
        mix!($l, $v, 2, 7, 8, 13, $m[SIGMA[$r][12] as usize], $m[SIGMA[$r][13] as usize]);
        mix!($l, $v, 3, 4, 9, 14, $m[SIGMA[$r][14] as usize], $m[SIGMA[$r][15] as usize]);
    };
}

/// [`compress`](core_types::blake2s::compress) in each lane.
///
/// The words of a block and of a chaining value are vectors.
#[inline(always)]
pub(crate) fn compress<L: Bits>(
    l: L,
    chain: [L::V; 8],
    block: &[L::V; BLOCK_WORDS],
    bytes: u64,
    last: bool,
) -> [L::V; 8] {
    let [h0, h1, h2, h3, h4, h5, h6, h7] = chain;
    let mut v = [
        h0,
        h1,
        h2,
        h3,
        h4,
        h5,
        h6,
        h7,
        l.splat(IV[0]),
        l.splat(IV[1]),
        l.splat(IV[2]),
        l.splat(IV[3]),
        l.splat(IV[4] ^ bytes as u32),
        l.splat(IV[5] ^ (bytes >> 32) as u32),
        l.splat(IV[6] ^ if last { u32::MAX } else { 0 }),
        l.splat(IV[7]),
    ];
    let m = block;
    round!(l, v, m, 0);
    round!(l, v, m, 1);
    round!(l, v, m, 2);
    round!(l, v, m, 3);
    round!(l, v, m, 4);
    round!(l, v, m, 5);
    round!(l, v, m, 6);
    round!(l, v, m, 7);
    round!(l, v, m, 8);
    round!(l, v, m, 9);
    [
        l.xor(h0, l.xor(v[0], v[8])),
        l.xor(h1, l.xor(v[1], v[9])),
        l.xor(h2, l.xor(v[2], v[10])),
        l.xor(h3, l.xor(v[3], v[11])),
        l.xor(h4, l.xor(v[4], v[12])),
        l.xor(h5, l.xor(v[5], v[13])),
        l.xor(h6, l.xor(v[6], v[14])),
        l.xor(h7, l.xor(v[7], v[15])),
    ]
}

/// The digests of messages of at most one block.
///
/// A message has `bytes` bytes of `block`; the rest of `block` is zero.
#[inline(always)]
pub(crate) fn one_block<L: Bits>(l: L, block: &[L::V; BLOCK_WORDS], bytes: u64) -> [L::V; 8] {
    let mut chain = [l.splat(START[0]); 8];
    for (lanes, word) in chain.iter_mut().zip(START) {
        *lanes = l.splat(word);
    }
    compress(l, chain, block, bytes, true)
}

/// Transposes rows of `W` words, contiguous in memory, to a vector for each word.
///
/// `W` is a power of two.
#[inline(always)]
pub(crate) fn planes_of_rows<L: Bits, const W: usize>(l: L, mut rows: [L::V; W]) -> [L::V; W] {
    let mut bit = 1;
    while bit < W {
        let mut i = 0;
        while i < W {
            if i & bit == 0 {
                (rows[i], rows[i | bit]) = l.unzip(rows[i], rows[i | bit]);
            }
            i += 1;
        }
        bit *= 2;
    }
    rows
}

/// The inverse of [`planes_of_rows`].
#[inline(always)]
pub(crate) fn rows_of_planes<L: Bits, const W: usize>(l: L, mut planes: [L::V; W]) -> [L::V; W] {
    let mut bit = W / 2;
    while bit > 0 {
        let mut i = 0;
        while i < W {
            if i & bit == 0 {
                (planes[i], planes[i | bit]) = l.zip(planes[i], planes[i | bit]);
            }
            i += 1;
        }
        bit /= 2;
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{dispatch, levels};

    struct Agrees;

    impl<L: Bits> LaneKernel<L> for Agrees {
        type Out = ();

        #[inline(always)]
        fn run(self, l: L) {
            let mut rng = fastrand::Rng::with_seed(7);
            let rows: Vec<u32> = core::iter::repeat_with(|| rng.u32(..)).take(L::N * 24).collect();
            let (blocks, chains) = rows.split_at(L::N * 16);
            let (mut block, mut chain) = ([l.splat(0); 16], [l.splat(0); 8]);
            for (i, v) in block.iter_mut().enumerate() {
                *v = l.load(&blocks[i * L::N..]);
            }
            for (i, v) in chain.iter_mut().enumerate() {
                *v = l.load(&chains[i * L::N..]);
            }
            let (block, chain) = (planes_of_rows(l, block), planes_of_rows(l, chain));
            for (bytes, last) in [(64, false), (0x1_2345_6789, false), (192, true)] {
                let digests = rows_of_planes(l, compress(l, chain, &block, bytes, last));
                let mut got = vec![0; L::N * 8];
                for (i, &v) in digests.iter().enumerate() {
                    l.store(&mut got[i * L::N..], v);
                }
                let each = blocks.as_chunks().0.iter().zip(chains.as_chunks().0);
                let expected: Vec<u32> =
                    each.flat_map(|(block, &chain)| core_types::blake2s::compress(chain, block, bytes, last)).collect();
                assert_eq!(got, expected);
            }
        }
    }

    #[test]
    fn every_lane_computes_what_one_message_gives() {
        for simd in levels() {
            dispatch(simd, Agrees);
        }
        #[cfg(target_arch = "x86_64")]
        Agrees.run(crate::simd::bits::portable::Arrays);
    }
}
