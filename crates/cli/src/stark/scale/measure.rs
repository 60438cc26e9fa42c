//! The computation of a rank, measured on one device, and its sent bytes, counted.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Result;
use backend_api::{Queue as _, Ranks as _};
use runtime::AnyQueue;
use stark::{AnyStatement, PcsConfig, Protocol, ProveError, ProveOptions, ProverError, Stage, StatementProver};

use super::{
    super::trace::TraceInput,
    mirror::{Exchanged, Mirror},
    model::{RankWork, StageWork},
};

/// Runs the first rank of groups of the sizes `ranks`, each `rounds` times after a warm-up.
pub(super) struct Measuring<'a> {
    pub(super) q: &'a AnyQueue,
    pub(super) config: PcsConfig,
    pub(super) trace: &'a TraceInput,
    pub(super) ranks: &'a [u32],
    pub(super) rounds: u32,
    /// Log of the factor from measured rows to modelled rows.
    pub(super) log_more_rows: u32,
}

/// A stage of one proof.
struct Passed {
    stage: Stage,
    compute: Duration,
    exchanged: Exchanged,
}

/// Where a proof is: the stage, when it began, and what had been exchanged.
type Mark = (Stage, Instant, Exchanged);

impl Measuring<'_> {
    /// The work of the first rank, for each number of ranks.
    pub(super) fn run(&self, statement: &AnyStatement) -> Result<Vec<RankWork>> {
        self.ranks.iter().map(|&ranks| self.measure(statement, ranks)).collect()
    }

    fn measure(&self, statement: &AnyStatement, ranks: u32) -> Result<RankWork> {
        let (q, config) = (self.q, self.config);
        let mirror = Arc::new(Mirror::new(ranks as usize));
        let mut prover = if ranks == 1 {
            StatementProver::new(q, Protocol::V2_3, config, statement)?
        } else {
            StatementProver::sharded(q, Arc::clone(&mirror), Protocol::V2_3, config, statement)?
        };
        let mut rounds = Vec::new();
        for round in 0..=self.rounds {
            let passed = self.prove(&mut prover, &mirror)?;
            if round > 0 {
                rounds.push(passed);
            }
        }
        let of_stage = |stage: usize| rounds.iter().map(|round| &round[stage]).collect::<Vec<_>>();
        let stages = (0..rounds[0].len()).map(|stage| self.median(&of_stage(stage)));
        Ok(RankWork { ranks, stages: stages.collect() })
    }

    /// Makes one proof and returns the measurements of its stages.
    fn prove(&self, prover: &mut StatementProver<'_, AnyQueue, AnyStatement>, mirror: &Mirror) -> Result<Vec<Passed>> {
        let q = self.q;
        let (mut passed, mut mark): (Vec<Passed>, Option<Mark>) = (Vec::new(), None);
        let mut pass = |next: Option<Stage>| {
            let (now, exchanged) = (Instant::now(), mirror.exchanged());
            if let Some((stage, begin, before)) = mark.take() {
                let exchanged = Exchanged {
                    bytes_to_each: exchanged.bytes_to_each - before.bytes_to_each,
                    calls: exchanged.calls - before.calls,
                    time: exchanged.time - before.time,
                };
                passed.push(Passed { stage, compute: (now - begin).saturating_sub(exchanged.time), exchanged });
            }
            mark = next.map(|stage| (stage, now, exchanged));
        };
        q.finish()?;
        let made = self.trace.prove(prover, q, ProveOptions::new().watching(&mut |stage| pass(Some(stage))));
        pass(None);
        match made {
            // Data from mirrors makes no proof, which is found when the proof is put together.
            Err(ProveError::Prover(ProverError::Constraints)) if mirror.ranks() > 1 => Ok(passed),
            Err(error) => Err(error.into()),
            Ok(_) => Ok(passed),
        }
    }

    /// The median work of a stage, scaled to the modelled rows.
    fn median(&self, rounds: &[&Passed]) -> StageWork {
        let mut times: Vec<Duration> = rounds.iter().map(|passed| passed.compute).collect();
        times.sort_unstable();
        let Passed { stage, exchanged, .. } = rounds[0];
        let more = f64::from(self.log_more_rows).exp2();
        // Samples and openings are of columns and queries, not of rows.
        let more_bytes = if matches!(stage, Stage::Sampling | Stage::Opening) { 1.0 } else { more };
        StageWork {
            name: stage.to_string(),
            compute: times[times.len() / 2].as_secs_f64() * more,
            bytes_to_each: exchanged.bytes_to_each as f64 * more_bytes,
            calls: f64::from(exchanged.calls),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use collective::Local;
    use core_types::field::M31;
    use stark_airs::WideFibonacci;

    use super::*;

    fn wide(log_rows: u32, columns: u32) -> (AnyStatement, TraceInput) {
        let air = WideFibonacci::new(log_rows, columns).unwrap();
        let seeds: Vec<_> = (0..1 << log_rows).map(|row| [1, row].map(M31::from_u32)).collect();
        let seeds = air.seeds(&seeds).unwrap();
        (AnyStatement::WideFibonacci(air), TraceInput::Fibonacci(seeds))
    }

    fn works(log_rows: u32, columns: u32, ranks: &[u32], log_more_rows: u32) -> Vec<RankWork> {
        let (q, (air, trace)) =
            (crate::queue::open(runtime::Domain::Stark, Some(runtime::Choice::Cpu)).unwrap(), wide(log_rows, columns));
        let config = PcsConfig::default();
        Measuring { q: &q, config, trace: &trace, ranks, rounds: 1, log_more_rows }.run(&air).unwrap()
    }

    #[test]
    fn a_mirrored_rank_sends_what_a_rank_of_a_group_sends() {
        let (log_rows, columns) = (7, 16);
        for (work, ranks) in works(log_rows, columns, &[1, 2, 4], 0).iter().zip([1, 2, 4]) {
            let (air, trace) = wide(log_rows, columns);
            let sent = thread::scope(|scope| {
                let ranks = Local::group(ranks).into_iter().map(|rank| {
                    scope.spawn(|| {
                        let (q, rank) = (
                            crate::queue::open(runtime::Domain::Stark, Some(runtime::Choice::Cpu)).unwrap(),
                            Arc::new(rank),
                        );
                        let made =
                            StatementProver::sharded(&q, Arc::clone(&rank), Protocol::V2_3, PcsConfig::default(), &air);
                        let (mut prover, before) = (made.unwrap(), rank.sent_bytes());
                        trace.prove(&mut prover, &q, ProveOptions::new()).unwrap();
                        rank.sent_bytes().iter().zip(before).map(|(after, before)| after - before).max().unwrap()
                    })
                });
                ranks.collect::<Vec<_>>().into_iter().map(|rank| rank.join().unwrap()).collect::<Vec<u64>>()
            });
            assert!(sent.iter().all(|&bytes| bytes as f64 == work.bytes_to_each()), "{sent:?} of {ranks}: {work:?}");
            assert_eq!(work.calls() > 15.0, ranks > 1, "{work:?}");
            assert!(work.stages.iter().all(|stage| stage.compute > 0.0));
        }
    }

    #[test]
    fn bytes_for_more_rows_are_those_that_are_counted_there() {
        let names = |work: &RankWork| work.stages.iter().map(|stage| stage.name.clone()).collect::<Vec<_>>();
        let [modelled, counted] = [(8, 4), (12, 0)].map(|(log_rows, more)| works(log_rows, 24, &[4], more).remove(0));
        assert_eq!(names(&modelled), names(&counted));
        for (modelled, counted) in modelled.stages.iter().zip(&counted.stages) {
            // Roots stay as they are and paths grow by four levels, little compared with columns; FRI layers and
            // openings are small.
            let most = if counted.bytes_to_each > 1e5 { 0.01 } else { 0.6 };
            let off = (modelled.bytes_to_each - counted.bytes_to_each).abs() / counted.bytes_to_each;
            assert!(off < most, "{modelled:?} for {counted:?}");
        }
    }
}
