//! Device memory and streams of the program that opened the device, which the backend did not make.

use std::{
    ffi::c_void,
    ptr::null_mut,
    sync::{
        Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use backend_api::{BackendError, Fork as _, Queue};
use cuda_backend::{Allocator, CallerError, CallerStream, CudaConfig, CudaQueue};
use cuda_loader::{
    Status,
    ffi::{self, CUcontext, CUgraph, CUstream},
};

use self::within::{read_to, write_from};
use crate::device::support::{SimMachine, config, on_each, open};

const SCHEDULES: [&str; 4] = ["schedule=eager", "schedule=lazy", "schedule=random;seed=1", "schedule=random;seed=2"];

/// Calls a function of the driver that must succeed.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every pointer is valid for the accesses of the driver API, and every handle is alive.
        assert_eq!(unsafe { ffi::$function($($argument),*) }, Status::SUCCESS)
    };
}

mod within;

/// The program on one device: its stream there, and its memory.
struct CallerProgram {
    device: i32,
    context: CUcontext,
    stream: CUstream,
    memory: u64,
    bytes: usize,
}

impl CallerProgram {
    /// A program with `bytes` bytes of memory, whose stream fills them with `value`.
    fn new(device: i32, bytes: usize, value: u8) -> Self {
        let (mut context, mut stream, mut memory) = (CUcontext::NULL, CUstream::NULL, 0);
        ok!(cuDevicePrimaryCtxRetain(&raw mut context, device));
        ok!(cuCtxSetCurrent(context));
        ok!(cuStreamCreate(&raw mut stream, ffi::stream::NON_BLOCKING));
        ok!(cuMemAlloc_v2(&raw mut memory, bytes));
        let program = Self { device, context, stream, memory, bytes };
        program.fill(0, bytes, value);
        program
    }

    /// Fills bytes in the order of the stream.
    fn fill(&self, start: usize, bytes: usize, value: u8) {
        ok!(cuMemsetD8Async(self.memory + start as u64, value, bytes, self.stream));
    }

    /// The bytes after all work of the stream.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0u8; self.bytes];
        ok!(cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), self.memory, self.bytes, self.stream));
        ok!(cuStreamSynchronize(self.stream));
        bytes
    }

    /// The stream, for memory of the device that `queue` is on.
    fn caller(&self, queue: &CudaQueue) -> Result<CallerStream, CallerError> {
        // SAFETY: the tests drop the result before the program.
        unsafe { CallerStream::new(queue.device(), self.stream.0) }
    }
}

impl Drop for CallerProgram {
    fn drop(&mut self) {
        ok!(cuCtxSetCurrent(self.context));
        ok!(cuMemFree_v2(self.memory));
        ok!(cuStreamDestroy_v2(self.stream));
        ok!(cuCtxSetCurrent(CUcontext::NULL));
        ok!(cuDevicePrimaryCtxRelease_v2(self.device));
    }
}

/// The legacy default stream, for memory of the device that `queue` is on.
fn legacy(queue: &CudaQueue) -> CallerStream {
    // SAFETY: the legacy default stream is never destroyed.
    unsafe { CallerStream::new(queue.device(), null_mut()) }.unwrap()
}

/// Reads bytes of a program's memory.
fn read(caller: &CallerStream, address: u64, bytes: usize) -> Result<Vec<u8>, CallerError> {
    caller.check(address, bytes)?;
    let mut host = vec![0; bytes];
    // SAFETY: live memory of the program, which only work of its stream writes.
    unsafe { caller.read(address, &mut host) }.map(|()| host)
}

/// Writes bytes of a program's memory.
fn write(caller: &CallerStream, address: u64, host: &[u8]) -> Result<(), CallerError> {
    caller.check(address, host.len())?;
    // SAFETY: live memory of the program, which only work of its stream uses.
    unsafe { caller.write(address, host) }
}

