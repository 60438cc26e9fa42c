//! Every speed contest as a criterion group: ours first, then its peers.
//!
//! `trefoil bench` runs the same contests interleaved and prints ratios; criterion adds distributions and compares with
//! the last run. `cargo bench -p yardstick -- circle` runs those whose name contains `circle`.

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

fn contests(c: &mut Criterion) {
    // Inputs hold up to 2^24 elements, so only contests named on the command line are built. A word that names no
    // contest is the value of one of criterion's own options.
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let all = yardstick::contests();
    let named = |id: &str| words.iter().any(|word| id.contains(word.as_str()));
    let some_named = all.iter().any(|contest| named(contest.id()));
    for contest in all {
        if some_named && !named(contest.id()) {
            continue;
        }
        let mut group = c.benchmark_group(contest.id());
        for contender in &mut contest.contenders() {
            let label = contender.name().to_owned();
            group.bench_function(label, |b| b.iter_custom(|runs| (0..runs).map(|_| contender.time()).sum()));
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
