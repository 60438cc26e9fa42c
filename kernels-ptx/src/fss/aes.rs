//! AES-128 by a table in shared memory that every bank holds whole.
//!
//! `core_types::AES_TABLE` has 256 words of SubBytes and MixColumns. Word `i` of bank `b` lies at
//! word `32 * i + b`, and a lane reads bank `lane` only: the 32 look-ups of a warp never meet in a
//! bank, whatever their indices are, so that each takes the same time. Their addresses are
//! nevertheless functions of secret labels, which a tenant of the same multiprocessor might hope to
//! observe; this is the one place of the kernels where that is so, and what evaluates keys does
//! without it in [`bitsliced`](super::bitsliced).
//!
//! A block needs 160 look-ups: 16 for each of 9 rounds, and 16 more for the last, which keeps the
//! SubBytes byte alone.

use core::arch::asm;

use core_types::{AES_TABLE, AesKey, Encrypt};

use crate::dev::{
    idx,
    memory::{
        gmem,
        smem::{Layout, Region, SharedAddr},
    },
    sync::block_sync,
};

const BANKS: u32 = 32;

/// The table.
const TABLE: Region<u32> = Layout::new().array(256 * BANKS);

/// Shared memory after the table.
pub(super) const BEHIND_TABLE: Layout = TABLE.end();

/// Bytes of the table.
pub(super) const TABLE_BYTES: u32 = BEHIND_TABLE.bytes();

/// Bytes from one word to the next in a bank.
const STRIDE: u32 = 4 * BANKS;

#[unsafe(no_mangle)]
static AES_WORDS: [u32; 256] = AES_TABLE;

/// One bank's copy of the table, by the address of its first word.
#[derive(Clone, Copy)]
pub(super) struct Table(SharedAddr);

impl Table {
    /// Fills the table, waits for all threads of the block, and returns the calling lane's copy.
    ///
    /// # Safety
    /// All threads of a one-dimensional block call, with at least [`TABLE_BYTES`] of dynamic shared
    /// memory, whose first bytes are used for nothing else.
    #[inline(always)]
    pub(super) unsafe fn fill() -> Self {
        let words = gmem::as_global(AES_WORDS.as_ptr());
        let table = SharedAddr::dynamic();
        // four banks at a time
        for at in idx::block_stride(TABLE_BYTES / 16) {
            store(table.offset(16 * at), [*words.add((16 * at / STRIDE) as usize); 4]);
        }
        block_sync();
        Self(table.offset(4 * idx::lane()))
    }

    /// The word of byte `AT` of `column`.
    #[inline(always)]
    fn word<const AT: u32>(self, column: u32) -> u32 {
        let byte = match AT {
            0 => permute::<0x4440>(column, 0),
            1 => permute::<0x4441>(column, 0),
            2 => permute::<0x4442>(column, 0),
            _ => permute::<0x4443>(column, 0),
        };
        // SAFETY: a byte's word lies in the table, which was written before the barrier of `fill`.
        unsafe { load(self.0.offset(byte * STRIDE)) }
    }

    /// A middle round, on the four columns of the state.
    #[inline(always)]
    fn round(self, [a, b, c, d]: [u32; 4], key: [u32; 4]) -> [u32; 4] {
        let column = |a, b, c, d, key| {
            self.word::<0>(a)
                ^ self.word::<1>(b).rotate_left(8)
                ^ self.word::<2>(c).rotate_left(16)
                ^ self.word::<3>(d).rotate_left(24)
                ^ key
        };
        [column(a, b, c, d, key[0]), column(b, c, d, a, key[1]), column(c, d, a, b, key[2]), column(d, a, b, c, key[3])]
    }

    /// The last round.
    #[inline(always)]
    fn final_round(self, [a, b, c, d]: [u32; 4], key: [u32; 4]) -> [u32; 4] {
        let column = |a, b, c, d, key| {
            // the second lowest byte of a word is SubBytes alone
            let low = permute::<0x0051>(self.word::<0>(a), self.word::<1>(b));
            let high = permute::<0x5100>(self.word::<2>(c), self.word::<3>(d));
            permute::<0x7610>(low, high) ^ key
        };
        [column(a, b, c, d, key[0]), column(b, c, d, a, key[1]), column(c, d, a, b, key[2]), column(d, a, b, c, key[3])]
    }

    /// The encryption of `block` under the round keys `key(0)` .. `key(10)`.
    #[inline(always)]
    fn encrypt(self, block: u128, key: impl Fn(usize) -> u128) -> u128 {
        let mut state = columns(block ^ key(0));
        // written out: the keys of a parameter record are operands only at indices known to the compiler
        macro_rules! rounds {
            ($($round:literal)*) => {$( state = self.round(state, columns(key($round))); )*};
        }
        rounds!(1 2 3 4 5 6 7 8 9);
        block_of(self.final_round(state, columns(key(10))))
    }
}

