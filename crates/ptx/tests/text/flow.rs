//! Blocks and dominance against their definitions, on random control flow.

use crate::text::samples::{COMPILED, kernel};
use fastrand::Rng;
use ptx::{
    ast::Module,
    flow::{Dominance, Graph},
    parse,
};

fn graph(module: &Module) -> Graph {
    Graph::new(module.entries().next().unwrap().1)
}

#[test]
fn blocks_of_a_branch() {
    let graph = graph(&kernel("@%p1 bra L2;\nmov.b32 %r1, 0;\nbra.uni L3;\nL2:\n@%p2 ret;\ntrap;\nL3:"));
    let ranges: Vec<_> = graph.blocks.iter().map(|block| block.instructions.clone()).collect();
    assert_eq!(ranges, [0..1, 1..3, 3..4, 4..5, 5..6]);
    let successors: Vec<_> = graph.blocks.iter().map(|block| block.successors.clone()).collect();
    assert_eq!(successors, [vec![1, 2], vec![4], vec![3], vec![], vec![]]);
    let ends: Vec<_> = graph.blocks.iter().map(|block| (block.leaves, block.traps)).collect();
    assert_eq!(ends, [(false, false), (false, false), (true, false), (false, true), (true, false)]);
    assert_eq!(graph.blocks[4].predecessors, [1]);
    assert_eq!(graph.block_of(2), 1);
}

#[test]
fn a_label_at_the_end_is_a_return() {
    let module = kernel("bra L1;\nmov.b32 %r1, 0;\nret;\nL0:\nL1:\n");
    assert!(graph(&module).blocks.iter().all(|block| block.instructions.len() <= 2));
    let text = ".version 7.0\n.target sm_80\n.entry kernel() {\nbra L1;\nL1:\n}";
    let last = graph(&parse(text).unwrap());
    assert!(last.blocks[0].leaves && last.blocks[0].successors.is_empty());
    let empty = graph(&parse(".version 7.0\n.target sm_80\n.entry kernel() { L1: }").unwrap());
    assert!(empty.blocks.is_empty());
    assert_eq!(Dominance::dominators(&empty).parent(0), None);
    assert!(!Dominance::post_dominators(&empty).contains(0) || empty.reachable().is_empty());
}

/// A kernel of `count` blocks, each ending in a branch, an indexed branch, a return, a trap or nothing.
fn random_kernel(count: u64, rng: &mut Rng) -> String {
    let mut code = String::new();
    for block in 0..count {
        code.push_str(&format!("B{block}:\nmov.b32 %r1, {block};\n"));
        let (first, second) = (rng.u64(..count), rng.u64(..count));
        match rng.u32(..8) {
            0..4 => code.push_str(&format!("@%p1 bra B{first};\n")),
            4 => code.push_str(&format!("bra B{first};\n")),
            5 => code.push_str(&format!("T{block}: .branchtargets B{first}, B{second};\nbrx.idx %r1, T{block};\n")),
            6 => code.push_str("@%p2 ret;\n"),
            _ => {}
        }
    }
    code
}

/// What `from` reaches without passing `without`.
fn reach(successors: &[Vec<usize>], from: usize, without: usize) -> Vec<bool> {
    let mut reached = vec![false; successors.len()];
    let mut pending = vec![from];
    while let Some(node) = pending.pop() {
        if node != without && !std::mem::replace(&mut reached[node], true) {
            pending.extend(&successors[node]);
        }
    }
    reached
}

#[test]
fn dominators_by_definition() {
    let mut rng = Rng::with_seed(1);
    for round in 0..200 {
        let graph = graph(&kernel(&random_kernel(2 + round % 12, &mut rng)));
        let tree = Dominance::dominators(&graph);
        let successors: Vec<_> = graph.blocks.iter().map(|block| block.successors.clone()).collect();
        let reachable = graph.reachable();
        for above in 0..graph.blocks.len() {
            let around = reach(&successors, 0, above);
            for node in (0..graph.blocks.len()).filter(|node| reachable[*node]) {
                assert_eq!(tree.dominates(above, node), !around[node], "{above} over {node}");
            }
        }
    }
}

#[test]
fn post_dominators_by_definition() {
    let mut rng = Rng::with_seed(2);
    let mut checked = 0;
    for round in 0..400 {
        let graph = graph(&kernel(&random_kernel(2 + round % 12, &mut rng)));
        let tree = Dominance::post_dominators(&graph);
        let end = graph.blocks.len();
        let mut successors: Vec<_> = graph.blocks.iter().map(|block| block.successors.clone()).collect();
        for (block, successors) in graph.blocks.iter().zip(&mut successors) {
            successors.extend(block.leaves.then_some(end));
        }
        successors.push(Vec::new());
        // Endless loops have a convention of their own.
        if (0..end).any(|node| !reach(&successors, node, usize::MAX)[end]) {
            continue;
        }
        checked += 1;
        for below in 0..end {
            for node in 0..end {
                let avoids = node != below && reach(&successors, node, below)[end];
                assert_eq!(tree.dominates(below, node), !avoids, "{below} after {node}");
            }
        }
    }
    assert!(checked > 50, "{checked} graphs without endless loops");
}

#[test]
fn compiled_kernels_are_covered() {
    let module = parse(COMPILED).unwrap();
    for (_, body) in module.entries() {
        let graph = Graph::new(body);
        let covered: usize = graph.blocks.iter().map(|block| block.instructions.len()).sum();
        assert_eq!(covered, body.instructions.len());
        for (index, block) in graph.blocks.iter().enumerate() {
            assert!(block.successors.iter().all(|next| graph.blocks[*next].predecessors.contains(&index)));
        }
    }
}
