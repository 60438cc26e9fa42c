//! Columns of several sizes in one buffer of words.

use bytemuck::{Pod, Zeroable};

use crate::params::sizes::list_sizes;

/// Where a column is: `2^log_len` words from word `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ColumnAt {
    /// Its first word.
    pub first: u64,
    /// Log of its words.
    pub log_len: u32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

impl ColumnAt {
    /// The column of `2^log_len` words from `first` on.
    #[must_use]
    pub const fn new(first: u64, log_len: u32) -> Self {
        Self { first, log_len, reserved: 0 }
    }

    /// The word after its last, or `None` where no buffer reaches.
    #[must_use]
    pub const fn end(&self) -> Option<u64> {
        if self.log_len > 40 { None } else { self.first.checked_add(1 << self.log_len) }
    }
}

list_sizes!(ColumnAt);
