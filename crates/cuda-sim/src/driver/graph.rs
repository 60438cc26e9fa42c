//! Graphs of work, and their launches.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cuda_loader::{Status, ffi::graph as code};

use super::{
    faults::Effect,
    handle::{Id, fresh},
    queue::TaskId,
    state::Driver,
    work::{Copy, HostCall, Work},
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
    /// The end of its last launch; launches of one graph do not overlap.
    pub(super) last: Option<TaskId>,
}

impl Node {
    /// A node behind the nodes `after`.
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

    /// Whether memory lives and ends with it.
    pub(super) fn owns_memory(&self) -> bool {
        self.nodes.values().any(|node| match &node.step {
            Step::Alloc(_) => true,
            Step::Child(child) => child.owns_memory(),
            _ => false,
        })
    }

    /// Nodes, with those of child graphs in place of the child's own.
    pub(super) fn size(&self) -> u64 {
        let size = |node: &Node| if let Step::Child(child) = &node.step { child.size() } else { 1 };
        self.nodes.values().map(size).sum()
    }
}

impl Driver {
    /// Enqueues a launch of an instantiated graph on a stream.
    pub(super) fn launch_graph(&mut self, exec: Id, stream: Id, effect: Option<Effect>) -> Result<(), Status> {
        let launched = self.execs.get(&exec).ok_or(Status::INVALID_HANDLE)?;
        let graph = launched.graph.clone();
        let last = launched.last;
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.waits.extend(last);
        }
        let head = self.submit(stream, Work::Nothing, None);
        let ends = self.expand(&graph, stream, head, effect)?;
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.waits.extend(ends);
        }
        let tail = self.submit(stream, Work::Nothing, None);
        if let Some(exec) = self.execs.get_mut(&exec) {
            exec.last = Some(tail);
        }
        self.counters.graph_launches += 1;
        self.counters.graph_nodes += graph.size();
        Ok(())
    }

    /// Enqueues the nodes of a graph behind `head`; the tasks that nothing of it comes after.
    fn expand(
        &mut self,
        graph: &Graph,
        stream: Id,
        head: TaskId,
        effect: Option<Effect>,
    ) -> Result<Vec<TaskId>, Status> {
        let mut tasks: BTreeMap<Id, Vec<TaskId>> = BTreeMap::new();
        let mut clock = self.streams.get(&stream).map(|stream| stream.clock.clone()).unwrap_or_default();
        for id in graph.sorted().ok_or(Status::INVALID_VALUE)? {
            let node = &graph.nodes[&id];
            let mut after: Vec<TaskId> = node.after.iter().flat_map(|before| tasks[before].iter().copied()).collect();
            if after.is_empty() {
                after.push(head);
            }
            let work = match &node.step {
                Step::Work(work) => work.clone(),
                Step::Child(child) => {
                    let number = clock.tick(stream);
                    let joint = self.push(stream, Work::Nothing, after, &clock, number, None);
                    tasks.insert(id, self.expand(child, stream, joint, effect)?);
                    continue;
                }
                Step::Record(event) => Work::Record(*event),
                Step::Wait(event) => {
                    after.extend(self.events.get(event).and_then(|event| event.recorded.as_ref()).map(|r| r.task));
                    Work::Nothing
                }
                Step::Alloc(_) | Step::Free(_) => Work::Nothing,
            };
            self.count(&work, false);
            let number = clock.tick(stream);
            let task = self.push(stream, work, after, &clock, number, effect);
            if let Step::Record(event) = &node.step
                && let Some(event) = self.events.get_mut(event)
            {
                event.recorded = Some(super::state::Recorded { task, clock: clock.clone() });
                event.time = None;
            }
            tasks.insert(id, vec![task]);
        }
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.clock.join(&clock);
        }
        let leaves = graph.leaves();
        Ok(if leaves.is_empty() { vec![head] } else { leaves.iter().flat_map(|leaf| tasks[leaf].clone()).collect() })
    }

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
        use super::work::Place;
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