#[test]
fn copies_at_odd_offsets_keep_the_order_of_the_callers_stream() {
    on_each(&SCHEDULES, &[Allocator::Auto], |_, queue, at| {
        let mut rng = fastrand::Rng::with_seed(5);
        let (mut expected, program) = (vec![7u8; 20_011], CallerProgram::new(0, 20_011, 7));
        let caller = program.caller(&queue).unwrap();
        // Fills, writes and reads without a wait of the program's between them.
        for round in 0..60u8 {
            let start = rng.usize(..expected.len());
            let len = rng.usize(..=(expected.len() - start).min(9000));
            let address = program.memory + start as u64;
            match round % 3 {
                0 if len > 0 => {
                    program.fill(start, len, round);
                    expected[start..start + len].fill(round);
                }
                1 => {
                    let mut bytes = vec![0; len];
                    rng.fill(&mut bytes);
                    write(&caller, address, &bytes).unwrap();
                    expected[start..start + len].copy_from_slice(&bytes);
                    bytes.fill(0); // the host may reuse its memory at once
                }
                _ => assert!(read(&caller, address, len).unwrap() == expected[start..start + len], "{at}, {round}"),
            }
        }
        drop(caller);
        assert!(program.bytes() == expected, "{at}");
    });
}

#[test]
fn copies_on_another_stream_have_no_order_with_the_callers() {
    let machine = SimMachine::new("schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let program = CallerProgram::new(0, 64, 7);
    let mut other = CUstream::NULL;
    ok!(cuStreamCreate(&raw mut other, ffi::stream::NON_BLOCKING));
    // SAFETY: the stream is alive until the end of the test.
    let caller = unsafe { CallerStream::new(queue.device(), other.0) }.unwrap();
    // The simulated driver may also answer with an error.
    let early = read(&caller, program.memory, 64);
    assert!(early != Ok(vec![7; 64]) || !machine.reports().is_empty());
    drop((caller, queue));
}

#[test]
fn copies_longer_than_pinned_memory_and_empty_ones_are_whole() {
    for schedule in SCHEDULES {
        let _machine = SimMachine::clean(schedule);
        let queue = CudaQueue::open(CudaConfig { pinned_bytes: Some(64 << 10), ..config(Allocator::Auto) }).unwrap();
        let program = CallerProgram::new(0, 5 << 20, 1);
        let caller = program.caller(&queue).unwrap();
        for bytes in [0, 1, 4096, 64 << 10, (64 << 10) + 1, (5 << 20) - 3] {
            let host: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8).collect();
            write(&caller, program.memory + 3, &host).unwrap();
            assert!(read(&caller, program.memory + 3, bytes).unwrap() == host, "{schedule}, {bytes}");
        }
        assert!(queue.device().memory().unwrap().pinned.pageable_fallbacks > 0);
        // Nothing is submitted for no elements, wherever they are.
        assert_eq!((write(&caller, 0, &[]), read(&caller, 1, 0)), (Ok(()), Ok(Vec::new())));
    }
}

