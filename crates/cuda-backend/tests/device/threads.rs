//! Threads that share queues and buffers, and threads on which the program has its own contexts.

use std::{
    cell::RefCell,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::device::support::{POOLS, SimMachine, add, expected, on_each, open, program, scale};
use backend_api::{Buffer, Fork, Queue, Record};
use cuda_backend::{Allocator, CudaBuf, CudaQueue};
use cuda_loader::{
    Status,
    ffi::{self, CUcontext},
};
use test_process::{LIMIT, within};

const SCHEDULES: [&str; 3] = ["schedule=lazy", "schedule=random;seed=1", "schedule=random;seed=2"];

/// Rounds of each test: enough for the threads to meet at every point of a submission.
const ROUNDS: u32 = 100;

#[test]
fn what_another_thread_waits_for_is_submitted() {
    on_each(&SCHEDULES, &POOLS, |_, home, at| {
        let busy = home.fork().unwrap();
        let mut kept: Vec<_> = (0..ROUNDS).map(|_| busy.zeros::<u32>(5000).unwrap()).collect();
        let done = AtomicBool::new(false);
        test_process::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    busy.finish().unwrap();
                    home.join(&busy).unwrap();
                }
            });
            for (value, kept) in (1u32..).zip(&mut kept) {
                let passing = home.upload(&[value; 5000]).unwrap();
                // The memory goes back to `home`, whose later work must not overtake this, whoever waits meanwhile.
                busy.copy(passing.view(), kept.view_mut()).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        for (value, kept) in (1u32..).zip(&kept) {
            assert!(busy.download(kept).unwrap() == [value; 5000], "{at}, {value}");
        }
    });
}

#[test]
fn threads_share_a_queue() {
    on_each(&SCHEDULES, &[Allocator::StreamOrdered], |_, queue, at| {
        test_process::scope(|scope| {
            for thread in 1..4u32 {
                let queue = &queue;
                scope.spawn(move || {
                    for round in 0..ROUNDS / 4 {
                        let mut words = queue.upload(&[thread; 300]).unwrap();
                        scale(queue, &mut words.view_mut(), round).unwrap();
                        assert_eq!(queue.download(&words).unwrap(), [thread * round; 300], "{at}");
                    }
                });
            }
        });
    });
}

#[test]
fn queues_of_two_threads_use_the_same_buffers_in_opposite_orders() {
    on_each(&SCHEDULES, &[Allocator::StreamOrdered], |_, queue, at| {
        let queues = [queue.fork().unwrap(), queue];
        let x = queues[0].upload(&[3u32; 200]).unwrap();
        let y = queues[1].upload(&[4u32; 200]).unwrap();
        test_process::scope(|scope| {
            for (queue, [a, b]) in queues.iter().zip([[&x, &y], [&y, &x]]) {
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let mut sum = queue.alloc::<u32>(200).unwrap();
                        add(queue, a.view(), b.view(), &mut sum.view_mut()).unwrap();
                        assert_eq!(queue.download(&sum).unwrap(), [7; 200], "{at}");
                    }
                });
            }
        });
    });
}

#[test]
fn threads_replay_one_graph() {
    on_each(&SCHEDULES, &[Allocator::StreamOrdered], |_, queue, at| {
        let queues = [queue.fork().unwrap(), queue.clone()];
        let mut words: CudaBuf<u32> = queue.upload(&[1; 100]).unwrap();
        let graph = queue.record(|queue| scale(queue, &mut words.view_mut(), 3)).unwrap().unwrap();
        test_process::scope(|scope| {
            for queue in &queues {
                scope.spawn(|| (0..ROUNDS).try_for_each(|_| queue.replay(&graph)).unwrap());
            }
        });
        assert_eq!(queue.download(&words).unwrap(), [3u32.wrapping_pow(2 * ROUNDS); 100], "{at}");
    });
}

