//! Kernels that the compiler breaks without its flags: the executor passes the sound texts and reports the broken ones.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_sim::exec::{FaultKind, Grid, Memory, Options, Program, launch};

const GUARDED: &str = include_str!("../../../kernels-ptx/ptx/canary/guarded.ptx");
const WITHOUT_MIR_FLAG: &str = include_str!("../../../kernels-ptx/ptx/canary/without-mir-flag.ptx");
const WITHOUT_SMALL_BLOCK_FLAG: &str = include_str!("../../../kernels-ptx/ptx/canary/without-small-block-flag.ptx");

const THREADS: u32 = 64;
/// Not all threads of the second warp have a word, so they part at the guards.
const WORDS: u32 = 52;

/// The words that a canary makes of 0, 1, 2, ...
fn run(text: &str, kernel: &str) -> Result<Vec<u32>, FaultKind> {
    let program = Program::load(text).unwrap();
    let memory = Memory::new(&[1 << 20]);
    let [from, to] = [(); 2].map(|()| memory.alloc(0, 4 * u64::from(WORDS)).unwrap());
    memory.write(from, &(0..WORDS).flat_map(u32::to_le_bytes).collect::<Vec<_>>()).unwrap();
    let mut parameters = [from.to_le_bytes(), to.to_le_bytes()].concat();
    parameters.extend(WORDS.to_le_bytes());
    launch(&program, kernel, Grid::linear(1, THREADS), &parameters, &memory, 0, &Options::sanitize())
        .map_err(|fault| fault.kind)?;
    let mut bytes = vec![0; 4 * WORDS as usize];
    memory.read(to, &mut bytes).unwrap();
    Ok(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

#[test]
fn every_canary_is_right_when_built_with_all_flags() {
    assert_eq!(run(GUARDED, "canary_barrier").unwrap(), (0..WORDS).collect::<Vec<_>>());
    let neighbours: Vec<u32> = (0..WORDS).map(|i| i ^ 1).collect();
    for kernel in ["canary_shuffle", "canary_assembly_shuffle"] {
        assert_eq!(run(GUARDED, kernel).unwrap(), neighbours, "{kernel}");
    }
}

#[test]
fn a_canary_is_reported_when_its_flag_is_left_out() {
    for (text, kernel) in [
        (WITHOUT_MIR_FLAG, "canary_barrier"),
        (WITHOUT_MIR_FLAG, "canary_shuffle"),
        (WITHOUT_SMALL_BLOCK_FLAG, "canary_assembly_shuffle"),
    ] {
        let kind = run(text, kernel).expect_err(kernel);
        assert!(matches!(kind, FaultKind::DivergentCollective { .. }), "{kernel}: {kind}");
    }
}
