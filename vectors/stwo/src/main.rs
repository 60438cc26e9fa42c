//! Writes proofs by stwo's prover, and the list of their statements, to a folder.
//!
//! The default is `data/stark` of the repository.

use std::{env, error::Error, fs, path::PathBuf};

use stwo::core::pcs::PcsConfig;
use stwo_vectors::{
    config::config,
    prove::first,
    statement::{Statement, VectorLine},
    truths::{blake2s, plonk, poseidon2},
};

/// Proofs that are also written as JSON.
const AS_JSON: &[&str] = &["wide-fibonacci-0", "xor-0"];

/// Proofs of true statements that stwo's verifier refuses.
const DISPUTED: &str = "disputed";

struct ProofList(Vec<(String, Statement, PcsConfig)>);

impl ProofList {
    fn add(&mut self, kind: &str, statement: Statement, config: PcsConfig) {
        let next =
            self.0.iter().filter(|(name, ..)| name.strip_prefix(kind).is_some_and(|end| end.starts_with('-'))).count();
        self.0.push((format!("{kind}-{next}"), statement, config));
    }
}

fn list() -> Vec<(String, Statement, PcsConfig)> {
    let mut list = ProofList(Vec::new());
    let fibonacci =
        |log_rows: u32, columns| Statement::WideFibonacci { log_rows: vec![log_rows], columns: vec![columns] };
    list.add("wide-fibonacci", fibonacci(4, 3), PcsConfig::default());
    for (blowup, fold_step, last) in (1..=4).flat_map(|b| (1..=4).flat_map(move |f| (0..=4).map(move |l| (b, f, l)))) {
        let k = 5 * blowup + 3 * fold_step + last;
        let log_rows = (4 + k % 7).max(fold_step + last);
        let columns = [3, 5, 20, 40][(k % 4) as usize];
        let pow_bits = [0, 3, 5, 8, 12][(k % 5) as usize];
        list.add(
            "wide-fibonacci",
            fibonacci(log_rows, columns),
            config([blowup, fold_step, last, 2 + k % 3, pow_bits], None),
        );
    }
    for (log_rows, columns, chosen, lifting) in [
        (vec![4, 7], vec![3, 6], [1, 1, 0, 3, 5], None),
        (vec![8, 5], vec![4, 3], [2, 2, 1, 3, 5], None),
        (vec![6, 6, 4], vec![3, 4, 5], [1, 3, 2, 2, 0], None),
        (vec![4, 10, 7], vec![3, 3, 3], [1, 4, 0, 2, 0], None),
        (vec![5, 9], vec![3, 8], [3, 3, 3, 2, 8], None),
    ] {
        list.add("heights", Statement::WideFibonacci { log_rows, columns }, config(chosen, lifting));
    }
    for (log_rows, chosen) in [
        (4, [1, 1, 0, 3, 5]),
        (5, [2, 1, 2, 3, 0]),
        (6, [1, 2, 0, 3, 12]),
        (7, [3, 3, 1, 2, 5]),
        (8, [4, 4, 4, 2, 5]),
        (9, [1, 3, 3, 4, 5]),
    ] {
        list.add("neighbours", Statement::Neighbours { log_rows }, config(chosen, None));
    }
    for (log_rows, chosen, lifting) in [
        (4, [1, 1, 0, 3, 5], None),
        (4, [1, 1, 0, 3, 5], Some(5)),
        (5, [2, 1, 2, 3, 0], Some(8)),
        (6, [1, 2, 0, 3, 10], Some(9)),
        (7, [3, 3, 1, 2, 5], Some(12)),
        (6, [4, 4, 2, 2, 5], Some(11)),
    ] {
        list.add("cubes", Statement::Cubes { log_rows }, config(chosen, lifting));
    }
    for (log_rows, unused, chosen, lifting) in [
        ([5, 5], None, [1, 1, 0, 3, 5], None),
        ([4, 6], None, [2, 2, 1, 3, 5], None),
        ([7, 4], Some(4), [1, 3, 0, 3, 5], None),
        ([5, 5], Some(8), [1, 1, 1, 4, 5], None),
        ([4, 5], Some(7), [2, 2, 0, 4, 5], None),
        ([6, 5], Some(6), [1, 2, 2, 3, 5], Some(8)),
        ([6, 6], None, [3, 4, 0, 2, 5], Some(9)),
    ] {
        list.add("selected", Statement::Selected { log_rows, unused }, config(chosen, lifting));
    }
    for (log_rows, in_pairs, chosen) in [
        (4, true, [1, 1, 0, 3, 5]),
        (4, false, [1, 1, 0, 3, 5]),
        (6, true, [2, 2, 1, 3, 0]),
        (6, false, [3, 3, 0, 2, 12]),
        (9, true, [1, 4, 2, 3, 5]),
        (7, false, [4, 1, 4, 2, 5]),
    ] {
        list.add("state-machine", Statement::StateMachine { log_rows, in_pairs }, config(chosen, None));
    }
    for (log_rows, bits, chosen, lifting) in [
        (4, 2, [1, 1, 0, 3, 5], None),
        (5, 2, [2, 2, 0, 3, 5], None),
        (4, 3, [1, 3, 1, 3, 0], None),
        (8, 2, [2, 1, 2, 2, 10], None),
        (5, 4, [3, 4, 0, 2, 5], None),
        (7, 3, [1, 2, 1, 3, 5], Some(9)),
    ] {
        list.add("xor", Statement::Xor { log_rows, bits }, config(chosen, lifting));
    }
    // Two queries of the trace may be the two leaves of a pair in the lower tree, in the other order.
    list.add(DISPUTED, Statement::Xor { log_rows: 8, bits: 2 }, config([1, 1, 0, 2, 0], None));
    // Its verifier asks for a witness in a lifted tree without columns, which its prover does not give.
    for (log_rows, lifting) in [(5, 6), (5, 8), (4, 10)] {
        list.add(DISPUTED, fibonacci(log_rows, 4), config([1, 2, 1, 3, 5], Some(lifting)));
    }
    for (log_rows, first, chosen) in [
        ([4, 4], [3, 5], [1, 1, 0, 3, 5]),
        ([4, 6], [1, 1 << 30], [2, 2, 1, 3, 0]),
        ([7, 5], [17, 19], [1, 3, 0, 2, 10]),
        ([5, 8], [0, 0], [3, 2, 2, 2, 5]),
    ] {
        list.add("steps", Statement::Steps { log_rows, first }, config(chosen, None));
    }
    for (gates, inputs, chosen, lifting) in [
        (16, [1, 1], [1, 1, 0, 3, 5], None),
        (19, [7, 11], [2, 2, 1, 3, 0], None),
        (64, [2, 3], [1, 3, 0, 2, 10], None),
        (200, [1 << 20, 5], [1, 2, 2, 4, 5], Some(10)),
    ] {
        list.add("plonk", plonk(gates, inputs), config(chosen, lifting));
    }
    for (log_rows, chosen) in [(4, [1, 1, 0, 2, 5]), (5, [1, 2, 1, 3, 0]), (6, [2, 3, 0, 2, 10])] {
        list.add("poseidon2", poseidon2(log_rows), config(chosen, None));
    }
    for (log_blocks, chosen, lifting) in
        [(4, [1, 1, 0, 2, 5], None), (6, [2, 3, 2, 2, 0], None), (8, [1, 2, 0, 2, 5], Some(13))]
    {
        list.add("blake2s", blake2s(log_blocks), config(chosen, lifting));
    }
    list.0
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args()
        .nth(1)
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/stark"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    let (mut lines, mut bytes) = (Vec::new(), 0);
    for (seed, (name, statement, config)) in list().into_iter().enumerate() {
        let wanted = !name.starts_with(DISPUTED);
        let (_, proof, sums) = first(&statement, config, seed as u64, wanted);
        let binary = postcard::to_allocvec(&proof)?;
        bytes += binary.len();
        println!("{name}: {statement:?} {} bytes", binary.len());
        fs::write(folder.join(format!("{name}.bin")), binary)?;
        if AS_JSON.contains(&name.as_str()) {
            fs::write(folder.join(format!("{name}.json")), serde_json::to_string(&proof)?)?;
        }
        let claimed_sums = sums.iter().map(|sum| sum.to_m31_array().map(|word| word.0)).collect();
        let preprocessed_root = proof.commitments[0].0;
        lines.push(serde_json::to_string(&VectorLine { name, statement, config, preprocessed_root, claimed_sums })?);
    }
    fs::write(folder.join("vectors.json"), format!("[\n{}\n]\n", lines.join(",\n")))?;
    println!("{} proofs, {bytes} bytes", lines.len());
    Ok(())
}