/// Calls a function of the driver that must succeed.
macro_rules! driver {
    ($function:ident($($argument:expr),*)) => {
        // SAFETY: contexts live as long as the test, and every pointer is valid for the bytes that
        // the call writes.
        assert_eq!(unsafe { ffi::$function($($argument),*) }, Status::SUCCESS)
    };
}

/// The primary context of a device.
fn primary(device: i32) -> CUcontext {
    let mut context = CUcontext::NULL;
    driver!(cuInit(0));
    driver!(cuDevicePrimaryCtxRetain(&raw mut context, device));
    context
}

fn current() -> CUcontext {
    let mut context = CUcontext::NULL;
    driver!(cuCtxGetCurrent(&raw mut context));
    context
}

#[test]
fn the_program_keeps_the_context_that_it_had() {
    for allocator in [Allocator::StreamOrdered, Allocator::Caching] {
        let _machine = SimMachine::clean("devices=2;schedule=lazy");
        for context in [CUcontext::NULL, primary(1), primary(0)] {
            driver!(cuCtxSetCurrent(context));
            assert_eq!(program(allocator).unwrap(), expected());
            assert_eq!(current(), context, "{allocator:?}");
        }
        // Nor is anything left on the stack below it.
        driver!(cuCtxSetCurrent(CUcontext::NULL));
        driver!(cuCtxPushCurrent_v2(primary(1)));
        assert_eq!(program(allocator).unwrap(), expected());
        let mut popped = CUcontext::NULL;
        driver!(cuCtxPopCurrent_v2(&raw mut popped));
        assert_eq!((popped, current()), (primary(1), CUcontext::NULL));
    }
}

#[test]
fn the_program_may_change_its_context_between_ops() {
    for schedule in SCHEDULES {
        let _machine = SimMachine::clean(&format!("devices=2;{schedule}"));
        let contexts = [primary(1), CUcontext::NULL, primary(0)];
        let mut turns = contexts.iter().cycle();
        let mut switch = || driver!(cuCtxSetCurrent(*turns.next().unwrap()));
        switch();
        let queue = open(Allocator::StreamOrdered).unwrap();
        for round in 0..15 {
            switch();
            let mut words = queue.upload(&[round; 300]).unwrap();
            switch();
            scale(&queue, &mut words.view_mut(), 3).unwrap();
            switch();
            let mut sum = queue.zeros::<u32>(300).unwrap();
            switch();
            add(&queue, words.view(), words.view(), &mut sum.view_mut()).unwrap();
            switch();
            assert_eq!(queue.download(&sum).unwrap(), [6 * round; 300], "{schedule}");
        }
        switch();
    }
}

#[test]
fn every_thread_keeps_its_own_context() {
    let _machine = SimMachine::clean("devices=2;schedule=random;seed=1");
    let queue = open(Allocator::Caching).unwrap();
    test_process::scope(|scope| {
        for (context, factor) in [(CUcontext::NULL, 2), (primary(1), 3), (primary(0), 4)] {
            let (queue, context) = (&queue, context.0.addr());
            scope.spawn(move || {
                let context = CUcontext(std::ptr::without_provenance_mut(context));
                driver!(cuCtxSetCurrent(context));
                for round in 0..ROUNDS {
                    let mut words = queue.upload(&[round; 100]).unwrap();
                    scale(queue, &mut words.view_mut(), factor).unwrap();
                    assert_eq!(queue.download(&words).unwrap(), [round * factor; 100]);
                    assert_eq!(current(), context);
                }
            });
        }
    });
}

#[test]
fn a_queue_may_go_with_its_thread() {
    thread_local! {
        static HELD: RefCell<Option<(CudaQueue, CudaBuf<u32>)>> = const { RefCell::new(None) };
    }
    let _machine = SimMachine::clean("schedule=lazy");
    let held = thread::spawn(|| {
        HELD.set(None); // before anything else of this thread, so that it goes after all of that
        let queue = open(Allocator::StreamOrdered).unwrap();
        let words = queue.upload(&[1u32; 100]).unwrap();
        HELD.set(Some((queue, words)));
    });
    within(LIMIT, || held.join().unwrap());
}
