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
