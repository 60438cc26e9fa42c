//! The wide-Fibonacci AIR: row `r` is a sequence `f_0 f_1 ... f_(w-1)` with `f_(i+2) = f_i^2 + f_(i+1)^2`.

use core_types::{
    circle::{CirclePoint, double_x},
    field::{Field, M31, QM31},
};
use stark_fft::CanonicDomain;

/// Columns of the trace.
pub(crate) const COLUMNS: usize = 100;

/// The trace of `rows` rows, column-major: row `r` starts with `1` and `r`.
pub(crate) fn trace(rows: usize) -> Vec<M31> {
    let mut columns = vec![M31::ONE; rows];
    columns.extend((0..rows).map(|r| M31::from_u64(r as u64)));
    for column in 2..COLUMNS {
        let (first, second) = columns[(column - 2) * rows..].split_at(rows);
        let next: Vec<M31> = first.iter().zip(second).map(|(a, b)| a.square() + b.square()).collect();
        columns.extend(next);
    }
    columns
}

/// The sum of `alpha^k C_k`, first constraint with the lowest power, where `C_k = f_(k+2) - f_k^2 - f_(k+1)^2`.
pub(crate) fn combined_constraints<F>(row: &[F], powers: &[QM31]) -> QM31
where
    F: Field,
    QM31: From<F>,
{
    let constraint = |k: usize| QM31::from(row[k + 2] - row[k].square() - row[k + 1].square());
    powers.iter().enumerate().map(|(k, &power)| power * constraint(k)).fold(QM31::ZERO, |sum, term| sum + term)
}

/// The polynomial that vanishes on the domain's points, `pi^(n-1)(x)`.
pub(crate) fn vanishing<F: Field>(domain: CanonicDomain, point: CirclePoint<F>) -> F {
    (1..domain.log_size()).fold(point.x, |x, _| double_x(x))
}

/// The barycentric weights of the domain's stored points at `z`, up to inversion: `f(z) = V(z) sum f(p) / w(p)`.
///
/// `w(p) = c(p) v_p(z)` with `v_p(z) = h.y / (1 + h.x)` for `h = z - p`, and `c(p)` the quotient of the derivatives of
/// `V` and of `v_p` along the circle at `p`: `-2 p.y 4^(n-1) prod pi^k(p.x)` for `k < n-1`. As in Circle STARKs
/// (<https://eprint.iacr.org/2024/278>), section 3.
pub(crate) fn barycentric_denominators(domain: CanonicDomain, z: CirclePoint<QM31>) -> Option<Vec<QM31>> {
    let n = domain.log_size();
    let derivative = |p: CirclePoint<M31>| {
        let (product, _) = (1..n).fold((M31::ONE, p.x), |(product, x), _| (product * x, double_x(x)));
        -(p.y.double() * product).times_power_of_two(2 * (n - 1) % 31)
    };
    let denominator = |position: usize| {
        let p = domain.stored_point(position);
        let h = z + CirclePoint::<QM31>::from(p.conjugate());
        Some(((QM31::ONE + h.x).inverse()? * h.y).scale(derivative(p)))
    };
    (0..domain.len()).map(denominator).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_trace_satisfies_every_constraint() {
        let rows = 8;
        let columns = trace(rows);
        let powers = vec![QM31::ONE; COLUMNS - 2];
        for r in 0..rows {
            let mut row: Vec<M31> = (0..COLUMNS).map(|c| columns[c * rows + r]).collect();
            assert_eq!(combined_constraints(&row, &powers), QM31::ZERO);
            row[50] += M31::ONE;
            assert_ne!(combined_constraints(&row, &powers), QM31::ZERO);
        }
    }

    #[test]
    fn the_vanishing_polynomial_is_zero_on_its_domain_only() {
        let (small, large) = (CanonicDomain::new(4).unwrap(), CanonicDomain::new(5).unwrap());
        assert!((0..16).all(|p| vanishing(small, small.stored_point(p)) == M31::ZERO));
        assert!((0..32).all(|p| vanishing(small, large.stored_point(p)) != M31::ZERO));
    }
}
