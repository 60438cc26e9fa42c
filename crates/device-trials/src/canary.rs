//! Canaries: small kernels with known results, which fail if the compiler broke a rule.

use crate::outcome::{Wrong, compare};

/// Threads of a block.
const THREADS: u32 = 64;

/// Blocks of the long runs, more than a device holds at once.
const MANY: u32 = 4096;

/// Words that fill a block only in part.
///
/// The threads of its second warp diverge at the guards.
const PART: u32 = 52;

/// A kernel of [`GUARDED`](crate::GUARDED).
///
/// It takes words 0, 1, 2, ..., an equal number of zeros to be overwritten, and that number. A
/// block has 64 threads, and the grid has a block for each 64 words begun.
#[derive(Clone, Copy, Debug)]
pub struct Canary {
    /// Its name.
    pub kernel: &'static str,
    /// Numbers of words to run it on: few and many.
    pub lengths: [u32; 2],
    result: fn(u32) -> Vec<u32>,
}

/// The canaries that give the right results on every device.
///
/// `canary_last_block_ordered` is not among them: it is a race under any flags.
pub const CANARIES: [Canary; 6] = [
    canary("canary_barrier", [PART, THREADS * (MANY - 1) + PART], same),
    canary("canary_shuffle", [PART, THREADS * (MANY - 1) + PART], neighbours),
    canary("canary_assembly_shuffle", [PART, THREADS * (MANY - 1) + PART], neighbours),
    canary("canary_checked", [PART, THREADS * (MANY - 1) + PART], neighbours),
    canary("canary_shared", [4 * THREADS, MANY * THREADS], mirrored),
    canary("canary_last_block_fenced", [4 * THREADS, MANY * THREADS], sums),
];

const fn canary(kernel: &'static str, lengths: [u32; 2], result: fn(u32) -> Vec<u32>) -> Canary {
    Canary { kernel, lengths, result }
}

impl Canary {
    /// The words that it is to be given.
    #[must_use]
    pub fn input(words: u32) -> Vec<u32> {
        (0..words).collect()
    }

    /// The expected result for `words` words.
    #[must_use]
    pub fn expected(&self, words: u32) -> Vec<u32> {
        (self.result)(words)
    }

    /// Compares the kernel's result for `words` words with the expected one.
    ///
    /// # Errors
    /// [`Wrong`] with the first wrong word.
    pub fn judge(&self, words: u32, got: &[u32]) -> Result<(), Wrong> {
        compare(&self.expected(words), got, |index| format!("word {index} of {words}"))
    }
}

fn same(words: u32) -> Vec<u32> {
    (0..words).collect()
}

fn neighbours(words: u32) -> Vec<u32> {
    (0..words).map(|i| i ^ 1).collect()
}

/// Each block's words in reverse.
fn mirrored(words: u32) -> Vec<u32> {
    (0..words).map(|i| i ^ (THREADS - 1)).collect()
}

/// Number of blocks, sum of all words, sum of each block's words, and zeros.
fn sums(words: u32) -> Vec<u32> {
    let input = Canary::input(words);
    let sum = |words: &[u32]| words.iter().fold(0, |sum: u32, &word| sum.wrapping_add(word));
    let blocks = input.chunks(THREADS as usize);
    let mut result = vec![blocks.len() as u32, sum(&input)];
    result.extend(blocks.map(sum));
    result.resize(input.len(), 0);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_stand_in_front_of_zeros() {
        let got = sums(130);
        assert_eq!(got[..6], [3, 129 * 130 / 2, 63 * 32, 64 * 64 + 63 * 32, 128 + 129, 0]);
        assert_eq!(got.len(), 130);
        let canary = CANARIES.iter().find(|canary| canary.kernel == "canary_last_block_fenced").unwrap();
        assert_eq!(canary.judge(130, &got), Ok(()));
        let mut stale = got;
        stale[1] -= 128;
        assert!(canary.judge(130, &stale).unwrap_err().first.starts_with("word 1 of 130: got"));
    }
}
