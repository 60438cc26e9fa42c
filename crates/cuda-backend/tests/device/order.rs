//! Order of work between host, streams and pools, under schedules that run work as late or as mixed as the API permits.

use crate::device::support::{POOLS, SimMachine, add, config, on_each, scale};
use backend_api::{BackendError, Buffer, Fork, Queue};
use cuda_backend::{Allocator, CudaBuf, CudaConfig, CudaQueue};

const SCHEDULES: [&str; 5] =
    ["schedule=eager", "schedule=lazy", "schedule=random;seed=1", "schedule=random;seed=2", "schedule=random;seed=3"];

#[test]
fn host_memory_is_not_reused_before_its_copy_is_done() {
    on_each(&SCHEDULES, &[Allocator::Caching], |machine, queue, at| {
        // Each copy reads its pinned piece when it runs; a piece given out again too early would hold a later buffer.
        let hosts: Vec<Vec<u32>> = (0..40u32).map(|i| vec![i; 900 + i as usize]).collect();
        let bufs: Vec<_> = hosts.iter().map(|host| queue.upload(host).unwrap()).collect();
        for (host, buf) in hosts.iter().zip(&bufs) {
            assert_eq!(&queue.download(buf).unwrap(), host, "{at}");
        }
        for (round, buf) in bufs.iter().enumerate() {
            assert_eq!(queue.download(buf).unwrap(), hosts[round]);
        }
        let pinned = queue.device().memory().unwrap().pinned;
        assert!(pinned.hits > pinned.misses, "{pinned:?}");
        assert_eq!(pinned.pin_calls, machine.counters().pins);
        assert_eq!(pinned.pageable_fallbacks, 0);
    });
}

#[test]
fn transfers_of_mixed_sizes_mostly_find_pinned_memory() {
    on_each(&SCHEDULES, &[Allocator::Caching], |_, queue, at| {
        let mut rng = fastrand::Rng::with_seed(7);
        for round in 0..400 {
            // Words of 4 bytes to 8 MiB, as likely in each octave: the longest go in two pieces.
            let octave = 1usize << rng.u32(..21);
            let host = vec![rng.u32(..); octave + rng.usize(..octave)];
            let buf = queue.upload(&host).unwrap();
            if round % 4 == 0 {
                assert!(queue.download(&buf).unwrap() == host, "{at}");
            }
        }
        queue.finish().unwrap();
        let pinned = queue.device().memory().unwrap().pinned;
        let requests = pinned.hits + pinned.misses;
        assert!(requests >= 500 && 10 * pinned.hits >= 8 * requests, "{at}: {pinned:?}");
        assert_eq!(pinned.pageable_fallbacks, 0);
    });
}

#[test]
fn a_pinned_pool_at_its_limit_waits_or_does_without() {
    for schedule in SCHEDULES {
        let _machine = SimMachine::clean(schedule);
        let cramped = CudaConfig { pinned_bytes: Some(64 << 10), ..config(Allocator::Auto) };
        let queue = CudaQueue::open(cramped).unwrap();
        let hosts: Vec<Vec<u32>> = (0..40u32).map(|i| vec![i; 10_000]).collect();
        let bufs: Vec<_> = hosts.iter().map(|host| queue.upload(host).unwrap()).collect();
        for (host, buf) in hosts.iter().zip(&bufs) {
            assert!(queue.download(buf).unwrap() == *host, "{schedule}");
        }
        let pinned = queue.device().memory().unwrap().pinned;
        assert_eq!(pinned.peak_bytes, 64 << 10);
        // A long transfer finds no piece of its class at all.
        let long: Vec<u64> = (0..200_000).collect();
        assert!(queue.download(&queue.upload(&long).unwrap()).unwrap() == long);
        assert!(queue.device().memory().unwrap().pinned.pageable_fallbacks > 0);
    }
}

