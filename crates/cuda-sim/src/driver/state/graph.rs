//! Graphs of work.

use std::{collections::BTreeSet, sync::Arc};

use cuda_loader::{Status, ffi::graph as code};
use litemap::LiteMap;

use super::{
    queue::EventRecord,
    work::{HostCall, WorkUnit},
};
use crate::{
    driver::handle::{Id, fresh},
    exec::Memory,
};

#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Graph {
    /// Nodes by handle; handles ascend in the order of making.
    pub(in crate::driver) nodes: LiteMap<Id, GraphNode>,
    /// For a clone: the node of the original that each node was made from.
    pub(in crate::driver) origin: LiteMap<Id, Id>,
}

#[derive(Clone, Debug)]
pub(in crate::driver) struct GraphNode {
    pub(in crate::driver) action: Action,
    pub(in crate::driver) after: BTreeSet<Id>,
    /// Addresses of the kernel's arguments, for queries.
    pub(in crate::driver) arguments: Vec<usize>,
}

/// The action of a node.
#[derive(Clone, Debug)]
pub(in crate::driver) enum Action {
    /// Runs work.
    Work(WorkUnit),
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
pub(in crate::driver) struct Owned {
    pub(in crate::driver) memory: Arc<Memory>,
    pub(in crate::driver) base: u64,
    pub(in crate::driver) bytes: u64,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // Fails only if the program freed the address itself, which is its right.
        let _freed_before = self.memory.free(self.base);
    }
}

/// An instantiated graph.
#[derive(Debug)]
pub(in crate::driver) struct Exec {
    pub(in crate::driver) graph: Graph,
    pub(in crate::driver) context: Id,
    /// Whether memory that a launch allocated and nothing freed goes when it is launched again.
    pub(in crate::driver) frees_on_launch: bool,
    /// Lines that its branches are on.
    pub(in crate::driver) lines: Vec<Id>,
    /// The end of its last launch; launches of one graph do not overlap.
    pub(in crate::driver) last: Option<EventRecord>,
}

impl GraphNode {
    /// A node that comes after the nodes `after`.
    pub(in crate::driver) fn new(action: Action, after: impl IntoIterator<Item = Id>) -> Self {
        Self { action, after: after.into_iter().collect(), arguments: Vec::new() }
    }

    /// Its kind, as the driver API numbers them.
    pub(in crate::driver) fn kind(&self) -> u32 {
        match &self.action {
            Action::Work(WorkUnit::Kernel(_)) => code::KERNEL,
            Action::Work(WorkUnit::Copy(_)) => code::MEMCPY,
            Action::Work(WorkUnit::Fill(_)) => code::MEMSET,
            Action::Work(WorkUnit::Host(HostCall::Function(..) | HostCall::Callback(..))) => code::HOST,
            Action::Work(_) => code::EMPTY,
            Action::Record(_) => code::EVENT_RECORD,
            Action::Wait(_) => code::WAIT_EVENT,
            Action::Child(_) => code::GRAPH,
            Action::Alloc(_) => code::MEM_ALLOC,
            Action::Free(_) => code::MEM_FREE,
        }
    }
}

impl Graph {
    /// Adds a node; its handle.
    ///
    /// # Errors
    /// `INVALID_VALUE` if one of `after` is no node of this graph.
    pub(in crate::driver) fn add(&mut self, action: Action, after: &[Id]) -> Result<Id, Status> {
        if after.iter().any(|id| !self.nodes.contains_key(id)) {
            return Err(Status::INVALID_VALUE);
        }
        let id = fresh();
        self.nodes.insert(id, GraphNode::new(action, after.iter().copied()));
        Ok(id)
    }

    /// All dependencies as (earlier, later), in the order of nodes.
    pub(in crate::driver) fn edges(&self) -> Vec<(Id, Id)> {
        self.nodes.iter().flat_map(|(&id, node)| node.after.iter().map(move |&before| (before, id))).collect()
    }