/// The columns of the state.
#[inline(always)]
pub(super) fn columns(block: u128) -> [u32; 4] {
    [block as u32, (block >> 32) as u32, (block >> 64) as u32, (block >> 96) as u32]
}

#[inline(always)]
fn block_of(columns: [u32; 4]) -> u128 {
    let [a, b, c, d] = columns.map(u128::from);
    a | b << 32 | c << 64 | d << 96
}

/// AES under round keys out of the parameter record, which are operands at no cost.
#[derive(Clone, Copy)]
pub(super) struct ParamAes<'a> {
    pub(super) table: Table,
    pub(super) key: &'a AesKey,
}

impl Encrypt for ParamAes<'_> {
    #[inline(always)]
    fn encrypt(&self, block: u128) -> u128 {
        self.table.encrypt(block, |i| self.key.rounds()[i])
    }
}

/// Round keys of several ciphers in shared memory, for loops over ciphers.
#[derive(Clone, Copy)]
pub(super) struct SharedKeys(SharedAddr);

/// Bytes of the round keys of one cipher.
const KEY_BYTES: u32 = size_of::<AesKey>() as u32;

impl SharedKeys {
    /// Room for the round keys of `ciphers` ciphers after the table.
    pub(super) const fn region(ciphers: u32) -> Region<AesKey> {
        BEHIND_TABLE.array(ciphers)
    }

    /// The keys in `region`.
    ///
    /// # Safety
    /// The launch gives the block the region's bytes.
    #[inline(always)]
    pub(super) unsafe fn at(region: Region<AesKey>) -> Self {
        Self(region.slice().addr(0))
    }

    /// Writes the round keys of cipher `index`.
    ///
    /// # Safety
    /// The index lies in the region; one thread calls, before the barrier of [`Table::fill`].
    #[inline(always)]
    pub(super) unsafe fn write(self, index: u32, key: &AesKey) {
        macro_rules! each {
            ($($round:literal)*) => {$(
                store(self.0.offset(index * KEY_BYTES + 16 * $round), columns(key.rounds()[$round]));
            )*};
        }
        each!(0 1 2 3 4 5 6 7 8 9 10);
    }
}

/// AES under round keys in shared memory, which all lanes read at once.
#[derive(Clone, Copy)]
pub(super) struct SharedAes {
    pub(super) table: Table,
    pub(super) keys: SharedKeys,
    pub(super) index: u32,
}

impl Encrypt for SharedAes {
    #[inline(always)]
    fn encrypt(&self, block: u128) -> u128 {
        let key = self.keys.0.offset(self.index * KEY_BYTES);
        // SAFETY: the index of the cipher lies in the region, written before the barrier of `Table::fill`.
        self.table.encrypt(block, |round| unsafe { load_block(key.offset(16 * round as u32)) })
    }
}

/// The bytes of `low` (0 to 3) and `high` (4 to 7) that the nibbles of `SELECT` name.
///
/// The lowest nibble comes first.
#[inline(always)]
fn permute<const SELECT: u32>(low: u32, high: u32) -> u32 {
    let word;
    // SAFETY: arithmetic on registers.
    unsafe {
        asm!("prmt.b32 {}, {}, {}, {};", out(reg32) word, in(reg32) low, in(reg32) high, const SELECT,
            options(pure, nomem, nostack, preserves_flags));
    }
    word
}

/// Reads a word of shared memory.
///
/// # Safety
/// The word lies in the block's shared memory, and a barrier lies between its writes and this read.
#[inline(always)]
unsafe fn load(address: SharedAddr) -> u32 {
    let word;
    asm!("ld.shared.b32 {}, [{}];", out(reg32) word, in(reg32) address.0,
        options(pure, readonly, nostack, preserves_flags));
    word
}

/// Reads four words of shared memory.
///
/// # Safety
/// As [`load`]; the address is a multiple of 16.
#[inline(always)]
unsafe fn load_block(address: SharedAddr) -> u128 {
    let (a, b, c, d);
    asm!("ld.shared.v4.b32 {{{}, {}, {}, {}}}, [{}];",
        out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) address.0,
        options(pure, readonly, nostack, preserves_flags));
    block_of([a, b, c, d])
}

/// Writes four words of shared memory.
///
/// # Safety
/// As [`load_block`], and no other thread touches the words before a barrier.
#[inline(always)]
pub(super) unsafe fn store(address: SharedAddr, [a, b, c, d]: [u32; 4]) {
    asm!("st.shared.v4.b32 [{}], {{{}, {}, {}, {}}};",
        in(reg32) address.0, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
        options(nostack, preserves_flags));
}
