//! Threads that share queues and buffers.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use backend_api::{Buffer, Fork, Queue, Record};
use cuda_backend::{Allocator, CudaBuf};
use support::{Machine, add, open, scale};

const SCHEDULES: [&str; 3] = ["schedule=lazy", "schedule=random;seed=1", "schedule=random;seed=2"];

/// Rounds of each test: enough for the threads to meet at every point of a submission.
const ROUNDS: u32 = 100;

#[test]
fn what_another_thread_waits_for_is_submitted() {
    for schedule in SCHEDULES {
        for allocator in [Allocator::StreamOrdered, Allocator::Caching] {
            let machine = Machine::new(schedule);
            let home = open(allocator).unwrap();
            let busy = home.fork().unwrap();
            let mut kept: Vec<_> = (0..ROUNDS).map(|_| busy.zeros::<u32>(5000).unwrap()).collect();
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
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
                assert!(busy.download(kept).unwrap() == [value; 5000], "{schedule}, {allocator:?}, {value}");
            }
            drop((kept, busy, home));
            machine.assert_clean();
        }
    }
}

#[test]
fn threads_share_a_queue() {
    for schedule in SCHEDULES {
        let machine = Machine::new(schedule);
        let queue = open(Allocator::StreamOrdered).unwrap();
        thread::scope(|scope| {
            for thread in 1..4u32 {
                let queue = &queue;
                scope.spawn(move || {
                    for round in 0..ROUNDS / 4 {
                        let mut words = queue.upload(&[thread; 300]).unwrap();
                        scale(queue, &mut words.view_mut(), round).unwrap();
                        assert_eq!(queue.download(&words).unwrap(), [thread * round; 300], "{schedule}");
                    }
                });
            }
        });
        drop(queue);
        machine.assert_clean();
    }
}

#[test]
fn queues_of_two_threads_use_the_same_buffers_in_opposite_orders() {
    for schedule in SCHEDULES {
        let machine = Machine::new(schedule);
        let queue = open(Allocator::StreamOrdered).unwrap();
        let queues = [queue.fork().unwrap(), queue];
        let x = queues[0].upload(&[3u32; 200]).unwrap();
        let y = queues[1].upload(&[4u32; 200]).unwrap();
        thread::scope(|scope| {
            for (queue, [a, b]) in queues.iter().zip([[&x, &y], [&y, &x]]) {
                scope.spawn(move || {
                    for _ in 0..ROUNDS {
                        let mut sum = queue.scratch::<u32>(200).unwrap();
                        add(queue, a.view(), b.view(), &mut sum.view_mut()).unwrap();
                        assert_eq!(queue.download(&sum).unwrap(), [7; 200], "{schedule}");
                    }
                });
            }
        });
        drop((x, y, queues));
        machine.assert_clean();
    }
}

#[test]
fn threads_replay_one_graph() {
    for schedule in SCHEDULES {
        let machine = Machine::new(schedule);
        let queue = open(Allocator::StreamOrdered).unwrap();
        let queues = [queue.fork().unwrap(), queue.clone()];
        let mut words: CudaBuf<u32> = queue.upload(&[1; 100]).unwrap();
        let graph = queue.record(|queue| scale(queue, &mut words.view_mut(), 3)).unwrap().unwrap();
        thread::scope(|scope| {
            for queue in &queues {
                scope.spawn(|| (0..ROUNDS).try_for_each(|_| queue.replay(&graph)).unwrap());
            }
        });
        assert_eq!(queue.download(&words).unwrap(), [3u32.wrapping_pow(2 * ROUNDS); 100], "{schedule}");
        drop((words, graph, queues, queue));
        machine.assert_clean();
    }
}
