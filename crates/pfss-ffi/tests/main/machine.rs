//! A program on the simulated machine: its stream, its memory, and calls whose arrays cannot be used.

use core::{
    ffi::{c_int, c_void},
    ptr::null_mut,
    sync::atomic::AtomicPtr,
};
use std::{
    sync::{Condvar, Mutex},
    time::Duration,
};

use trefoil_pfss::{Backend, Status, trefoil_pfss_set_stream};

use crate::{
    misuse::refused,
    setup::{ARGUMENT, LENGTH, OK},
};

// SAFETY: functions of the driver API, which the library defines, as for the programs in C++.
unsafe extern "C" {
    fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int;
    fn cuCtxSetCurrent(context: *mut c_void) -> c_int;
    fn cuStreamCreate(stream: *mut *mut c_void, flags: u32) -> c_int;
    fn cuStreamSynchronize(stream: *mut c_void) -> c_int;
    fn cuStreamBeginCapture_v2(stream: *mut c_void, mode: u32) -> c_int;
    fn cuStreamEndCapture(stream: *mut c_void, graph: *mut *mut c_void) -> c_int;
    fn cuGraphDestroy(graph: *mut c_void) -> c_int;
    fn cuLaunchHostFunc(stream: *mut c_void, function: Option<HostFunction>, data: *mut c_void) -> c_int;
    fn cuMemAlloc_v2(address: *mut *mut u64, bytes: usize) -> c_int;
    fn cuMemcpyHtoDAsync_v2(to: *mut u64, from: *const c_void, bytes: usize, stream: *mut c_void) -> c_int;
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: *const u64, bytes: usize, stream: *mut c_void) -> c_int;
    fn cuMemcpyDtoDAsync_v2(to: *mut u64, from: *const u64, bytes: usize, stream: *mut c_void) -> c_int;
}

type HostFunction = unsafe extern "C" fn(*mut c_void);

const NON_BLOCKING: u32 = 1;
pub(crate) const GLOBAL: u32 = 0;
pub(crate) const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;
/// The code for a copy that [`refused_copies`] refuses.
const INVALID: c_int = 1;
/// The code for the end of a capture that a refused call has invalidated.
const INVALIDATED: c_int = 901;
/// Copies of a kind from one that is refused first to the next.
const COPIES: u32 = 200;
/// Refused copies in a row: the search for them takes one, and a call one.
const REFUSED_COPIES: u32 = 8;
/// The longest that [`HeldStream`] holds work.
const LONGEST: Duration = Duration::from_secs(60);
/// The content of results that are not written.
const UNWRITTEN: u8 = 0xee;

/// Calls a function of the driver that must succeed.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every pointer is valid for the accesses of the driver API, and every handle is alive.
        assert_eq!(unsafe { $function($($argument),*) }, 0, stringify!($function))
    };
}

/// Runs a test in a separate process whose simulated machine is `spec`.
pub(crate) fn on_machine(spec: &str, test: impl FnOnce()) {
    test_process::alone_in(&[("TREFOIL_SIM", spec)], test);
}

/// The faults of a machine for [`Obstacle::Unmapped`].
pub(crate) fn refused_copies() -> String {
    let refused = (1..=60).flat_map(|turn| (0..REFUSED_COPIES).map(move |copy| turn * COPIES + copy));
    refused.flat_map(|copy| [Way::Down, Way::Within].map(|way| way.refused(copy))).collect()
}

/// The faults of a machine for [`CallerProgram::copies_of`].
pub(crate) fn marked_copies() -> String {
    (1..=60).flat_map(|turn| Way::ALL.map(|way| way.refused(turn * COPIES))).collect()
}

/// A kind of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host to a device.
    Up,
    /// From a device to the host.
    Down,
    /// Within a device.
    Within,
}

impl Way {
    const ALL: [Self; 3] = [Self::Up, Self::Down, Self::Within];

    /// The fault of a machine that refuses one copy, whose number counts from 1.
    fn refused(self, copy: u32) -> String {
        let way = match self {
            Self::Up => "HtoD",
            Self::Down => "DtoH",
            Self::Within => "DtoD",
        };
        format!(";fail=1@cuMemcpy{way}Async_v2:{copy}")
    }
}

