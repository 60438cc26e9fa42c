//! Combined predictions of the members of an ensemble, in f64 on the host.
//!
//! With the standard deviation `d` of the members' losses after `t` steps, the uncertainty is
//! `d (1 + sqrt(t) / 10)` and the confidence `1 / (1 + uncertainty)`.

use crate::error::{NnError, Result};

/// How the losses of one member go.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryMetrics {
    /// The magnitude of the change at each step.
    pub step_deltas: Vec<f64>,
    /// The variance of the losses, the one before the first step among them, as of a population.
    pub variance: f64,
    /// The mean magnitude of the change between two changes; 0 with fewer than two.
    pub smoothness: f64,
}

/// The members' combined prediction for one row, and how far they agree.
#[derive(Clone, Debug, PartialEq)]
pub struct RssmSummary {
    /// The mean of the members' losses, before the first step and after each one.
    pub mean: Vec<f64>,
    /// The standard deviation of the last losses, as of a population.
    ///
    /// 0 without steps, when nothing is predicted.
    pub deviation: f64,
    /// The uncertainty, `deviation (1 + sqrt(steps) / 10)`.
    pub total: f64,
    /// `1 / (1 + total)`.
    pub confidence: f64,
    /// The mean less and plus twice the uncertainty, before the first step and after each one.
    pub bounds: Vec<[f64; 2]>,
    /// The mean entropy of a member's step; 0 without steps.
    pub entropy: f64,
    /// Of each member.
    pub metrics: Vec<TrajectoryMetrics>,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The variance of a population.
fn variance(values: &[f64]) -> f64 {
    let center = mean(values);
    mean(&values.iter().map(|value| (value - center) * (value - center)).collect::<Vec<_>>())
}

impl TrajectoryMetrics {
    fn of(losses: &[f64]) -> Self {
        let changes: Vec<f64> = losses.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let turns: Vec<f64> = changes.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
        Self {
            step_deltas: changes.iter().map(|change| change.abs()).collect(),
            variance: variance(losses),
            smoothness: if turns.is_empty() { 0.0 } else { mean(&turns) },
        }
    }
}

impl RssmSummary {
    /// A summary for each row of a rollout of `members` members and `steps` steps.
    ///
    /// The inputs are its trajectory, `[members, batch, steps + 1]`, and its entropies,
    /// `[members, batch]`.
    ///
    /// # Errors
    /// [`NnError::Parameter`] without members; [`NnError::Length`] if the two do not have the
    /// lengths of the same batch.
    pub fn of_rows(members: usize, steps: usize, trajectory: &[f32], entropy: &[f32]) -> Result<Vec<Self>> {
        const OP: &str = "rssm_summary";
        if members == 0 {
            return Err(NnError::parameter(OP, "number of members", "1 or more", 0.0));
        }
        let batch = entropy.len() / members;
        let refuse = |tensor, expected, got| Err(NnError::Length { op: OP, tensor, expected, got });
        if !entropy.len().is_multiple_of(members) {
            return refuse("entropy", batch * members, entropy.len());
        }
        let losses = steps.checked_add(1).ok_or(NnError::Overflow { op: OP })?;
        let expected = entropy.len().checked_mul(losses).ok_or(NnError::Overflow { op: OP })?;
        if trajectory.len() != expected {
            return refuse("trajectory", expected, trajectory.len());
        }
        let row = |row: usize| {
            let of_member = |member: usize| {
                let all = &trajectory[(member * batch + row) * losses..][..losses];
                all.iter().map(|&loss| f64::from(loss)).collect::<Vec<_>>()
            };
            let entropies: Vec<f64> = (0..members).map(|member| f64::from(entropy[member * batch + row])).collect();
            Self::of(&(0..members).map(of_member).collect::<Vec<_>>(), mean(&entropies) / steps.max(1) as f64)
        };
        Ok((0..batch).map(row).collect())
    }

    /// The summary of one row.
    fn of(losses: &[Vec<f64>], entropy: f64) -> Self {
        let steps = losses[0].len() - 1;
        // mean, deviation and uncertainty after a step; nothing is predicted before the first
        let after = |step: usize| {
            let losses: Vec<f64> = losses.iter().map(|losses| losses[step]).collect();
            let deviation = if step == 0 { 0.0 } else { variance(&losses).sqrt() };
            (mean(&losses), deviation, deviation * (1.0 + (step as f64).sqrt() / 10.0))
        };
        let (_, deviation, total) = after(steps);
        let (mean, bounds) =
            (0..=steps).map(after).map(|(mean, _, total)| (mean, [mean - 2.0 * total, mean + 2.0 * total])).unzip();
        Self {
            mean,
            deviation,
            total,
            confidence: 1.0 / (1.0 + total),
            bounds,
            entropy,
            metrics: losses.iter().map(|losses| TrajectoryMetrics::of(losses)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_members_of_two_rows_are_summed_up_by_hand() {
        // members, rows, losses
        let trajectory = [4.0, 2.0, 3.0, 1.0, 1.0, 1.0, 4.0, 3.0, 5.0, 1.0, 1.0, 1.0];
        let entropy = [0.5, 1.0, 1.5, 0.0];
        let rows = RssmSummary::of_rows(2, 2, &trajectory, &entropy).unwrap();
        let total = 1.0 + 2f64.sqrt() / 10.0;
        assert_eq!(rows[0].mean, [4.0, 2.5, 4.0]);
        assert_eq!((rows[0].deviation, rows[0].total), (1.0, total));
        assert_eq!(rows[0].confidence, 1.0 / (1.0 + total));
        let first = 0.5 * 1.1; // half the difference of 2 and 3, after one step
        let expected = [[4.0, 4.0], [2.5 - 2.0 * first, 2.5 + 2.0 * first], [4.0 - 2.0 * total, 4.0 + 2.0 * total]];
        assert_eq!(rows[0].bounds, expected);
        assert_eq!(rows[0].entropy, 0.5);
        let first = TrajectoryMetrics { step_deltas: vec![2.0, 1.0], variance: 2.0 / 3.0, smoothness: 3.0 };
        assert_eq!(rows[0].metrics[0], first);
        assert_eq!((rows[1].confidence, &rows[1].bounds, rows[1].entropy), (1.0, &vec![[1.0; 2]; 3], 0.25));
    }

    #[test]
    fn without_steps_the_current_loss_is_certain() {
        let unknown = RssmSummary::of_rows(1, 0, &[f32::NAN], &[0.0]).unwrap();
        assert!(unknown[0].mean[0].is_nan() && unknown[0].confidence == 1.0);
        let rows = RssmSummary::of_rows(2, 0, &[2.0, 2.0], &[0.0, 0.0]).unwrap();
        assert_eq!((&rows[0].mean[..], rows[0].confidence, rows[0].entropy), (&[2.0][..], 1.0, 0.0));
        assert_eq!(rows[0].metrics[0], TrajectoryMetrics { step_deltas: Vec::new(), variance: 0.0, smoothness: 0.0 });
    }

    #[test]
    fn results_of_another_size_are_refused() {
        assert!(matches!(RssmSummary::of_rows(0, 1, &[], &[]), Err(NnError::Parameter { .. })));
        assert!(matches!(RssmSummary::of_rows(2, 1, &[], &[0.0]), Err(NnError::Length { tensor: "entropy", .. })));
        let short = RssmSummary::of_rows(1, 1, &[0.0], &[0.0]);
        let expected = NnError::Length { op: "rssm_summary", tensor: "trajectory", expected: 2, got: 1 };
        assert_eq!(short, Err(expected));
    }
}
