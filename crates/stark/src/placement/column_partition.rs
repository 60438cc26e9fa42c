//! Column-partitioned commitment, used when there are at least `blowup` ranks.
//!
//! Each rank interpolates and extends its own columns and keeps only their coefficients. It keeps
//! the values of all columns on one block of each copy of the trace, received by an all-to-all of
//! the extended columns. Leaves, constraints, numerators and openings are then computed from the
//! values in memory.

use core::ops::Range;

use core_types::params::{columns::ColumnAt, deep::SampleAt};

use crate::{
    plan::ranks::RankPlace,
    plan::samples::Samples,
    plan::shape::{ColumnRun, StatementShape},
};

/// Words that a rank sends to all others at once, unless a column has more.
const SENT: usize = 1 << 20;

/// Columns of a run that are exchanged at once.
///
/// The columns are ordered rank by rank, `width` per rank, so that they arrive in their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExchangeRound {
    /// The first of them.
    pub(crate) first: usize,
    /// Columns of each rank; the last ranks may have fewer.
    pub(crate) width: usize,
}

impl ExchangeRound {
    /// The columns of `rank`, in a run of `columns` columns.
    pub(crate) fn of_rank(self, rank: usize, columns: usize) -> Range<usize> {
        let start = self.first + rank * self.width;
        start.min(columns)..(start + self.width).min(columns)
    }
}

/// The partition of `columns` columns among `ranks` ranks, at most `most` per rank and round.
#[derive(Clone, Copy, Debug)]
struct Partition {
    columns: usize,
    ranks: usize,
    most: usize,
}

impl Partition {
    /// Columns that are exchanged in a round, unless it is the last.
    const fn at_once(self) -> usize {
        self.most * self.ranks
    }

    fn rounds(self) -> impl Iterator<Item = ExchangeRound> {
        (0..self.columns).step_by(self.at_once()).map(move |first| self.round(first))
    }

    fn round(self, first: usize) -> ExchangeRound {
        ExchangeRound { first, width: self.most.min((self.columns - first).div_ceil(self.ranks)) }
    }

    /// Returns the rank that owns a column, and the index of the column within that rank.
    fn owner(self, column: usize) -> (usize, usize) {
        let ExchangeRound { first, width } = self.round(column / self.at_once() * self.at_once());
        let among = column - first;
        (among / width, first / self.ranks + among % width)
    }
}

/// The samples of column-partitioned ranks.
pub(crate) struct PartitionedSamples {
    /// Where the coefficients of this rank's columns are.
    pub(crate) columns: Vec<ColumnAt>,
    /// The samples of these columns.
    pub(crate) samples: Vec<SampleAt>,
    /// The location of each rank's samples, in the concatenation by rank.
    pub(crate) shares: Vec<Range<usize>>,
    /// Samples that are consecutive in both orders.
    ///
    /// Each entry has the first of these samples in the order by rank, and their range in the order
    /// of the proof.
    pub(crate) moves: Vec<(usize, Range<usize>)>,
}

impl StatementShape {
    /// Partitions the columns among the ranks, if possible.
    ///
    /// There have to be at least `blowup` ranks, and one block of each copy per rank.
    pub(crate) fn partition_columns(&mut self) {
        let log_ranks = self.place.log_ranks;
        self.place.partitioned = log_ranks >= self.log_blowup && self.log_blocks == log_ranks + self.log_blowup;
        let (place, mut first, trees) = (self.place, 0, self.trace_trees());
        for run in self.trees[..trees].iter_mut().flat_map(|tree| &mut tree.runs) {
            let columns: usize =
                if place.partitioned { place.partition(run).rounds().map(|round| round.width).sum() } else { 0 };
            let end = first + (columns << run.log_rows);
            run.own_coefficients = first..end;
            first = end;
        }
    }

    /// The rounds in which the columns of a run are exchanged.
    pub(crate) fn rounds(&self, run: &ColumnRun) -> impl Iterator<Item = ExchangeRound> + use<> {
        self.place.partition(run).rounds()
    }