/// Why a call cannot use an array, or its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The allocation ends a word before the array.
    TooShort,
    /// The memory is another device's.
    OtherDevice,
    /// The stream of the arrays is captured.
    Captured,
    /// Another stream is captured in a mode that forbids copies.
    OtherCapture(u32),
    /// The driver refuses copies to the host and within the device, as from memory that is not mapped.
    ///
    /// The machine has [`refused_copies`].
    Unmapped,
    /// Another stream is captured in a mode that forbids the work of a device.
    ///
    /// All arrays are in host memory.
    ComputingInCapture(u32),
}

/// A call, its input arrays, and the number of bytes of its result array.
pub(crate) struct MachineCall<'a> {
    pub(crate) inputs: &'a [&'a [u64]],
    pub(crate) bytes: usize,
    /// Whether a backend computes in the call.
    pub(crate) computes: bool,
    pub(crate) make: &'a dyn Fn(&[*const u64], *mut u64) -> Status,
}

/// The program on device 0; its memory is never freed.
pub(crate) struct CallerProgram {
    contexts: [*mut c_void; 2],
    pub(crate) stream: *mut c_void,
    /// A stream that no array is used on.
    other: *mut c_void,
    /// Two bytes on the device.
    bytes: *mut u64,
    obstacles: &'static [Obstacle],
}

impl CallerProgram {
    /// A program whose thread has set a stream of the device of `backend`.
    pub(crate) fn new(backend: *mut Backend, obstacles: &'static [Obstacle]) -> Self {
        let [mut stream, mut other] = [null_mut(); 2];
        let contexts = [0, 1].map(|device| {
            let mut context = null_mut();
            ok!(cuDevicePrimaryCtxRetain(&raw mut context, device));
            context
        });
        ok!(cuCtxSetCurrent(contexts[0]));
        ok!(cuStreamCreate(&raw mut stream, NON_BLOCKING));
        ok!(cuStreamCreate(&raw mut other, NON_BLOCKING));
        // SAFETY: a live handle, and a stream that is never destroyed.
        assert_eq!(unsafe { trefoil_pfss_set_stream(backend, stream) }, OK);
        let program = Self { contexts, stream, other, bytes: null_mut(), obstacles };
        Self { bytes: program.array(0, &[0; 2]), ..program }
    }

    /// Another stream, whose work from now on waits for the test.
    pub(crate) fn held_stream(&self) -> HeldStream {
        *HOLD.lock().unwrap() = Hold::Unreached;
        let mut stream = null_mut();
        ok!(cuStreamCreate(&raw mut stream, NON_BLOCKING));
        ok!(cuLaunchHostFunc(stream, Some(hold), null_mut()));
        HeldStream { stream }
    }

    /// The bytes of an array on the device, in no order with the streams of arrays.
    pub(crate) fn bytes_unordered(&self, array: *const u64, len: usize) -> Vec<u8> {
        bytes_after(self.other, array, len)
    }

    /// Copies a byte until the driver answers with `code`.
    ///
    /// Returns the number of copies with another answer.
    fn copy_until(&self, way: Way, code: c_int) -> u32 {
        let (mut byte, device) = (0u8, self.bytes);
        let host = (&raw mut byte).cast();
        let copy = || {
            // SAFETY: two bytes on the device, and a place that outlives the copy, which is waited for.
            let answer = unsafe {
                match way {
                    Way::Up => cuMemcpyHtoDAsync_v2(device, host, 1, self.stream),
                    Way::Down => cuMemcpyDtoHAsync_v2(host, device, 1, self.stream),
                    Way::Within => cuMemcpyDtoDAsync_v2(device, device.byte_add(1), 1, self.stream),
                }
            };
            ok!(cuStreamSynchronize(self.stream));
            answer
        };
        let found = (0..=COPIES).find(|_| copy() == code);
        found.unwrap_or_else(|| panic!("no copy of {COPIES} {way:?} had the answer {code}"))
    }

    /// The copies that `call` makes: up, down and within the device.
    ///
    /// The machine has [`marked_copies`]: between two marks are the copies of `call` and of this
    /// function.
    pub(crate) fn copies_of<T>(&self, call: impl FnOnce() -> T) -> ([u32; 3], T) {
        for way in Way::ALL {
            self.copy_until(way, INVALID);
        }
        let result = call();
        (Way::ALL.map(|way| COPIES - 1 - self.copy_until(way, INVALID)), result)
    }

