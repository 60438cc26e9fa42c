//! Meanings of result codes, available without a driver.
//!
//! This also records which codes `cust` could not be given as they were.

use std::{cell::Cell, fmt};

use super::{
    codes::{CODES, Code},
    status::Status,
};

thread_local! {
    static LAST_RAW: Cell<Option<Status>> = const { Cell::new(None) };
    static LAST_FAILURE: Cell<Option<Status>> = const { Cell::new(None) };
}

impl Status {
    /// Name of the code in the driver API's spelling; `None` for a code unknown to this crate.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.find().map(|code| code.name)
    }

    /// Meaning of the code, as one sentence; `None` for a code unknown to this crate.
    #[must_use]
    pub fn text(self) -> Option<&'static str> {
        self.find().map(|code| code.text)
    }

    /// Whether a context that met this code is lost: every later call in it fails.
    #[must_use]
    pub fn is_sticky(self) -> bool {
        self.find().is_some_and(|code| code.sticky)
    }

    /// The code for a caller whose enumeration ends with CUDA 11.4.
    ///
    /// It is the code itself, or 999 if it is newer.
    ///
    /// A replaced code is kept for [`last_raw_code`].
    pub(crate) fn closed(self) -> i32 {
        if self != Self::SUCCESS {
            LAST_FAILURE.set(Some(self));
        }
        if self.find().is_some_and(|code| code.in_11_4) {
            return self.0;
        }
        LAST_RAW.set(Some(self));
        Self::UNKNOWN.0
    }

    fn find(self) -> Option<&'static Code> {
        CODES.binary_search_by_key(&self.0, |code| code.value).ok().and_then(|at| CODES.get(at))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.find() {
            Some(code) => write!(f, "{} ({}): {}", code.name, self.0, code.text),
            None => write!(f, "unknown driver code {}", self.0),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "Status({}, {name})", self.0),
            None => write!(f, "Status({})", self.0),
        }
    }
}

/// The last code on this thread that `cust` received as 999.
///
/// The enumeration of `cust` lacks it.
#[must_use]
pub fn last_raw_code() -> Option<Status> {
    LAST_RAW.get()
}

/// The last code on this thread that reported a failure to `cust`.
///
/// The error of `cust` names only some codes.
#[must_use]
pub fn last_failure() -> Option<Status> {
    LAST_FAILURE.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_code_is_found() {
        assert!(CODES.windows(2).all(|pair| pair[0].value < pair[1].value));
        for code in CODES {
            assert_eq!(Status(code.value).name(), Some(code.name));
        }
    }

    #[test]
    fn a_code_newer_than_the_enumeration_becomes_unknown_and_is_kept() {
        assert_eq!(Status(700).closed(), 700);
        assert_eq!(last_raw_code(), None);
        assert_eq!(last_failure(), Some(Status(700)));
        assert_eq!(Status::SUCCESS.closed(), 0);
        assert_eq!(last_failure(), Some(Status(700)));
        assert_eq!(Status::DEVICE_UNAVAILABLE.closed(), 999);
        assert_eq!(last_raw_code(), Some(Status(46)));
        assert_eq!(Status(54321).closed(), 999);
        assert_eq!(last_raw_code(), Some(Status(54321)));
        assert_eq!(Status(54321).to_string(), "unknown driver code 54321");
    }

    #[test]
    fn codes_that_lose_the_context_are_sticky_and_refusals_are_not() {
        for lost in [700, 702, 710, 714, 715, 716, 717, 718, 719] {
            assert!(Status(lost).is_sticky(), "{lost}");
        }
        for kept in [0, 1, 2, 201, 400, 600, 801, 900, 901, 910, 999, 54321] {
            assert!(!Status(kept).is_sticky(), "{kept}");
        }
    }
}
