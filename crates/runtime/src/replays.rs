//! When to record, and what to keep: a cache of recordings.

use core::hash::Hash;
use std::collections::HashMap;

use backend_api::{BackendError, Record};

/// How often [`Replays`] did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Runs of the ops one by one, because a key was new.
    pub eager: u64,
    /// Runs of the ops one by one, because the device could not record them.
    pub fallbacks: u64,
    /// Recordings.
    pub recorded: u64,
    /// Submissions of a recorded graph.
    pub replayed: u64,
    /// Entries that were dropped to make room.
    pub evicted: u64,
}

/// Recordings of a sequence of ops that runs often on a few shapes.
///
/// The sequence is recorded at the second use of a shape and replayed from then on.
///
/// Each key has a separate workspace `S`, so recorded ops find their buffers at the same addresses:
/// inputs are copied into it and results are read from it. The ops must use no other buffer.
///
/// A new entry takes the place of the least recently used one after its first run has succeeded, so
/// that a refused call leaves all recordings. Until then there is one workspace more than the
/// capacity.
///
/// Results do not depend on whether ops were replayed.
#[derive(Debug)]
pub struct Replays<Q: Record, K, S> {
    entries: HashMap<K, ReplayEntry<Q::Graph, S>>,
    capacity: usize,
    clock: u64,
    counts: ReplayCounts,
}

#[derive(Debug)]
struct ReplayEntry<G, S> {
    workspace: S,
    graph: GraphState<G>,
    used: u64,
}

#[derive(Debug)]
enum GraphState<G> {
    New,
    Recorded(G),
    Refused,
}

impl<Q: Record, K: Hash + Eq + Clone, S> Replays<Q, K, S> {
    /// An empty cache of at most `capacity` entries, and at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let counts = ReplayCounts::default();
        Self { entries: HashMap::new(), capacity: capacity.max(1), clock: 0, counts }
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> ReplayCounts {
        self.counts
    }

    /// Runs `body` on the workspace of `key`.
    ///
    /// `build` makes the workspace at the first use. `load` fills it before each run.
    ///
    /// # Errors
    /// Whatever `build`, `load` or `body` fails with. Every recording is kept; an entry that was
    /// not recorded is dropped if its run fails.
    pub fn run<E: From<BackendError>>(
        &mut self,
        queue: &Q,
        key: &K,
        build: impl FnOnce(&Q) -> Result<S, E>,
        load: impl FnOnce(&Q, &mut S) -> Result<(), E>,
        body: impl Fn(&Q, &mut S) -> Result<(), E>,
    ) -> Result<&mut S, E> {
        // Outside the map while it runs, so that a panic drops the entry.
        let mut entry = match self.entries.remove(key) {
            Some(entry) => entry,
            None => ReplayEntry { workspace: build(queue)?, graph: GraphState::New, used: 0 },
        };
        if let Err(error) = entry.run(queue, &mut self.counts, load, body) {
            // `load` fills the workspace anew before each replay.
            if matches!(entry.graph, GraphState::Recorded(_)) {
                self.entries.insert(key.clone(), entry);
            }
            return Err(error);
        }
        self.clock += 1;
        entry.used = self.clock;
        self.make_room();
        Ok(&mut self.entries.entry(key.clone()).insert_entry(entry).into_mut().workspace)
    }

    /// Drops the least recently used entries until there is a free place.
    fn make_room(&mut self) {
        while self.entries.len() >= self.capacity {
            let Some(oldest) = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone())
            else {
                return;
            };
            self.entries.remove(&oldest);
            self.counts.evicted += 1;
        }
    }
}

impl<G, S> ReplayEntry<G, S> {
    /// Runs `body` on the workspace, or its recording, which is made at the second use.
    fn run<Q: Record<Graph = G>, E: From<BackendError>>(
        &mut self,
        queue: &Q,
        counts: &mut ReplayCounts,
        load: impl FnOnce(&Q, &mut S) -> Result<(), E>,
        body: impl Fn(&Q, &mut S) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { workspace, graph, used } = self;
        load(queue, workspace)?;
        if *used > 0 && matches!(graph, GraphState::New) {
            *graph = match queue.record(|queue| body(queue, workspace))? {
                Some(recorded) => {
                    counts.recorded += 1;
                    GraphState::Recorded(recorded)
                }
                None => GraphState::Refused,
            };
        }
        match graph {
            GraphState::Recorded(graph) => {
                queue.replay(graph)?;
                counts.replayed += 1;
            }
            GraphState::New => {
                body(queue, workspace)?;
                counts.eager += 1;
            }
            GraphState::Refused => {
                body(queue, workspace)?;
                counts.fallbacks += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use backend_api::{Buffer, Queue};
    use cpu_backend::{CpuBuf, CpuQueue};

    use super::*;

    #[test]
    fn what_cannot_be_recorded_runs_eagerly_and_is_counted() {
        let q = crate::cpu().unwrap();
        let mut replays: Replays<CpuQueue, u32, CpuBuf<u32>> = Replays::new(2);
        for (turn, key) in [7, 7, 7, 8, 9, 7].into_iter().enumerate() {
            let host = [key, turn as u32];
            let buf = replays
                .run::<BackendError>(&q, &key, |q| q.zeros(2), |_, _| Ok(()), |q, buf| q.write(&host, buf.view_mut()))
                .unwrap();
            assert_eq!(q.download(buf).unwrap(), host);
        }
        let counts = replays.counts();
        assert_eq!((counts.eager, counts.fallbacks, counts.recorded, counts.evicted), (4, 2, 0, 2));
    }
}
