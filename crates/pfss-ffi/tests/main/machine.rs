//! A program on the simulated machine: its stream, its memory, and calls whose arrays cannot be used.

use core::{
    ffi::{c_int, c_void},
    ptr::null_mut,
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
/// The code for the end of a capture that a refused call has invalidated.
const INVALIDATED: c_int = 901;
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
    /// It does so for every copy after some, so that only this obstacle fits a program.
    Unmapped,
    /// Another stream is captured in a mode that forbids the work of a device.
    ///
    /// All arrays are in host memory.
    ComputingInCapture(u32),
}

/// A call, its input arrays, and the number of bytes of its result array.
pub(crate) struct Call<'a> {
    pub(crate) inputs: &'a [&'a [u64]],
    pub(crate) bytes: usize,
    /// Whether a backend computes in the call.
    pub(crate) computes: bool,
    pub(crate) make: &'a dyn Fn(&[*const u64], *mut u64) -> Status,
}

/// The program on device 0; its memory is never freed.
pub(crate) struct Program {
    contexts: [*mut c_void; 2],
    pub(crate) stream: *mut c_void,
    /// A stream that no array is used on.
    other: *mut c_void,
    obstacles: &'static [Obstacle],
    /// Whether calls without an obstacle have their arrays on the device.
    on_device: bool,
}

impl Program {
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
        let on_device = !obstacles.contains(&Obstacle::Unmapped);
        let program = Self { contexts, stream, other, obstacles, on_device };
        if !on_device {
            let (mut byte, array) = (0u8, program.array(0, &[0]));
            // SAFETY: a byte on the device, and a place for it.
            while unsafe { cuMemcpyDtoHAsync_v2((&raw mut byte).cast(), array, 1, stream) } == 0 {}
        }
        program
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
        if device == 0 {
            ok!(cuMemcpyHtoDAsync_v2(array, content.as_ptr().cast(), content.len(), self.stream));
        }
        self.enter();
        array
    }

    /// The bytes of an array on the device.
    pub(crate) fn bytes(&self, array: *const u64, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        ok!(cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), array, len, self.stream));
        ok!(cuStreamSynchronize(self.stream));
        bytes
    }

    /// The bytes of a call's result, after refusals of the call for every obstacle.
    pub(crate) fn result_of(&self, call: &Call<'_>) -> Vec<u8> {
        self.refuse(call);
        if !self.on_device {
            let inputs: Vec<*const u64> = call.inputs.iter().map(|input| input.as_ptr()).collect();
            let mut result = unwritten(call);
            assert_eq!((call.make)(&inputs, result.as_mut_ptr()), OK);
            return result.iter().flat_map(|word| word.to_ne_bytes()).take(call.bytes).collect();
        }
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
    pub(crate) fn refuse(&self, call: &Call<'_>) {
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
    fn refuse_at(&self, call: &Call<'_>, obstacle: Obstacle, position: usize) {
        let mut inputs: Vec<*const u64> = call.inputs.iter().map(|input| input.as_ptr()).collect();
        let mut on_host = unwritten(call);
        let (mut result, mut on_device) = (on_host.as_mut_ptr(), None);
        // The array of the obstacle.
        if !matches!(obstacle, Obstacle::ComputingInCapture(_)) {
            let content =
                call.inputs.get(position).map_or_else(|| vec![UNWRITTEN; call.bytes], |input| bytes_of(input));
            let array = self.array(usize::from(obstacle == Obstacle::OtherDevice), &content);
            let array = array.wrapping_add(usize::from(obstacle == Obstacle::TooShort));
            match inputs.get_mut(position) {
                Some(input) => *input = array,
                None => (result, on_device) = (array, Some(content)),
            }
        }
        // The call, in a capture if that is the obstacle.
        let capture = match obstacle {
            Obstacle::Captured => Some((self.stream, RELAXED)),
            Obstacle::OtherCapture(mode) | Obstacle::ComputingInCapture(mode) => Some((self.other, mode)),
            _ => None,
        };
        if let Some((stream, mode)) = capture {
            ok!(cuStreamBeginCapture_v2(stream, mode));
        }
        let status = (call.make)(&inputs, result);
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
        if let Some(content) = on_device.filter(|_| capture.is_some()) {
            assert!(self.bytes(result, call.bytes) == content, "{obstacle:?}, array {position}");
        }
    }
}

/// A result array in host memory.
fn unwritten(call: &Call<'_>) -> Vec<u64> {
    vec![u64::from_ne_bytes([UNWRITTEN; 8]); call.bytes.div_ceil(8)]
}

pub(crate) fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