    /// Makes the device current for a thread of the program.
    pub(crate) fn enter(&self) {
        Self::enter_context(self.contexts[0]);
    }

    /// [`enter`](Self::enter) for a thread that has the [`context`](Self::context) alone.
    pub(crate) fn enter_context(context: *mut c_void) {
        ok!(cuCtxSetCurrent(context));
    }

    /// The context of the device, for other threads.
    pub(crate) fn context(&self) -> AtomicPtr<c_void> {
        AtomicPtr::new(self.contexts[0])
    }

    /// A copy of `content` in memory of a device.
    pub(crate) fn array(&self, device: usize, content: &[u8]) -> *mut u64 {
        let mut array = null_mut();
        ok!(cuCtxSetCurrent(self.contexts[device]));
        ok!(cuMemAlloc_v2(&raw mut array, content.len()));
        ok!(cuMemcpyHtoDAsync_v2(array, content.as_ptr().cast(), content.len(), self.stream_of(device)));
        self.enter();
        array
    }

    /// The bytes of an array on the device.
    pub(crate) fn bytes(&self, array: *const u64, len: usize) -> Vec<u8> {
        self.bytes_on(0, array, len)
    }

    /// The bytes of an array in memory of a device.
    fn bytes_on(&self, device: usize, array: *const u64, len: usize) -> Vec<u8> {
        ok!(cuCtxSetCurrent(self.contexts[device]));
        let bytes = bytes_after(self.stream_of(device), array, len);
        self.enter();
        bytes
    }

    /// The program's stream on device 0, and the default stream of the other one.
    fn stream_of(&self, device: usize) -> *mut c_void {
        if device == 0 { self.stream } else { null_mut() }
    }

    /// The bytes of a call's result, after refusals of the call for every obstacle.
    pub(crate) fn result_of(&self, call: &MachineCall<'_>) -> Vec<u8> {
        self.refuse(call);
        let inputs: Vec<*const u64> =
            call.inputs.iter().map(|input| self.array(0, &bytes_of(input)).cast_const()).collect();
        if call.bytes == 0 {
            assert_eq!((call.make)(&inputs, null_mut()), OK);
            return Vec::new();
        }
        let result = self.array(0, &vec![UNWRITTEN; call.bytes]);
        assert_eq!((call.make)(&inputs, result), OK);
        self.bytes(result, call.bytes)
    }

    /// Makes a call with every obstacle to each of its arrays. The call must be refused and write nothing.
    pub(crate) fn refuse(&self, call: &MachineCall<'_>) {
        for &obstacle in self.obstacles {
            let tries = match obstacle {
                Obstacle::ComputingInCapture(_) => usize::from(call.computes),
                Obstacle::Unmapped => call.inputs.len(),
                _ => call.inputs.len() + usize::from(call.bytes > 0),
            };
            (0..tries).for_each(|position| self.refuse_at(call, obstacle, position));
        }
    }

