//! Launches of graphs: how their nodes become tasks.

use std::collections::BTreeSet;

use cuda_loader::Status;
use litemap::LiteMap;

use super::{
    faults::Effect,
    handle::{Id, fresh},
    state::{
        Driver, Ordered,
        graph::{Action, Graph},
        queue::{EventRecord, TaskId, VectorClock, Who},
        work::WorkUnit,
    },
};

/// Where a graph's work goes on: after a task, which is the last of its line.
#[derive(Clone, Debug)]
struct BranchTip {
    task: TaskId,
    line: Id,
    clock: VectorClock,
}

/// A launch of a graph that is being enqueued.
struct GraphLaunch {
    stream: Id,
    effect: Option<Effect>,
    /// Lines for branches that no node of this launch has continued yet.
    spare: Vec<Id>,
    /// Lines that branches of this launch are on.
    taken: Vec<Id>,
}

impl Driver {
    /// Enqueues a launch of an instantiated graph on a stream.
    pub(super) fn launch_graph(&mut self, id: Id, stream: Id, effect: Option<Effect>) -> Result<(), Status> {
        let exec = self.execs.get(&id).ok_or(Status::INVALID_HANDLE)?;
        let (graph, last, spare) = (exec.graph.clone(), exec.last.clone(), exec.lines.clone());
        let unfreed = |base: &u64| {
            let life = self.blocks.get(base).and_then(|block| block.ordered.as_ref());
            life.is_some_and(|life| life.born.is_some() && !life.released)
        };
        if !exec.frees_on_launch && graph.allocations().iter().any(unfreed) {
            return Err(Status::INVALID_VALUE);
        }
        if let (Some(stream), Some(last)) = (self.streams.get_mut(&stream), last) {
            stream.waits.push(last.task);
            stream.clock.join(&last.clock);
        }
        let head = self.submit(stream, WorkUnit::Nothing, None);
        let clock = self.clock_of(stream);
        let mut launch = GraphLaunch { stream, effect, spare, taken: Vec::new() };
        let ends = self.expand(&graph, &mut launch, BranchTip { task: head, line: stream, clock })?;
        if let Some(stream) = self.streams.get_mut(&stream) {
            for end in ends {
                stream.waits.push(end.task);
                stream.clock.join(&end.clock);
            }
        }
        let tail = self.submit(stream, WorkUnit::Nothing, None);
        let clock = self.clock_of(stream);
        if let Some(exec) = self.execs.get_mut(&id) {
            exec.last = Some(EventRecord { task: tail, clock });
            exec.lines = launch.spare.into_iter().chain(launch.taken).collect();
        }
        self.counters.graph_launches += 1;
        self.counters.graph_nodes += graph.size();
        Ok(())
    }

    /// Enqueues the nodes of a graph after `head`.
    ///
    /// Returns the points of the graph that no other point of it follows.
    fn expand(&mut self, graph: &Graph, launch: &mut GraphLaunch, head: BranchTip) -> Result<Vec<BranchTip>, Status> {
        let mut points: LiteMap<Id, BranchTip> = LiteMap::new();
        // The last nodes of lines that no node has continued yet; none stands for the head.
        let mut open: BTreeSet<Option<Id>> = BTreeSet::from([None]);
        for id in graph.sorted().ok_or(Status::INVALID_VALUE)? {
            let node = &graph.nodes[&id];
            let before: Vec<Option<Id>> = node.after.iter().copied().map(Some).collect();
            let before = if before.is_empty() { vec![None] } else { before };
            let point = |before: &Option<Id>| before.map_or(&head, |before| &points[&before]);
            let (mut after, mut clock) = (Vec::new(), VectorClock::default());
            for earlier in before.iter().map(point) {
                after.push(earlier.task);
                clock.join(&earlier.clock);
            }
            let continued = before.iter().find(|&before| open.remove(before)).map(|before| point(before).line);
            let line = continued.unwrap_or_else(|| launch.branch());
            let number = clock.tick(line);
            let mut end = match &node.action {
                Action::Child(child) => {
                    let task = self.push(launch.stream, WorkUnit::Nothing, after, &clock, (line, number), None);
                    let ends = self.expand(child, launch, BranchTip { task, line, clock })?;
                    self.join(launch, line, &ends)
                }
                action => {
                    if let Action::Wait(event) = action
                        && let Some(recorded) = self.events.get(event).and_then(|event| event.recorded.as_ref())
                    {
                        after.push(recorded.task);
                        clock.join(&recorded.clock);
                    }
                    let work = self.node_work(action, &clock, (line, number));
                    self.count(&work, false);
                    let task = self.push(launch.stream, work, after, &clock, (line, number), launch.effect);
                    BranchTip { task, line, clock }
                }
            };
            if let Action::Record(event) = &node.action
                && let Some(event) = self.events.get_mut(event)
            {
                event.recorded = Some(EventRecord { task: end.task, clock: end.clock.clone() });
                event.time = None;
            }
            end.line = line;
            points.insert(id, end);
            open.insert(Some(id));
        }
        let leaves = graph.leaves();
        Ok(if leaves.is_empty() { vec![head] } else { leaves.iter().map(|leaf| points[leaf].clone()).collect() })
    }

    /// A joint on `line` after all of `ends`; one of them is the last point of that line.
    fn join(&mut self, launch: &GraphLaunch, line: Id, ends: &[BranchTip]) -> BranchTip {
        let mut clock = VectorClock::default();
        ends.iter().for_each(|end| clock.join(&end.clock));
        let number = clock.tick(line);
        let after = ends.iter().map(|end| end.task).collect();
        let task = self.push(launch.stream, WorkUnit::Nothing, after, &clock, (line, number), None);
        BranchTip { task, line, clock }
    }

    /// The work of a node that is not a graph.
    ///
    /// Records when memory of the graph is allocated and freed.
    fn node_work(&mut self, action: &Action, clock: &VectorClock, who: Who) -> WorkUnit {
        match action {
            Action::Work(work) => return work.clone(),
            Action::Record(event) => return WorkUnit::Record(*event),
            Action::Wait(_) | Action::Child(_) => {}
            Action::Alloc(owned) => {
                // What an earlier launch allocated and nothing freed goes first.
                let _gone_already = self.release(owned.base, clock);
                if let Some(life) = self.blocks.get_mut(&owned.base).and_then(|block| block.ordered.as_mut()) {
                    *life = Ordered { pool: None, born: Some(who), uses: LiteMap::new(), released: false };
                }
            }
            Action::Free(base) => {
                let absent =
                    || WorkUnit::Fail(Status::ILLEGAL_ADDRESS, format!("release of {base:#x}, which is not allocated"));
                return self.release(*base, clock).unwrap_or_else(|_| absent());
            }
        }
        WorkUnit::Nothing
    }
}

impl GraphLaunch {
    /// A line for a branch that continues none.
    fn branch(&mut self) -> Id {
        let line = self.spare.pop().unwrap_or_else(fresh);
        self.taken.push(line);
        line
    }
}
