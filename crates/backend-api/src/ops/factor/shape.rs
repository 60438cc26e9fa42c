//! Why matrices are refused.

/// Above [`MAX_SIDE`](core_types::params::factor::MAX_SIDE).
pub(super) const NOT_SMALL: &str = "expected a matrix of at most 1024 rows and columns";

/// With 2^31 rows or more, which kernels could not index.
pub(super) const TOO_MANY_ROWS: &str = "expected a matrix of fewer than 2^31 rows";
