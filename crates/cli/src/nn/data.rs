//! Labelled rows to train and to test with.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use inference::digits::{self, Digits, PIXELS};
use nn_ops::io::NpyArray;
use sha2::{Digest as _, Sha256};

use super::array;
use crate::files::NamedFile;

/// Without files to test with, every row whose number is a multiple of this is for that.
const TEST_EVERY: usize = 5;

/// Where the rows come from: the handwritten digits that ship, unless files are named.
#[derive(Args, Debug)]
pub(super) struct DataArgs {
    /// Features, [rows, features] of any numbers [default: the handwritten digits that ship].
    ///
    /// A NumPy file, or an archive of NumPy or safetensors with `inputs`. Numbers are taken as they
    /// are.
    #[arg(long, value_name = "FILE", requires = "labels")]
    inputs: Option<PathBuf>,
    /// The class of each row, from 0.
    ///
    /// A NumPy file of integers or booleans, or an archive of NumPy with `labels`.
    #[arg(long, value_name = "FILE", requires = "inputs")]
    labels: Option<PathBuf>,
    /// Features to test with; without them every fifth row is for testing.
    #[arg(long, value_name = "FILE", requires_all = ["inputs", "test_labels"])]
    test_inputs: Option<PathBuf>,
    /// The classes to test with.
    #[arg(long, value_name = "FILE", requires = "test_inputs")]
    test_labels: Option<PathBuf>,
}

impl DataArgs {
    /// The files that it reads.
    pub(super) fn files(&self) -> Vec<NamedFile<'_>> {
        let named = [
            ("--inputs", &self.inputs),
            ("--labels", &self.labels),
            ("--test-inputs", &self.test_inputs),
            ("--test-labels", &self.test_labels),
        ];
        named.into_iter().filter_map(|(by, path)| Some(NamedFile::read(by, path.as_deref()?))).collect()
    }

    /// The rows to train and those to test with.
    pub(super) fn load(&self) -> Result<[DatasetRows; 2]> {
        let (Some(inputs), Some(labels)) = (&self.inputs, &self.labels) else {
            let (train, test) = digits::load()?;
            return Ok([DatasetRows::of_digits(&train), DatasetRows::of_digits(&test)]);
        };
        let rows = DatasetRows::read(inputs, labels)?;
        let (Some(inputs), Some(labels)) = (&self.test_inputs, &self.test_labels) else {
            let sets = rows.split(TEST_EVERY);
            let enough = sets.iter().all(|set| set.count() > 0);
            ensure!(enough, "too few rows to train and to test with: expected 2 or more, got {}", rows.count());
            return Ok(sets);
        };
        let test = DatasetRows::read(inputs, labels)?;
        for (set, what) in [(&rows, "train"), (&test, "test")] {
            ensure!(set.count() > 0, "there are no rows to {what} with");
        }
        ensure!(
            test.features == rows.features,
            "expected {} features per test row (from the training rows), got {}",
            rows.features,
            test.features
        );
        Ok([rows, test])
    }
}

/// Labelled rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DatasetRows {
    /// Numbers in a row.
    pub(crate) features: usize,
    /// Row by row.
    pub(crate) inputs: Vec<f32>,
    pub(crate) labels: Vec<u32>,
}

impl DatasetRows {
    pub(crate) fn of_digits(digits: &Digits) -> Self {
        let labels = digits.labels.iter().map(|&label| label.into()).collect();
        Self { features: PIXELS, inputs: digits.normalised(), labels }
    }

    pub(super) fn read(inputs: &Path, labels: &Path) -> Result<Self> {
        let (inputs, labels) = (array::numbers(inputs, "inputs")?, array::classes(labels)?);
        Self::of_arrays(inputs, labels).context("the rows and their labels")
    }

    fn of_arrays(inputs: NpyArray<f32>, labels: NpyArray<u32>) -> Result<Self> {
        let rows = Self::unlabelled(inputs)?;
        let count = rows.count();
        ensure!(labels.shape == [count], "expected a label for each of {count} rows, got shape {:?}", labels.shape);
        Ok(Self { labels: labels.data, ..rows })
    }

