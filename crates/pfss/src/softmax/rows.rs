//! Packed rows between the rounds of a tournament, and sums of rows.
//!
//! In a round of a tournament, neighbours in a row meet, and an odd one out moves on to the next
//! round. Places are public. Rows of equal lengths need no list of places. In a round, rows of
//! even lengths need none.

use super::{RowLayout, moves::Moves};
use crate::PfssError;

/// The lengths of packed rows, each at least 1.
pub(super) struct Rows(Vec<usize>);

impl Rows {
    /// The rows of a layout that have elements.
    pub(super) fn live(layout: &RowLayout) -> Self {
        Self(layout.ranges().map(|range| range.len()).filter(|&len| len > 0).collect())
    }

    /// The rows after one round: half the elements of each, rounded up.
    pub(super) fn next(&self) -> Self {
        Self(self.0.iter().map(|len| len.div_ceil(2)).collect())
    }

    /// The first and the second of each pair of neighbours that meet.
    pub(super) fn pairs<M: Moves>(&self, memory: &M, x: &M::Shares) -> Result<[M::Shares; 2], PfssError> {
        if self.are_even() {
            return memory.unzipped(x);
        }
        let mut places = [Vec::new(), Vec::new()];
        for (start, len) in self.starts() {
            for pair in 0..len / 2 {
                let first = start + 2 * pair;
                places[0].push(Some(place_of(first)?));
                places[1].push(Some(place_of(first + 1)?));
            }
        }
        let [first, second] = places;
        Ok([memory.gathered(x, &first)?, memory.gathered(x, &second)?])
    }

    /// The rows of the next round: the winners of each row of `x`, and then its odd one out.
    pub(super) fn advance<M: Moves>(
        &self,
        memory: &M,
        winners: M::Shares,
        x: &M::Shares,
    ) -> Result<M::Shares, PfssError> {
        if self.are_even() {
            return Ok(winners);
        }
        // The winners of all rows come before x.
        let (met, mut places, mut won) = (memory.count(&winners), Vec::new(), 0);
        for (start, len) in self.starts() {
            for winner in won..won + len / 2 {
                places.push(Some(place_of(winner)?));
            }
            won += len / 2;
            if len % 2 == 1 {
                places.push(Some(place_of(met + start + len - 1)?));
            }
        }
        memory.gathered(&memory.joined(&winners, x)?, &places)
    }

    /// For each element of a row, the share of its row.
    pub(super) fn spread<M: Moves>(&self, memory: &M, of_rows: &M::Shares) -> Result<M::Shares, PfssError> {
        if let Some(width) = self.width() {
            return memory.repeated(of_rows, width);
        }
        let mut places = Vec::new();
        for (row, &len) in self.0.iter().enumerate() {
            places.extend(core::iter::repeat_n(Some(place_of(row)?), len));
        }
        memory.gathered(of_rows, &places)
    }

    /// The sum of each row.
    pub(super) fn sums<M: Moves>(&self, memory: &M, x: &M::Shares) -> Result<M::Shares, PfssError> {
        if let Some(width) = self.width() {
            return memory.row_sums(x, width);
        }
        // Zeros after the shorter rows.
        let longest = self.0.iter().copied().max().unwrap_or(1);
        let mut places = Vec::new();
        for (start, len) in self.starts() {
            for element in start..start + len {
                places.push(Some(place_of(element)?));
            }
            places.resize(places.len() + longest - len, None);
        }
        memory.row_sums(&memory.gathered(x, &places)?, longest)
    }

    /// The length of all rows, if they have one.
    fn width(&self) -> Option<usize> {
        match self.0.split_first() {
            None => Some(1),
            Some((&width, others)) => others.iter().all(|&len| len == width).then_some(width),
        }
    }

    /// Whether no row has an odd one out.
    fn are_even(&self) -> bool {
        self.0.iter().all(|len| len.is_multiple_of(2))
    }

    /// The first place and the length of each row.
    fn starts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().scan(0, |start, &len| {
            *start += len;
            Some((*start - len, len))
        })
    }
}

/// A place as moves take it.
fn place_of(place: usize) -> Result<u32, PfssError> {
    let refused = |_| PfssError::Length { what: "shares at most", expected: u32::MAX as usize, got: place };
    u32::try_from(place).map_err(refused)
}
