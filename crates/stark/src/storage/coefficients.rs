//! Placement of the coefficients of all columns.
//!
//! They are on the device; on the host, from which they are copied in pieces; or distributed, each
//! column with one rank.

use core::ops::Range;

use backend_api::{BackendError, Buffer as _, Mut, Queue, Ref};
use core_types::field::M31;

use crate::{
    StarkOps,
    plan::shape::{ColumnRun, StatementShape},
    storage::host::HostColumns,
};

/// Words of a piece at most, unless a column has more.
const PIECE: usize = 1 << 22;

/// Pieces of a run at least, unless it has less columns.
const PIECES: usize = 8;

/// Coefficients on the device.
///
/// Either all of them, or only the composition polynomial's plus room for pieces of the others
/// (offloaded to the host), or the composition polynomial's plus the columns of this rank
/// (column-partitioned).
pub(crate) struct DeviceCoefficients<Q: Queue> {
    /// The coefficients that stay on the device, the composition polynomial's last.
    pub(crate) resident: Q::Buf<M31>,
    /// The number of coefficients before the composition polynomial's that are elsewhere.
    first: usize,
    /// Two pieces: one is copied while the device works on the other.
    pieces: Option<[CoefficientPiece<Q>; 2]>,
    /// The index of the piece that was copied most recently.
    last: usize,
}

/// Words that were brought to the device.
struct CoefficientPiece<Q: Queue> {
    room: Q::Buf<M31>,
    /// Where they are among all.
    held: Range<usize>,
}

impl<Q: Queue> DeviceCoefficients<Q> {
    pub(crate) fn new(q: &Q, shape: &StatementShape) -> Result<Self, BackendError> {
        let piece = || Ok::<_, BackendError>(CoefficientPiece { room: q.alloc(shape.piece_words())?, held: 0..0 });
        let first = shape.coefficients_elsewhere();
        Ok(Self {
            resident: q.alloc(shape.coefficients - first)?,
            first,
            pieces: if shape.on_host { Some([piece()?, piece()?]) } else { None },
            last: 0,
        })
    }

    /// Elements of the buffers.
    pub(crate) fn len(&self) -> usize {
        self.resident.len() + self.pieces.iter().flatten().map(|piece| piece.room.len()).sum::<usize>()
    }

    /// Words of a column or of columns that follow each other, by their place among all.
    ///
    /// Of those on the host, the two pieces that were brought last are here; of partitioned ones,
    /// none.
    pub(crate) fn slice(&self, words: Range<usize>) -> Result<Ref<'_, Q, M31>, BackendError> {
        match &self.pieces {
            Some(pieces) if words.start < self.first => {
                let CoefficientPiece { room, held } =
                    &pieces[here(pieces.each_ref().map(|piece| &piece.held), self.last, &words)?];
                room.slice(words.start - held.start..words.end - held.start)
            }
            _ => self.resident.slice(words.start - self.first..words.end - self.first),
        }
    }

    /// As [`slice`](Self::slice), to be written.
    pub(crate) fn slice_mut(&mut self, words: Range<usize>) -> Result<Mut<'_, Q, M31>, BackendError> {
        match &mut self.pieces {
            Some(pieces) if words.start < self.first => {
                let number = here(pieces.each_ref().map(|piece| &piece.held), self.last, &words)?;
                let CoefficientPiece { room, held } = &mut pieces[number];
                room.slice_mut(words.start - held.start..words.end - held.start)
            }
            _ => self.resident.slice_mut(words.start - self.first..words.end - self.first),
        }
    }

    /// Returns room for the next piece, or `None` for words that stay on the device.
    ///
    /// The room is the one of the last piece but one.
    pub(crate) fn next(&mut self, words: &Range<usize>) -> Result<Option<Mut<'_, Q, M31>>, BackendError> {
        let Some(pieces) = self.pieces.as_mut().filter(|_| words.start < self.first) else { return Ok(None) };
        self.last ^= 1;
        let CoefficientPiece { room, held } = &mut pieces[self.last];
        *held = words.clone();
        Ok(Some(room.slice_mut(0..words.len())?))
    }
}

impl<Q: StarkOps> DeviceCoefficients<Q> {
    /// Copies words to the device if they are on the host.
    pub(crate) fn bring(&mut self, host: Option<&HostColumns<Q>>, words: &Range<usize>) -> Result<(), BackendError> {
        match (host, self.next(words)?) {
            (Some(host), Some(room)) => host.bring(words.start, room),
            _ => Ok(()),
        }
    }
}

/// Returns the index of the piece that holds these words.
///
/// If both do, the most recently copied one: the other may hold words of the previous proof.
fn here(held: [&Range<usize>; 2], last: usize, words: &Range<usize>) -> Result<usize, BackendError> {
    let has = |number: &usize| held[*number].start <= words.start && words.end <= held[*number].end;
    let absent = BackendError::OutOfRange { start: words.start, end: words.end, len: 0 };
    [last, last ^ 1].into_iter().find(has).ok_or(absent)
}

impl StatementShape {
    /// The number of coefficient words on the host.
    ///
    /// Zero, or all columns except the composition polynomial's, which come last.
    pub(crate) fn coefficients_on_host(&self) -> usize {
        if self.on_host { self.composition().coefficients().start } else { 0 }
    }

    /// The number of coefficient words that this prover does not have on its device.
    ///
    /// The composition polynomial's coefficients are stored earlier there by this offset.
    pub(crate) fn coefficients_elsewhere(&self) -> usize {
        let runs = self.trees[..self.trace_trees()].iter().flat_map(|tree| &tree.runs);
        let own = runs.map(|run| run.own_coefficients.len());
        if self.place.partitioned {
            self.composition().coefficients().start - own.sum::<usize>()
        } else {
            self.coefficients_on_host()
        }
    }

    /// Where the composition polynomial's coefficients are among those that stay on the device.
    pub(crate) fn composition_on_device(&self) -> Range<usize> {
        let (all, first) = (self.composition().coefficients(), self.coefficients_elsewhere());
        all.start - first..all.end - first
    }

    /// Columns of a run that come to the device at once: all, if they are there.
    pub(crate) fn pieces(&self, run: &ColumnRun) -> impl Iterator<Item = Range<usize>> + use<> {
        let columns = run.columns as usize;
        let at_once = if self.on_host { at_once(run) } else { columns };
        (0..columns).step_by(at_once).map(move |first| first..columns.min(first + at_once))
    }

    /// Words of the largest piece.
    pub(crate) fn piece_words(&self) -> usize {
        let runs = self.trees[..self.trace_trees()].iter().flat_map(|tree| &tree.runs);
        runs.map(|run| at_once(run) << run.log_rows).max().unwrap_or(0)
    }
}

/// Columns of a run in a piece.
fn at_once(run: &ColumnRun) -> usize {
    (run.columns as usize).div_ceil(PIECES).min(PIECE >> run.log_rows).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_pieces_with_the_same_words_the_last_is_taken() {
        let held = [&(8..16), &(8..24)];
        assert_eq!(here(held, 0, &(8..16)), Ok(0));
        assert_eq!(here(held, 1, &(8..16)), Ok(1));
        assert_eq!(here(held, 0, &(16..24)), Ok(1));
        let absent = BackendError::OutOfRange { start: 4, end: 12, len: 0 };
        assert_eq!(here(held, 0, &(4..12)), Err(absent));
    }
}
