//! The handwritten digits that ship with the program (`data/digits`).

use nn_ops::io::{NpyError, read_npy};

use crate::FRACTION_BITS;

/// Pixels of one image, 8 x 8.
pub const PIXELS: usize = 64;
/// Digits 0 to 9.
pub const CLASSES: usize = 10;
/// Pixels range over `0..=MAX_PIXEL`.
pub const MAX_PIXEL: u8 = 16;
/// Every fifth image is for testing, the others for training; see `data/digits/README.md`.
const TEST_EVERY: usize = 5;

const IMAGES: &[u8] = include_bytes!("../digits/images.npy");
const LABELS: &[u8] = include_bytes!("../digits/labels.npy");

/// Images, row-major `[count][PIXELS]`, and their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// Pixels in `0..=MAX_PIXEL`.
    pub pixels: Vec<u8>,
    /// Digits in `0..=9`.
    pub labels: Vec<u8>,
}

impl Digits {
    /// Number of images.
    #[must_use]
    pub fn count(&self) -> usize {
        self.labels.len()
    }

    /// The pixels as f32 in `0..=1`.
    #[must_use]
    pub fn normalised(&self) -> Vec<f32> {
        self.pixels.iter().map(|&pixel| f32::from(pixel) / f32::from(MAX_PIXEL)).collect()
    }

    /// The pixels in `0..=1`, in fixed point.
    #[must_use]
    pub fn fixed_point(&self) -> Vec<u64> {
        fixed_point(&self.pixels)
    }

    /// The first `count` images.
    #[must_use]
    pub fn take(mut self, count: usize) -> Self {
        self.labels.truncate(count);
        self.pixels.truncate(self.labels.len() * PIXELS);
        self
    }
}

/// Pixels in `0..=MAX_PIXEL` as fixed-point numbers in `0..=1`.
#[must_use]
pub fn fixed_point(pixels: &[u8]) -> Vec<u64> {
    let scale = (1u64 << FRACTION_BITS) / u64::from(MAX_PIXEL);
    pixels.iter().map(|&pixel| u64::from(pixel) * scale).collect()
}

/// The index of the largest logit of each row; of equal ones, the first.
#[must_use]
pub fn labels(logits: &[u64]) -> Vec<u8> {
    let best = |row: &[u64]| {
        let mut best = 0;
        for (j, word) in row.iter().enumerate() {
            if word.cast_signed() > row[best].cast_signed() {
                best = j;
            }
        }
        best as u8
    };
    logits.chunks_exact(CLASSES).map(best).collect()
}

/// The training set and the test set.
///
/// # Errors
/// [`NpyError`] if the files that the program was built with are damaged.
pub fn load() -> Result<(Digits, Digits), NpyError> {
    let (pixels, labels) = (read_npy::<u8>(IMAGES)?, read_npy::<u8>(LABELS)?);
    let expected = labels.data.len() * PIXELS;
    if pixels.data.len() != expected {
        return Err(NpyError::Length { expected, got: pixels.data.len() });
    }
    let empty = || Digits { pixels: Vec::new(), labels: Vec::new() };
    let (mut train, mut test) = (empty(), empty());
    for (i, (image, &label)) in pixels.data.chunks_exact(PIXELS).zip(&labels.data).enumerate() {
        let set = if i % TEST_EVERY == 0 { &mut test } else { &mut train };
        set.pixels.extend_from_slice(image);
        set.labels.push(label);
    }
    Ok((train, test))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_digits_have_their_ranges() {
        let (train, test) = load().unwrap();
        assert_eq!((train.count(), test.count()), (1437, 360));
        for set in [&train, &test] {
            assert!(set.pixels.iter().all(|&pixel| pixel <= MAX_PIXEL));
            assert!(set.labels.iter().all(|&label| usize::from(label) < CLASSES));
        }
    }

    #[test]
    fn labels_are_signed_and_the_first_of_equals() {
        let mut logits = [u64::MAX; 2 * CLASSES];
        (logits[3], logits[12], logits[17]) = (0, 5, 5);
        assert_eq!(labels(&logits), [3, 2]);
    }
}
