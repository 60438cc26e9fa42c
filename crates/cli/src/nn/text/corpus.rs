//! Text to train on and to be tested with, whose bytes are the tokens.

use std::path::PathBuf;

use anyhow::{Result, anyhow, ensure};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use sha2::{Digest as _, Sha256};

use crate::files::parsed;

/// The last part of a text is held out: one byte of this many.
const HELD_OUT: usize = 10;

/// A text in two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Corpus {
    /// The first nine tenths.
    pub(super) train: Vec<u8>,
    /// The last tenth, which no step reads.
    pub(super) held_out: Vec<u8>,
}

/// Windows of a text, row-major `[windows, context]`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenBatch {
    pub(super) windows: usize,
    /// The bytes.
    pub(super) inputs: Vec<u32>,
    /// The byte after each.
    pub(super) targets: Vec<u32>,
}

impl Corpus {
    /// Reads files, one after the other.
    ///
    /// # Errors
    /// For a file that is not UTF-8, and unless the held-out part has a window of `context` bytes
    /// and the byte after it.
    pub(super) fn read(paths: &[PathBuf], context: usize) -> Result<Self> {
        let mut text = Vec::new();
        for path in paths {
            parsed(path, |bytes| {
                let found = core::str::from_utf8(bytes);
                found.map_err(|error| anyhow!("expected UTF-8, got another byte at {}", error.valid_up_to()))?;
                text.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        Self::split(text, context)
    }

    /// Holds out the last tenth of a text.
    fn split(mut text: Vec<u8>, context: usize) -> Result<Self> {
        let (held_out, window) = (text.len() / HELD_OUT, context + 1);
        ensure!(
            held_out >= window,
            "expected a text of at least {} bytes for --context {context} (a tenth is held out), got {}",
            HELD_OUT * window,
            text.len()
        );
        let held_out = text.split_off(text.len() - held_out);
        Ok(Self { train: text, held_out })
    }

    /// A digest of both parts.
    pub(super) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for part in [&self.train, &self.held_out] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Random windows of the first part, which depend only on the seed and the step.
    pub(super) fn batch(&self, seed: u64, step: u64, [windows, context]: [usize; 2]) -> TokenBatch {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(step);
        let starts = (self.train.len() - context) as u64; // a window and the byte after it fit at each
        let starts: Vec<usize> = (0..windows).map(|_| (random.next_u64() % starts) as usize).collect();
        TokenBatch::of(&self.train, &starts, context)
    }

    /// All windows of the held-out part that do not overlap, `windows` or fewer in each batch.
    pub(super) fn tests(&self, [windows, context]: [usize; 2]) -> Vec<TokenBatch> {
        let count = (self.held_out.len() - 1) / context; // 1 or more
        let starts: Vec<usize> = (0..count).map(|window| window * context).collect();
        starts.chunks(windows).map(|starts| TokenBatch::of(&self.held_out, starts, context)).collect()
    }
}

impl TokenBatch {
    /// The number of windows and their length.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.windows, self.inputs.len() / self.windows.max(1)]
    }

    /// The windows at these places.
    fn of(text: &[u8], starts: &[usize], context: usize) -> Self {
        let bytes = |first: usize| text[first..first + context].iter().map(|&byte| u32::from(byte));
        Self {
            windows: starts.len(),
            inputs: starts.iter().flat_map(|&start| bytes(start)).collect(),
            targets: starts.iter().flat_map(|&start| bytes(start + 1)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(len: u8) -> Vec<u8> {
        (0..len).collect()
    }

    #[test]
    fn the_last_tenth_is_held_out() {
        let corpus = Corpus::split(counting(59), 4).unwrap();
        assert_eq!((corpus.train.len(), &corpus.held_out[..]), (54, &[54, 55, 56, 57, 58][..]));
        let refused = Corpus::split(counting(49), 4).unwrap_err().to_string();
        assert!(refused.contains("at least 50 bytes") && refused.ends_with("got 49"), "{refused}");
        assert!(Corpus::split(counting(50), 4).is_ok());
    }

    #[test]
    fn targets_follow_inputs_and_depend_on_seed_and_step() {
        let corpus = Corpus::split(counting(60), 5).unwrap();
        let batch = corpus.batch(3, 7, [40, 5]);
        assert_eq!((batch.shape(), batch.targets.len()), ([40, 5], 200));
        for (window, targets) in batch.inputs.chunks(5).zip(batch.targets.chunks(5)) {
            assert!(window.windows(2).all(|pair| pair[1] == pair[0] + 1) && window[4] < 53, "{window:?}");
            assert!(window.iter().zip(targets).all(|(byte, target)| byte + 1 == *target), "{window:?}");
        }
        assert_eq!(batch, corpus.batch(3, 7, [40, 5]));
        assert_ne!(batch, corpus.batch(3, 8, [40, 5]));
        assert_ne!(batch, corpus.batch(4, 7, [40, 5]));
    }

    #[test]
    fn every_held_out_window_is_tested_once() {
        // 15 bytes: three windows of four with a byte after each.
        let corpus = Corpus::split(counting(150), 4).unwrap();
        let batches = corpus.tests([2, 4]);
        assert_eq!(batches.iter().map(TokenBatch::shape).collect::<Vec<_>>(), [[2, 4], [1, 4]]);
        let joined = |part: fn(&TokenBatch) -> &[u32]| batches.iter().flat_map(part).copied().collect::<Vec<_>>();
        assert_eq!(joined(|batch| &batch.inputs), (135..147).collect::<Vec<_>>());
        assert_eq!(joined(|batch| &batch.targets), (136..148).collect::<Vec<_>>());
    }

    #[test]
    fn other_texts_have_another_digest() {
        let digest =
            |train: &[u8], held_out: &[u8]| Corpus { train: train.to_vec(), held_out: held_out.to_vec() }.digest();
        let whole = digest(b"ab", b"c");
        assert!(whole.len() == 16 && whole != digest(b"a", b"bc") && whole != digest(b"ab", b"d"));
        assert_eq!(whole, digest(b"ab", b"c"));
    }
}