#[test]
fn pieces_of_a_long_upload_are_under_way_at_once_as_far_as_there_is_pinned_memory() {
    const MIB: usize = 1 << 20;
    let columns: Vec<Vec<u32>> =
        (0..5u32).map(|column| (0..MIB as u32).map(|row| row * 7 + column).collect()).collect();
    let parts: Vec<&[u32]> = columns.iter().map(Vec::as_slice).collect();
    let waits_of = |machine: &SimMachine| {
        let calls = machine.counters().calls;
        let calls =
            ["cuEventSynchronize", "cuStreamSynchronize", "cuCtxSynchronize"].map(|call| calls.get(call).copied());
        calls.into_iter().flatten().sum::<u64>()
    };
    for schedule in SCHEDULES {
        // 20 MiB, in pieces of 4 MiB: all of them, or two.
        for (pinned_bytes, waits) in [(None, false), (Some(8 * MIB as u64), true)] {
            let machine = SimMachine::clean(schedule);
            let queue = CudaQueue::open(CudaConfig { pinned_bytes, ..config(Allocator::Caching) }).unwrap();
            let mut buf = queue.alloc::<u32>(5 * MIB).unwrap();
            let copies = |machine: &SimMachine| machine.counters().calls["cuMemcpyHtoDAsync_v2"];
            queue.write(&[1u32], buf.slice_mut(0..1).unwrap()).unwrap();
            queue.finish().unwrap();
            let (before, waited) = (copies(&machine), waits_of(&machine));
            queue.write_parts(&parts, buf.view_mut()).unwrap();
            assert_eq!(copies(&machine) - before, 5, "{schedule}");
            let pinned = queue.device().memory().unwrap().pinned;
            if schedule == "schedule=lazy" {
                // No work has run without a wait for it.
                assert_eq!(waits_of(&machine) > waited, waits, "{pinned_bytes:?}");
                assert_eq!(pinned.waits > 0, waits, "{pinned:?}");
            }
            assert!(waits || waits_of(&machine) == waited, "{schedule}");
            assert_eq!(pinned.pageable_fallbacks, 0, "{schedule}");
            assert!(pinned.peak_bytes <= pinned_bytes.unwrap_or(u64::MAX), "{schedule}: {pinned:?}");
            assert!(queue.download(&buf).unwrap() == columns.concat(), "{schedule}, {pinned_bytes:?}");
        }
    }
}

#[test]
fn forked_queues_see_earlier_work_and_joined_ones_later() {
    on_each(&SCHEDULES, &[Allocator::StreamOrdered], |_, queue, at| {
        let words: Vec<u32> = (0..2000).collect();
        let mut x = queue.upload(&words).unwrap();
        scale(&queue, &mut x.view_mut(), 3).unwrap();
        let branches: Vec<_> = (0..4).map(|_| queue.fork().unwrap()).collect();
        let mut results: Vec<_> = branches.iter().map(|branch| branch.zeros::<u32>(words.len()).unwrap()).collect();
        for ((branch, result), factor) in branches.iter().zip(&mut results).zip(1u32..) {
            branch.copy(x.view(), result.view_mut()).unwrap();
            scale(branch, &mut result.view_mut(), factor).unwrap();
        }
        let mut total = queue.zeros::<u32>(words.len()).unwrap();
        for (branch, result) in branches.iter().zip(&results) {
            queue.join(branch).unwrap();
            let mut sum = queue.alloc::<u32>(words.len()).unwrap();
            add(&queue, total.view(), result.view(), &mut sum.view_mut()).unwrap();
            total = sum;
        }
        let expected: Vec<u32> = words.iter().map(|word| word * 30).collect();
        assert_eq!(queue.download(&total).unwrap(), expected, "{at}");
    });
}

