//! Graphs of work, and their launches.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cuda_loader::{Status, ffi::graph as code};

use super::{
    faults::Effect,
    handle::{Id, fresh},
    queue::{Clock, TaskId, Who},
    state::{Driver, Ordered, Recorded},
    transfer::{Copy, Place},
    work::{HostCall, Work},
};
use crate::exec::Memory;

/// A graph.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// Nodes by handle; handles ascend in the order of making.
    pub(super) nodes: BTreeMap<Id, Node>,
    /// For a clone: the node of the original that each node was made from.
    pub(super) origin: BTreeMap<Id, Id>,
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) step: Step,
    pub(super) after: BTreeSet<Id>,
    /// Addresses of the kernel's arguments, for queries.
    pub(super) arguments: Vec<usize>,
}

/// What a node does.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Runs work.
    Work(Work),
    /// Records an event.
    Record(Id),
    /// Waits for an event.
    Wait(Id),
    /// Runs another graph.
    Child(Box<Graph>),
    /// Makes memory that the graph owns usable.
    Alloc(Arc<Owned>),
    /// Ends the use of such memory.
    Free(u64),
}

/// Memory that lives as long as a graph.
#[derive(Debug)]
pub(super) struct Owned {
    pub(super) memory: Arc<Memory>,
    pub(super) base: u64,
    pub(super) bytes: u64,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Fails only if the program freed the address itself, which is its right.
        let _freed_before = self.memory.free(self.base);
    }
}

/// An instantiated graph.
#[derive(Debug)]
pub(super) struct Exec {
    pub(super) graph: Graph,
    pub(super) context: Id,
    /// Whether memory that a launch allocated and nothing freed goes when it is launched again.
    pub(super) frees_on_launch: bool,
    /// Lines that its branches are on.
    pub(super) lines: Vec<Id>,
    /// The end of its last launch; launches of one graph do not overlap.
    pub(super) last: Option<Recorded>,
}

impl Node {
    /// A node that comes after the nodes `after`.
    pub(super) fn new(step: Step, after: impl IntoIterator<Item = Id>) -> Self {
        Self { step, after: after.into_iter().collect(), arguments: Vec::new() }
    }

    /// Its kind, as the driver API numbers them.
    pub(super) fn kind(&self) -> u32 {
        match &self.step {
            Step::Work(Work::Kernel(_)) => code::KERNEL,
            Step::Work(Work::Copy(_)) => code::MEMCPY,
            Step::Work(Work::Fill(_)) => code::MEMSET,
            Step::Work(Work::Host(HostCall::Function(..) | HostCall::Callback(..))) => code::HOST,
            Step::Work(_) => code::EMPTY,
            Step::Record(_) => code::EVENT_RECORD,
            Step::Wait(_) => code::WAIT_EVENT,
            Step::Child(_) => code::GRAPH,
            Step::Alloc(_) => code::MEM_ALLOC,
            Step::Free(_) => code::MEM_FREE,
        }
    }
}

impl Graph {
    /// Adds a node; its handle.
    ///
    /// # Errors
    /// `INVALID_VALUE` if one of `after` is no node of this graph.
    pub(super) fn add(&mut self, step: Step, after: &[Id]) -> Result<Id, Status> {
        if after.iter().any(|id| !self.nodes.contains_key(id)) {
            return Err(Status::INVALID_VALUE);
        }
        let id = fresh();
        self.nodes.insert(id, Node::new(step, after.iter().copied()));
        Ok(id)
    }

    /// All dependencies as (earlier, later), in the order of nodes.
    pub(super) fn edges(&self) -> Vec<(Id, Id)> {
        self.nodes.iter().flat_map(|(&id, node)| node.after.iter().map(move |&before| (before, id))).collect()
    }

    /// The nodes in an order that respects every dependency; `None` if they form a cycle.
    pub(super) fn sorted(&self) -> Option<Vec<Id>> {
        let mut sorted: Vec<Id> = Vec::with_capacity(self.nodes.len());
        let mut placed = BTreeSet::new();
        let mut left: Vec<Id> = self.nodes.keys().copied().collect();
        while !left.is_empty() {
            let before = sorted.len();
            left.retain(|&id| {
                let ready = self.nodes[&id].after.iter().all(|before| placed.contains(before));
                if ready {
                    placed.insert(id);
                    sorted.push(id);
                }
                !ready
            });
            if sorted.len() == before {
                return None;
            }
        }
        Some(sorted)
    }

    /// Every node that one of `from` comes after, and `from` itself.
    pub(super) fn behind(&self, from: &[Id]) -> BTreeSet<Id> {
        let mut seen = BTreeSet::new();
        let mut open = from.to_vec();
        while let Some(id) = open.pop() {
            if seen.insert(id)
                && let Some(node) = self.nodes.get(&id)
            {
                open.extend(&node.after);
            }
        }
        seen
    }

