//! The linear-algebra specifications on every vector level of this processor, on one thread and on several.

use std::num::NonZeroUsize;

use cpu_backend::{CpuConfig, CpuQueue, Simd, SimdLevel};

fn holds_on(level: SimdLevel, threads: usize) {
    if !level.is_available() {
        eprintln!("not run: this processor has no {level}");
        return;
    }
    let config = CpuConfig { threads: NonZeroUsize::new(threads), ..CpuConfig::default() };
    let q = CpuQueue::with_simd(config, Simd::detect_up_to(level)).expect("threads start");
    let report = conformance::run(&q, &conformance::linalg::specs(), |_| ());
    assert!(report.outcomes.len() > 100);
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&conformance::Outcome>::new());
}

#[test]
fn portable_path_holds() {
    holds_on(SimdLevel::Portable, 1);
}

#[test]
fn avx2_path_holds() {
    holds_on(SimdLevel::Avx2, 1);
}

#[test]
fn avx512_path_holds() {
    holds_on(SimdLevel::Avx512, 1);
}

#[test]
fn strongest_path_holds_on_three_threads() {
    holds_on(Simd::detect_up_to(SimdLevel::Avx512).level(), 3);
}
