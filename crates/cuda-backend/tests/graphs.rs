//! Recordings: the same results as one by one, in one launch, without allocations.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use backend_api::{BackendError, Buffer, Fork, Queue, Record, Replays};
use cuda_backend::{Allocator, CudaBuf, CudaQueue};
use support::{Machine, add, open, scale};

/// Input, scratch and output of [`body`].
struct Work {
    input: CudaBuf<u32>,
    output: CudaBuf<u32>,
}

impl Work {
    fn new(queue: &CudaQueue, len: usize) -> Result<Self, BackendError> {
        Ok(Self { input: queue.zeros(len)?, output: queue.zeros(len)? })
    }
}

/// `output = 2 input + 3 input`, on two streams, through scratch memory.
fn body(queue: &CudaQueue, work: &mut Work) -> Result<(), BackendError> {
    let len = work.input.len();
    let branch = queue.fork()?;
    let mut twice = queue.scratch::<u32>(len)?;
    let mut thrice = branch.scratch::<u32>(len)?;
    queue.copy(work.input.view(), twice.view_mut())?;
    scale(queue, &mut twice.view_mut(), 2)?;
    branch.copy(work.input.view(), thrice.view_mut())?;
    scale(&branch, &mut thrice.view_mut(), 3)?;
    queue.join(&branch)?;
    add(queue, twice.view(), thrice.view(), &mut work.output.view_mut())
}

#[test]
fn replaying_equals_running_with_one_launch_and_no_allocation() {
    for schedule in ["schedule=eager", "schedule=lazy", "schedule=random;seed=5"] {
        for allocator in [Allocator::StreamOrdered, Allocator::Caching] {
            let machine = Machine::new(schedule);
            let queue = open(allocator).unwrap();
            let mut replays: Replays<CudaQueue, usize, Work> = Replays::new(4);
            for round in 0..6u32 {
                let host: Vec<u32> = (0..500).map(|i| i + round).collect();
                let before = machine.counters();
                let work = replays
                    .run(
                        &queue,
                        &500,
                        |queue| Work::new(queue, 500),
                        |queue, work| queue.write(&host, work.input.view_mut()),
                        body,
                    )
                    .unwrap();
                let expected: Vec<u32> = host.iter().map(|word| 5 * word).collect();
                assert_eq!(queue.download(&work.output).unwrap(), expected, "{schedule}, round {round}");
                let after = machine.counters();
                if round >= 2 {
                    assert_eq!(after.graph_launches - before.graph_launches, 1);
                    assert_eq!(after.launches, before.launches);
                    assert_eq!(after.allocations, before.allocations);
                    assert_eq!(after.instantiations, before.instantiations);
                }
            }
            let counts = replays.counts();
            assert_eq!((counts.eager, counts.recorded, counts.replayed, counts.fallbacks), (1, 1, 5, 0));
            drop((replays, queue));
            machine.assert_clean();
        }
    }
}

#[test]
fn a_recording_keeps_what_it_uses() {
    let machine = Machine::new("schedule=lazy");
    let queue = open(Allocator::StreamOrdered).unwrap();
    let mut output = queue.zeros::<u32>(64).unwrap();
    let graph = {
        let constant = [11u32; 64];
        let mut eleven = queue.upload(&constant).unwrap();
        let recorded = queue.record(|queue| {
            queue.write(&[4u32; 64], output.view_mut())?;
            scale(queue, &mut eleven.view_mut(), 1)?;
            let mut copy = queue.scratch::<u32>(64)?;
            queue.copy(output.view(), copy.view_mut())?;
            add(queue, copy.view(), eleven.view(), &mut output.view_mut())
        });
        recorded.unwrap().unwrap()
    };
    assert_eq!(graph.kernels(), ["test_scale", "test_add"]);
    for _ in 0..3 {
        queue.write(&[0u32; 64], output.view_mut()).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(queue.download(&output).unwrap(), [15; 64]);
    }
    // Recorded work may still run when its owner goes.
    queue.write(&[0u32; 64], output.view_mut()).unwrap();
    queue.replay(&graph).unwrap();
    drop(graph);
    assert_eq!(queue.download(&output).unwrap(), [15; 64]);
    drop((output, queue));
    machine.assert_clean();
}

