//! Every result code known to this crate.

use super::status::Status;

/// A known result code.
pub(crate) struct Code {
    /// The code.
    pub(crate) value: i32,
    /// Its name in the driver API.
    pub(crate) name: &'static str,
    /// Its meaning, as one sentence.
    pub(crate) text: &'static str,
    /// Whether the enumeration of CUDA 11.4 has it.
    pub(crate) in_11_4: bool,
    /// Whether a context that met it is lost.
    pub(crate) sticky: bool,
}

/// One line for each code: value, constant, kind, text.
///
/// `kept` codes leave the context usable and `sticky` ones do not; `newer` marks those that CUDA
/// 11.4 lacks.
macro_rules! codes {
    ($($value:literal $name:ident $kind:ident $($newer:ident)? $text:literal;)*) => {
        impl Status {
            $(
                #[doc = concat!($text, ".")]
                pub const $name: Self = Self($value);
            )*
        }

        /// The codes in ascending order.
        pub(crate) const CODES: &[Code] = &[$(Code {
            value: $value,
            name: if $value == 0 { "CUDA_SUCCESS" } else { concat!("CUDA_ERROR_", stringify!($name)) },
            text: $text,
            in_11_4: codes!(@old $($newer)?),
            sticky: codes!(@sticky $kind),
        }),*];
    };
    (@old) => { true };
    (@old newer) => { false };
    (@sticky kept) => { false };
    (@sticky sticky) => { true };
}

