//! Tables of names with seconds.

use std::fmt::Write as _;

/// Rows of a table of the largest.
pub(super) const LARGEST: usize = 10;

/// The `count` largest rows, as lines under a heading with the number and the sum of all.
pub(super) fn largest(heading: &str, mut rows: Vec<(String, f64)>, count: usize) -> String {
    rows.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let sum: f64 = rows.iter().map(|(_, seconds)| seconds).sum();
    let mut text = format!("{heading}: {} of {sum:.1} s together", rows.len());
    if rows.len() > count {
        write!(text, ", the largest {count}").unwrap_or_default();
    }
    for (name, seconds) in rows.iter().take(count) {
        write!(text, "\n{seconds:>10.1} s  {name}").unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_rows_come_first_and_the_sum_counts_all() {
        let rows = [("a", 1.0), ("b", 3.0), ("c", 2.0)].map(|(name, seconds)| (name.to_owned(), seconds));
        let text = largest("tiers", rows.to_vec(), 2);
        assert_eq!(text, "tiers: 3 of 6.0 s together, the largest 2\n       3.0 s  b\n       2.0 s  c");
    }
}
