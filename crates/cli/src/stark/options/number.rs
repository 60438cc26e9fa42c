//! Whole numbers on the command line, within a range that is said where one is refused.

use core::ops::RangeInclusive;

/// Reads a whole number of `range`.
pub(crate) fn whole(
    range: RangeInclusive<u32>,
) -> impl Fn(&str) -> Result<u32, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| format!("expected a whole number of {}..={}", range.start(), range.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_is_told_the_range() {
        let read = whole(3..=16);
        for (text, number) in [("3", 3), ("16", 16), ("+7", 7), ("007", 7)] {
            assert_eq!(read(text), Ok(number));
        }
        for text in ["2", "17", "-3", "", " 3", "3.5", "0x3", "three", "4294967299", "99999999999999999999999999", "３"]
        {
            assert_eq!(read(text), Err("expected a whole number of 3..=16".to_owned()), "{text}");
        }
    }
}
