//! Evaluation of keys by AES on bit planes: no address and no branch depends on a secret.
//!
//! `core_types::bitsliced` states the circuits. Half a warp takes the 32 keys to which rows are
//! padded: lane i of it is the place of byte i of their labels, eight registers of 32 bits. A warp
//! walks 64 keys, and exchanges planes by shuffles. Correction words become planes as they are read
//! ([`planes`](seat::Seat::planes)), so sections have the layout that the table kernels read.
//!
//! For each level of 64 keys a lane has 10 * 73 gates of SubBytes, each of three inputs, 9 * 35 +
//! 16 of MixColumns and round keys, 80 operations to make planes of the correction word, about 50
//! for the walk; 152 exchanges of AES, 17 of the correction word and the control bit; and 22 loads
//! of round keys, 8 of the correction word. The assembler joins the other gates to operations with
//! three inputs too: a middle round has 111 of them, a level about 1255. A multiprocessor takes two
//! warps' operations of the logic pipe and one warp's exchange a clock, so that logic bounds: about
//! 630 clocks.

mod all;
mod cipher;
mod cmp;
mod dcf;
mod nodes;
mod pairs;
mod points;
mod seat;
mod seed;
mod sub_bytes;

use self::cipher::RoundKeys;
use super::GROUP;
use crate::dev::memory::smem::Region;

/// Threads of a block, which takes two keys per thread at a time.
pub(super) const THREADS: u32 = 128;

/// Warps of a block.
const WARPS: u32 = THREADS / 32;

/// The round keys of the children's cipher.
const ONE_CIPHER: Region<u128> = RoundKeys::region(1);

/// Shared memory of a block that evaluates keys without payload, or expands a seed.
pub(super) const CMP_BYTES: u32 = ONE_CIPHER.end().bytes();

/// Groups of 32 keys to a warp.
const HALVES: u32 = 2;

/// Keys that a warp takes at a time.
const WARP_KEYS: u32 = HALVES * GROUP;
