//! Work on columns whose coefficients are on the host.
//!
//! They are copied in pieces: one is copied while the device works on another.

use core::ops::Range;

use backend_api::{Buffer as _, ops::circle::CircleEvalAtPoints};
use core_types::{
    field::M31,
    params::{columns::ColumnAt, deep::SampleAt},
};

use crate::{
    Prover, ProverError, StarkOps,
    placement::rows::interpolate,
    plan::samples::Samples,
    plan::shape::{ColumnShape, StatementShape},
    storage::answers::Answers,
};

impl<Q: StarkOps> Prover<Q> {
    /// Interpolates the columns of a tree, and stores their coefficients on the host.
    ///
    /// `parts` are given in the order of memory.
    pub(crate) fn interpolate_by_pieces(
        &mut self,
        q: &Q,
        tree: usize,
        mut parts: &[&[M31]],
    ) -> Result<(), ProverError> {
        let (Some(host), coefficients) = (&mut self.host, &mut self.memory.coefficients) else { return Ok(()) };
        let mut before: Option<Range<usize>> = None;
        for run in &self.shape.trees[tree].runs {
            let columns;
            (columns, parts) = parts.split_at(run.columns as usize);
            // Pieces of a run are uploaded and interpolated in turn.
            for piece in self.shape.pieces(run) {
                let words = run.words(piece.clone());
                if let Some(room) = coefficients.next(&words)? {
                    host.upload(&columns[piece], room)?;
                }
                interpolate(q, &self.twiddles, run.log_rows, coefficients.slice_mut(words.clone())?)?;
                // One piece goes back while the next is interpolated.
                if let Some(before) = before.replace(words) {
                    host.keep(coefficients.slice(before.clone())?, before.start)?;
                }
            }
        }
        // The last piece goes back when nothing is left to interpolate.
        if let Some(last) = before {
            host.keep(coefficients.slice(last.clone())?, last.start)?;
        }
        Ok(())
    }

    /// Samples all columns.
    pub(crate) fn sample_by_pieces(&mut self, q: &Q) -> Result<(), ProverError> {
        let memory = &mut self.memory;
        let Answers { secure, places, .. } = &mut memory.answers;
        for Sampled { columns, samples, words } in sampled(&self.shape, &self.samples) {
            // A piece is brought to the device, and its columns are numbered from zero.
            memory.coefficients.bring(self.host.as_ref(), &words)?;
            let all = self.shape.trees.iter().flat_map(|tree| &tree.columns);
            let at = |column: &ColumnShape| {
                let ColumnAt { first, log_len, .. } = column.coefficients;
                ColumnAt::new(first - words.start as u64, log_len)
            };
            let here: Vec<ColumnAt> = all.skip(columns.start).take(columns.len()).map(at).collect();
            let first = columns.start as u32; // a column of a sample
            let of_columns = self.samples.samples[samples.clone()].iter();
            let of_columns: Vec<SampleAt> =
                of_columns.map(|sample| SampleAt { column: sample.column - first, ..*sample }).collect();
            // Its samples are consecutive in the proof.
            let place = places.sampled.start + samples.start..places.sampled.start + samples.end;
            q.circle_eval_at_points(CircleEvalAtPoints {
                columns: &here,
                samples: &of_columns,
                coefficients: memory.coefficients.slice(words)?,
                points: memory.points.view(),
                sampled: secure.slice_mut(place)?,
            })?;
        }
        Ok(())
    }
}

/// Samples of columns that come to the device at once.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sampled {
    /// The columns, which are consecutive in the proof and in memory.
    ///
    /// They are numbered among all columns.
    columns: Range<usize>,
    /// Their samples.
    samples: Range<usize>,
    /// Words of their coefficients.
    words: Range<usize>,
}

/// All samples, in their order.
fn sampled(shape: &StatementShape, samples: &Samples) -> Vec<Sampled> {
    let columns: Vec<&ColumnShape> = shape.trees.iter().flat_map(|tree| &tree.columns).collect();
    let (most, on_host) = (shape.piece_words(), shape.coefficients_on_host());
    let mut pieces: Vec<Sampled> = Vec::new();
    for (index, sample) in samples.samples.iter().enumerate() {
        let number = sample.column as usize;
        let first = columns[number].coefficients.first as usize;
        let end = first + (1 << columns[number].log_rows);
        match pieces.last_mut() {
            Some(piece) if piece.columns.end == number + 1 => piece.samples.end += 1,
            Some(piece)
                if piece.columns.end == number
                    && piece.words.end == first
                    && end - piece.words.start <= most
                    && end <= on_host =>
            {
                piece.columns.end += 1;
                piece.samples.end += 1;
                piece.words.end = end;
            }
            _ => pieces.push(Sampled { columns: number..number + 1, samples: index..index + 1, words: first..end }),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use core_types::air::{Air, Row};
    use stark_verifier::PcsConfig;

    use super::*;
    use crate::Component;

    /// Twenty equal columns of eight rows.
    struct Copies;

    impl Air for Copies {
        fn log_rows(&self) -> u32 {
            3
        }

        fn eval<R: Row>(&self, row: &mut R) {
            let x = row.column();
            for _ in 1..20 {
                let copy = row.column();
                row.constraint(copy - x);
            }
        }
    }

    #[test]
    fn consecutive_columns_are_sampled_together_up_to_the_length_of_a_piece() {
        let component = Component::new(&Copies, &[]).unwrap();
        let mut shape = StatementShape::new(&PcsConfig::default(), &[], &[component]).unwrap();
        shape.on_host = true;
        let pieces = sampled(&shape, &Samples::new(&shape));
        // A piece has an eighth of the columns, rounded up; the composition polynomial's eight are on the device.
        let on_host = (0..20usize).step_by(3).map(|first| first..20.min(first + 3));
        let expected: Vec<Range<usize>> = on_host.chain((20..28).map(|column| column..column + 1)).collect();
        assert_eq!(pieces.iter().map(|piece| piece.columns.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(pieces.iter().map(|piece| piece.samples.clone()).collect::<Vec<_>>(), expected);
    }
}
