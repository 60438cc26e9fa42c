//! The handwritten digits that ship with the program (`data/digits`).

use anyhow::{Result, ensure};
use nn_ops::io::read_npy;

/// Pixels of one image, 8 x 8.
pub(crate) const PIXELS: usize = 64;
/// Digits 0 to 9.
pub(crate) const CLASSES: usize = 10;
/// Pixels range over `0..=MAX_PIXEL`.
pub(crate) const MAX_PIXEL: u8 = 16;
/// Every fifth image tests, the others train; see `data/digits/README.md`.
const TEST_EVERY: usize = 5;

const IMAGES: &[u8] = include_bytes!("../../../../data/digits/images.npy");
const LABELS: &[u8] = include_bytes!("../../../../data/digits/labels.npy");

/// Images, row-major `[count][PIXELS]`, and their labels.
pub(crate) struct Digits {
    pub(crate) pixels: Vec<u8>,
    pub(crate) labels: Vec<u8>,
}

impl Digits {
    /// Number of images.
    pub(crate) fn count(&self) -> usize {
        self.labels.len()
    }

    /// The pixels as f32 in `0..=1`.
    pub(crate) fn normalised(&self) -> Vec<f32> {
        self.pixels.iter().map(|&pixel| f32::from(pixel) / f32::from(MAX_PIXEL)).collect()
    }

    /// The first `count` images.
    pub(crate) fn take(mut self, count: usize) -> Self {
        self.labels.truncate(count);
        self.pixels.truncate(self.labels.len() * PIXELS);
        self
    }
}

/// The training set and the test set.
pub(crate) fn load() -> Result<(Digits, Digits)> {
    let (pixels, labels) = (read_npy::<u8>(IMAGES)?, read_npy::<u8>(LABELS)?);
    ensure!(pixels.shape == [labels.data.len(), PIXELS], "digits have the shape {:?}", pixels.shape);
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
}