    /// Nodes that nothing comes after.
    pub(super) fn leaves(&self) -> Vec<Id> {
        let inner: BTreeSet<Id> = self.nodes.values().flat_map(|node| node.after.iter().copied()).collect();
        self.nodes.keys().copied().filter(|id| !inner.contains(id)).collect()
    }

    /// A copy with handles of its own.
    pub(super) fn duplicate(&self) -> Self {
        let renamed: BTreeMap<Id, Id> = self.nodes.keys().map(|&id| (id, fresh())).collect();
        let nodes = self.nodes.iter().map(|(id, node)| {
            let after = node.after.iter().filter_map(|before| renamed.get(before).copied());
            (renamed[id], Node::new(node.step.clone(), after))
        });
        let nodes = nodes.collect();
        Self { nodes, origin: renamed.into_iter().map(|(original, clone)| (clone, original)).collect() }
    }

    /// Takes the work of `other` node by node, if both have one shape.
    ///
    /// # Errors
    /// The update result of `cuGraphExecUpdate` and the node of `other` that does not fit.
    pub(super) fn update(&mut self, other: &Self) -> Result<(), (u32, Option<Id>)> {
        if self.nodes.len() != other.nodes.len() {
            return Err((code::UPDATE_TOPOLOGY_CHANGED, None));
        }
        let place = |graph: &Self, id: &Id| graph.nodes.keys().position(|node| node == id);
        for ((_, mine), (id, theirs)) in self.nodes.iter().zip(&other.nodes) {
            let places = |graph: &Self, node: &Node| -> BTreeSet<Option<usize>> {
                node.after.iter().map(|before| place(graph, before)).collect()
            };
            if places(self, mine) != places(other, theirs) {
                return Err((code::UPDATE_TOPOLOGY_CHANGED, Some(*id)));
            }
            if mine.kind() != theirs.kind() {
                return Err((code::UPDATE_NODE_TYPE_CHANGED, Some(*id)));
            }
        }
        for (mine, theirs) in self.nodes.values_mut().zip(other.nodes.values()) {
            mine.step = theirs.step.clone();
        }
        Ok(())
    }

    /// The graph as a DOT file.
    pub(super) fn dot(&self) -> String {
        let mut text = String::from("digraph {\n");
        for (id, node) in &self.nodes {
            let label = match &node.step {
                Step::Work(work) => work.to_string(),
                Step::Record(_) => "record".into(),
                Step::Wait(_) => "wait".into(),
                Step::Child(child) => format!("graph of {} nodes", child.nodes.len()),
                Step::Alloc(owned) => format!("allocation of {} bytes", owned.bytes),
                Step::Free(base) => format!("end of {base:#x}"),
            };
            text += &format!("    n{id:x} [label=\"{}\"];\n", label.replace('"', "'"));
        }
        for (before, after) in self.edges() {
            text += &format!("    n{before:x} -> n{after:x};\n");
        }
        text + "}\n"
    }

    /// Bases of the memory that it allocates.
    pub(super) fn allocations(&self) -> Vec<u64> {
        let of = |node: &Node| match &node.step {
            Step::Alloc(owned) => vec![owned.base],
            Step::Child(child) => child.allocations(),
            _ => Vec::new(),
        };
        self.nodes.values().flat_map(of).collect()
    }

    /// Nodes, with those of child graphs in place of the child's own.
    pub(super) fn size(&self) -> u64 {
        let size = |node: &Node| if let Step::Child(child) = &node.step { child.size() } else { 1 };
        self.nodes.values().map(size).sum()
    }
}

/// Where a graph's work goes on: after a task, which is the last of its line.
#[derive(Clone, Debug)]
struct Point {
    task: TaskId,
    line: Id,
    clock: Clock,
}