codes! {
    0 SUCCESS kept "the call succeeded";
    1 INVALID_VALUE kept "an argument is outside its range";
    2 OUT_OF_MEMORY kept "not enough memory";
    3 NOT_INITIALIZED kept "the driver is not initialised";
    4 DEINITIALIZED kept "the driver is shutting down";
    5 PROFILER_DISABLED kept "the profiler is disabled for this run";
    6 PROFILER_NOT_INITIALIZED kept "the profiler is not initialised";
    7 PROFILER_ALREADY_STARTED kept "the profiler runs already";
    8 PROFILER_ALREADY_STOPPED kept "the profiler has stopped already";
    34 STUB_LIBRARY kept "no driver is loaded";
    36 CALL_REQUIRES_NEWER_DRIVER kept newer "the call needs a newer driver";
    46 DEVICE_UNAVAILABLE kept newer "the device is busy or reserved by another process: `nvidia-smi` lists processes and the compute mode";
    47 DEVICE_NOT_LICENSED_FOR_API kept newer "the call is not licensed on this device";
    100 NO_DEVICE kept "no CUDA device is present, or CUDA_VISIBLE_DEVICES hides all; with MIG it has to name an instance";
    101 INVALID_DEVICE kept "no device has this ordinal";
    102 DEVICE_NOT_LICENSED kept "the device has no licence for this";
    200 INVALID_IMAGE kept "the image is not a valid module";
    201 INVALID_CONTEXT kept "no valid context is current";
    202 CONTEXT_ALREADY_CURRENT kept "the context is current already";
    205 MAP_FAILED kept "mapping failed";
    206 UNMAP_FAILED kept "unmapping failed";
    207 ARRAY_IS_MAPPED kept "the array is mapped and cannot be destroyed";
    208 ALREADY_MAPPED kept "the resource is mapped already";
    209 NO_BINARY_FOR_GPU kept "the module has no code for this device";
    210 ALREADY_ACQUIRED kept "the resource is acquired already";
    211 NOT_MAPPED kept "the resource is not mapped";
    212 NOT_MAPPED_AS_ARRAY kept "the resource is not mapped as an array";
    213 NOT_MAPPED_AS_POINTER kept "the resource is not mapped as a pointer";
    214 ECC_UNCORRECTABLE sticky "device memory had an uncorrectable error";
    215 UNSUPPORTED_LIMIT kept "the device does not support this limit";
    216 CONTEXT_ALREADY_IN_USE kept "the context is in use by another thread";
    217 PEER_ACCESS_UNSUPPORTED kept "the devices cannot access each other";
    218 INVALID_PTX kept "the PTX did not compile";
    219 INVALID_GRAPHICS_CONTEXT kept "the graphics context is not valid";
    220 NVLINK_UNCORRECTABLE sticky "a link had an uncorrectable error";
    221 JIT_COMPILER_NOT_FOUND kept "the PTX compiler library is missing";
    222 UNSUPPORTED_PTX_VERSION kept "the PTX is of a version newer than the driver";
    223 JIT_COMPILATION_DISABLED kept "PTX compilation is disabled";
    224 UNSUPPORTED_EXEC_AFFINITY kept "the device does not support this affinity";
    225 UNSUPPORTED_DEVSIDE_SYNC kept newer "the module waits for child kernels on the device, which is not supported";
    226 CONTAINED sticky newer "device memory had a contained error";
    300 INVALID_SOURCE kept "the source is not valid";
    301 FILE_NOT_FOUND kept "the file was not found";
    302 SHARED_OBJECT_SYMBOL_NOT_FOUND kept "a shared object lacks a symbol";
    303 SHARED_OBJECT_INIT_FAILED kept "a shared object failed to initialise";
    304 OPERATING_SYSTEM kept "the operating system refused";
    400 INVALID_HANDLE kept "a handle is not valid";
    401 ILLEGAL_STATE kept "a resource is in the wrong state";
    402 LOSSY_QUERY kept newer "the query would lose information";
    500 NOT_FOUND kept "no such symbol";
    600 NOT_READY kept "the work has not finished";
    700 ILLEGAL_ADDRESS sticky "a kernel accessed memory that is not its own";
    701 LAUNCH_OUT_OF_RESOURCES kept "the launch needs more registers, threads or shared memory than there are";
    702 LAUNCH_TIMEOUT sticky "a kernel ran too long";
    703 LAUNCH_INCOMPATIBLE_TEXTURING kept "the launch uses an incompatible texturing mode";
    704 PEER_ACCESS_ALREADY_ENABLED kept "peer access is enabled already";
    705 PEER_ACCESS_NOT_ENABLED kept "peer access is not enabled";
    708 PRIMARY_CONTEXT_ACTIVE kept "the primary context is in use";
    709 CONTEXT_IS_DESTROYED kept "the context is destroyed";
    710 ASSERT sticky "a kernel's assertion failed";
    711 TOO_MANY_PEERS kept "peer access has no room for another device";
    712 HOST_MEMORY_ALREADY_REGISTERED kept "the host memory is registered already";
    713 HOST_MEMORY_NOT_REGISTERED kept "the host memory is not registered";
    714 HARDWARE_STACK_ERROR sticky "a kernel's stack overflowed or is corrupt";
    715 ILLEGAL_INSTRUCTION sticky "a kernel ran an illegal instruction";
    716 MISALIGNED_ADDRESS sticky "a kernel accessed a misaligned address";
    717 INVALID_ADDRESS_SPACE sticky "an instruction was given an address of the wrong space";
    718 INVALID_PC sticky "a kernel jumped outside its code";
    719 LAUNCH_FAILED sticky "a kernel failed";
    720 COOPERATIVE_LAUNCH_TOO_LARGE kept "a cooperative launch has more blocks than fit at once";
    721 TENSOR_MEMORY_LEAK sticky newer "a kernel left tensor memory allocated";
    800 NOT_PERMITTED kept "the call is not permitted";
    801 NOT_SUPPORTED kept "the call is not supported";
    802 SYSTEM_NOT_READY kept "the system is not ready: on machines with NVSwitch, `nvidia-fabricmanager` of the driver's version has to run";
    803 SYSTEM_DRIVER_MISMATCH kept "driver library and kernel module are of different versions: reboot, or load the module of the library";
    804 COMPAT_NOT_SUPPORTED_ON_DEVICE kept "the device does not support forward compatibility";
    805 MPS_CONNECTION_FAILED kept "the process service did not answer";
    806 MPS_RPC_FAILURE kept "a call to the process service failed";
    807 MPS_SERVER_NOT_READY kept "the process service is not ready";
    808 MPS_MAX_CLIENTS_REACHED kept "the process service has no room for another client";
    809 MPS_MAX_CONNECTIONS_REACHED kept "the process service has no room for another connection";
    810 MPS_CLIENT_TERMINATED kept newer "the process service ended this client";
    811 CDP_NOT_SUPPORTED kept newer "kernels that launch kernels are not supported";
    812 CDP_VERSION_MISMATCH kept newer "kernels that launch kernels are of mixed versions";
    900 STREAM_CAPTURE_UNSUPPORTED kept "the call is not permitted while the stream captures";
    901 STREAM_CAPTURE_INVALIDATED kept "an earlier error invalidated the capture";
    902 STREAM_CAPTURE_MERGE kept "the call would merge two captures";
    903 STREAM_CAPTURE_UNMATCHED kept "the capture did not begin on this stream";
    904 STREAM_CAPTURE_UNJOINED kept "the capture has a fork that never joined its first stream";
    905 STREAM_CAPTURE_ISOLATION kept "a dependency would cross the edge of the capture";
    906 STREAM_CAPTURE_IMPLICIT kept "the call depends on the legacy stream, which cannot be captured";
    907 CAPTURED_EVENT kept "the event was recorded in a capture";
    908 STREAM_CAPTURE_WRONG_THREAD kept "the capture began on another thread";
    909 TIMEOUT kept "the wait timed out";
    910 GRAPH_EXEC_UPDATE_FAILURE kept "the graph differs too much to update in place";
    911 EXTERNAL_DEVICE kept "a device outside CUDA failed";
    912 INVALID_CLUSTER_SIZE kept newer "the cluster size is not valid";
    913 FUNCTION_NOT_LOADED kept newer "the function is not loaded";
    914 INVALID_RESOURCE_TYPE kept newer "the resource is of the wrong type";
    915 INVALID_RESOURCE_CONFIGURATION kept newer "the resources are not sufficient or not valid";
    916 KEY_ROTATION kept newer "a key rotation is under way";
    917 STREAM_DETACHED kept newer "the stream is detached";
    918 GRAPH_RECAPTURE_FAILURE kept newer "the graph was captured again with different nodes";
    919 GRAPH_RECAPTURE_MISMATCH kept newer "the recaptured graph does not match";
    999 UNKNOWN kept "an unknown error";
}