    /// Makes a call with an obstacle to one array; all others are in host memory.
    fn refuse_at(&self, call: &MachineCall<'_>, obstacle: Obstacle, position: usize) {
        let mut inputs: Vec<*const u64> = call.inputs.iter().map(|input| input.as_ptr()).collect();
        let mut on_host = unwritten(call);
        let (mut result, mut on_device) = (on_host.as_mut_ptr(), None);
        let device = usize::from(obstacle == Obstacle::OtherDevice);
        // The array of the obstacle.
        if !matches!(obstacle, Obstacle::ComputingInCapture(_)) {
            let content =
                call.inputs.get(position).map_or_else(|| vec![UNWRITTEN; call.bytes], |input| bytes_of(input));
            let allocated = self.array(device, &content);
            let array = allocated.wrapping_add(usize::from(obstacle == Obstacle::TooShort));
            match inputs.get_mut(position) {
                Some(input) => *input = array,
                None => (result, on_device) = (array, Some((allocated, content))),
            }
        }
        // The call, in a capture or among refused copies if that is the obstacle.
        let capture = match obstacle {
            Obstacle::Captured => Some((self.stream, RELAXED)),
            Obstacle::OtherCapture(mode) | Obstacle::ComputingInCapture(mode) => Some((self.other, mode)),
            _ => None,
        };
        if let Some((stream, mode)) = capture {
            ok!(cuStreamBeginCapture_v2(stream, mode));
        }
        let refused_ways = if obstacle == Obstacle::Unmapped { &[Way::Down, Way::Within][..] } else { &[] };
        for &way in refused_ways {
            self.copy_until(way, INVALID);
        }
        let status = (call.make)(&inputs, result);
        for &way in refused_ways {
            self.copy_until(way, 0);
        }
        if let Some((stream, _)) = capture {
            let mut graph = null_mut();
            // SAFETY: a live stream, and a place for a handle.
            match unsafe { cuStreamEndCapture(stream, &raw mut graph) } {
                0 => ok!(cuGraphDestroy(graph)),
                code => assert_eq!(code, INVALIDATED),
            }
        }
        // The refusal, and results as they were.
        let (expected, text) = match obstacle {
            Obstacle::TooShort => (LENGTH, "up to the end of the allocation"),
            Obstacle::OtherDevice => (ARGUMENT, "expected memory of device 0, got memory of device 1"),
            Obstacle::Captured => (ARGUMENT, "got a stream that is being captured"),
            Obstacle::OtherCapture(_) => (ARGUMENT, "expected no capture on another stream"),
            Obstacle::Unmapped => (ARGUMENT, "expected memory that is mapped"),
            Obstacle::ComputingInCapture(_) => (ARGUMENT, "backend: expected no capture on another stream"),
        };
        refused(status, expected, text);
        assert!(on_host == unwritten(call), "{obstacle:?}, array {position}");
        if let Some((allocated, content)) = on_device {
            assert!(self.bytes_on(device, allocated, call.bytes) == content, "{obstacle:?}, array {position}");
        }
    }
}

/// A stream whose work waits for [`release`](Self::release). There is one at a time.
pub(crate) struct HeldStream {
    pub(crate) stream: *mut c_void,
}

/// How far the work of a [`HeldStream`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// Nothing waits for the work yet.
    Unreached,
    Holding,
    Released,
    /// The work has gone on after the release.
    Passed,
}

static HOLD: Mutex<Hold> = Mutex::new(Hold::Unreached);
static HOLD_CHANGED: Condvar = Condvar::new();

/// Waits for the release of the work, for a limited time.
///
/// # Safety
/// None: `_data` is not read.
unsafe extern "C" fn hold(_data: *mut c_void) {
    let mut state = HOLD.lock().unwrap();
    if *state == Hold::Unreached {
        *state = Hold::Holding;
    }
    HOLD_CHANGED.notify_all();
    let (mut state, waited) =
        HOLD_CHANGED.wait_timeout_while(state, LONGEST, |state| *state != Hold::Released).unwrap();
    if !waited.timed_out() {
        *state = Hold::Passed;
    }
}

impl HeldStream {
    /// Waits until a thread waits for the work.
    pub(crate) fn wait_until_reached(&self) {
        let state = HOLD.lock().unwrap();
        let (state, _) = HOLD_CHANGED.wait_timeout_while(state, LONGEST, |state| *state == Hold::Unreached).unwrap();
        assert_eq!(*state, Hold::Holding);
    }

    /// Lets the work go on.
    pub(crate) fn release(&self) {
        *HOLD.lock().unwrap() = Hold::Released;
        HOLD_CHANGED.notify_all();
    }

    /// The bytes of an array after the work, which was released and not given up before.
    pub(crate) fn bytes(&self, array: *const u64, len: usize) -> Vec<u8> {
        let bytes = bytes_after(self.stream, array, len);
        assert_eq!(*HOLD.lock().unwrap(), Hold::Passed);
        bytes
    }
}

/// The bytes of an array of the current device, in the order of a stream.
fn bytes_after(stream: *mut c_void, array: *const u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    ok!(cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), array, len, stream));
    ok!(cuStreamSynchronize(stream));
    bytes
}

/// A result array in host memory.
fn unwritten(call: &MachineCall<'_>) -> Vec<u64> {
    vec![u64::from_ne_bytes([UNWRITTEN; 8]); call.bytes.div_ceil(8)]
}

pub(crate) fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The words of bytes in memory.
pub(crate) fn words_of(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}
