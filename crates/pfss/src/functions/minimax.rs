//! Best uniform approximation by polynomials of low degree.
//!
//! The algorithm is Remez's exchange on a grid.
//!
//! An exchange solves `p(u_k) + (-1)^k E = f(u_k)` at `degree + 2` reference points for `p` and the
//! error `E`, and moves the points to the extrema of `p - f`.

/// Points of the grid on which extrema are looked for.
const GRID: usize = 1024;
/// The exchange converges quadratically; a smooth function takes a handful.
const EXCHANGES: usize = 16;

/// A polynomial on `0 <= u <= 1` close to the best one of degree `degree`.
///
/// Its coefficients are in ascending order, constant term first.
pub(super) fn minimax(degree: u32, function: impl Fn(f64) -> f64) -> Vec<f64> {
    let size = degree as usize + 2;
    let at = |i: usize| i as f64 / GRID as f64;
    let values: Vec<f64> = (0..=GRID).map(|i| function(at(i))).collect();
    if degree == 0 {
        // the middle of the range; the exchange may start where all errors are zero
        let fold = |pick: fn(f64, f64) -> f64| values.iter().copied().fold(values[0], pick);
        return vec![(fold(f64::min) + fold(f64::max)) / 2.0];
    }
    // the extrema of the Chebyshev polynomial: best for a function that is one degree higher
    let angle = |k: usize| core::f64::consts::PI * k as f64 / (size - 1) as f64;
    let mut reference: Vec<usize> =
        (0..size).map(|k| ((1.0 - angle(k).cos()) / 2.0 * GRID as f64).round() as usize).collect();
    // Exchanges go on until the reference points stay.
    let mut best = (f64::INFINITY, Vec::new());
    for _ in 0..EXCHANGES {
        let polynomial = level(&reference, &values, at);
        let error = |i: usize| polynomial.iter().rev().fold(0.0, |sum, c| sum * at(i) + c) - values[i];
        let worst = (0..=GRID).map(|i| error(i).abs()).fold(0.0, f64::max);
        let next = extrema(size, error);
        if worst < best.0 {
            best = (worst, polynomial.clone());
        }
        match next {
            Some(next) if next != reference => reference = next,
            _ => break,
        }
    }
    best.1
}

/// The polynomial with errors of equal size and alternating signs at the reference points.
fn level(reference: &[usize], values: &[f64], at: impl Fn(usize) -> f64) -> Vec<f64> {
    let size = reference.len();
    let row = |(k, &i): (usize, &usize)| {
        let mut row: Vec<f64> = (0..size - 1).map(|j| at(i).powi(j as i32)).collect();
        row.extend([if k % 2 == 0 { 1.0 } else { -1.0 }, values[i]]);
        row
    };
    let mut solution = solve(reference.iter().enumerate().map(row).collect());
    solution.pop(); // the size of the error
    solution
}

/// Gaussian elimination with pivots on rows of coefficients and right-hand sides.
fn solve(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let size = rows.len();
    for column in 0..size {
        let pivot = (column..size).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()));
        rows.swap(column, pivot.unwrap_or(column)); // the range is not empty
        let pivot = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|&(at, _)| at != column) {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(&pivot).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    (0..size).map(|k| rows[k][size] / rows[k][k]).collect()
}

/// The `size` neighbouring runs of one sign with the greatest errors.
///
/// Each run is given by the position of its greatest error. `None` if there are fewer runs.
fn extrema(size: usize, error: impl Fn(usize) -> f64) -> Option<Vec<usize>> {
    let mut runs: Vec<usize> = Vec::new();
    for i in 0..=GRID {
        match runs.last_mut() {
            Some(peak) if (error(*peak) < 0.0) == (error(i) < 0.0) => {
                if error(i).abs() > error(*peak).abs() {
                    *peak = i;
                }
            }
            _ => runs.push(i),
        }
    }
    let total = |window: &[usize]| window.iter().map(|&i| error(i).abs()).sum::<f64>();
    runs.windows(size).max_by(|a, b| total(a).total_cmp(&total(b))).map(<[usize]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worst(polynomial: &[f64], function: impl Fn(f64) -> f64) -> f64 {
        let error = |u: f64| (polynomial.iter().rev().fold(0.0, |sum, c| sum * u + c) - function(u)).abs();
        (0..=10_000).map(|i| error(f64::from(i) / 10_000.0)).fold(0.0, f64::max)
    }

    #[test]
    fn best_errors_known_in_closed_form_are_met() {
        // the best line for 1 / (1 + u): slope -1/2, error (3/2 - sqrt 2) / 2
        let best = (1.5 - 2f64.sqrt()) / 2.0;
        assert!((worst(&minimax(1, |u| 1.0 / (1.0 + u)), |u| 1.0 / (1.0 + u)) - best).abs() < 1e-6);
        // powers of one degree more: 2^-(2d + 1), by the Chebyshev polynomials
        for degree in 1..=3 {
            let function = |u: f64| u.powi(degree as i32 + 1);
            let best = 0.5f64.powi(2 * degree as i32 + 1);
            let got = worst(&minimax(degree, function), function);
            assert!(got >= best * (1.0 - 1e-5) && got < 1.001 * best, "degree {degree}: {got} above {best}");
        }
    }

    #[test]
    fn the_best_constant_is_the_middle_of_the_range() {
        assert_eq!(minimax(0, |u| (u - 0.5) * (u - 0.5)), [0.125]);
    }

    #[test]
    fn polynomials_are_their_own_best_approximation() {
        let function = |u: f64| 1.0 - 2.0 * u + 3.0 * u * u * u;
        assert!(worst(&minimax(3, function), function) < 1e-13);
    }
}