    /// The nodes in an order that respects every dependency; `None` if they form a cycle.
    pub(in crate::driver) fn sorted(&self) -> Option<Vec<Id>> {
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
    pub(in crate::driver) fn ancestors(&self, from: &[Id]) -> BTreeSet<Id> {
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
    pub(in crate::driver) fn leaves(&self) -> Vec<Id> {
        let inner: BTreeSet<Id> = self.nodes.values().flat_map(|node| node.after.iter().copied()).collect();
        self.nodes.keys().copied().filter(|id| !inner.contains(id)).collect()
    }

    /// A copy with new handles.
    pub(in crate::driver) fn duplicate(&self) -> Self {
        let renamed: LiteMap<Id, Id> = self.nodes.keys().map(|&id| (id, fresh())).collect();
        let nodes = self.nodes.iter().map(|(id, node)| {
            let after = node.after.iter().filter_map(|before| renamed.get(before).copied());
            (renamed[id], GraphNode::new(node.action.clone(), after))
        });
        let nodes = nodes.collect();
        Self { nodes, origin: renamed.into_iter().map(|(original, clone)| (clone, original)).collect() }
    }

    /// Takes the work of `other` node by node, if both have one shape.
    ///
    /// # Errors
    /// The update result of `cuGraphExecUpdate` and the node of `other` that does not fit.
    pub(in crate::driver) fn update(&mut self, other: &Self) -> Result<(), (u32, Option<Id>)> {
        if self.nodes.len() != other.nodes.len() {
            return Err((code::UPDATE_TOPOLOGY_CHANGED, None));
        }
        let place = |graph: &Self, id: &Id| graph.nodes.keys().position(|node| node == id);
        for ((_, mine), (id, theirs)) in self.nodes.iter().zip(&other.nodes) {
            let places = |graph: &Self, node: &GraphNode| -> BTreeSet<Option<usize>> {
                node.after.iter().map(|before| place(graph, before)).collect()
            };
            if places(self, mine) != places(other, theirs) {
                return Err((code::UPDATE_TOPOLOGY_CHANGED, Some(*id)));
            }
            if mine.kind() != theirs.kind() {
                return Err((code::UPDATE_NODE_TYPE_CHANGED, Some(*id)));
            }
        }
        for ((_, mine), theirs) in self.nodes.iter_mut().zip(other.nodes.values()) {
            mine.action = theirs.action.clone();
        }
        Ok(())
    }

    /// The graph as a DOT file.
    pub(in crate::driver) fn dot(&self) -> String {
        let mut text = String::from("digraph {\n");
        for (id, node) in &self.nodes {
            let label = match &node.action {
                Action::Work(work) => work.to_string(),
                Action::Record(_) => "record".into(),
                Action::Wait(_) => "wait".into(),
                Action::Child(child) => format!("graph of {} nodes", child.nodes.len()),
                Action::Alloc(owned) => format!("allocation of {} bytes", owned.bytes),
                Action::Free(base) => format!("end of {base:#x}"),
            };
            text += &format!("    n{id:x} [label=\"{}\"];\n", label.replace('"', "'"));
        }
        for (before, after) in self.edges() {
            text += &format!("    n{before:x} -> n{after:x};\n");
        }
        text + "}\n"
    }

    /// Bases of the memory that it allocates.
    pub(in crate::driver) fn allocations(&self) -> Vec<u64> {
        let of = |node: &GraphNode| match &node.action {
            Action::Alloc(owned) => vec![owned.base],
            Action::Child(child) => child.allocations(),
            _ => Vec::new(),
        };
        self.nodes.values().flat_map(of).collect()
    }

    /// Number of nodes, with child graphs replaced by their nodes.
    pub(in crate::driver) fn size(&self) -> u64 {
        let size = |node: &GraphNode| if let Action::Child(child) = &node.action { child.size() } else { 1 };
        self.nodes.values().map(size).sum()
    }
}
