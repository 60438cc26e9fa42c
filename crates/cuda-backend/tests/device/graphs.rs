//! Recordings: the same results as one by one, in one launch, without allocations.

use crate::device::support::{POOLS, SimMachine, add, on_each, open, scale};
use backend_api::{BackendError, Buffer, Fork, Queue, Record};
use cuda_backend::{Allocator, CudaBuf, CudaGraph, CudaQueue};

/// Input, scratch and output of [`body`].
struct BodyBuffers {
    input: CudaBuf<u32>,
    output: CudaBuf<u32>,
}

impl BodyBuffers {
    fn new(queue: &CudaQueue, len: usize) -> Result<Self, BackendError> {
        Ok(Self { input: queue.zeros(len)?, output: queue.zeros(len)? })
    }
}

/// `output = 2 input + 3 input`, on two streams, through scratch memory.
fn body(queue: &CudaQueue, work: &mut BodyBuffers) -> Result<(), BackendError> {
    let len = work.input.len();
    let branch = queue.fork()?;
    let mut twice = queue.alloc::<u32>(len)?;
    let mut thrice = branch.alloc::<u32>(len)?;
    queue.copy(work.input.view(), twice.view_mut())?;
    scale(queue, &mut twice.view_mut(), 2)?;
    branch.copy(work.input.view(), thrice.view_mut())?;
    scale(&branch, &mut thrice.view_mut(), 3)?;
    queue.join(&branch)?;
    add(queue, twice.view(), thrice.view(), &mut work.output.view_mut())
}

/// Ops that run one by one the first time, are recorded the second time, if they can be, and replayed from then on.
#[derive(Default)]
struct Repeated {
    runs: u32,
    graph: Option<CudaGraph>,
}

impl Repeated {
    fn run(
        &mut self,
        queue: &CudaQueue,
        mut ops: impl FnMut(&CudaQueue) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        self.runs += 1;
        if self.runs == 2 {
            self.graph = queue.record(&mut ops)?;
        }
        match &self.graph {
            Some(graph) => queue.replay(graph),
            None => ops(queue),
        }
    }
}

#[test]
fn replaying_equals_running_with_one_launch_and_no_allocation() {
    on_each(&["schedule=eager", "schedule=lazy", "schedule=random;seed=5"], &POOLS, |machine, queue, at| {
        let (mut repeated, mut work) = (Repeated::default(), BodyBuffers::new(&queue, 500).unwrap());
        for round in 0..6u32 {
            let host: Vec<u32> = (0..500).map(|i| i + round).collect();
            let before = machine.counters();
            queue.write(&host, work.input.view_mut()).unwrap();
            repeated.run(&queue, |queue| body(queue, &mut work)).unwrap();
            let expected: Vec<u32> = host.iter().map(|word| 5 * word).collect();
            assert_eq!(queue.download(&work.output).unwrap(), expected, "{at}, round {round}");
            let after = machine.counters();
            if round >= 2 {
                assert_eq!(after.graph_launches - before.graph_launches, 1);
                assert_eq!(after.launches, before.launches);
                assert_eq!(after.allocations, before.allocations);
                assert_eq!(after.instantiations, before.instantiations);
            }
        }
        assert!(repeated.graph.is_some());
    });
}

#[test]
fn a_recording_keeps_what_it_uses() {
    let _machine = SimMachine::clean("schedule=lazy");
    let queue = open(Allocator::StreamOrdered).unwrap();
    let mut output = queue.zeros::<u32>(64).unwrap();
    let graph = {
        let constant = [11u32; 64];
        let mut eleven = queue.upload(&constant).unwrap();
        let recorded = queue.record::<BackendError>(|queue| {
            queue.write(&[4u32; 64], output.view_mut())?;
            scale(queue, &mut eleven.view_mut(), 1)?;
            let mut copy = queue.alloc::<u32>(64)?;
            queue.copy(output.view(), copy.view_mut())?;
            add(queue, copy.view(), eleven.view(), &mut output.view_mut())
        });
        recorded.unwrap().unwrap()
    };
    let kernels: Vec<&str> = graph.kernels().iter().map(|kernel| &**kernel).collect();
    assert_eq!(kernels, ["test_scale", "test_add"]);
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
}

#[test]
fn a_recording_uses_again_what_nobody_holds_any_more() {
    let schedules = ["eager", "lazy", "random;seed=1", "random;seed=2", "random;seed=3"];
    for schedule in schedules.map(|schedule| format!("schedule={schedule};checks=sanitize")) {
        let _machine = SimMachine::clean(&schedule);
        let queue = open(Allocator::StreamOrdered).unwrap();
        let (input, mut outputs) = (queue.upload(&[7u32; 500]).unwrap(), queue.zeros::<u32>(8 * 500).unwrap());
        let before = queue.budget().live_bytes();
        let graph = queue.record::<BackendError>(|queue| {
            let branch = queue.fork()?;
            // Taken by one queue after the other: each must wait until the other has read it.
            for factor in 1..9 {
                let on = if factor % 2 == 0 { queue } else { &branch };
                let mut scaled = on.alloc::<u32>(500)?;
                on.copy(input.view(), scaled.view_mut())?;
                scale(on, &mut scaled.view_mut(), factor)?;
                let first = (factor as usize - 1) * 500;
                on.copy(scaled.view(), outputs.slice_mut(first..first + 500)?)?;
            }
            // A block of more than twice the size is not reused, nor is a block that is held.
            let small = queue.zeros::<u32>(100)?;
            let held = queue.zeros::<u32>(500)?;
            let mut other = queue.alloc::<u32>(500)?;
            queue.copy(held.view(), other.view_mut())?;
            queue.copy(small.view(), other.slice_mut(0..100)?)?;
            queue.join(&branch)
        });
        let graph = graph.unwrap().unwrap();
        // 500 words take four granules of 512 bytes, 100 words one.
        assert_eq!(queue.budget().live_bytes() - before, 2 * 2048 + 512, "{schedule}");
        for _ in 0..3 {
            queue.clear(outputs.view_mut()).unwrap();
            queue.replay(&graph).unwrap();
            let expected: Vec<u32> = (1..9).flat_map(|factor| [7 * factor; 500]).collect();
            assert_eq!(queue.download(&outputs).unwrap(), expected, "{schedule}");
        }
    }
}

