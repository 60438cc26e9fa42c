//! Benchmark lines run.

use std::time::Duration;

use cpu_backend::{CpuConfig, CpuQueue};
use runtime::AnyQueue;
use yardstick::{COPY, Effort, Extent, lines};

#[test]
fn every_line_of_the_benchmark_takes_time() {
    let q = AnyQueue::Cpu(CpuQueue::open(CpuConfig::default()).expect("threads start"));
    let effort = Effort { rounds: 1, batch: Duration::ZERO };
    let lines = lines(Extent::Small);
    assert_eq!(lines[0].id, COPY);
    for line in lines {
        let id = line.id.clone();
        let timing = line.measure(&q, effort).expect("the op holds");
        assert_eq!(timing.name, id);
        assert!(timing.median_s > 0.0, "{id}");
    }
}
