//! Sizes of an op's views, stated by its parameters and terms.
//!
//! Every backend checks them the same way.

use core_types::params::{
    fss::padded,
    share::{BitParams, BitTerm, MAX_POWER, NO_ROW, ONE_ROW, Threshold, WordParams, WordTerm},
};

use crate::{BackendError, ops::fss::GROUP};

/// Sizes of a combination of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitShape {
    /// Elements.
    pub count: usize,
    /// Words of a row.
    pub words: usize,
    /// Words of the rows of shares.
    pub rows: usize,
    /// Sums.
    pub sums: usize,
}

impl BitShape {
    /// The sizes that `params` and `terms` state for a view of `rows` words.
    ///
    /// Only whole rows count.
    pub(super) fn new(
        op: &'static str,
        params: &BitParams,
        terms: &[BitTerm],
        rows: usize,
    ) -> Result<Self, BackendError> {
        party(op, params.party)?;
        let words = padded(params.count) / GROUP;
        // Rows without words: any row number is valid.
        let held = rows.checked_div(words).unwrap_or(usize::MAX);
        let mut sums = 0;
        for term in terms {
            comparison(op, &term.public)?;
            if term.row != NO_ROW && term.row as usize >= held {
                return Err(BackendError::Unsupported { op, why: "a term refers to a row out of range" });
            }
            sums += last(op, term.last)?;
        }
        complete(op, terms.last().map(|term| term.last))?;
        let rows = if words == 0 { 0 } else { held * words };
        Ok(Self { count: params.count as usize, words, rows, sums })
    }
}

/// Sizes of a combination of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordShape {
    /// Elements.
    pub count: usize,
    /// Words of a padded row.
    pub padded: usize,
    /// Rows with padding.
    pub padded_rows: usize,
    /// Rows without.
    pub rows: usize,
    /// Rows of opened bits.
    pub opened_rows: usize,
    /// Sums.
    pub sums: usize,
}

impl WordShape {
    /// The sizes that `params` and `terms` state.
    pub(super) fn new(op: &'static str, params: &WordParams, terms: &[WordTerm]) -> Result<Self, BackendError> {
        let refuse = |why| Err(BackendError::Unsupported { op, why });
        party(op, params.party)?;
        if ![params.bits, params.width].iter().all(|width| (1..=64).contains(width)) || params.shift >= 64 {
            return refuse("expected widths of 1 to 64 bits and a shift below 64");
        }
        let rows = u64::from(params.padded_rows) + u64::from(params.rows);
        let mut sums = 0;
        for term in terms {
            comparison(op, &term.when)?;
            let word = |row: u32| row == NO_ROW || row == ONE_ROW || u64::from(row) < rows;
            let bit = |row: u32| row == NO_ROW || row < params.opened_rows;
            if !(word(term.value) && word(term.product) && bit(term.opened) && bit(term.given)) {
                return refuse("a term refers to a row out of range");
            }
            if term.power > MAX_POWER {
                return refuse("expected a power of at most 7");
            }
            sums += last(op, term.last)?;
        }
        complete(op, terms.last().map(|term| term.last))?;
        Ok(Self {
            count: params.count as usize,
            padded: padded(params.count),
            padded_rows: params.padded_rows as usize,
            rows: params.rows as usize,
            opened_rows: params.opened_rows as usize,
            sums,
        })
    }
}

fn party(op: &'static str, party: u32) -> Result<(), BackendError> {
    if party <= 1 { Ok(()) } else { Err(BackendError::Unsupported { op, why: "expected party 0 or 1" }) }
}

fn comparison(op: &'static str, threshold: &Threshold) -> Result<(), BackendError> {
    if threshold.bits <= 64 {
        Ok(())
    } else {
        Err(BackendError::Unsupported { op, why: "expected a comparison of at most 64 bits" })
    }
}

/// The sums that a term ends.
fn last(op: &'static str, last: u32) -> Result<usize, BackendError> {
    if last <= 1 {
        Ok(last as usize)
    } else {
        Err(BackendError::Unsupported { op, why: "expected a `last` flag of 0 or 1" })
    }
}

/// Refuses a list whose last term is not the last of its sum.
fn complete(op: &'static str, last: Option<u32>) -> Result<(), BackendError> {
    match last {
        None | Some(1) => Ok(()),
        Some(_) => Err(BackendError::Unsupported { op, why: "the final term must have the `last` flag" }),
    }
}
