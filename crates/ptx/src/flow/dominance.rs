//! Dominators and post-dominators of the blocks of a function.

use super::Graph;

/// The dominator tree of a graph.
///
/// Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dominance {
    root: usize,
    /// Immediate dominator; of the root itself; `None` for nodes that the root does not reach.
    parent: Vec<Option<usize>>,
}

impl Dominance {
    /// Which blocks lie on every path from the entry to a block.
    #[must_use]
    pub fn dominators(graph: &Graph) -> Self {
        let successors: Vec<_> = graph.blocks.iter().map(|block| block.successors.clone()).collect();
        Self::new(&successors, 0)
    }

    /// Which blocks lie on every path from a block to the end of the thread.
    ///
    /// The number of blocks stands for the end. Paths into a `trap` do not count, since the whole
    /// launch ends there; a block that neither ends nor traps, such as an endless loop, counts as
    /// one that may end.
    #[must_use]
    pub fn post_dominators(graph: &Graph) -> Self {
        let end = graph.blocks.len();
        let mut reversed = vec![Vec::new(); end + 1];
        for (index, block) in graph.blocks.iter().enumerate() {
            for successor in &block.successors {
                reversed[*successor].push(index);
            }
            if block.leaves {
                reversed[end].push(index);
            }
        }
        let mut settled = reach(&reversed, end);
        for (index, block) in graph.blocks.iter().enumerate() {
            if block.traps {
                for (reached, settled) in reach(&reversed, index).into_iter().zip(&mut settled) {
                    *settled |= reached;
                }
            }
        }
        let endless = settled[..end].iter().enumerate().filter(|(_, settled)| !**settled).map(|(index, _)| index);
        reversed[end].extend(endless);
        Self::new(&reversed, end)
    }

    fn new(successors: &[Vec<usize>], root: usize) -> Self {
        let mut tree = Self { root, parent: vec![None; successors.len()] };
        if root >= successors.len() {
            return tree;
        }
        let order = post_order(successors, root);
        let mut rank = vec![usize::MAX; successors.len()];
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (position, node) in order.iter().enumerate() {
            rank[*node] = position;
            for successor in &successors[*node] {
                predecessors[*successor].push(*node);
            }
        }
        tree.parent[root] = Some(root);
        let mut changed = true;
        while changed {
            changed = false;
            for node in order.iter().rev().skip(1) {
                let mut known = predecessors[*node].iter().copied().filter(|node| tree.parent[*node].is_some());
                let Some(first) = known.next() else { continue };
                let parent = known.fold(first, |a, b| tree.meet(&rank, a, b));
                changed |= tree.parent[*node].replace(parent) != Some(parent);
            }
        }
        tree
    }

    /// The nearest common ancestor.
    fn meet(&self, rank: &[usize], mut a: usize, mut b: usize) -> usize {
        while a != b {
            let lower = if rank[a] < rank[b] { &mut a } else { &mut b };
            // Every node met here has a parent, and only the root is its own.
            *lower = self.parent[*lower].unwrap_or(self.root);
        }
        a
    }

    /// The immediate dominator of `node`.
    ///
    /// `None` for the root and for nodes that the root does not reach.
    #[must_use]
    pub fn parent(&self, node: usize) -> Option<usize> {
        if node == self.root { None } else { self.parent[node] }
    }

    /// Whether `node` is in the tree.
    #[must_use]
    pub fn contains(&self, node: usize) -> bool {
        self.parent[node].is_some()
    }

    /// Whether `above` dominates `node`; every node dominates itself.
    #[must_use]
    pub fn dominates(&self, above: usize, node: usize) -> bool {
        let mut at = Some(node);
        while let Some(node) = at {
            if node == above {
                return self.contains(node);
            }
            at = self.parent(node);
        }
        false
    }
}

/// What `root` reaches, including itself.
fn reach(successors: &[Vec<usize>], root: usize) -> Vec<bool> {
    let mut reached = vec![false; successors.len()];
    for node in post_order(successors, root) {
        reached[node] = true;
    }
    reached
}

/// The nodes reachable from `root`, in post-order of a depth-first search.
fn post_order(successors: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; successors.len()];
    seen[root] = true;
    let mut stack = vec![(root, 0)];
    while let Some((node, next)) = stack.last_mut() {
        match successors[*node].get(*next) {
            Some(successor) => {
                *next += 1;
                if !std::mem::replace(&mut seen[*successor], true) {
                    stack.push((*successor, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order
}
