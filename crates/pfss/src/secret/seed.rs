//! Randomness from a seed of 32 bytes, by AES-128 in counter mode.
//!
//! The first half of a seed is the key, the second the first counter block (NIST SP 800-38A, 6.5).
//! Section `s` begins `2^64 s` blocks later, so that sections never overlap.

use aes::Aes128;
use backend_api::{
    BackendError, Mut,
    ops::fss::{ExpandSeed, FssOps},
};
use core_types::{AesKey, Label, Ring, params::fss::SeedParams};
use ctr::{
    Ctr128BE,
    cipher::{KeyIvInit as _, StreamCipher as _},
};
use zeroize::Zeroizing;

/// The seed of one party's uniform shares: whoever has it has all of them.
///
/// It is wiped when dropped, and so is the key that is expanded from it. It stays at its place in
/// memory when its owner moves, since a move would leave a copy behind.
#[derive(Default)]
pub(crate) struct Seed(Box<Zeroizing<[u8; Self::BYTES]>>);

impl Clone for Seed {
    /// Copies byte by byte: a derived clone may leave the seed on the stack.
    fn clone(&self) -> Self {
        Self::read(self.bytes())
    }
}

/// The same blocks of consecutive sections, 16 bytes each.
#[derive(Clone, Copy)]
pub(crate) struct SectionBlocks {
    /// The first section.
    pub(crate) section: u64,
    /// Number of sections.
    pub(crate) sections: usize,
    /// The first block of each section.
    pub(crate) first: usize,
    /// Blocks of each section.
    pub(crate) blocks: usize,
}

impl Seed {
    /// Bytes of a seed.
    pub(crate) const BYTES: usize = 32;

    /// Bytes from which on a device expands a seed; fewer are copied.
    ///
    /// An estimate, not measured: the host's bus moves about this many bytes in the time of one
    /// launch.
    pub(crate) const LEAST_EXPANDED: usize = 1 << 16;

    /// The seed in the first bytes of `bytes`; missing bytes are zero.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut seed = Self::default();
        seed.0.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        seed
    }

    pub(crate) fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0[..]
    }

    /// Uniform elements of `ring`.
    pub(crate) fn words(&self, section: u64, ring: Ring, len: usize) -> Zeroizing<Vec<u64>> {
        let mut words = Zeroizing::new(vec![0; len]);
        self.fill_words(section, ring, &mut words);
        words
    }

    /// Fills `words` with uniform elements of `ring`.
    pub(crate) fn fill_words(&self, section: u64, ring: Ring, words: &mut [u64]) {
        and_wipe_stack(|| {
            self.fill(section, bytemuck::cast_slice_mut(words));
            words.iter_mut().for_each(|word| *word = ring.reduce(u64::from_le(*word)));
        });
    }

    /// Fills `words` with uniform bits, 32 to a word.
    pub(crate) fn fill_bits(&self, section: u64, words: &mut [u32]) {
        and_wipe_stack(|| {
            self.fill(section, bytemuck::cast_slice_mut(words));
            words.iter_mut().for_each(|word| *word = u32::from_le(*word));
        });
    }

    /// Fills `roots` with uniform seeds of trees, whose two lowest bits are zero.
    pub(crate) fn fill_roots(&self, section: u64, roots: &mut [Label]) {
        and_wipe_stack(|| {
            self.fill(section, bytemuck::cast_slice_mut(roots));
            roots.iter_mut().for_each(|root| *root = Label::new(u128::from_le(root.bits())).seed());
        });
    }

    /// Fills `words` with key streams where `q` computes, two words for each block.
    ///
    /// The bits in `mask` are kept of the low and the high word of a block.
    ///
    /// # Errors
    /// The device's errors.
    pub(crate) fn expand_on<Q: FssOps>(
        &self,
        q: &Q,
        of: SectionBlocks,
        mask: [u64; 2],
        words: Mut<'_, Q, u64>,
    ) -> Result<(), BackendError> {
        let mut outcome = Ok(());
        and_wipe_stack(|| {
            let params = Zeroizing::new(SeedParams {
                key: AesKey::new(*self.key()),
                first: self.counter(of.section).wrapping_add(of.first as u128),
                mask,
                rows: of.sections as u32,
                blocks: of.blocks as u32, // callers have less than 2^32 blocks
                reserved: [0; 2],
            });
            outcome = q.expand_seed(ExpandSeed { params: &params, words: q.shorten_mut(words) });
        });
        outcome
    }

    /// Fills `bytes` with the key stream of a section.
    ///
    /// Copies of round keys are left on the stack.
    fn fill(&self, section: u64, bytes: &mut [u8]) {
        let first = self.counter(section).to_be_bytes();
        Ctr128BE::<Aes128>::new((&*self.key()).into(), &first.into()).write_keystream(bytes);
    }

    /// The AES key.
    fn key(&self) -> Zeroizing<[u8; 16]> {
        let mut key = Zeroizing::new([0; 16]);
        key.copy_from_slice(&self.0[..16]);
        key
    }

    /// The counter of a section's first block.
    fn counter(&self, section: u64) -> u128 {
        let mut start = [0; 16];
        start.copy_from_slice(&self.0[16..]);
        u128::from_be_bytes(start).wrapping_add(u128::from(section) << 64)
    }
}

