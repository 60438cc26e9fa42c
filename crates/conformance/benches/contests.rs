//! Every speed contest as a criterion group: ours first, then its peers.
//!
//! `trefoil bench` runs the same contests interleaved and prints ratios; criterion adds distributions and compares with
//! the last run. `cargo bench -p conformance -- circle` runs those whose name contains `circle`.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

fn contests(c: &mut Criterion) {
    // Inputs of up to 2^24 elements are built per contest, so only those that the command line asks for are built.
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    for (name, build) in conformance::bench::contests() {
        if filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let mut contest = build();
        let mut group = c.benchmark_group(name);
        for contender in &mut contest.contenders {
            let label = contender.name().to_owned();
            group.bench_function(label, |b| b.iter(|| contender.run()));
        }
        group.finish();
    }
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    targets = contests
}
criterion_main!(all);