#[test]
fn buffers_that_queues_share_are_right_without_a_join() {
    on_each(&SCHEDULES, &[Allocator::StreamOrdered], |_, first, at| {
        let second = first.fork().unwrap();
        let mut x = first.upload(&[1u32; 777]).unwrap();
        let mut y = second.upload(&[0u32; 777]).unwrap();
        for round in 0..8 {
            let (writer, reader) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
            scale(writer, &mut x.view_mut(), 2).unwrap();
            reader.copy(x.view(), y.view_mut()).unwrap();
            // The writer must not overtake the reader.
            scale(writer, &mut x.view_mut(), 3).unwrap();
            assert_eq!(reader.download(&y).unwrap(), [6u32.pow(round) * 2; 777], "{at}, round {round}");
        }
    });
}

#[test]
fn a_buffer_may_be_dropped_while_another_queue_uses_it() {
    on_each(&SCHEDULES, &POOLS, |_, home, at| {
        let other = home.fork().unwrap();
        let mut kept: Vec<_> = (0..20).map(|_| other.zeros::<u32>(5000).unwrap()).collect();
        for (value, kept) in (1u32..).zip(&mut kept) {
            let passing = home.upload(&[value; 5000]).unwrap();
            other.copy(passing.view(), kept.view_mut()).unwrap();
        }
        for (value, kept) in (1u32..).zip(&kept) {
            assert!(other.download(kept).unwrap() == [value; 5000], "{at}");
        }
    });
}

#[test]
fn a_queue_may_be_dropped_before_its_buffers() {
    on_each(&["schedule=lazy"], &POOLS, |_, queue, _| {
        let branch = queue.fork().unwrap();
        let mut buf = branch.upload(&[5u32; 100]).unwrap();
        scale(&branch, &mut buf.view_mut(), 2).unwrap();
        drop(branch);
        assert_eq!(queue.download(&buf).unwrap(), [10; 100]);
    });
}

/// Every schedule, each under all checkers: work that nothing orders is reported whatever came of it.
fn checked_schedules() -> [String; 5] {
    SCHEDULES.map(|schedule| format!("{schedule};checks=sanitize"))
}

#[test]
fn what_writes_a_buffer_comes_after_its_readers_and_before_the_next_ones_on_other_queues() {
    type BufferWrite = fn(&CudaQueue, &CudaBuf<u32>, &mut CudaBuf<u32>) -> Result<(), BackendError>;
    let writes: [(&str, BufferWrite); 4] = [
        ("fill", |queue, _, x| queue.clear(x.view_mut())),
        ("copy", |queue, other, x| queue.copy(other.view(), x.view_mut())),
        ("upload", |queue, _, x| queue.write(&[0; 500], x.view_mut())),
        ("launch", |queue, _, x| scale(queue, &mut x.view_mut(), 0)),
    ];
    for (name, write) in writes {
        on_each(&checked_schedules(), &[Allocator::StreamOrdered], |_, writer, at| {
            let reader = writer.fork().unwrap();
            let (zeros, mut x) = (writer.zeros::<u32>(500).unwrap(), writer.upload(&[7u32; 500]).unwrap());
            let (mut before, mut after) = (reader.zeros::<u32>(500).unwrap(), reader.zeros::<u32>(500).unwrap());
            writer.finish().unwrap();
            reader.copy(x.view(), before.view_mut()).unwrap();
            write(&writer, &zeros, &mut x).unwrap();
            reader.copy(x.view(), after.view_mut()).unwrap();
            assert_eq!(reader.download(&before).unwrap(), [7; 500], "{name}, {at}");
            assert_eq!(reader.download(&after).unwrap(), [0; 500], "{name}, {at}");
        });
    }
}

#[test]
fn memory_is_used_on_another_queue_only_after_it_was_taken() {
    on_each(&checked_schedules(), &POOLS, |_, home, at| {
        let other = home.fork().unwrap();
        // The memory's previous content is still in use by the queue that it came from.
        let mut old = home.upload(&[1u32; 500]).unwrap();
        scale(&home, &mut old.view_mut(), 3).unwrap();
        drop(old);
        let mut new = home.alloc::<u32>(500).unwrap();
        other.clear(new.view_mut()).unwrap();
        assert_eq!(other.download(&new).unwrap(), [0; 500], "{at}");
    });
}
