//! The submission counts of queues match the driver's.

use crate::device::support::{POOLS, on_each, scale};
use backend_api::{Buffer, Counted, Fork, Queue, Record, Submissions};
use cuda_sim::driver::Counters;

/// Functions that say which context is meant, and hand nothing over.
const CONTEXT: [&str; 3] = ["cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2"];

/// The driver's calls between two counts.
fn seen(before: &Counters, after: &Counters) -> Submissions {
    let of = |names: &[&str]| names.iter().map(|name| after.calls_of(name) - before.calls_of(name)).sum();
    let all = |counters: &Counters| counters.calls.values().sum::<u64>();
    let copies = ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async"];
    Submissions {
        calls: all(after) - all(before) - of(&CONTEXT),
        launches: of(&["cuLaunchKernel"]),
        replays: after.graph_launches - before.graph_launches,
        copies: of(&copies),
        allocations: of(&["cuMemAllocFromPoolAsync", "cuMemAlloc_v2"]),
        waits: after.synchronisations - before.synchronisations,
    }
}

#[test]
fn submissions_are_what_the_driver_saw() {
    on_each(&[""], &POOLS, |machine, queue, at| {
        let (started, seen_before) = (queue.submissions(), machine.counters());
        let branch = queue.fork().unwrap();
        let mut words = queue.upload(&[1u32; 700]).unwrap();
        let mut others = branch.zeros::<u32>(700).unwrap();
        scale(&queue, &mut words.view_mut(), 3).unwrap();
        branch.copy(words.view(), others.view_mut()).unwrap();
        branch.join(&queue).unwrap();
        let graph = queue.record(|queue| scale(queue, &mut words.view_mut(), 2)).unwrap().unwrap();
        queue.replay(&graph).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(queue.download(&words).unwrap(), [12; 700]);
        queue.finish().unwrap();
        let handed_over = queue.submissions() - started;
        assert_eq!(handed_over, seen(&seen_before, &machine.counters()), "{at}");
        assert_eq!((handed_over.launches, handed_over.replays), (2, 2));
        assert!(handed_over.copies >= 4 && handed_over.waits >= 1, "{handed_over:?}");
        assert_eq!(branch.submissions(), queue.submissions());
    });
}

#[test]
fn a_queue_without_work_is_joined_without_a_call() {
    on_each(&[""], &POOLS, |_, queue, at| {
        let branch = queue.fork().unwrap();
        let before = queue.submissions();
        queue.join(&branch).unwrap();
        assert_eq!(queue.submissions() - before, Submissions::default(), "{at}");
    });
}