    /// Rows without labels.
    pub(super) fn unlabelled(inputs: NpyArray<f32>) -> Result<Self> {
        let [_, features] = array::matrix(&inputs, "the inputs")?;
        ensure!(features > 0, "the inputs have no features: their shape is {:?}", inputs.shape);
        if let Some(at) = inputs.data.iter().position(|value| !value.is_finite()) {
            let (row, column, value) = (at / features, at % features, inputs.data[at]);
            bail!("feature {column} of row {row} is {value} in f32, expected finite numbers");
        }
        Ok(Self { features, inputs: inputs.data, labels: Vec::new() })
    }

    pub(crate) fn count(&self) -> usize {
        self.inputs.len() / self.features
    }

    /// A digest of all of them.
    pub(super) fn digest(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(self.features.to_le_bytes());
        self.inputs.iter().for_each(|input| digest.update(input.to_le_bytes()));
        self.labels.iter().for_each(|label| digest.update(label.to_le_bytes()));
        digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// One more than the greatest label.
    pub(super) fn classes(&self) -> usize {
        self.labels.iter().max().map_or(0, |&most| most as usize + 1)
    }

    /// The rows in another order, or some of them.
    pub(crate) fn select(&self, order: &[usize]) -> Self {
        let row = |&i: &usize| &self.inputs[i * self.features..][..self.features];
        Self {
            features: self.features,
            inputs: order.iter().flat_map(row).copied().collect(),
            labels: order.iter().map(|&i| self.labels[i]).collect(),
        }
    }

    /// All rows but every `nth`, and those.
    fn split(&self, nth: usize) -> [Self; 2] {
        let (test, train): (Vec<_>, Vec<_>) = (0..self.count()).partition(|i| i.is_multiple_of(nth));
        [self.select(&train), self.select(&test)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrays(shape: &[usize], labels: &[u32]) -> Result<DatasetRows> {
        let data = (0..shape.iter().product()).map(|i: usize| i as f32).collect();
        let labels = NpyArray { shape: vec![labels.len()], data: labels.to_vec() };
        DatasetRows::of_arrays(NpyArray { shape: shape.to_vec(), data }, labels)
    }

    #[test]
    fn every_fifth_row_is_for_testing() {
        let rows = arrays(&[7, 2], &[0, 1, 2, 3, 4, 5, 6]).unwrap();
        let [train, test] = rows.split(TEST_EVERY);
        assert_eq!((train.labels, test.labels), (vec![1, 2, 3, 4, 6], vec![0, 5]));
        assert_eq!(test.inputs, [0.0, 1.0, 10.0, 11.0]);
        assert_eq!(rows.classes(), 7);
    }

    #[test]
    fn images_are_not_taken_for_rows() {
        let refused = arrays(&[2, 3, 4], &[0, 1]).unwrap_err().to_string();
        assert!(refused.contains("[2, 3, 4]") && refused.contains("[2, 12]"), "{refused}");
    }

    #[test]
    fn other_rows_have_another_digest() {
        let digests =
            [arrays(&[2, 3], &[0, 1]), arrays(&[3, 2], &[0, 1, 0]), arrays(&[2, 3], &[1, 0]), arrays(&[2, 3], &[0, 1])];
        let [a, b, c, d] = digests.map(|rows| rows.unwrap().digest());
        assert!(a == d && a != b && a != c && a.len() == 16);
    }

    #[test]
    fn what_is_not_finite_is_refused_with_its_place() {
        let inputs = NpyArray { shape: vec![2, 2], data: vec![0.0, 1.0, f32::NAN, 2.0] };
        let refused = DatasetRows::unlabelled(inputs).unwrap_err().to_string();
        assert!(refused.starts_with("feature 0 of row 1 is NaN"), "{refused}");
    }

    #[test]
    fn rows_without_features_are_refused_whatever_their_number() {
        let inputs = NpyArray { shape: vec![usize::MAX, 0], data: Vec::new() };
        assert!(DatasetRows::unlabelled(inputs).unwrap_err().to_string().contains("no features"));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_shape() {
        for (shape, labels) in [(&[3][..], &[0][..]), (&[2, 3], &[0]), (&[2, 0], &[0, 0]), (&[], &[])] {
            let refused = format!("{:#}", arrays(shape, labels).unwrap_err());
            assert!(refused.contains('['), "{refused}");
        }
    }
}