#[test]
fn a_replay_on_another_queue_waits_for_what_it_uses() {
    for seed in 0..4 {
        let machine = Machine::new(&format!("schedule=random;seed={seed}"));
        let queue = open(Allocator::StreamOrdered).unwrap();
        let other = queue.fork().unwrap();
        let mut words = queue.upload(&[1u32; 200]).unwrap();
        let graph = queue.record(|queue| scale(queue, &mut words.view_mut(), 3)).unwrap().unwrap();
        scale(&queue, &mut words.view_mut(), 2).unwrap();
        other.replay(&graph).unwrap();
        scale(&queue, &mut words.view_mut(), 5).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(other.download(&words).unwrap(), [90; 200], "seed {seed}");
        drop((words, graph, queue, other));
        machine.assert_clean();
    }
}

#[test]
fn what_waits_is_not_recorded_but_run() {
    let machine = Machine::new("");
    let queue = open(Allocator::Auto).unwrap();
    let mut replays: Replays<CudaQueue, u8, CudaBuf<u32>> = Replays::new(1);
    for _ in 0..3 {
        let words = replays
            .run(
                &queue,
                &0,
                |queue| queue.upload(&[1u32; 10]),
                |queue, words| queue.write(&[7; 10], words.view_mut()),
                |queue, words| {
                    let seen = queue.download(words)?;
                    scale(queue, &mut words.view_mut(), seen[0])
                },
            )
            .unwrap();
        assert_eq!(queue.download(words).unwrap(), [49; 10]);
    }
    assert_eq!((replays.counts().eager, replays.counts().fallbacks), (1, 2));
    assert_eq!(queue.device().memory().unwrap().refused_recordings, 1);
    drop((replays, queue));
    assert_eq!(machine.counters().calls_after_sticky, Vec::<&str>::new());
}

#[test]
fn a_body_that_goes_on_without_what_it_was_refused_gives_no_graph() {
    let machine = Machine::new("");
    let queue = open(Allocator::Auto).unwrap();
    let mut words = queue.upload(&[2u32; 10]).unwrap();
    let recorded = queue.record(|queue| {
        let seen = queue.download(&words).unwrap_or_default();
        scale(queue, &mut words.view_mut(), seen.first().copied().unwrap_or(0))
    });
    assert!(recorded.unwrap().is_none());
    assert_eq!(queue.device().memory().unwrap().refused_recordings, 1);
    assert_eq!(queue.download(&words).unwrap(), [2; 10]);
    drop((words, queue));
    machine.assert_clean();
}

#[test]
fn what_is_left_of_a_recording_s_queues_is_refused() {
    let machine = Machine::new("schedule=random;seed=1");
    let queue = open(Allocator::StreamOrdered).unwrap();
    let mut words = queue.upload(&[1u32; 100]).unwrap();
    let mut left = Vec::new();
    let recorded = queue.record(|queue| {
        let branch = queue.fork()?;
        scale(&branch, &mut words.view_mut(), 3)?;
        queue.join(&branch)?;
        left.extend([queue.clone(), branch]);
        Ok(())
    });
    let graph = recorded.unwrap().unwrap();
    let mut other = queue.upload(&[5u32; 100]).unwrap();
    let refused = |outcome: Result<(), BackendError>| {
        assert!(matches!(outcome, Err(BackendError::Unsupported { .. })), "{outcome:?}");
    };
    for stale in &left {
        refused(scale(stale, &mut other.view_mut(), 2));
        refused(stale.write(&[9; 100], other.view_mut()));
        refused(stale.clear(&mut other.view_mut()));
        refused(stale.copy(words.view(), other.view_mut()));
        refused(stale.fork().map(drop));
        refused(stale.join(&left[1]));
        refused(stale.download(&other).map(drop));
        refused(stale.finish());
        refused(stale.replay(&graph));
    }
    queue.replay(&graph).unwrap();
    assert_eq!(queue.download(&words).unwrap(), [3; 100]);
    assert_eq!(queue.download(&other).unwrap(), [5; 100]);
    drop((left, words, other, graph, queue));
    machine.assert_clean();
}

#[test]
fn a_driver_that_refuses_recording_costs_speed_and_nothing_else() {
    for call in ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"] {
        let machine = Machine::new(&format!("fail=801@{call}"));
        let queue = open(Allocator::StreamOrdered).unwrap();
        let mut replays: Replays<CudaQueue, u8, Work> = Replays::new(1);
        for _ in 0..3 {
            let load = |queue: &CudaQueue, work: &mut Work| queue.write(&[2u32; 100], work.input.view_mut());
            let work = replays.run(&queue, &0, |queue| Work::new(queue, 100), load, body).unwrap();
            assert_eq!(queue.download(&work.output).unwrap(), [10; 100], "{call}");
        }
        assert_eq!(replays.counts().fallbacks, 2, "{call}");
        drop((replays, queue, machine));
    }
}
