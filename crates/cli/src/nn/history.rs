//! How a training went.

use anyhow::Result;
use nn_ops::io::{NpyArray, write_npy};

/// Steps that are a row of the file.
const EVERY: usize = 10;

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TrainingHistory {
    /// The mean loss of each epoch.
    pub(super) losses: Vec<f64>,
    /// The share of rows to test with that the network gets right after each epoch.
    pub(super) accuracies: Vec<f64>,
    /// Loss and rate of every step.
    pub(super) steps: Vec<[f32; 2]>,
}

impl TrainingHistory {
    /// Mean loss and mean rate of every ten steps, as a file of NumPy.
    pub(super) fn npy(&self) -> Result<Vec<u8>> {
        let mean = |steps: &[[f32; 2]], of: usize| steps.iter().map(|step| step[of]).sum::<f32>() / EVERY as f32;
        let data: Vec<f32> =
            self.steps.chunks_exact(EVERY).flat_map(|steps| [0, 1].map(|of| mean(steps, of))).collect();
        Ok(write_npy(&NpyArray { shape: vec![data.len() / 2, 2], data })?)
    }
}

#[cfg(test)]
mod tests {
    use nn_ops::io::read_npy;

    use super::*;

    #[test]
    fn rows_are_means_of_ten_steps_and_what_is_left_is_not_there() {
        let steps = (0..25).map(|i| [i as f32, 1.0]).collect();
        let bytes = TrainingHistory { steps, ..TrainingHistory::default() }.npy().unwrap();
        let array = read_npy::<f32>(&bytes).unwrap();
        assert_eq!((array.shape, array.data), (vec![2, 2], vec![4.5, 1.0, 14.5, 1.0]));
    }
}
