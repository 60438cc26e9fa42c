//! Packed rows between the rounds of a tournament, and sums of rows.
//!
//! In a round of a tournament, neighbours in a row meet, and an odd one out moves on to the next
//! round. Places are public. Rows of equal lengths need no list of places. In a round, rows of
//! even lengths need none. All lists of a softmax go to a device together.

use core::{iter::repeat_n, ops::Range};

use super::{RowLayout, moves::Moves};
use crate::PfssError;

/// The moves of packed rows, each of at least one element.
pub(super) struct Rows<M: Moves> {
    lists: M::Lists,
    /// Lists of each round: the firsts and the seconds of its pairs, and the next round's rows.
    ///
    /// `None` if all lengths are even.
    rounds: Vec<Option<[Range<usize>; 3]>>,
    /// The length of the longest row.
    width: usize,
    /// Lists of the row of each element, and of the elements of rows that all have that length.
    ///
    /// `None` if all lengths are equal.
    unequal: Option<[Range<usize>; 2]>,
}

impl<M: Moves> Rows<M> {
    /// The rows of a layout that have elements.
    pub(super) fn live(memory: &M, layout: &RowLayout) -> Result<Self, PfssError> {
        let rows: Vec<usize> = layout.ranges().map(|range| range.len()).filter(|&len| len > 0).collect();
        let mut places = Vec::new();
        let mut add = |list: Vec<Option<usize>>| {
            let start = places.len();
            places.extend(list);
            start..places.len()
        };
        // The rounds of the tournament.
        let (mut left, mut rounds) = (rows.clone(), Vec::new());
        while left.iter().any(|&len| len > 1) {
            let is_even = left.iter().all(|len| len.is_multiple_of(2));
            rounds.push((!is_even).then(|| meetings(&left).map(&mut add)));
            left.iter_mut().for_each(|len| *len = len.div_ceil(2));
        }
        // Shares of rows at their elements, and rows with zeros after the shorter ones.
        let width = rows.iter().copied().max().unwrap_or(1);
        let unequal = rows.iter().any(|&len| len < width).then(|| {
            let rows_of = rows.iter().enumerate().flat_map(|(row, &len)| repeat_n(Some(row), len)).collect();
            let padded = |(start, len)| (start..start + len).map(Some).chain(repeat_n(None, width - len));
            [rows_of, starts(&rows).flat_map(padded).collect()].map(&mut add)
        });
        let places = places.into_iter().map(|place| place.map(place_of).transpose());
        Ok(Self { lists: memory.lists(places.collect::<Result<_, _>>()?)?, rounds, width, unequal })
    }

    /// The first and the second of each pair of neighbours that meet in a round.
    pub(super) fn pairs(&self, memory: &M, round: usize, x: &M::Shares) -> Result<[M::Shares; 2], PfssError> {
        let Some([first, second, _]) = &self.rounds[round] else { return memory.unzipped(x) };
        Ok([memory.gathered(x, &self.lists, first.clone())?, memory.gathered(x, &self.lists, second.clone())?])
    }

    /// The rows of the next round: the winners of each row of `x`, and then its odd one out.
    pub(super) fn advance(
        &self,
        memory: &M,
        round: usize,
        winners: M::Shares,
        x: &M::Shares,
    ) -> Result<M::Shares, PfssError> {
        let Some([.., next]) = &self.rounds[round] else { return Ok(winners) };
        memory.gathered(&memory.joined(&winners, x)?, &self.lists, next.clone())
    }

    /// For each element of a row, the share of its row.
    pub(super) fn spread(&self, memory: &M, of_rows: &M::Shares) -> Result<M::Shares, PfssError> {
        match &self.unequal {
            Some([rows_of, _]) => memory.gathered(of_rows, &self.lists, rows_of.clone()),
            None => memory.repeated(of_rows, self.width),
        }
    }

    /// The sum of each row.
    pub(super) fn sums(&self, memory: &M, x: &M::Shares) -> Result<M::Shares, PfssError> {
        match &self.unequal {
            Some([_, padded]) => memory.row_sums(&memory.gathered(x, &self.lists, padded.clone())?, self.width),
            None => memory.row_sums(x, self.width),
        }
    }
}

/// The places of a round: each first and second that meet, and the rows of the next round.
///
/// The winners of all rows come before the elements of all rows there.
fn meetings(rows: &[usize]) -> [Vec<Option<usize>>; 3] {
    let met: usize = rows.iter().map(|len| len / 2).sum();
    let ([mut firsts, mut seconds, mut next], mut winners) = ([const { Vec::new() }; 3], 0..met);
    for (start, len) in starts(rows) {
        let pairs = (start..).step_by(2).take(len / 2);
        firsts.extend(pairs.clone().map(Some));
        seconds.extend(pairs.map(|first| Some(first + 1)));
        next.extend(winners.by_ref().take(len / 2).map(Some));
        next.extend((len % 2 == 1).then_some(Some(met + start + len - 1)));
    }
    [firsts, seconds, next]
}

/// The first place and the length of each row.
fn starts(rows: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    rows.iter().scan(0, |start, &len| {
        *start += len;
        Some((*start - len, len))
    })
}

/// A place as moves take it.
fn place_of(place: usize) -> Result<u32, PfssError> {
    let refused = |_| PfssError::Length { what: "shares at most", expected: u32::MAX as usize, got: place };
    u32::try_from(place).map_err(refused)
}
