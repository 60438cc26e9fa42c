//! Kernels that the compiler breaks without the settings of `kernels-ptx/README.md`: the executor or the lints pass the sound
//! texts and report the broken ones.
//!
//! | left out | what shows it |
//! | --- | --- |
//! | `-Zmir-enable-passes=-JumpThreading` | the executor: a barrier and a shuffle in divergent branches |
//! | `-Cllvm-args=-simplifycfg-max-small-block-size=0` | the executor: a shuffle by assembly in divergent branches |
//! | `-Cpasses=infer-address-spaces`, `lto = true` | the lints: generic accesses, which compute the same and are slow |
//! | `panic = "immediate-abort"` | the lints: panic functions and calls of them |
//! | fences around an atomic | the executor: a race between blocks, under any flags |
//!
//! `-Ctarget-cpu=sm_80` and `-Zbuild-std=core` have no canary: without them there is no text, since the core library that is
//! at hand is for another target.

use std::collections::BTreeSet;

use cuda_sim::exec::{FaultKind, Grid, Memory, Options, Program, Schedule, Space, launch};
use device_trials::{CANARIES, Canary};
use ptx::lint::Lint;

macro_rules! canary {
    ($name:literal) => {
        include_str!(concat!("../../../kernels-ptx/ptx/canary/", $name, ".ptx"))
    };
}

const GUARDED: &str = device_trials::GUARDED.ptx;
const WITHOUT_MIR_FLAG: &str = canary!("without-mir-flag");
const WITHOUT_SMALL_BLOCK_FLAG: &str = canary!("without-small-block-flag");
const WITHOUT_ADDRESS_SPACE_PASS: &str = canary!("without-address-space-pass");
const WITHOUT_LTO: &str = canary!("without-lto");
const WITHOUT_IMMEDIATE_ABORT: &str = canary!("without-immediate-abort");

const THREADS: u32 = 64;
/// Not all threads of the second warp have a word, so they part at the guards.
const WORDS: u32 = 52;

/// The result of a canary on `words` words 0, 1, 2, ..., one thread for each, and the same number of zeros.
fn run_on(text: &str, kernel: &str, words: u32, schedule: Schedule) -> Result<Vec<u32>, FaultKind> {
    let program = Program::load(text).unwrap();
    let memory = Memory::new(&[1 << 20]);
    let [from, to] = [(); 2].map(|()| memory.alloc(0, 4 * u64::from(words)).unwrap());
    memory.write(from, &Canary::input(words).into_iter().flat_map(u32::to_le_bytes).collect::<Vec<_>>()).unwrap();
    memory.fill(to, &[0], 4 * u64::from(words)).unwrap();
    let mut parameters = [from.to_le_bytes(), to.to_le_bytes()].concat();
    parameters.extend(words.to_le_bytes());
    let grid = Grid { dynamic_shared: 4 * THREADS, ..Grid::linear(words.div_ceil(THREADS), THREADS) };
    let options = Options { schedule, ..Options::sanitize() };
    launch(&program, kernel, grid, &parameters, &memory, 0, &options).map_err(|fault| fault.kind)?;
    let mut bytes = vec![0; 4 * words as usize];
    memory.read(to, &mut bytes).unwrap();
    Ok(bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect())
}

/// As [`run_on`], for the canaries that part at their guards.
fn run(text: &str, kernel: &str) -> Result<Vec<u32>, FaultKind> {
    run_on(text, kernel, WORDS, Schedule::Natural)
}

fn canary(kernel: &str) -> Canary {
    CANARIES.into_iter().find(|canary| canary.kernel == kernel).unwrap()
}

/// The lints that find something about a kernel, or about the symbols of the module.
fn lints(text: &str, kernel: &str) -> BTreeSet<Lint> {
    let findings = ptx::lint::check(&ptx::parse(text).unwrap(), &ptx::Table::default());
    let about = findings.iter().filter(|finding| finding.kernel == kernel || finding.lint == Lint::PanicSymbol);
    about.map(|finding| finding.lint).collect()
}

#[test]
fn every_canary_is_right_when_built_with_all_flags() {
    for canary in CANARIES {
        let got = run_on(GUARDED, canary.kernel, canary.lengths[0], Schedule::Natural).unwrap();
        canary.judge(canary.lengths[0], &got).unwrap_or_else(|wrong| panic!("{}: {wrong}", canary.kernel));
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

#[test]
fn shared_memory_is_reached_by_its_space_only_with_the_pass_and_lto() {
    assert!(!lints(GUARDED, "canary_shared").contains(&Lint::GenericAccess));
    for text in [WITHOUT_ADDRESS_SPACE_PASS, WITHOUT_LTO] {
        assert!(lints(text, "canary_shared").contains(&Lint::GenericAccess));
    }
    // Either way is right, so no run of a kernel tells them apart.
    for text in [GUARDED, WITHOUT_ADDRESS_SPACE_PASS, WITHOUT_LTO] {
        let mirrored = run_on(text, "canary_shared", 4 * THREADS, Schedule::Natural).unwrap();
        assert_eq!(canary("canary_shared").judge(4 * THREADS, &mirrored), Ok(()));
    }
}

#[test]
fn panics_leave_functions_behind_unless_they_abort_at_once() {
    let traces = BTreeSet::from([Lint::PanicSymbol, Lint::Call]);
    assert!(lints(GUARDED, "canary_checked").is_disjoint(&traces));
    assert!(lints(WITHOUT_IMMEDIATE_ABORT, "canary_checked").is_superset(&traces));
}

#[test]
fn the_last_block_needs_fences_around_its_atomic() {
    let words = 4 * THREADS;
    for schedule in [Schedule::Natural, Schedule::Reverse, Schedule::Seeded(1), Schedule::Seeded(2)] {
        let sums = run_on(GUARDED, "canary_last_block_fenced", words, schedule).unwrap();
        assert_eq!(canary("canary_last_block_fenced").judge(words, &sums), Ok(()), "{schedule:?}");
        let kind = run_on(GUARDED, "canary_last_block_ordered", words, schedule).unwrap_err();
        assert!(matches!(kind, FaultKind::Race { space: Space::Global, .. }), "{schedule:?}: {kind}");
    }
}
