//! Copies between memory of the program and buffers of a queue, within the device.

use std::{ptr::null_mut, sync::atomic::Ordering, thread, time::Duration};

use backend_api::{BackendError, Buffer as _, Fork as _, Queue, Record as _};
use cuda_backend::{Allocator, CallerError, CallerStream, CudaBuf, CudaConfig, CudaQueue};
use cuda_loader::{Status, ffi};

use super::{ANSWER, ANSWERED, Answer, CallerProgram, IS_ASKED, SCHEDULES, legacy, wait_for_answer};
use crate::device::support::{SimMachine, config, on_each, open};

/// Copies bytes of a program's memory to a buffer of a queue.
pub(super) fn read_to(
    caller: &CallerStream,
    queue: &CudaQueue,
    address: u64,
    buf: &mut CudaBuf<u8>,
) -> Result<(), CallerError> {
    caller.check(address, buf.len())?;
    // SAFETY: live memory of the program, which only work of its stream writes.
    unsafe { queue.copies_for(caller).read(address, &buf.view_mut()) }
}

/// Copies a buffer of a queue to a program's memory, if the stream is idle.
pub(super) fn write_from(
    caller: &CallerStream,
    queue: &CudaQueue,
    address: u64,
    buf: &CudaBuf<u8>,
) -> Result<bool, CallerError> {
    caller.check(address, buf.len())?;
    // SAFETY: live memory of the program, which only work of its stream uses.
    unsafe { queue.copies_for(caller).write(address, buf.view()) }
}

#[test]
fn copies_within_the_device_keep_the_order_of_both_streams() {
    on_each(&SCHEDULES, &[Allocator::Auto], |machine, queue, at| {
        const BYTES: usize = 9000;
        let mut rng = fastrand::Rng::with_seed(6);
        let (program, other) = (CallerProgram::new(0, 3 * BYTES, 7), queue.fork().unwrap());
        let caller = program.caller(&queue).unwrap();
        let (mut buf, mut expected_buf) = (queue.upload(&[9u8; BYTES]).unwrap(), vec![9; BYTES]);
        let mut expected = vec![7; 3 * BYTES];
        let before = machine.counters();
        // Work of the program and of two queues, without a wait of the program's between them.
        for round in 0..80u8 {
            let start = rng.usize(..2 * BYTES);
            let address = program.memory + start as u64;
            let on = if rng.bool() { &queue } else { &other };
            match round % 4 {
                0 => {
                    program.fill(start, BYTES, round);
                    expected[start..start + BYTES].fill(round);
                }
                1 => {
                    read_to(&caller, on, address, &mut buf).unwrap();
                    expected_buf.copy_from_slice(&expected[start..start + BYTES]);
                }
                2 => {
                    let len = rng.usize(..BYTES);
                    on.clear(buf.slice_mut(0..len).unwrap()).unwrap();
                    expected_buf[..len].fill(0);
                }
                _ => {
                    // The stream is idle since the last read.
                    assert_eq!(write_from(&caller, on, address, &buf), Ok(true), "{at}");
                    expected[start..start + BYTES].copy_from_slice(&expected_buf);
                }
            }
        }
        let calls = |name: &str| machine.counters().calls_of(name) - before.calls_of(name);
        assert_eq!(["DtoD", "DtoH", "HtoD"].map(|way| calls(&format!("cuMemcpy{way}Async_v2"))), [40, 0, 0], "{at}");
        assert!(queue.download(&buf) == Ok(expected_buf), "{at}");
        drop((buf, caller)); // the memory goes back after the copies
        assert!(program.bytes() == expected, "{at}");
    });
}

