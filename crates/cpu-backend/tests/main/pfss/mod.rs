//! Function secret sharing and sums of shares.

mod fss;
mod share;
