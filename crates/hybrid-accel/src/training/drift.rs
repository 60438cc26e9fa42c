//! The direction in which weights move.

use std::ops::Range;

/// Sums of the weights after the steps of a phase, in two halves.
///
/// The difference of the halves' means, divided by the steps between their centres, is the mean
/// move of a step, with the noise of single batches averaged out.
pub(super) struct Drift {
    steps: usize,
    taken: usize,
    sums: [Vec<f64>; 2],
}

impl Drift {
    /// The drift of a phase of `steps` steps, at least 2.
    pub(super) fn new(steps: usize) -> Self {
        Self { steps, taken: 0, sums: [Vec::new(), Vec::new()] }
    }

    /// Steps of a half; an odd one in the middle belongs to neither.
    fn half(&self) -> usize {
        self.steps / 2
    }

    /// Takes the weights after the next step.
    pub(super) fn push(&mut self, weights: &[f32]) {
        let half = self.half();
        let halves = [0..half, self.steps - half..self.steps];
        for (sum, range) in self.sums.iter_mut().zip(halves) {
            if range.contains(&self.taken) {
                sum.resize(weights.len(), 0.0);
                sum.iter_mut().zip(weights).for_each(|(sum, &weight)| *sum += f64::from(weight));
            }
        }
        self.taken += 1;
    }

    /// The mean move of one step.
    pub(super) fn direction(&self) -> Vec<f32> {
        let half = self.half();
        let factor = 1.0 / (half * (self.steps - half)) as f64;
        let [first, second] = &self.sums;
        first.iter().zip(second).map(|(first, second)| ((second - first) * factor) as f32).collect()
    }
}

/// A matrix among the weights.
pub(super) struct Matrix {
    pub(super) place: Range<usize>,
    pub(super) shape: [usize; 2],
}

/// The matrices among tensors of these shapes.
pub(super) fn matrices(shapes: &[Vec<usize>]) -> Vec<Matrix> {
    let (mut found, mut first) = (Vec::new(), 0);
    for shape in shapes {
        let place = first..first + shape.iter().product::<usize>();
        first = place.end;
        if let &[rows, cols] = &shape[..]
            && !place.is_empty()
        {
            found.push(Matrix { place, shape: [rows, cols] });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_that_move_evenly_have_their_move_as_the_direction() {
        for steps in [2, 5, 20] {
            let mut drift = Drift::new(steps);
            for step in 0..steps {
                drift.push(&[1.0 + 0.5 * step as f32, -0.25 * step as f32]);
            }
            assert_eq!(drift.direction(), [0.5, -0.25], "{steps} steps");
        }
    }

    #[test]
    fn matrices_are_found_at_their_places() {
        let found = matrices(&[vec![2, 3], vec![3], vec![0, 4], vec![3, 1]]);
        let found: Vec<_> = found.into_iter().map(|Matrix { place, shape }| (place, shape)).collect();
        assert_eq!(found, [(0..6, [2, 3]), (9..12, [3, 1])]);
    }
}
