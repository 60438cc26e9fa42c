//! Results of a device compared with the host's.

use core::{error::Error, fmt};

/// Results that are not the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// How many are wrong or missing.
    pub wrong: usize,
    /// How many there should be.
    pub all: usize,
    /// The first of them, with what was expected.
    pub first: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} results are wrong, first {}", self.wrong, self.all, self.first)
    }
}

impl Error for Wrong {}

/// Compares results with the host's; `place` describes the origin of the result at an index.
pub(crate) fn compare<T: Copy + PartialEq + fmt::LowerHex>(
    expected: &[T],
    got: &[T],
    place: impl Fn(usize) -> String,
) -> Result<(), Wrong> {
    let differs = |&(index, expected): &(usize, &T)| got.get(index) != Some(expected);
    let mut wrong = expected.iter().enumerate().filter(differs);
    let Some((index, expected_first)) = wrong.next() else { return Ok(()) };
    let got_first = got.get(index).map_or_else(|| "nothing".to_owned(), |got| format!("{got:#x}"));
    let first = format!("{}: got {got_first}, expected {expected_first:#x}", place(index));
    Err(Wrong { wrong: 1 + wrong.count(), all: expected.len(), first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_or_missing_result_is_named_and_all_are_counted() {
        let judge = |got: &[u32]| compare(&[7, 8, 9], got, |index| format!("word {index}"));
        let wrong = |wrong, first: &str| Err(Wrong { wrong, all: 3, first: first.to_owned() });
        assert_eq!(judge(&[7, 8, 9]), Ok(()));
        assert_eq!(judge(&[7, 24, 9]), wrong(1, "word 1: got 0x18, expected 0x8"));
        assert_eq!(judge(&[6, 8, 10]), wrong(2, "word 0: got 0x6, expected 0x7"));
        assert_eq!(judge(&[7, 8]), wrong(1, "word 2: got nothing, expected 0x9"));
        let shown = judge(&[]).unwrap_err().to_string();
        assert_eq!(shown, "3 of 3 results are wrong, first word 0: got nothing, expected 0x7");
    }
}