#[test]
fn copies_within_the_device_are_refused_for_other_devices_recordings_and_unmapped_memory() {
    let machine = SimMachine::clean("devices=2;schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let again = open(Allocator::Auto).unwrap();
    let program = CallerProgram::new(0, 64, 1);
    let caller = program.caller(&queue).unwrap();
    let (mut buf, mut foreign) = (queue.upload(&[2u8; 64]).unwrap(), again.upload(&[3u8; 64]).unwrap());
    // Memory of a device that was opened a second time.
    let mixed = |refused| matches!(refused, Err(CallerError::Backend(BackendError::MixedBackend { .. })));
    for queue in [&queue, &again] {
        assert!(mixed(read_to(&caller, queue, program.memory, &mut foreign)));
        assert!(mixed(write_from(&caller, queue, program.memory, &foreign).map(drop)));
    }
    assert!(mixed(read_to(&caller, &again, program.memory, &mut buf)));
    // A recording runs nothing.
    let recorded = queue.record(|queue| match read_to(&caller, queue, program.memory, &mut buf) {
        Err(CallerError::Backend(refused)) => Err(refused),
        other => panic!("expected a refusal, got {other:?}"),
    });
    assert!(matches!(recorded, Ok(None)));
    // The answer for a range of addresses with unmapped parts, which the simulated driver does not make.
    let unmapped = CallerError::NotMapped { call: "cuMemcpyDtoDAsync_v2" };
    machine.inject("fail=1@cuMemcpyDtoDAsync_v2:1");
    assert_eq!(read_to(&caller, &queue, program.memory, &mut buf), Err(unmapped.clone()));
    machine.inject("fail=1@cuMemcpyDtoDAsync_v2:1");
    assert_eq!(write_from(&caller, &queue, program.memory, &buf), Err(unmapped));
    machine.clear_faults();
    assert_eq!(queue.download(&buf), Ok(vec![2; 64]));
    // Nothing is submitted for no elements, wherever they are.
    let mut none = queue.alloc::<u8>(0).unwrap();
    assert_eq!((read_to(&caller, &queue, 1, &mut none), write_from(&caller, &queue, 0, &none)), (Ok(()), Ok(true)));
    drop((caller, again));
    assert_eq!(program.bytes(), [1; 64]);
}

#[test]
fn a_copy_within_the_device_whose_end_cannot_be_marked_is_waited_for() {
    let prepared = || {
        let queue = open(Allocator::Auto).unwrap();
        let program = CallerProgram::new(0, 64, 1);
        ok!(cuStreamSynchronize(program.stream));
        let buf = queue.upload(&[2u8; 64]).unwrap();
        queue.finish().unwrap();
        (queue, program, buf)
    };
    // A copy to the program's memory: whether its stream is idle, and the event after the copy.
    for (refused, succeeds) in [("cuStreamQuery", false), ("cuEventRecord", true)] {
        let machine = SimMachine::clean("schedule=lazy");
        let (queue, program, buf) = prepared();
        let caller = program.caller(&queue).unwrap();
        machine.inject(&format!("fail=801@{refused}:1"));
        assert_eq!(write_from(&caller, &queue, program.memory, &buf).is_ok(), succeeds);
        machine.clear_faults();
        drop(caller);
        assert_eq!(program.bytes(), [if succeeds { 2 } else { 1 }; 64]);
    }
    // A copy from the program's memory: the first event is before the copy, the second one after it.
    for (refused, succeeds) in [(1, false), (2, true)] {
        let machine = SimMachine::clean("schedule=lazy");
        let (queue, program, mut buf) = prepared();
        let caller = program.caller(&queue).unwrap();
        machine.inject(&format!("fail=801@cuEventRecord:{refused}"));
        assert_eq!(read_to(&caller, &queue, program.memory, &mut buf).is_ok(), succeeds);
        machine.clear_faults();
        assert_eq!(queue.download(&buf), Ok(vec![if succeeds { 1 } else { 2 }; 64]));
    }
}

/// The work of one program, which ends once the test has used the queue, and copies of another program.
#[test]
fn copies_of_a_stream_do_not_wait_for_the_work_of_another_stream() {
    let machine = SimMachine::clean("schedule=lazy");
    let limited = CudaConfig { timeout: Some(Duration::from_secs(5)), ..config(Allocator::Auto) };
    let queue = CudaQueue::open(limited).unwrap();
    let (busy, idle) = (CallerProgram::new(0, 64, 1), CallerProgram::new(0, 64, 2));
    let (of_busy, of_idle) = (busy.caller(&queue).unwrap(), idle.caller(&queue).unwrap());
    let mut buffers = [(); 2].map(|()| queue.upload(&[0u8; 64]).unwrap());
    for program in [&busy, &idle] {
        ok!(cuStreamSynchronize(program.stream));
    }
    *ANSWER.lock().unwrap() = Answer::Missing;
    IS_ASKED.store(false, Ordering::Release);
    ok!(cuLaunchHostFunc(busy.stream, Some(wait_for_answer), null_mut()));
    busy.fill(0, 64, 3);
    let [of_thread, own] = &mut buffers;
    // A stream with work gets no copy.
    assert_eq!(write_from(&of_busy, &queue, busy.memory, own), Ok(false));
    test_process::scope(|scope| {
        let reading = scope.spawn(|| read_to(&of_busy, &queue, busy.memory, of_thread));
        while !IS_ASKED.load(Ordering::Acquire) {
            thread::yield_now();
        }
        read_to(&of_idle, &queue, idle.memory, own).unwrap();
        assert_eq!(queue.download(own), Ok(vec![2; 64]));
        queue.clear(own.slice_mut(0..32).unwrap()).unwrap();
        assert_eq!(write_from(&of_idle, &queue, idle.memory, own), Ok(true));
        queue.finish().unwrap();
        assert_eq!(idle.bytes(), [[0; 32], [2; 32]].concat());
        assert_eq!(write_from(&of_busy, &queue, busy.memory, own), Ok(false));
        *ANSWER.lock().unwrap() = Answer::Given;
        ANSWERED.notify_all();
        reading.join().unwrap().unwrap();
    });
    assert_eq!(*ANSWER.lock().unwrap(), Answer::Seen);
    assert_eq!(queue.download(&buffers[0]), Ok(vec![3; 64]));
    assert_eq!(machine.counters().calls_of("cuMemcpyDtoDAsync_v2"), 3);
    drop((of_busy, of_idle, buffers, queue));
    assert_eq!(busy.bytes(), [3; 64]);
}

/// The work of another stream that the legacy stream waits for is work of the legacy stream too.
#[test]
fn the_legacy_stream_gets_no_copy_within_the_device() {
    let _machine = SimMachine::new("schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let program = CallerProgram::new(0, 64, 1);
    ok!(cuStreamSynchronize(program.stream));
    let mut buf = queue.upload(&[2u8; 64]).unwrap();
    let caller = legacy(&queue);
    assert_eq!(write_from(&caller, &queue, program.memory, &buf), Ok(false));
    read_to(&caller, &queue, program.memory, &mut buf).unwrap();
    assert_eq!(queue.download(&buf), Ok(vec![1; 64]));
    drop(caller);
    assert_eq!(program.bytes(), [1; 64]);
}