    /// This rank's columns of a run, round by round, and where their coefficients are.
    pub(crate) fn own_columns(&self, run: &ColumnRun) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let (columns, log_rows, RankPlace { rank, .. }) = (run.columns as usize, run.log_rows, self.place);
        let mut first = run.own_coefficients.start;
        self.rounds(run).map(move |round| {
            let own = round.of_rank(rank, columns);
            let words = first..first + (own.len() << log_rows);
            first += round.width << log_rows;
            (own, words)
        })
    }

    /// The columns of this rank among consecutive columns of a tree.
    ///
    /// `words` are the words that their coefficients have on a single device. Each entry has the
    /// words of a part, relative to `words`, and the place of its coefficients on this rank.
    pub(crate) fn own_among(&self, tree: usize, words: &Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
        let mut among = Vec::new();
        for run in &self.trees[tree].runs {
            for (columns, own) in self.own_columns(run) {
                let all = run.words(columns);
                let (start, end) = (all.start.max(words.start), all.end.min(words.end));
                if start < end {
                    let first = own.start + (start - all.start);
                    among.push((start - words.start..end - words.start, first..first + (end - start)));
                }
            }
        }
        among
    }

    /// Words that a rank sends to all ranks at once, at most; 0 where columns are gathered.
    pub(crate) fn sent_words(&self) -> usize {
        self.all_rounds().map(|(run, round)| round.width << run.log_rows).max().unwrap_or(0)
    }

    /// Words of the values of a block, including padding columns.
    ///
    /// The padding is received if a rank has fewer columns than others. The result is 0 if columns
    /// are gathered.
    pub(crate) fn values_with_rounds(&self) -> usize {
        let end = |(run, round): (&ColumnRun, ExchangeRound)| {
            let columns = round.first + (round.width << self.place.log_ranks);
            self.run_in_block(run).start + (columns << self.log_block(run.log_rows))
        };
        self.all_rounds().map(end).max().unwrap_or(0)
    }

    /// All rounds of a proof, with their runs.
    fn all_rounds(&self) -> impl Iterator<Item = (&ColumnRun, ExchangeRound)> {
        let runs = self.trees[..self.trace_trees()].iter().flat_map(|tree| &tree.runs);
        runs.filter(|_| self.place.partitioned).flat_map(|run| self.rounds(run).map(move |round| (run, round)))
    }

    /// Who samples what, and where it goes.
    pub(crate) fn partitioned_samples(&self, samples: &Samples) -> PartitionedSamples {
        // The owner of a column takes its samples.
        let columns: Vec<(usize, ColumnAt)> = self.owners();
        let owner = |sample: &SampleAt| columns[sample.column as usize].0;
        let mut partitioned =
            PartitionedSamples { columns: Vec::new(), samples: Vec::new(), shares: Vec::new(), moves: Vec::new() };
        let mut numbers = vec![None; columns.len()];
        let mut first = 0;
        // Samples by rank; a move covers consecutive samples of the proof.
        for rank in 0..self.place.ranks() {
            let start = first;
            for (number, sample) in samples.samples.iter().enumerate().filter(|(_, sample)| owner(sample) == rank) {
                match partitioned.moves.last_mut() {
                    Some((_, here)) if here.end == number && first > start => here.end += 1,
                    _ => partitioned.moves.push((first, number..number + 1)),
                }
                first += 1;
                // This rank numbers its sampled columns in the order of first use.
                if rank == self.place.rank {
                    let column = *numbers[sample.column as usize].get_or_insert_with(|| {
                        partitioned.columns.push(columns[sample.column as usize].1);
                        partitioned.columns.len() as u32 - 1
                    });
                    partitioned.samples.push(SampleAt { column, ..*sample });
                }
            }
            partitioned.shares.push(start..first);
        }
        partitioned
    }

    /// Returns the rank and location of the coefficients of each column of all trees.
    ///
    /// Every rank holds the coefficients of the composition polynomial and samples some of its
    /// columns.
    fn owners(&self) -> Vec<(usize, ColumnAt)> {
        let mut owners = Vec::new();
        for (number, tree) in self.trees.iter().enumerate() {
            for column in &tree.columns {
                let ColumnAt { first, log_len, .. } = column.coefficients;
                let word = first as usize;
                let run = &tree.runs[tree.runs.partition_point(|run| run.coefficients.end <= word)];
                let column = (word - run.coefficients.start) >> run.log_rows;
                let (rank, own) = self.place.partition(run).owner(column);
                let first = if number == self.trace_trees() {
                    word - self.coefficients_elsewhere()
                } else {
                    run.own_coefficients.start + (own << run.log_rows)
                };
                owners.push((rank, ColumnAt::new(first as u64, log_len)));
            }
        }
        owners
    }
}

impl RankPlace {
    fn partition(self, run: &ColumnRun) -> Partition {
        Partition { columns: run.columns as usize, ranks: self.ranks(), most: (SENT >> run.log_rows).max(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_belongs_to_one_rank_and_arrives_in_its_place() {
        for (columns, ranks, most) in
            (1..40).flat_map(|c| [2, 4, 8].map(|g| (c, g))).flat_map(|(c, g)| [1, 2, 3, 9].map(|m| (c, g, m)))
        {
            let partition = Partition { columns, ranks, most };
            let mut arrived = Vec::new();
            let mut counts = vec![0; ranks];
            for round in partition.rounds() {
                assert!((1..=most).contains(&round.width));
                assert_eq!(arrived.len(), round.first);
                for (rank, count) in counts.iter_mut().enumerate() {
                    for column in round.of_rank(rank, columns) {
                        arrived.push(column);
                        assert_eq!(partition.owner(column), (rank, *count));
                        *count += 1;
                    }
                }
            }
            assert_eq!(arrived, (0..columns).collect::<Vec<_>>());
            assert!(counts.iter().max() <= Some(&columns.div_ceil(ranks)));
        }
    }
}
