//! Predictions from rows that were not learned, and the bounds that they imply.

/// The greatest ratio of a bound to its prediction. Wider bounds carry no information.
const FARTHEST: f64 = 1e6;

/// How predictions from rows that were held out compare with what came.
#[derive(Debug, PartialEq)]
pub(super) struct HeldOut {
    /// Predictions that were made.
    pub(super) predictions: usize,
    /// Root mean squared error of all predicted losses.
    ///
    /// `of_staying` is the error of predicting that losses stay constant.
    pub(super) error: f64,
    pub(super) of_staying: f64,
    /// The greatest `|ln(predicted / actual)|` up to each number of steps, from one on.
    widths: Vec<f64>,
}

impl HeldOut {
    /// Compares predictions from held-out rows with the actual losses.
    ///
    /// `means[i]` is predicted from row `starts[i]`, and its first element is that row's own loss;
    /// `losses` has the losses of all rows up to the last one that was held out. Returns `None`
    /// without a loss to compare with.
    pub(super) fn compare(starts: &[usize], means: &[Vec<f64>], losses: &[f64]) -> Option<Self> {
        let steps = means.iter().map(|mean| mean.len().saturating_sub(1)).max()?;
        let (mut widths, mut known) = (vec![0.0f64; steps], 0);
        let (mut squares, mut of_staying, mut count) = (0.0, 0.0, 0.0);
        for (&start, mean) in starts.iter().zip(means) {
            for (step, (&predicted, &actual)) in mean.iter().zip(&losses[start..]).enumerate().skip(1) {
                let ratio = (predicted / actual).clamp(1.0 / FARTHEST, FARTHEST);
                widths[step - 1] = widths[step - 1].max(ratio.ln().abs());
                known = known.max(step);
                squares += (predicted - actual) * (predicted - actual);
                of_staying += (losses[start] - actual) * (losses[start] - actual);
                count += 1.0;
            }
        }
        for step in 1..steps {
            // Beyond the steps that could be compared, bounds grow with the number of steps.
            let unknown =
                if step < known { 0.0 } else { widths[known.checked_sub(1)?] * (step + 1) as f64 / known as f64 };
            widths[step] = widths[step].max(widths[step - 1]).max(unknown).min(FARTHEST.ln());
        }
        let root = |sum: f64| (sum / count).sqrt();
        (known > 0).then(|| Self {
            predictions: starts.len(),
            error: root(squares),
            of_staying: root(of_staying),
            widths,
        })
    }

    /// The lower and upper bound of the loss at each step of a prediction.
    ///
    /// The prediction is divided and multiplied by the greatest ratio between a held-out loss and
    /// its prediction at the same step.
    pub(super) fn bounds(&self, mean: &[f64]) -> Vec<[f64; 2]> {
        let widths = [0.0].into_iter().chain(self.widths.iter().copied());
        mean.iter().zip(widths).map(|(mean, width)| [mean * (-width).exp(), mean * width.exp()]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_every_prediction_that_was_held_out() {
        let losses = [8.0, 4.0, 2.0, 1.0];
        // Right, twice as great after one step, half as great after two.
        let means = [vec![8.0, 4.0, 1.0], vec![4.0, 4.0, 1.0], vec![2.0, 1.0, 0.5]];
        let held_out = HeldOut::compare(&[0, 1, 2], &means, &losses).unwrap();
        assert_eq!(held_out.predictions, 3);
        let two = 2f64.ln();
        assert!(held_out.widths.iter().all(|width| (width - two).abs() < 1e-12), "{held_out:?}");
        // Errors of 0, 1, 2, 0, 0; losses that stay are wrong by 4, 6, 2, 3, 1.
        assert!((held_out.error - 1f64.sqrt()).abs() < 1e-12, "{held_out:?}");
        assert!((held_out.of_staying - (66.0f64 / 5.0).sqrt()).abs() < 1e-12, "{held_out:?}");
        for (got, expected) in held_out.bounds(&[6.0, 3.0, 1.0]).iter().zip([[6.0, 6.0], [1.5, 6.0], [0.5, 2.0]]) {
            assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-12), "{got:?}");
        }
    }

    #[test]
    fn bounds_grow_beyond_the_last_loss_that_is_known() {
        let held_out = HeldOut::compare(&[0], &[vec![1.0, 2.0, 3.0, 4.0]], &[1.0, 1.0]).unwrap();
        let two = 2f64.ln();
        for (got, expected) in held_out.widths.iter().zip([two, 2.0 * two, 3.0 * two]) {
            assert!((got - expected).abs() < 1e-12, "{held_out:?}");
        }
        // However far ahead and however wrong, bounds are finite.
        for mean in [2.0, 0.0, f64::INFINITY] {
            let held_out = HeldOut::compare(&[0], &[vec![mean; 10_001]], &[1.0, 1.0]).unwrap();
            let [least, most] = held_out.bounds(&[1.0; 10_001])[10_000];
            assert!((least * FARTHEST - 1.0).abs() < 1e-9 && (most / FARTHEST - 1.0).abs() < 1e-9, "{least} {most}");
        }
        assert_eq!(HeldOut::compare(&[0], &[vec![1.0, 2.0]], &[1.0]), None);
        assert_eq!(HeldOut::compare(&[], &[], &[1.0]), None);
    }
}
