//! The fss specifications on every AES path of this processor, on one thread and on several.

use std::num::NonZeroUsize;

use conformance::{Outcome, fss, run};
use cpu_backend::{AesPath, CpuConfig, CpuQueue, Simd, SimdLevel};

fn holds_on(path: AesPath, threads: usize) {
    let Some(simd) = Simd::detect_up_to(SimdLevel::Avx512).with_aes(path) else {
        eprintln!("not run: this processor has no {}", path.name());
        return;
    };
    let config = CpuConfig { threads: NonZeroUsize::new(threads), allow_table_aes: true, ..CpuConfig::default() };
    let q = CpuQueue::with_simd(config, simd).expect("threads start");
    let report = run(&q, &fss::specs(), |_| ());
    assert!(report.outcomes.len() > 200);
    assert_eq!(report.failures().collect::<Vec<_>>(), Vec::<&Outcome>::new());
}

#[test]
fn table_path_holds() {
    holds_on(AesPath::Portable, 2);
}

#[test]
fn aes_ni_path_holds() {
    holds_on(AesPath::AesNi, 1);
}

#[test]
fn vaes256_path_holds() {
    holds_on(AesPath::Vaes256, 1);
}

#[test]
fn vaes512_path_holds() {
    holds_on(AesPath::Vaes512, 1);
}

#[test]
fn strongest_path_holds_on_three_threads() {
    holds_on(Simd::detect_up_to(SimdLevel::Avx512).aes(), 3);
}