/// A launch of a graph that is being enqueued.
struct Launch {
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
        let head = self.submit(stream, Work::Nothing, None);
        let clock = self.streams.get(&stream).map(|stream| stream.clock.clone()).unwrap_or_default();
        let mut launch = Launch { stream, effect, spare, taken: Vec::new() };
        let ends = self.expand(&graph, &mut launch, Point { task: head, line: stream, clock })?;
        if let Some(stream) = self.streams.get_mut(&stream) {
            for end in ends {
                stream.waits.push(end.task);
                stream.clock.join(&end.clock);
            }
        }
        let tail = self.submit(stream, Work::Nothing, None);
        let clock = self.streams.get(&stream).map(|stream| stream.clock.clone()).unwrap_or_default();
        if let Some(exec) = self.execs.get_mut(&id) {
            exec.last = Some(Recorded { task: tail, clock });
            exec.lines = launch.spare.into_iter().chain(launch.taken).collect();
        }
        self.counters.graph_launches += 1;
        self.counters.graph_nodes += graph.size();
        Ok(())
    }

    /// Enqueues the nodes of a graph after `head`; returns the points that nothing of it comes after.
    fn expand(&mut self, graph: &Graph, launch: &mut Launch, head: Point) -> Result<Vec<Point>, Status> {
        let mut points: BTreeMap<Id, Point> = BTreeMap::new();
        // The last nodes of lines that no node has continued yet; none stands for the head.
        let mut open: BTreeSet<Option<Id>> = BTreeSet::from([None]);
        for id in graph.sorted().ok_or(Status::INVALID_VALUE)? {
            let node = &graph.nodes[&id];
            let before: Vec<Option<Id>> = node.after.iter().copied().map(Some).collect();
            let before = if before.is_empty() { vec![None] } else { before };
            let point = |before: &Option<Id>| before.map_or(&head, |before| &points[&before]);
            let (mut after, mut clock) = (Vec::new(), Clock::default());
            for earlier in before.iter().map(point) {
                after.push(earlier.task);
                clock.join(&earlier.clock);
            }
            let continued = before.iter().find(|&before| open.remove(before)).map(|before| point(before).line);
            let line = continued.unwrap_or_else(|| launch.branch());
            let number = clock.tick(line);
            let mut end = match &node.step {
                Step::Child(child) => {
                    let task = self.push(launch.stream, Work::Nothing, after, &clock, (line, number), None);
                    let ends = self.expand(child, launch, Point { task, line, clock })?;
                    self.join(launch, line, &ends)
                }
                step => {
                    if let Step::Wait(event) = step
                        && let Some(recorded) = self.events.get(event).and_then(|event| event.recorded.as_ref())
                    {
                        after.push(recorded.task);
                        clock.join(&recorded.clock);
                    }
                    let work = self.node_work(step, &clock, (line, number));
                    self.count(&work, false);
                    let task = self.push(launch.stream, work, after, &clock, (line, number), launch.effect);
                    Point { task, line, clock }
                }
            };
            if let Step::Record(event) = &node.step
                && let Some(event) = self.events.get_mut(event)
            {
                event.recorded = Some(Recorded { task: end.task, clock: end.clock.clone() });
                event.time = None;
            }
            end.line = line;
            points.insert(id, end);
            open.insert(Some(id));
        }
        let leaves = graph.leaves();
        Ok(if leaves.is_empty() { vec![head] } else { leaves.iter().map(|leaf| points[leaf].clone()).collect() })
    }

    /// A joint on `line` after all of `ends`, one of which is the last of that line.
    fn join(&mut self, launch: &Launch, line: Id, ends: &[Point]) -> Point {
        let mut clock = Clock::default();
        ends.iter().for_each(|end| clock.join(&end.clock));
        let number = clock.tick(line);
        let after = ends.iter().map(|end| end.task).collect();
        let task = self.push(launch.stream, Work::Nothing, after, &clock, (line, number), None);
        Point { task, line, clock }
    }

    /// The work of a node that is no graph; notes when memory of the graph comes and goes.
    fn node_work(&mut self, step: &Step, clock: &Clock, who: Who) -> Work {
        match step {
            Step::Work(work) => return work.clone(),
            Step::Record(event) => return Work::Record(*event),
            Step::Wait(_) | Step::Child(_) => {}
            Step::Alloc(owned) => {
                // What an earlier launch allocated and nothing freed goes first.
                let _gone_already = self.release(owned.base, clock);
                if let Some(life) = self.blocks.get_mut(&owned.base).and_then(|block| block.ordered.as_mut()) {
                    *life = Ordered { pool: None, born: Some(who), uses: BTreeMap::new(), released: false };
                }
            }
            Step::Free(base) => {
                let absent =
                    || Work::Fail(Status::ILLEGAL_ADDRESS, format!("release of {base:#x}, which is not allocated"));
                return self.release(*base, clock).unwrap_or_else(|_| absent());
            }
        }
        Work::Nothing
    }
}

impl Launch {
    /// A line for a branch that continues none.
    fn branch(&mut self) -> Id {
        let line = self.spare.pop().unwrap_or_else(fresh);
        self.taken.push(line);
        line
    }
}

impl Driver {
    /// Counts work that is about to be enqueued.
    pub(super) fn count(&mut self, work: &Work, by_call: bool) {
        match work {
            Work::Kernel(call) if by_call => {
                self.counters.launches += 1;
                *self.counters.launches_of.entry(call.name.to_string()).or_default() += 1;
            }
            Work::Copy(copy) => self.count_copy(copy),
            _ => {}
        }
    }

    fn count_copy(&mut self, copy: &Copy) {
        let device = |place: &Place| match place {
            Place::Device(address) => Some(self.memory.find(*address).and_then(|found| found.device)),
            Place::Host(_) | Place::Staged(_) => None,
        };
        let (target, source) = (device(&copy.target.place), device(&copy.source.place));
        let bytes = copy.bytes();
        match (target, source) {
            (Some(Some(to)), Some(Some(from))) if to != from => self.counters.bytes_between_devices += bytes,
            (Some(Some(_)), Some(Some(_))) => self.counters.bytes_on_device += bytes,
            (Some(Some(_)), _) => self.counters.bytes_to_device += bytes,
            (_, Some(Some(_))) => self.counters.bytes_to_host += bytes,
            _ => {}
        }
    }
}
