//! Columns that are dealt to ranks, where there are as many ranks as copies of a trace in its extension, or more.
//!
//! Each rank interpolates and extends its own columns alone and keeps their coefficients to itself. Of the values all columns have, it keeps
//! one block of each copy of the trace: an all-to-all of the extended columns brings it those. Then leaves, constraints, numerators and
//! openings are made of what is in memory.

use core::ops::Range;

use core_types::params::{columns::ColumnAt, deep::SampleAt};

use crate::{
    samples::Samples,
    shape::{Run, Shape},
};

/// Words of what a rank sends to all others at once, unless a column has more.
const SENT: usize = 1 << 20;

/// Columns of a run that are exchanged at once: as many of each rank, rank after rank, so that they arrive in their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// The first of them.
    pub(crate) first: usize,
    /// Columns of each rank; the last ranks may have less.
    pub(crate) width: usize,
}

impl Round {
    /// The columns of a rank, of a run of so many.
    pub(crate) fn of_rank(self, rank: usize, columns: usize) -> Range<usize> {
        let start = self.first + rank * self.width;
        start.min(columns)..(start + self.width).min(columns)
    }
}

/// How columns are sampled that are dealt to ranks.
pub(crate) struct DealtSamples {
    /// Where the coefficients of this rank's columns are.
    pub(crate) columns: Vec<ColumnAt>,
    /// What is sampled of them.
    pub(crate) samples: Vec<SampleAt>,
    /// Where the samples of each rank are, among those of one rank after the other.
    pub(crate) shares: Vec<Range<usize>>,
    /// What lies next to each other there and in the order of the proof: the first there, and all here.
    pub(crate) moves: Vec<(usize, Range<usize>)>,
}

impl Shape {
    /// Deals the columns to the ranks, if there are as many of them as copies or more, and one block of each copy for every rank.
    pub(crate) fn deal(&mut self) {
        let log_ranks = self.place.log_ranks;
        self.place.dealt =
            log_ranks > 0 && log_ranks >= self.log_blowup && self.log_blocks == log_ranks + self.log_blowup;
        let (mut first, trees) = (0, self.trace_trees());
        for tree in 0..trees {
            for run in 0..self.trees[tree].runs.len() {
                let run_shape = &self.trees[tree].runs[run];
                let columns = match self.place.dealt {
                    true => self.rounds(run_shape).map(|round| round.width).sum(),
                    false => 0,
                };
                let end = first + (columns << run_shape.log_rows);
                self.trees[tree].runs[run].own = first..end;
                first = end;
            }
        }
    }

    /// The rounds in which the columns of a run are exchanged.
    pub(crate) fn rounds(&self, run: &Run) -> impl Iterator<Item = Round> + use<> {
        let (columns, ranks) = (run.columns as usize, self.place.ranks());
        let most = (SENT >> run.log_rows).max(1);
        let mut first = 0;
        core::iter::from_fn(move || {
            let width = most.min((columns - first).div_ceil(ranks));
            let round = Round { first, width };
            first = columns.min(first + width * ranks);
            (width > 0).then_some(round)
        })
    }

    /// The columns of a run that were dealt to this rank, those next to each other together, and where their coefficients are.
    pub(crate) fn own_columns(&self, run: &Run) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + use<> {
        let (columns, log_rows, rank) = (run.columns as usize, run.log_rows, self.place.rank);
        let mut first = run.own.start;
        self.rounds(run).map(move |round| {
            let own = round.of_rank(rank, columns);
            let words = first..first + (own.len() << log_rows);
            first += round.width << log_rows;
            (own, words)
        })
    }

    /// Of columns of a tree that follow each other, by the words of their coefficients if all were here: those that were dealt to this
    /// rank, by the words they are among, and where their coefficients are.
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

    /// Words that a rank sends to all ranks at once, at most.
    pub(crate) fn sent_words(&self) -> usize {
        if !self.place.dealt {
            return 0;
        }
        let runs = self.trees[..self.trace_trees()].iter().flat_map(|tree| &tree.runs);
        runs.flat_map(|run| self.rounds(run).map(|round| round.width << run.log_rows)).max().unwrap_or(0)
    }

    /// Words of the values of a block, with those that come with them where a rank has less columns than others.
    pub(crate) fn values_with_rounds(&self) -> usize {
        if !self.place.dealt {
            return 0;
        }
        let runs = self.trees[..self.trace_trees()].iter().flat_map(|tree| &tree.runs);
        let ends = runs.flat_map(|run| {
            let (start, log_block) = (self.run_in_block(run).start, self.log_block(run.log_rows));
            self.rounds(run)
                .map(move |round| start + ((round.first + (round.width << self.place.log_ranks)) << log_block))
        });
        ends.max().unwrap_or(0)
    }

    /// Who samples what, and where it comes.
    pub(crate) fn dealt_samples(&self, samples: &Samples) -> DealtSamples {
        let columns: Vec<(usize, ColumnAt)> = self.owners();
        let owner = |sample: &SampleAt| columns[sample.column as usize].0;
        let mut dealt =
            DealtSamples { columns: Vec::new(), samples: Vec::new(), shares: Vec::new(), moves: Vec::new() };
        let mut numbers = vec![None; columns.len()];
        let mut first = 0;
        for rank in 0..self.place.ranks() {
            let start = first;
            for (number, sample) in samples.samples.iter().enumerate().filter(|(_, sample)| owner(sample) == rank) {
                match dealt.moves.last_mut() {
                    Some((_, here)) if here.end == number && first > start => here.end += 1,
                    _ => dealt.moves.push((first, number..number + 1)),
                }
                first += 1;
                if rank == self.place.rank {
                    let column = *numbers[sample.column as usize].get_or_insert_with(|| {
                        dealt.columns.push(columns[sample.column as usize].1);
                        dealt.columns.len() as u32 - 1
                    });
                    dealt.samples.push(SampleAt { column, ..*sample });
                }
            }
            dealt.shares.push(start..first);
        }
        dealt
    }

    /// Which rank has the coefficients of each column of all trees, and where. All have those of the composition polynomial, of which
    /// each samples some.
    fn owners(&self) -> Vec<(usize, ColumnAt)> {
        let mut owners = Vec::new();
        for (number, tree) in self.trees.iter().enumerate() {
            for column in &tree.columns {
                let ColumnAt { first, log_len, .. } = column.coefficients;
                let word = first as usize;
                let Some(run) = tree.runs.iter().find(|run| run.coefficients.contains(&word)) else { continue };
                let column = (word - run.coefficients.start) >> run.log_rows;
                let mut start = run.own.start;
                for round in self.rounds(run) {
                    let among = column - round.first;
                    if among < round.width * self.place.ranks() {
                        let (rank, own) = (among / round.width, among % round.width);
                        let at = if number == self.trace_trees() {
                            word - self.coefficients_elsewhere()
                        } else {
                            start + (own << run.log_rows)
                        };
                        owners.push((rank, ColumnAt::new(at as u64, log_len)));
                        break;
                    }
                    start += round.width << run.log_rows;
                }
            }
        }
        owners
    }
}
