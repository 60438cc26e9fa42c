//! Checks of lists of columns.

use core_types::params::columns::ColumnAt;

use crate::BackendError;

/// Refuses columns outside a view of `words` words or longer than `2^log_most`.
pub(super) fn check_columns(
    op: &'static str,
    columns: &[ColumnAt],
    log_most: u32,
    words: usize,
) -> Result<(), BackendError> {
    if u32::try_from(columns.len()).is_err() {
        return Err(BackendError::Unsupported { op, why: "expected fewer than 2^32 columns" });
    }
    for column in columns {
        if column.log_len > log_most {
            return Err(BackendError::Unsupported { op, why: "a column is longer than the tree or domain" });
        }
        if column.end().is_none_or(|end| end > words as u64) {
            return Err(BackendError::Unsupported { op, why: "a column reaches past the end of its buffer" });
        }
    }
    Ok(())
}

/// Refuses a log size above 30.
pub(super) fn check_log(op: &'static str, log_size: u32) -> Result<(), BackendError> {
    if log_size <= core_types::circle::MAX_LOG_DOMAIN {
        return Ok(());
    }
    Err(BackendError::Unsupported { op, why: "expected a log size of at most 30" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_lie_within_their_view_and_their_domain() {
        let check = |first, log_len| check_columns("op", &[ColumnAt::new(first, log_len)], 3, 20).is_ok();
        assert!(check(12, 3) && check(16, 2) && check(19, 0));
        assert!(!check(13, 3) && !check(17, 2) && !check(20, 0) && !check(u64::MAX, 0) && !check(0, 4));
        assert_eq!([0, 30, 31, u32::MAX].map(|log| check_log("op", log).is_ok()), [true, true, false, false]);
    }
}
