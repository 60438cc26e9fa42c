//! Which stored position a neighbouring row has, and which one a column of another height.
//!
//! Evaluations are stored in bit-reversed order. Rows follow each other along the coset: row `r` of
//! a canonic domain of `2^e` points is the point with index `g (2 r + 1)`.

use crate::circle::bit_reversed;

/// The stored position of row `row` of a trace of `2^log_rows` rows.
///
/// Positions are on the canonic domain of that size. Requires `row < 2^log_rows` and
/// `log_rows <= 31`.
#[inline]
#[must_use]
pub const fn stored_position(row: u32, log_rows: u32) -> u32 {
    bit_reversed(natural_position(row, 1u32.wrapping_shl(log_rows)), log_rows)
}

/// The natural position of row `row` of `rows`.
///
/// Even rows are the half coset forwards, odd rows its conjugates backwards.
const fn natural_position(row: u32, rows: u32) -> u32 {
    if row.is_multiple_of(2) { row / 2 } else { rows.wrapping_sub(row.div_ceil(2)) }
}

/// The row of a trace of `2^log_rows` rows stored at `position`.
///
/// The inverse of [`stored_position`]. Requires `position < 2^log_rows` and `1 <= log_rows <= 31`.
#[inline]
#[must_use]
pub const fn stored_row(position: u32, log_rows: u32) -> u32 {
    let rows = 1u32.wrapping_shl(log_rows);
    let natural = bit_reversed(position, log_rows);
    if natural < rows / 2 {
        natural.wrapping_mul(2)
    } else {
        rows.wrapping_sub(natural).wrapping_mul(2).wrapping_sub(1)
    }
}

/// The stored position `offset` trace rows away from `position`.
///
/// Both positions are among the `2^log_size` values of a trace of `2^log_rows` rows on a domain at
/// least as large; `log_rows <= log_size <= 31`. The domain is canonic or, if it is larger than the
/// trace, the first positions of a canonic one.
#[inline]
#[must_use]
pub const fn neighbour(position: u32, log_size: u32, log_rows: u32, offset: i32) -> u32 {
    let rows = 1u32.wrapping_shl(log_size);
    let step = (offset as u32).wrapping_shl(log_size.wrapping_sub(log_rows));
    let row = stored_row(position, log_size).wrapping_add(step) & rows.wrapping_sub(1);
    bit_reversed(natural_position(row, rows), log_size)
}

/// The stored position among `2^to` points corresponding to `position` among `2^from`.
///
/// One of the two points is reached from the other by doubling. A query of one height meets a
/// column of another height at this position.
#[inline]
#[must_use]
pub const fn lifted(position: u32, from: u32, to: u32) -> u32 {
    // Position 2 h + 1 is the conjugate of 2 h on every height; the pairs are what doubling merges.
    let pair = position & !1;
    let pair = if to <= from { pair.wrapping_shr(from - to) & !1 } else { pair.wrapping_shl(to - from) };
    pair | (position & 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circle::{CirclePoint, CirclePointIndex};
    use crate::field::M31;

    /// The point at a stored position of a canonic domain of `2^log_domain` points.
    fn stored(position: u32, log_domain: u32) -> CirclePoint<M31> {
        let natural = bit_reversed(position, log_domain);
        let (half, unit) = (1 << (log_domain - 1), 1u32 << (30 - log_domain));
        let index = CirclePointIndex::new(unit + 4 * unit * (natural % half));
        if natural < half { index.to_point() } else { (-index).to_point() }
    }

    #[test]
    fn rows_follow_each_other_along_the_coset() {
        for log_rows in 1..=8 {
            let step = CirclePointIndex::subgroup_generator(log_rows);
            let mut index = CirclePointIndex::subgroup_generator(log_rows + 1);
            for row in 0..1 << log_rows {
                let position = stored_position(row, log_rows);
                assert_eq!(stored(position, log_rows), index.to_point(), "{log_rows} {row}");
                assert_eq!(stored_row(position, log_rows), row, "{log_rows}");
                index = index + step;
            }
        }
    }

    #[test]
    fn neighbours_are_steps_along_the_coset() {
        for log_rows in 1..=5 {
            let step = CirclePointIndex::subgroup_generator(log_rows);
            for log_domain in log_rows..=7 {
                // a part of a domain has whole steps only if it is larger than the trace
                for log_size in
                    (log_rows + 1..=log_domain).chain([log_rows].into_iter().filter(|_| log_rows == log_domain))
                {
                    for (position, offset) in (0..1 << log_size).flat_map(|p| (-5..=5).map(move |o| (p, o))) {
                        let there = stored(position, log_domain) + (step * offset as u32).to_point();
                        let found = stored(neighbour(position, log_size, log_rows, offset), log_domain);
                        assert_eq!(found, there, "{log_rows} {log_size} {log_domain} {position} {offset}");
                    }
                }
            }
        }
    }

    #[test]
    fn lifted_positions_are_reached_by_doubling() {
        for (from, to) in (1..=7).flat_map(|from| (1..=from).map(move |to| (from, to))) {
            for position in 0..1 << from {
                let mut point = stored(position, from);
                (to..from).for_each(|_| point = point.double());
                let below = lifted(position, from, to);
                assert_eq!(stored(below, to), point, "{from} {to} {position}");
                assert_eq!(lifted(lifted(below, to, from), from, to), below);
            }
        }
    }
}
