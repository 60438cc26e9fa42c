//! Releases of NCCL as numbers.

use std::fmt;

/// A release in NCCL's encoding.
///
/// It is `1000 major + 100 minor + patch` up to 2.8, and `10000 major + 100 minor + patch` after
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub i32);

impl Version {
    /// The oldest release that this crate supports.
    ///
    /// It introduced `ncclSend` and `ncclRecv`.
    pub const OLDEST: Self = Self(2700);
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        let (major, rest) =
            if number < 10_000 { (number / 1000, number % 1000) } else { (number / 10_000, number % 10_000) };
        write!(f, "{major}.{}.{}", rest / 100, rest % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_as_it_was_counted_at_its_time() {
        for (number, name) in [(2408, "2.4.8"), (2708, "2.7.8"), (2804, "2.8.4"), (20_908, "2.9.8"), (22_703, "2.27.3")]
        {
            assert_eq!(Version(number).to_string(), name);
        }
        assert!(
            Version(2708) > Version::OLDEST && Version(2604) < Version::OLDEST && Version(20_908) > Version::OLDEST
        );
    }
}
