//! Budgets, pools and what happens when memory runs out.

use crate::device::support::{SimMachine, config};
use backend_api::{BackendError, Queue};
use cuda_backend::{Allocator, CudaConfig, CudaQueue};

fn open(allocator: Allocator, budget: u64) -> CudaQueue {
    CudaQueue::open(CudaConfig { budget_bytes: Some(budget), ..config(allocator) }).unwrap()
}

#[test]
fn random_traces_stay_within_the_budget_and_return_to_nothing() {
    const LIMIT: u64 = 8 << 20;
    for allocator in [Allocator::StreamOrdered, Allocator::Caching] {
        let _machine = SimMachine::clean("mem=64M;schedule=random");
        let queue = open(allocator, LIMIT);
        let mut rng = fastrand::Rng::with_seed(1);
        let (mut held, mut live, mut refused) = (Vec::new(), 0u64, 0);
        for _ in 0..10_000 {
            if rng.u8(..3) < 2 {
                let exponent = rng.u32(..21);
                let bytes = rng.u64(1..=1 << exponent);
                let rounded = bytes.next_multiple_of(512);
                match queue.alloc::<u8>(bytes as usize) {
                    Ok(buf) => {
                        live += rounded;
                        held.push((buf, rounded));
                    }
                    Err(BackendError::BudgetExceeded { need_bytes, free_bytes, limit_bytes }) => {
                        assert_eq!((need_bytes, free_bytes, limit_bytes), (rounded, LIMIT - live, LIMIT));
                        refused += 1;
                    }
                    Err(error) => panic!("{error}"),
                }
            } else if !held.is_empty() {
                let (_, rounded) = held.swap_remove(rng.usize(..held.len()));
                live -= rounded;
            }
            assert_eq!(queue.budget().live_bytes(), live);
        }
        assert!(refused > 0 && queue.budget().peak_bytes() <= LIMIT);
        held.clear();
        assert_eq!(queue.budget().live_bytes(), 0);
    }
}

#[test]
fn memory_that_a_pool_keeps_is_given_back_before_a_request_fails() {
    for allocator in [Allocator::StreamOrdered, Allocator::Caching] {
        let _machine = SimMachine::clean("mem=64M");
        let queue = open(allocator, 1 << 30);
        // Kept by the pool in pieces too short for what follows.
        let pieces: Vec<_> = (0..2).map(|_| queue.zeros::<u8>(24 << 20).unwrap()).collect();
        drop(pieces);
        let whole = queue.zeros::<u8>(56 << 20).unwrap();
        assert_eq!(queue.device().memory().unwrap().live_bytes, 56 << 20);
        let refused = queue.zeros::<u8>(32 << 20).unwrap_err();
        assert_eq!(refused, BackendError::OutOfMemory { bytes: 32 << 20 });
        assert_eq!(queue.budget().live_bytes(), 56 << 20);
        drop(whole);
        assert!(queue.zeros::<u8>(32 << 20).is_ok());
    }
}

#[test]
fn one_refusal_is_tried_again_and_two_are_reported() {
    for (fault, allocator) in
        [("oom@cuMemAllocFromPoolAsync", Allocator::StreamOrdered), ("oom@cuMemAlloc_v2", Allocator::Caching)]
    {
        let machine = SimMachine::new(&format!("{fault}:1"));
        let queue = open(allocator, 64 << 20);
        assert!(queue.zeros::<u8>(100 << 10).is_ok(), "{fault}");
        drop(queue);
        machine.assert_clean();
        drop(machine);

        let _machine = SimMachine::clean(fault);
        let queue = open(allocator, 64 << 20);
        assert_eq!(queue.zeros::<u8>(1024).unwrap_err(), BackendError::OutOfMemory { bytes: 1024 });
        assert_eq!(queue.budget().live_bytes(), 0);
        assert_eq!(queue.device().memory().unwrap().reclaims, 1);
    }
}

#[test]
fn what_a_stream_gave_back_it_uses_again_without_a_call() {
    let machine = SimMachine::new("schedule=lazy");
    let queue = open(Allocator::Caching, 64 << 20);
    drop(queue.zeros::<u32>(1000).unwrap());
    let before = machine.counters().allocations;
    for _ in 0..100 {
        drop(queue.zeros::<u32>(1000).unwrap());
    }
    assert_eq!(machine.counters().allocations, before);
}

#[test]
fn a_segment_that_the_driver_does_not_take_back_serves_as_before() {
    // No room for a whole segment, so a large block has a segment as short as a small block's.
    let machine = SimMachine::clean("mem=8M;fail=1@cuMemFree_v2:1");
    let queue = open(Allocator::Caching, 64 << 20);
    drop(queue.alloc::<u8>(2 << 20).unwrap());
    let refused = queue.alloc::<u8>(7 << 20).unwrap_err();
    assert!(matches!(refused, BackendError::Driver { call: "cuMemFree_v2", .. }), "{refused}");
    let before = machine.counters().allocations;
    drop(queue.alloc::<u8>(2 << 20).unwrap());
    assert_eq!(machine.counters().allocations, before);
}