#[test]
fn what_was_there_before_a_recording_is_there_in_each_replay() {
    let _machine = SimMachine::clean("schedule=lazy;checks=sanitize");
    let queue = open(Allocator::StreamOrdered).unwrap();
    let (constant, mut outputs) = (queue.upload(&[7u32; 500]).unwrap(), queue.zeros::<u32>(2 * 500).unwrap());
    let graph = queue.record::<BackendError>(|queue| {
        queue.copy(constant.view(), outputs.slice_mut(0..500)?)?;
        drop(constant);
        let mut other = queue.alloc::<u32>(500)?;
        queue.write(&[9; 500], other.view_mut())?;
        queue.copy(other.view(), outputs.slice_mut(500..1000)?)
    });
    let graph = graph.unwrap().unwrap();
    for _ in 0..3 {
        queue.clear(outputs.view_mut()).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(queue.download(&outputs).unwrap(), [[7; 500], [9; 500]].concat());
    }
}

#[test]
fn a_replay_on_another_queue_waits_for_what_it_uses() {
    for seed in 0..4 {
        let _machine = SimMachine::clean(&format!("schedule=random;seed={seed}"));
        let queue = open(Allocator::StreamOrdered).unwrap();
        let other = queue.fork().unwrap();
        let mut words = queue.upload(&[1u32; 200]).unwrap();
        let graph = queue.record(|queue| scale(queue, &mut words.view_mut(), 3)).unwrap().unwrap();
        scale(&queue, &mut words.view_mut(), 2).unwrap();
        other.replay(&graph).unwrap();
        scale(&queue, &mut words.view_mut(), 5).unwrap();
        queue.replay(&graph).unwrap();
        assert_eq!(other.download(&words).unwrap(), [90; 200], "seed {seed}");
    }
}

#[test]
fn what_waits_is_not_recorded_but_run() {
    let machine = SimMachine::new("");
    let queue = open(Allocator::Auto).unwrap();
    let (mut repeated, mut words) = (Repeated::default(), queue.zeros::<u32>(10).unwrap());
    for _ in 0..3 {
        queue.write(&[7; 10], words.view_mut()).unwrap();
        let ops = |queue: &CudaQueue| {
            let seen = queue.download(&words)?;
            scale(queue, &mut words.view_mut(), seen[0])
        };
        repeated.run(&queue, ops).unwrap();
        assert_eq!(queue.download(&words).unwrap(), [49; 10]);
    }
    assert!(repeated.graph.is_none());
    assert_eq!(queue.device().memory().unwrap().refused_recordings, 1);
    assert_eq!(
        queue.device().refused_recording().unwrap(),
        "an op waits for the device; a wait cannot be captured in a graph"
    );
    drop((repeated, words, queue));
    assert_eq!(machine.counters().calls_after_sticky, Vec::<&str>::new());
}

#[test]
fn a_body_that_goes_on_without_what_it_was_refused_gives_no_graph() {
    let _machine = SimMachine::clean("");
    let queue = open(Allocator::Auto).unwrap();
    let mut words = queue.upload(&[2u32; 10]).unwrap();
    let recorded = queue.record::<BackendError>(|queue| {
        let seen = queue.download(&words).unwrap_or_default();
        scale(queue, &mut words.view_mut(), seen.first().copied().unwrap_or(0))
    });
    assert!(recorded.unwrap().is_none());
    assert_eq!(queue.device().memory().unwrap().refused_recordings, 1);
    assert_eq!(queue.download(&words).unwrap(), [2; 10]);
}

#[test]
fn what_is_left_of_a_recording_s_queues_is_refused() {
    let _machine = SimMachine::clean("schedule=random;seed=1");
    let queue = open(Allocator::StreamOrdered).unwrap();
    let mut words = queue.upload(&[1u32; 100]).unwrap();
    let mut left = Vec::new();
    let recorded = queue.record::<BackendError>(|queue| {
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
        refused(stale.clear(other.view_mut()));
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
}

#[test]
fn a_driver_that_refuses_recording_costs_speed_and_nothing_else() {
    for call in ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"] {
        let machine = SimMachine::new(&format!("fail=801@{call}"));
        let queue = open(Allocator::StreamOrdered).unwrap();
        let (mut repeated, mut work) = (Repeated::default(), BodyBuffers::new(&queue, 100).unwrap());
        queue.write(&[2u32; 100], work.input.view_mut()).unwrap();
        for _ in 0..3 {
            queue.clear(work.output.view_mut()).unwrap();
            repeated.run(&queue, |queue| body(queue, &mut work)).unwrap();
            assert_eq!(queue.download(&work.output).unwrap(), [10; 100], "{call}");
        }
        assert!(repeated.graph.is_none(), "{call}");
        drop((repeated, work, queue, machine));
    }
}