#[test]
fn memory_that_is_not_there_in_full_on_the_device_is_refused() {
    let _machine = SimMachine::clean("devices=2;schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let (other, program) = (CallerProgram::new(1, 64, 2), CallerProgram::new(0, 64, 1));
    let caller = program.caller(&queue).unwrap();
    let on_host = [5u64; 8];
    let mut freed = 0;
    ok!(cuMemAlloc_v2(&raw mut freed, 64));
    assert_eq!(caller.is_on_device(freed, 64), Ok(true));
    ok!(cuMemFree_v2(freed));
    let nowhere = CallerError::NotOnDevice { expected: 0 };
    for (address, bytes, refused) in [
        (other.memory + 8, 8, CallerError::OtherDevice { expected: 0, got: 1 }),
        (program.memory + 1, 64, CallerError::TooShort { expected: 64, got: 63 }),
        (program.memory + 63, 2, CallerError::TooShort { expected: 2, got: 1 }),
        (program.memory, usize::MAX >> 1, CallerError::TooShort { expected: u64::MAX >> 1, got: 64 }),
    ] {
        assert_eq!(caller.is_on_device(address, bytes), Err(refused.clone()));
        if bytes <= 64 {
            assert_eq!(write(&caller, address, &vec![9; bytes]), Err(refused.clone()));
            assert_eq!(read(&caller, address, bytes), Err(refused));
        }
    }
    for address in [freed, program.memory + 64, on_host.as_ptr().addr() as u64] {
        assert_eq!(caller.is_on_device(address, 8), Ok(false));
        assert_eq!(write(&caller, address, &[9; 8]), Err(nowhere.clone()));
        assert_eq!(read(&caller, address, 8), Err(nowhere.clone()));
    }
    assert_eq!(caller.is_on_device(program.memory + 63, 1), Ok(true));
    drop(caller);
    assert_eq!((program.bytes(), on_host), (vec![1; 64], [5; 8]));
    ok!(cuCtxSetCurrent(other.context));
    assert_eq!(other.bytes(), [2; 64]);
}

#[test]
fn streams_of_another_context_or_in_a_capture_are_refused() {
    let _machine = SimMachine::clean("devices=2");
    let queue = open(Allocator::Auto).unwrap();
    let (other, program) = (CallerProgram::new(1, 64, 2), CallerProgram::new(0, 64, 1));
    assert_eq!(other.caller(&queue).unwrap_err(), CallerError::OtherContext { expected: 0 });
    let caller = program.caller(&queue).unwrap();
    ok!(cuStreamBeginCapture_v2(program.stream, ffi::capture::RELAXED));
    assert_eq!(write(&caller, program.memory, &[9; 8]), Err(CallerError::Capturing));
    assert_eq!(read(&caller, program.memory, 8), Err(CallerError::Capturing));
    let (mut graph, mut nodes) = (CUgraph::NULL, 9);
    ok!(cuStreamEndCapture(program.stream, &raw mut graph));
    ok!(cuGraphGetNodes(graph, null_mut(), &raw mut nodes));
    assert_eq!(nodes, 0);
    ok!(cuGraphDestroy(graph));
    // The refusals have left the stream as it was.
    write(&caller, program.memory, &[9; 8]).unwrap();
    assert_eq!(read(&caller, program.memory + 7, 2), Ok(vec![9, 1]));
}

#[test]
fn a_capture_of_another_stream_that_forbids_a_copy_is_named() {
    // While a stream that waits for the legacy stream captures, work on the legacy stream is refused.
    let _machine = SimMachine::new("schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let program = CallerProgram::new(0, 64, 1);
    let mut capturing = CUstream::NULL;
    ok!(cuStreamSynchronize(program.stream));
    ok!(cuStreamCreate(&raw mut capturing, ffi::stream::DEFAULT));
    let caller = legacy(&queue);
    ok!(cuStreamBeginCapture_v2(capturing, ffi::capture::RELAXED));
    let refused = write(&caller, program.memory, &[9; 8]).unwrap_err();
    assert_eq!(refused, CallerError::OtherCapture { call: "cuStreamIsCapturing", code: 906 });
    let text = "expected no capture on another stream, got one that forbids cuStreamIsCapturing (code 906)";
    assert!(refused.to_string().starts_with(text), "{refused}");
    // The question has not ended the capture.
    let mut graph = CUgraph::NULL;
    ok!(cuStreamEndCapture(capturing, &raw mut graph));
    ok!(cuGraphDestroy(graph));
    assert_eq!(program.bytes(), [1; 64]);
    // While a stream of the same thread captures and forbids waits, the wait for a copy is refused.
    let caller = program.caller(&queue).unwrap();
    ok!(cuStreamBeginCapture_v2(capturing, ffi::capture::GLOBAL));
    let refused = read(&caller, program.memory, 8).unwrap_err();
    assert!(matches!(refused, CallerError::OtherCapture { code: 900, .. }), "{refused}");
    // SAFETY: as above.
    assert_eq!(unsafe { ffi::cuStreamEndCapture(capturing, &raw mut graph) }, Status::STREAM_CAPTURE_INVALIDATED);
    assert_eq!(read(&caller, program.memory, 8), Ok(vec![1; 8]));
    ok!(cuStreamDestroy_v2(capturing));
}

#[test]
fn captures_that_forbid_calls_are_found_before_any_copy() {
    let _machine = SimMachine::clean("schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let (program, mut graph) = (CallerProgram::new(0, 64, 1), CUgraph::NULL);
    let (caller, mut capturing) = (program.caller(&queue).unwrap(), CUstream::NULL);
    ok!(cuStreamCreate(&raw mut capturing, ffi::stream::NON_BLOCKING));
    let checks = || [caller.check_calls(), queue.check_calls()];
    for (mode, of_thread, of_others) in [
        (ffi::capture::GLOBAL, false, false),
        (ffi::capture::THREAD_LOCAL, false, true),
        (ffi::capture::RELAXED, true, true),
    ] {
        assert_eq!(checks(), [Ok(()), Ok(())]);
        for (is_of_thread, expected) in [(true, of_thread), (false, of_others)] {
            ok!(cuStreamBeginCapture_v2(capturing, mode));
            let found =
                if is_of_thread { checks() } else { test_process::scope(|scope| scope.spawn(checks).join().unwrap()) };
            for found in found {
                let refused = found.as_ref().is_err_and(|error| error.to_string().contains("(code 900)"));
                assert!(refused != expected && found.is_ok() == expected, "{mode}, {is_of_thread}: {found:?}");
            }
            // A refused call has invalidated the capture.
            // SAFETY: the stream is alive, and the call writes one handle.
            let ended = unsafe { ffi::cuStreamEndCapture(capturing, &raw mut graph) };
            assert_eq!(ended, if expected { Status::SUCCESS } else { Status::STREAM_CAPTURE_INVALIDATED });
            if expected {
                ok!(cuGraphDestroy(graph));
            }
        }
    }
    write(&caller, program.memory, &[9; 8]).unwrap();
    assert_eq!(read(&caller, program.memory + 7, 2), Ok(vec![9, 1]));
    ok!(cuStreamDestroy_v2(capturing));
}

#[test]
fn memory_that_the_driver_refuses_to_copy_within_its_range_is_named() {
    let machine = SimMachine::clean("schedule=lazy");
    let (_queue, program, caller) = with_program(config(Allocator::Auto), 64);
    // The answer for a range of addresses with unmapped parts, which the simulated driver does not make.
    machine.inject("fail=1@cuMemcpyHtoDAsync_v2:1");
    machine.inject("fail=1@cuMemcpyDtoHAsync_v2:1");
    let unmapped = |call| CallerError::NotMapped { call };
    assert_eq!(write(&caller, program.memory, &[9; 64]), Err(unmapped("cuMemcpyHtoDAsync_v2")));
    assert_eq!(read(&caller, program.memory, 64), Err(unmapped("cuMemcpyDtoHAsync_v2")));
    machine.clear_faults();
    drop(caller);
    assert_eq!(program.bytes(), [1; 64]);
}

/// Has a stream take longer than the limit of a wait.
fn take_time_on(stream: CUstream) {
    /// Sleeps.
    ///
    /// # Safety
    /// None: `_data` is not read.
    unsafe extern "C" fn take_time(_data: *mut c_void) {
        thread::sleep(Duration::from_millis(1500));
    }
    ok!(cuLaunchHostFunc(stream, Some(take_time), null_mut()));
}

/// A queue with this configuration, and a program with `bytes` bytes and its stream.
fn with_program(config: CudaConfig, bytes: usize) -> (CudaQueue, CallerProgram, CallerStream) {
    let queue = CudaQueue::open(config).unwrap();
    let program = CallerProgram::new(0, bytes, 1);
    let caller = program.caller(&queue).unwrap();
    (queue, program, caller)
}

#[test]
fn the_limit_of_waits_is_for_the_copy_and_not_for_the_callers_earlier_work() {
    let limited = |seconds| CudaConfig { timeout: Some(Duration::from_secs(seconds)), ..config(Allocator::Auto) };
    for pinned_bytes in [None, Some(0)] {
        let _machine = SimMachine::clean("schedule=lazy");
        let (_queue, program, caller) = with_program(CudaConfig { pinned_bytes, ..limited(1) }, 64);
        take_time_on(program.stream);
        program.fill(0, 64, 2);
        assert_eq!(read(&caller, program.memory, 64), Ok(vec![2; 64]), "{pinned_bytes:?}");
    }
    // The legacy stream also waits for the work of other streams.
    let machine = SimMachine::new("schedule=lazy");
    let queue = CudaQueue::open(limited(1)).unwrap();
    let (program, mut blocking) = (CallerProgram::new(0, 64, 1), CUstream::NULL);
    ok!(cuStreamSynchronize(program.stream));
    ok!(cuStreamCreate(&raw mut blocking, ffi::stream::DEFAULT));
    let caller = legacy(&queue);
    take_time_on(blocking);
    assert_eq!(read(&caller, program.memory, 64), Ok(vec![1; 64]));
    ok!(cuStreamDestroy_v2(blocking));
    drop((caller, program, queue, machine));
    // A copy to the device whose end cannot be marked is waited for.
    let machine = SimMachine::clean("schedule=lazy");
    let (queue, program, caller) = with_program(limited(1), 64);
    take_time_on(program.stream);
    machine.inject("fail=801@cuEventRecord:1");
    write(&caller, program.memory, &[2; 64]).unwrap();
    machine.clear_faults();
    assert_eq!(read(&caller, program.memory, 64), Ok(vec![2; 64]));
    drop((caller, program, queue, machine));
    // A copy does not wait for pinned memory whose last copy comes after the caller's work.
    let bytes = 64 << 10;
    let machine = SimMachine::clean("schedule=lazy");
    let at_limit = CudaConfig { pinned_bytes: Some(bytes), ..limited(1) };
    let (queue, program, caller) = with_program(at_limit, bytes as usize);
    take_time_on(program.stream);
    write(&caller, program.memory, &vec![2; bytes as usize]).unwrap();
    write(&caller, program.memory, &vec![3; bytes as usize]).unwrap();
    let buf = queue.upload(&vec![4u8; bytes as usize]).unwrap();
    assert_eq!(queue.download(&buf), Ok(vec![4; bytes as usize]));
    assert!(queue.device().memory().unwrap().pinned.pageable_fallbacks > 0);
    drop((caller, buf, queue));
    assert!(program.bytes() == vec![3; bytes as usize]);
    drop((program, machine));
    // A queue whose copies within the device come after the caller's work.
    let machine = SimMachine::clean("schedule=lazy");
    let (queue, program, caller) = with_program(limited(1), 64);
    let mut buf = queue.upload(&[0u8; 64]).unwrap();
    take_time_on(program.stream);
    program.fill(0, 64, 2);
    read_to(&caller, &queue, program.memory, &mut buf).unwrap();
    assert_eq!(queue.download(&buf), Ok(vec![2; 64]));
    take_time_on(program.stream);
    assert_eq!(write_from(&caller, &queue, program.memory, &buf), Ok(false));
    queue.finish().unwrap();
    drop((caller, buf, queue, program, machine));
    // The copy itself is limited.
    let machine = SimMachine::new("schedule=lazy");
    let (_queue, program, caller) = with_program(limited(1), 64);
    machine.inject("hang@cuMemcpyDtoHAsync_v2:1");
    let refused = read(&caller, program.memory, 64).unwrap_err();
    assert!(matches!(refused, CallerError::Backend(BackendError::DeviceLost { .. })), "{refused}");
    drop(caller);
    std::mem::forget(program); // its stream never ends
}

/// An answer that work of the caller waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Missing,
    Given,
    /// The work has seen it.
    Seen,
}

static ANSWER: Mutex<Answer> = Mutex::new(Answer::Missing);
static ANSWERED: Condvar = Condvar::new();
/// Whether work has begun to wait for an answer.
static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// Waits ten seconds for an answer.
///
/// # Safety
/// None: `_data` is not read.
unsafe extern "C" fn wait_for_answer(_data: *mut c_void) {
    let missing = ANSWER.lock().unwrap();
    IS_ASKED.store(true, Ordering::Release);
    let is_missing = |answer: &mut Answer| *answer == Answer::Missing;
    let (mut answer, waited) = ANSWERED.wait_timeout_while(missing, Duration::from_secs(10), is_missing).unwrap();
    if !waited.timed_out() {
        *answer = Answer::Seen;
    }
}

#[test]
fn copies_at_the_limit_of_pinned_memory_do_not_wait_for_the_callers_work() {
    let bytes = 64 << 10;
    // All pinned memory is idle: in one piece, which is longer than the copies, or in shorter pieces.
    for (pinned, copied) in [(bytes, 64), (64, bytes)] {
        let _machine = SimMachine::clean("schedule=lazy");
        let config = CudaConfig { pinned_bytes: Some(bytes as u64), ..config(Allocator::Auto) };
        let queue = CudaQueue::open(config).unwrap();
        let (program, other) = (CallerProgram::new(0, 64, 1), queue.fork().unwrap());
        let first = queue.upload(&vec![2u8; pinned]).unwrap();
        queue.finish().unwrap();
        // The copies are also done by another thread than the one that the caller's work waits for.
        *ANSWER.lock().unwrap() = Answer::Missing;
        ok!(cuLaunchHostFunc(program.stream, Some(wait_for_answer), null_mut()));
        test_process::scope(|scope| {
            let second = scope.spawn(|| queue.upload(&vec![3u8; copied]).unwrap());
            let third = other.upload(&vec![4u8; copied]).unwrap();
            let second = second.join().unwrap();
            assert!(queue.download(&second) == Ok(vec![3; copied]) && other.download(&third) == Ok(vec![4; copied]));
        });
        *ANSWER.lock().unwrap() = Answer::Given;
        ANSWERED.notify_all();
        ok!(cuStreamSynchronize(program.stream));
        assert_eq!(*ANSWER.lock().unwrap(), Answer::Seen, "{pinned}, {copied}");
        let counts = queue.device().memory().unwrap().pinned;
        assert_eq!((counts.pin_calls, counts.live_bytes), (1, bytes as u64));
        assert!(counts.pageable_fallbacks > 0);
        assert_eq!(queue.download(&first), Ok(vec![2; pinned]));
    }
}

#[test]
fn null_is_the_legacy_default_stream() {
    let machine = SimMachine::new("schedule=lazy");
    let queue = open(Allocator::Auto).unwrap();
    let program = CallerProgram::new(0, 64, 1);
    let caller = legacy(&queue);
    ok!(cuStreamSynchronize(program.stream));
    ok!(cuMemsetD8Async(program.memory, 4, 64, CUstream::NULL));
    write(&caller, program.memory + 1, &[6; 2]).unwrap();
    ok!(cuMemsetD8Async(program.memory + 2, 8, 1, CUstream::NULL));
    assert_eq!(read(&caller, program.memory, 4), Ok(vec![4, 6, 8, 4]));
    assert_eq!(machine.reports(), []);
    assert_eq!(machine.counters().legacy_operations, 4);
}

#[test]
fn a_refused_copy_writes_nothing_and_a_submitted_one_succeeds() {
    for pinned_bytes in [None, Some(0)] {
        let machine = SimMachine::clean("schedule=lazy");
        let (_queue, program, caller) = with_program(CudaConfig { pinned_bytes, ..config(Allocator::Auto) }, 64);
        for call in ["cuPointerGetAttributes", "cuStreamIsCapturing", "cuMemcpyHtoDAsync_v2"] {
            machine.inject(&format!("fail=801@{call}:1"));
            let refused = write(&caller, program.memory, &[9; 64]).unwrap_err();
            assert!(
                matches!(refused, CallerError::Backend(BackendError::Driver { code: 801, .. })),
                "{call}: {refused}"
            );
            machine.clear_faults();
        }
        machine.inject("fail=801@cuMemcpyDtoHAsync_v2:1");
        assert!(read(&caller, program.memory, 64).is_err());
        machine.clear_faults();
        assert_eq!(read(&caller, program.memory, 64), Ok(vec![1; 64]));
        // The event after the copy serves the reuse of pinned memory alone.
        machine.inject("fail=801@cuEventRecord:1");
        assert_eq!(write(&caller, program.memory, &[3; 32]), Ok(()));
        machine.clear_faults();
        drop(caller);
        assert_eq!(program.bytes(), [[3; 32], [1; 32]].concat());
    }
}