/// Calls `work`, and overwrites the part of the stack that it used, up to 32 KiB.
///
/// Ciphers and generators leave copies of secrets there, and whatever is built there next, with
/// bytes that it does not set, may carry them into memory that nothing wipes.
pub(crate) fn and_wipe_stack(work: impl FnOnce()) {
    #[inline(never)]
    fn call(work: impl FnOnce()) {
        work();
    }
    #[inline(never)]
    fn wipe() {
        core::hint::black_box(&mut Zeroizing::new([0u128; 2048]));
    }
    call(work);
    wipe();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST SP 800-38A, F.5.1: key, first counter block, and the output blocks of the cipher.
    const KEY: u128 = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c;
    const COUNTER: u128 = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff;
    const BLOCKS: [u128; 2] = [0xec8c_df73_9860_7cb0_f2d2_1675_ea9e_a1e4, 0x362b_7c3c_6773_5163_18a0_77d7_fc50_73ae];

    fn seed(counter: u128) -> Seed {
        Seed::read(&[KEY.to_be_bytes(), counter.to_be_bytes()].concat())
    }

    #[test]
    fn sections_have_the_published_blocks() {
        let bytes: Vec<u8> = BLOCKS.iter().flat_map(|block| block.to_be_bytes()).collect();
        // The first section, a later one, and the last, before which the counter wraps around.
        for (counter, section) in
            [(COUNTER, 0), (COUNTER.wrapping_sub(3 << 64), 3), (COUNTER.wrapping_add(1 << 64), u64::MAX)]
        {
            let seed = seed(counter);
            let mut roots = [Label::new(u128::MAX); 2];
            seed.fill_roots(section, &mut roots);
            assert_eq!(roots.map(Label::bits), BLOCKS.map(|block| block.swap_bytes() & !3));
            let words = seed.words(section, Ring::new(9).unwrap(), 4);
            let expected = bytes.as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word) & 511);
            assert!(words.iter().copied().eq(expected));
            let mut bits = [u32::MAX; 8];
            seed.fill_bits(section, &mut bits);
            assert!(bits.into_iter().eq(bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word))));
        }
    }

    #[test]
    fn queues_expand_parts_of_sections_to_the_same_words() {
        let (q, ring, len) = (runtime::cpu().unwrap(), Ring::new(37).unwrap(), 80);
        for (counter, section) in [(COUNTER, 0), (u128::MAX - 3, 6 << 32), (1 << 90, u64::MAX - 1)] {
            let seed = seed(counter);
            let of = SectionBlocks { section, sections: 2, first: 16, blocks: 24 };
            let mut words = [1; 96];
            seed.expand_on(&q, of, [ring.mask(); 2], &mut words[..]).unwrap();
            let expected = [0, 1].map(|row: u64| seed.words(section.wrapping_add(row), ring, len));
            assert!(words[..48] == expected[0][32..] && words[48..] == expected[1][32..], "{section}");
            let mut roots = [Label::new(0); 40];
            seed.fill_roots(section, &mut roots);
            let of = SectionBlocks { sections: 1, ..of };
            seed.expand_on(&q, of, [!3, u64::MAX], &mut words[..48]).unwrap();
            let expanded: &[u64] = bytemuck::cast_slice(&roots[16..]);
            assert!(words[..48] == *expanded, "{section}");
        }
    }
}
