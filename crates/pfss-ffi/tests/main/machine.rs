//! A program on the simulated machine: its stream, its memory, and calls whose arrays cannot be used.

use core::{
    ffi::{c_int, c_void},
    ptr::{null, null_mut},
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
    fn cuMemAlloc_v2(address: *mut *mut u64, bytes: usize) -> c_int;
    fn cuMemcpyHtoDAsync_v2(to: *mut u64, from: *const c_void, bytes: usize, stream: *mut c_void) -> c_int;
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: *const u64, bytes: usize, stream: *mut c_void) -> c_int;
}

const NON_BLOCKING: u32 = 1;
pub(crate) const GLOBAL: u32 = 0;
pub(crate) const THREAD_LOCAL: u32 = 1;
const RELAXED: u32 = 2;
/// The code for a copy that [`refused_copies`] refuses.
const INVALID: c_int = 1;
/// The code for the end of a capture that a refused call has invalidated.
const INVALIDATED: c_int = 901;
/// Copies to the host between the refused ones of [`refused_copies`].
const COPIES: u32 = 200;
/// Refused copies in a row: the search for them takes one, and a call one.
const REFUSED_COPIES: u32 = 8;
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
    refused.map(|copy| format!(";fail=1@cuMemcpyDtoHAsync_v2:{copy}")).collect()
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
    /// The driver refuses the copy to the host, as from memory that is not mapped.
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
    /// A byte on the device.
    byte: *const u64,
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
        let program = Self { contexts, stream, other, byte: null(), obstacles };
        Self { byte: program.array(0, &[0]), ..program }
    }

    /// Copies a byte to the host until the driver answers with `code`.
    fn copy_until(&self, code: c_int) {
        let mut byte = 0u8;
        let mut copy = || {
            // SAFETY: a byte on the device, and a place that outlives the copy, which is waited for.
            let answer = unsafe { cuMemcpyDtoHAsync_v2((&raw mut byte).cast(), self.byte, 1, self.stream) };
            ok!(cuStreamSynchronize(self.stream));
            answer
        };
        assert!((0..=COPIES).any(|_| copy() == code), "no copy of {COPIES} had the answer {code}");
    }

    /// Makes the device current for a thread of the program.
    pub(crate) fn enter(&self) {
        ok!(cuCtxSetCurrent(self.contexts[0]));
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
        let mut bytes = vec![0; len];
        ok!(cuCtxSetCurrent(self.contexts[device]));
        ok!(cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), array, len, self.stream_of(device)));
        ok!(cuStreamSynchronize(self.stream_of(device)));
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
        if obstacle == Obstacle::Unmapped {
            self.copy_until(INVALID);
        }
        let status = (call.make)(&inputs, result);
        if obstacle == Obstacle::Unmapped {
            self.copy_until(0);
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

/// A result array in host memory.
fn unwritten(call: &MachineCall<'_>) -> Vec<u64> {
    vec![u64::from_ne_bytes([UNWRITTEN; 8]); call.bytes.div_ceil(8)]
}

pub(crate) fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
